"""MulticlassNms and MatrixNms: wrong inputs and attributes."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError
from tests.helpers.facts import facts
from tests.helpers.operators import make, run_all


def test_roisnum_beyond_the_boxes() -> None:
    operator = make("MulticlassNms", 9)
    boxes, scores = np.zeros((2, 3, 4), np.float32), np.zeros((2, 3), np.float32)
    for counts in ([2, 2], [2**62, 2**62]):
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(boxes, scores, np.array(counts, np.int64))
        assert facts(caught.value.message) == ["3"]
        assert (caught.value.code, caught.value.location.port) == ("IR704", "roisnum")
    outputs = run_all(operator, boxes + np.array([0, 0, 1, 1], np.float32), scores, np.array([-1, 3], np.int64))
    assert outputs[2].tolist() == [0, 2]


@pytest.mark.parametrize("attributes", [{"nms_top_k": -2}, {"background_class": -2}, {"nms_eta": 1.5}])
def test_attributes_out_of_range(attributes: dict[str, object]) -> None:
    with pytest.raises(InvalidAttributeError) as caught:
        make("MulticlassNms", 8, **attributes)
    assert caught.value.code == "IR302"
