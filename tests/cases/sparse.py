"""Bags of embeddings, segments, sparse rows."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.segment_cases import table

F32, I32, I64 = np.float32, np.int32, np.int64
TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "f64": 1e-5}
KINDS = ("f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64")
EXAMPLE = np.array([[-0.2, -0.6], [-0.1, -0.4], [-1.9, -1.8], [-1.0, 1.5], [0.8, -0.7]], F32)
EXPECTED = np.array([[-1.05, -1.2], [-0.2, -0.6], [-0.1, 0.4]], F32)


def scalar(value: int, dtype: type = I32) -> Array:
    return np.array(value, dtype)


def case(
    type: str, opset: int, inputs: tuple[Array, ...], attributes: dict[str, object] | None = None, **fields: object
) -> Case:
    tolerance = TOLERANCE.get(ElementType.of(inputs[0]).name, 0.0)
    case_fields = {"rtol": tolerance, "atol": tolerance} | fields
    return Case(type, opset, inputs, attributes or {}, **case_fields)  # type: ignore[arg-type]  # as a caller


INDICES = np.array([0, 2, 3, 4, 1, 1, 0], I32)
OFFSETS = np.array([0, 2, 2, 5], I32)
WEIGHTS = np.array([0.5, 0.2, -2, 1, 3, -1, 0.25], F32)
CASES: list[Case] = []

for type, opset in (("EmbeddingBagOffsetsSum", 3), ("EmbeddingBagOffsets", 15)):
    CASES += [case(type, opset, (table(*shape), INDICES, OFFSETS)) for shape in ((5, 2), (5,), (5, 3, 2), (5, 1))]
    CASES += [case(type, opset, (table(5, 2), INDICES, OFFSETS, scalar(default))) for default in (0, 4, -1)]
    CASES += [case(type, opset, (table(5, 2), INDICES, OFFSETS, scalar(1), WEIGHTS))]
    CASES += [case(type, opset, (table(5, 2), INDICES, np.array(offsets, I32))) for offsets in ([0], [3], [1, 4, 6])]
    CASES += [case(type, opset, (table(5, 2), INDICES.astype(I64), OFFSETS.astype(I64), scalar(2, I64)))]
    CASES += [case(type, opset, (table(5, 2), INDICES, OFFSETS), constants=(0, 2))]
    CASES += [case(type, opset, (table(5, 3, element_type=element_type), INDICES, OFFSETS)) for element_type in KINDS]
    CASES += [
        case(
            type,
            opset,
            (np.array([[100, 3], [90, 2]], element_type), np.array([0, 0, 0, 1], I32), np.array([0, 3], I32)),
        )
        for element_type in (np.int8, np.uint8)
    ]
    CASES += [case(type, opset, (table(50, 300), np.arange(2000, dtype=I32) % 50, np.array([0, 3, 1990], I32)))]
    CASES += [
        case(
            type,
            opset,
            (EXAMPLE, INDICES[:4], np.array([0, 2, 2], I32), scalar(0), np.full(4, 0.5, F32)),
            expected=(EXPECTED,),
            note="the example of the specification",
        ),
        case(
            type,
            opset,
            (EXAMPLE, np.array([0, 2], I32), np.array([0, 2], I32), scalar(1)),
            expected=(np.array([[-2.1, -2.4], [-0.1, -0.4]], F32),),
            oracle="nobody",
            note="an offset as great as num_indices, which OpenVINO's CPU plugin fails on",
        ),
    ]
CASES += [
    case(
        "EmbeddingBagOffsets", 15, (table(5, 2, element_type=element_type), INDICES, OFFSETS), {"reduction": reduction}
    )
    for element_type in ("f32", "i32", "f16")
    for reduction in ("mean", "MEAN", "sum")
]
CASES += [case("EmbeddingBagOffsets", 15, (table(5, 2), INDICES, OFFSETS, scalar(3)), {"reduction": "mean"})]

PACKED = np.array([[0, 2, 1], [1, 2, 4], [3, 4, 3], [0, 0, 0]], I32)
for type, opset in (("EmbeddingBagPackedSum", 3), ("EmbeddingBagPacked", 15)):
    CASES += [case(type, opset, (table(*shape), PACKED)) for shape in ((5, 2), (5,), (5, 3, 2))]
    CASES += [case(type, opset, (table(5, 2), PACKED, table(4, 3)))]
    CASES += [case(type, opset, (table(5, 2), PACKED, table(4, 3)), constants=(0, 1))]
    CASES += [case(type, opset, (table(5, 2), PACKED[:, :1].astype(I64)))]
    CASES += [case(type, opset, (table(5, 3, element_type=element_type), PACKED)) for element_type in KINDS]
    CASES += [
        case(
            type,
            opset,
            (EXAMPLE, np.array([[0, 2], [1, 2], [3, 4]], I32), np.full((3, 2), 0.5, F32)),
            expected=(np.array([[-1.05, -1.2], [-1.0, -1.1], [-0.1, 0.4]], F32),),
            note="the example of the specification",
        ),
        case(
            type,
            opset,
            (table(5, 2), np.zeros((3, 0), I32)),
            expected=(np.zeros((3, 2), F32),),
            oracle="nobody",
            note="bags without elements, for which OpenVINO's CPU plugin gives what lies in memory",
        ),
    ]
CASES += [
    case("EmbeddingBagPacked", 15, (table(5, 2, element_type=element_type), PACKED), {"reduction": reduction})
    for element_type in ("f32", "i32", "f16")
    for reduction in ("mean", "Mean", "sum")
]

SEGMENTS = np.array([0, 0, 2, 2, 2, 4, 4], I32)


def segments(*inputs: Array, constants: tuple[int, ...] = (3,), **fields: object) -> Case:
    return case("EmbeddingSegmentsSum", 3, inputs, constants=constants, **fields)


CASES += [segments(table(*shape), INDICES, SEGMENTS, scalar(5)) for shape in ((5, 2), (5,), (5, 3, 2))]
CASES += [segments(table(5, 2), INDICES, SEGMENTS, scalar(count)) for count in (6, 9)]
CASES += [segments(table(5, 2), INDICES, SEGMENTS, scalar(6), constants=constants) for constants in ((), (2,), (0, 3))]
CASES += [segments(table(5, 2), INDICES, SEGMENTS, scalar(6), scalar(default)) for default in (0, 4)]
CASES += [segments(table(5, 2), INDICES, SEGMENTS, scalar(6), scalar(1), WEIGHTS)]
CASES += [segments(table(5, 2), *(x.astype(I64) for x in (INDICES, SEGMENTS, scalar(6))), scalar(2, I64))]
CASES += [segments(table(5, 3, element_type=element_type), INDICES, SEGMENTS, scalar(5)) for element_type in KINDS]
CASES += [segments(table(5, 2), np.zeros(0, I32), np.zeros(0, I32), scalar(3))]
CASES += [
    segments(
        EXAMPLE,
        INDICES[:4],
        np.array([0, 0, 2, 2], I32),
        scalar(3),
        scalar(0),
        np.full(4, 0.5, F32),
        expected=(EXPECTED,),
        note="the example of the specification",
    ),
    segments(
        EXAMPLE,
        np.array([0, 2, 3, 4], I32),
        np.array([2, 0, 2, 0], I32),
        scalar(3),
        scalar(1),
        np.array([1, 2, 3, 4], F32),
        expected=(np.array([[-0.6, -6.4], [-0.1, -0.4], [-3.2, 3.9]], F32),),
        oracle="nobody",
        note="segments in any order, of which OpenVINO's CPU plugin adds other rows",
    ),
    segments(
        EXAMPLE,
        np.array([3], I32),
        np.array([1], I32),
        scalar(2),
        scalar(-1),
        expected=(np.array([[0, 0], [-1, 1.5]], F32),),
        oracle="nobody",
        note="default_index -1 stands for zeros as in EmbeddingBagOffsetsSum; OpenVINO's CPU plugin fails on it",
    ),
]


def sparse(values: Array, shape: list[int], indices: object, default: Array | None = None, **fields: object) -> Case:
    dtype = fields.pop("dtype", I32)
    positions = np.array(indices, dtype).reshape(-1, 2)  # type: ignore[call-overload]  # i32 or i64
    default = np.array(42).astype(values.dtype) if default is None else default
    inputs = (values, np.array(shape, dtype), positions, default)  # type: ignore[call-overload]  # i32 or i64
    return Case("SparseFillEmptyRows", 16, inputs, outputs=3, **fields)  # type: ignore[arg-type]  # as a caller


FOUR = np.array([1, 2, 3, 4], F32)
PLACES = [[0, 1], [0, 3], [2, 0], [3, 1]]
CASES += [sparse(FOUR, [5, 6], PLACES, constants=constants) for constants in ((), (1,), (2,), (1, 3))]
CASES += [sparse(FOUR, [5, 6], PLACES, constants=(1, 2), dynamic=False, note="OpenVINO fails on unknown ranks")]
CASES += [sparse(FOUR, [5, 6], PLACES, dtype=I64)]
CASES += [
    sparse(FOUR, [5, 6], places) for places in ([[3, 1], [0, 3], [2, 0], [0, 1]], [[2, 0], [0, 1], [2, 0], [0, 1]])
]
CASES += [sparse(FOUR[:2], [2, 2], [[0, 1], [1, 1]]), sparse(FOUR[:0], [3, 2], []), sparse(FOUR[:0], [0, 2], [])]
CASES += [
    sparse(FOUR.astype(ElementType[element_type].dtype), [5, 6], PLACES)
    for element_type in (*KINDS, "boolean")
    if element_type != "f32"
]
CASES += [
    sparse(
        FOUR.astype(ElementType[element_type].dtype), [5, 6], PLACES, default=np.array(value, ElementType[other].dtype)
    )
    for element_type, other, value in (
        ("f16", "f32", 2.5),
        ("f32", "i32", 300),
        ("f32", "f64", 2.75),
        ("i32", "i64", 9),
    )
]
CASES += [
    sparse(
        np.array([1, 3], F32),
        [3, 3],
        [[0, 0], [2, 2]],
        expected=(
            np.array([[0, 0], [1, 0], [2, 2]], I32),
            np.array([1, 42, 3], F32),
            np.array([False, True, False]),
        ),
        note="the example of the specification",
    )
]
