"""Transpose."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import ints, iota

KINDS = ["boolean", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"]
INDEX_KINDS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


def transpose(data: Array, order: Array, **fields: object) -> Case:
    return Case("Transpose", 1, (data, order), **{"constants": {1}, **fields})  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

CASES += [transpose(iota(2, 3, 4, element_type=element_type), ints(2, 0, 1)) for element_type in KINDS]
CASES += [transpose(iota(2, 3), ints(1, 0, element_type=element_type)) for element_type in INDEX_KINDS]
CASES += [
    transpose(iota(2, 3, 4), ints(0, 1, 2)),
    transpose(iota(2, 1, 4), ints(1, 2, 0)),
    transpose(iota(5), ints(0)),
    transpose(iota(2, 0, 4), ints(2, 1, 0)),
    transpose(iota(2, 1, 3, 1, 2), ints(4, 2, 0, 3, 1)),
    transpose(iota(2, 3, 4), ints(2, 0, 1), constants=()),
    transpose(iota(2, 3, 4), ints(), dynamic=False, note="OpenVINO infers a scalar from an unknown rank"),
    transpose(iota(), ints(), dynamic=False),
]

# Types that OpenVINO does not move: the answer is known all the same.
for element_type in ("u1", "u2", "u3", "u4", "i4", "u6", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0", "string"):
    if element_type == "string":
        row = np.array(["a", "bc", "", "d"], object)
    else:
        row = np.array([1, 0, 1, 1], np.uint8).view(ElementType[element_type].dtype)
    square = row.reshape(2, 2)
    CASES += [
        transpose(square, ints(1, 0), expected=(np.array(row[[0, 2, 1, 3]]).reshape(2, 2),), oracle="nobody"),
    ]
