"""GatherTree."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints


def tree(step_ids: Array, parent_ids: Array, max_seq_len: Array, end_token: object, **fields: object) -> Case:
    end = np.array(end_token, step_ids.dtype)
    inputs = (step_ids, parent_ids.astype(step_ids.dtype), max_seq_len.astype(step_ids.dtype), end)
    return Case("GatherTree", 1, inputs, **fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

# GatherTree; the plugin leaves sequences of no steps as they were.
STEPS = np.arange(24, dtype=np.int32).reshape(4, 2, 3) % 10
PARENTS = np.random.default_rng(3).integers(0, 3, (4, 2, 3)).astype(np.int32)
for name in ("i32", "f32"):
    dtype = ElementType[name].dtype
    CASES += [
        tree(STEPS.astype(dtype), PARENTS, ints(4, 4), 9),
        tree(STEPS.astype(dtype), PARENTS, ints(2, 3), 8),
        tree(STEPS.astype(dtype), PARENTS, ints(9, 1), -1),
        tree(STEPS.astype(dtype) * 0, PARENTS, ints(4, 3), 0, note="ends at once"),
        tree(
            STEPS[:1].astype(dtype), PARENTS[:1] + 7, ints(1, 1), 5, note="parents of the first step count for nothing"
        ),
    ]
CASES += [
    tree(STEPS.astype(np.float16), PARENTS, ints(4, 2), 3),
    tree(STEPS.astype(np.int64), PARENTS, ints(4, 2), 3),
    tree(STEPS[:, :1, :1], PARENTS[:, :1, :1] * 0, ints(4), 12, note="one beam"),
    tree(STEPS[:3, :1, :2], np.array([[[5, 5]], [[0, 0]], [[1, 0]]]), ints(0), 77, oracle="nobody",
         expected=(np.full((3, 1, 2), 77, np.int32),), note="no steps: all end tokens"),
]  # fmt: skip
TOKENS = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]])
FROM = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
BEAMS = np.array([[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]])
for name in ("i32", "u8", "u64", "i16", "bf16", "f64"):
    dtype = ElementType[name].dtype
    asked = {} if name == "i32" else {"oracle": "nobody"}
    CASES.append(
        tree(TOKENS.astype(dtype), FROM, ints(3), 10, expected=(BEAMS.astype(dtype),), note="followed by hand", **asked)
    )
