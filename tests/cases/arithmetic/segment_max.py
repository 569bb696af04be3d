"""SegmentMax."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array
from tests.conformance.case import Case
from tests.helpers.segment_cases import table

F32, I32, I64 = np.float32, np.int32, np.int64
KINDS = ("f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64")


def scalar(value: int, dtype: type = I32) -> Array:
    return np.array(value, dtype)


def greatest(
    data: Array, ids: Array, *count: Array, fill: str = "zero", constants: tuple[int, ...] = (), **fields: object
) -> Case:
    return Case("SegmentMax", 16, (data, ids, *count), {"fill_mode": fill}, constants, **fields)  # type: ignore[arg-type]  # as a caller


IDS = np.array([0, 0, 0, 1, 1, 3, 5, 5], I32)
VALUES = np.array([3, 1, 2, -5, -4, 7, 0, 9], F32)
LOWEST = -np.finfo(F32).max
CASES: list[Case] = []

CASES += [greatest(VALUES, IDS, constants=constants) for constants in ((), (1,), (0, 1))]
CASES += [greatest(table(8, *dims), IDS) for dims in ((1,), (3,), (2, 3), (0,))]
CASES += [greatest(VALUES, IDS, scalar(count), constants=(2,)) for count in (6, 8)]
CASES += [
    greatest(VALUES, IDS, scalar(7, dtype), constants=constants) for dtype in (I32, I64) for constants in ((), (1,))
]
CASES += [greatest(table(8, 2), IDS.astype(I64), constants=(1,))]
CASES += [
    greatest(table(8, 2, element_type=element_type), IDS, rtol=1e-6 if element_type == "f64" else 0.0)
    for element_type in KINDS
]
CASES += [greatest(VALUES, np.array([0, 0, 0, 1, 1, 2, 2, 2], I32), fill=fill) for fill in ("lowest", "LOWEST", "ZERO")]
CASES += [
    greatest(
        VALUES,
        IDS,
        fill="lowest",
        expected=(np.array([3, -4, LOWEST, 7, LOWEST, 9], F32),),
        note="empty segments",
    ),
    greatest(
        np.array([3, 1], np.int8),
        np.array([0, 2], I32),
        scalar(4),
        fill="lowest",
        expected=(np.array([3, -128, 1, -128], np.int8),),
        note="empty segments",
    ),
    greatest(
        np.zeros((0, 2), F32),
        np.zeros(0, I32),
        scalar(2),
        expected=(np.zeros((2, 2), F32),),
        oracle="nobody",
        note="no elements, for which OpenVINO's CPU plugin gives what lies in memory",
    ),
    greatest(
        np.zeros((0, 2), F32),
        np.zeros(0, I32),
        expected=(np.zeros((0, 2), F32),),
        oracle="nobody",
        note="no elements and no number of segments, on which OpenVINO crashes",
    ),
]
