"""ExperimentalDetectronTopKROIs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.case import Case
from tests.helpers.box_cases import boxes, cast, distinct


# ExperimentalDetectronTopKROIs.
def top(count: int, most: int, **rest: Any) -> Case:
    inputs = (boxes((count,), 600), distinct((count,), 601))
    return Case("ExperimentalDetectronTopKROIs", 6, inputs, {"max_rois": most}, **rest)


CASES: list[Case] = []

CASES += [top(9, 4), top(9, 9), top(1, 1), top(9, 0), top(20, 3)]
CASES += [cast(top(9, 4), kind, 0) for kind in ("f16", "bf16")]
few = top(2, 4)
rows = np.concatenate([few.inputs[0][np.argsort(-few.inputs[1])], np.zeros((2, 4), np.float32)])
CASES.append(Case(few.type, 6, few.inputs, few.attributes, (), 1, (rows,), "nobody", note="what is left is open"))
