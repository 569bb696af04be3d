"""sort.top_k_rois"""

from __future__ import annotations

import numpy as np

from tests.helpers.operators import make, run


def test_best_rois_first_of_equal_ones_the_first() -> None:
    rois = np.arange(16, dtype=np.float32).reshape(4, 4)
    output = run(make("ExperimentalDetectronTopKROIs", 6, max_rois=5), rois, np.array([1, 3, 1, 2], np.float32))
    assert output.tolist() == [*rois[[1, 3, 0, 2]].tolist(), [0, 0, 0, 0]]
