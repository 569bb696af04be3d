"""Eye."""

from __future__ import annotations

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case


def number(value: int, element_type: str = "i64", *, vector: bool = False) -> Array:
    return np.array([value] if vector else value, ElementType[element_type].dtype)


def eye(
    rows: int,
    columns: int,
    diagonal: int,
    batch: tuple[int, ...] | None = None,
    *,
    output_type: str = "f32",
    element_type: str = "i64",
    vector: bool = False,
    constants: tuple[int, ...] = (0, 1, 2, 3),
    **more: object,
) -> Case:
    inputs = [number(value, element_type, vector=vector) for value in (rows, columns, diagonal)]
    if batch is not None:
        inputs.append(np.array(batch, ElementType[element_type].dtype))
    constant_positions = tuple(position for position in constants if position < len(inputs))
    return Case("Eye", 9, tuple(inputs), {"output_type": output_type}, constants=constant_positions, **more)  # type: ignore[arg-type]  # passed on as they are


# The specification's examples.
CASES = [
    eye(
        3,
        4,
        2,
        output_type="i32",
        expected=(np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], np.int32),),
        note="specification",
    ),
    eye(
        3,
        4,
        -1,
        output_type="i32",
        expected=(np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]], np.int32),),
        note="specification",
    ),
    eye(2, 2, 5, (1, 2), output_type="f16", expected=(np.zeros((1, 2, 2, 2), np.float16),), note="specification"),
]
CASES += [eye(rows, columns, diagonal) for rows, columns in ((3, 5), (5, 3), (1, 1)) for diagonal in (-2, 0, 1, 2)]
CASES += [eye(2, 3, diagonal) for diagonal in (-(2**40), 2**40, -2, 3)]
CASES += [eye(0, 3, 0), eye(3, 0, 1), eye(0, 0, 0), eye(2, 2, 0, (0,)), eye(2, 2, 0, (3, 0, 2))]
CASES += [eye(2, 3, 1, batch) for batch in ((1,), (3,), (2, 1, 3))]
CASES += [
    eye(2, 3, 1, ()),
    eye(
        2,
        3,
        1,
        (),
        constants=(),
        expected=(np.array([[0, 1, 0], [0, 0, 1]], np.float32),),
        oracle="nobody",
        note="for an empty batch_shape that is no constant the plugin gives what lies in memory",
    ),
]
CASES += [
    eye(2, 3, 1, (2,), output_type=element_type)
    for element_type in (
        "bf16",
        "f16",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "i4",
        "u4",
        "boolean",
    )
]
CASES += [
    eye(
        2,
        3,
        0,
        output_type=element_type,
        oracle="nobody",
        expected=(np.eye(2, 3).astype(ElementType[element_type].dtype),),
    )
    for element_type in ("f8e4m3", "f8e5m2", "f4e2m1")
]
CASES += [
    eye(2, 3, -1, (2,), element_type="i32"),
    eye(2, 3, -1, (2,), vector=True),
    eye(2, 3, 1, element_type="i32", vector=True),
]
CASES += [eye(3, 2, 1, (2, 2), constants=constants) for constants in ((), (0,), (1,), (2,), (3,), (0, 3), (0, 1, 2))]
