"""Roll, Reverse, ReverseSequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

ELEMENT_TYPES = ["boolean", "bf16", "f16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
ELEMENT_TYPES += ["f8e4m3", "f8e5m2", "f8e8m0"]

TWELVE = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SCALAR = np.array(3, np.float32)


def _typed_values(name: str, shape: tuple[int, ...]) -> Array:
    """Different values of any element type."""
    element_type = ElementType[name]
    codes = np.arange(1, 1 + int(np.prod(shape)), dtype=np.uint8)
    if element_type.bits == 8 and element_type.is_float:
        return codes.view(element_type.dtype).reshape(shape)
    return codes.astype(element_type.dtype).reshape(shape)


def _roll(
    data: Array,
    shift: int | Sequence[int],
    axes: int | Sequence[int],
    *,
    is_constant: bool = True,
    index: type[np.generic] = np.int64,
    expected: object = None,
    note: str = "",
) -> Case:
    inputs = (data, np.array(shift, index), np.array(axes, index))
    outputs = None if expected is None else (np.array(expected, data.dtype),)
    return Case("Roll", 7, inputs, constants=(1, 2) if is_constant else (), expected=outputs, note=note)


ROLLS = [
    _roll(TWELVE, 1, 0, expected=[[10, 11, 12], [1, 2, 3], [4, 5, 6], [7, 8, 9]], note="specification, example 1"),
    _roll(
        TWELVE,
        [-1, 2],
        [0, 1],
        expected=[[5, 6, 4], [8, 9, 7], [11, 12, 10], [2, 3, 1]],
        note="specification, example 2",
    ),
    _roll(
        TWELVE,
        [1, 2, 1],
        [0, 1, 0],
        expected=[[8, 9, 7], [11, 12, 10], [2, 3, 1], [5, 6, 4]],
        note="specification, example 3",
    ),
    *(_roll(CUBE, shift, axis) for shift in (0, 1, -1, 7, -9) for axis in (0, 2, -2)),
    *(_roll(CUBE, shift, axis, is_constant=False) for shift in (1, -9) for axis in (0, -1)),
    *(
        _roll(CUBE, [2] * len(axes), axes, is_constant=is_constant)
        for axes in ([0, 1], [-1, 0, 1], [1, 1])
        for is_constant in (True, False)
    ),
    # The plugin refuses a scalar shift of several axes.
    *(
        Case(
            "Roll",
            7,
            (np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array(1), np.array(axes)),
            constants=(1, 2),
            expected=(np.array(expected, np.float32),),
            oracle="nobody",
            note="one shift of several axes",
        )
        for axes, expected in (([0, 1], [[6, 4, 5], [3, 1, 2]]), ([1, 1], [[2, 3, 1], [5, 6, 4]]))
    ),
    *(_roll(CUBE, [3, -2], [2, -1], index=index) for index in (np.int32, np.int64)),
    _roll(CUBE, [2**31 - 1, 2**31 - 1, 5], [2, 2, 2], index=np.int32),
    _roll(CUBE[:, :0], [1, 2], [1, 2]),
    _roll(CUBE[:, :0], [1, 2], [1, 2], is_constant=False),
    _roll(TWELVE[:1, :1], [5], [0]),
    # The plugin leaves its memory as it finds it, and there is no other kernel.
    *(
        Case("Roll", 7, (data, none, none), constants=(1, 2), expected=(data,), oracle="nobody", note="no axes")
        for data in (CUBE, SCALAR)
        for none in [np.array([], np.int64)]
    ),
    Case("Roll", 7, (CUBE, np.array([1, 2]), np.array([0, 1])), constants=(1,), note="axes unknown"),
    *(_roll(_typed_values(name, (2, 3)), [1, -1], [0, 1]) for name in ELEMENT_TYPES[:12]),
]


def _reverse(
    data: Array,
    axis: Sequence[int] | Sequence[bool],
    mode: str = "index",
    *,
    is_constant: bool = True,
    element_type: str = "i64",
) -> Case:
    inputs = (data, np.array(axis, ElementType[element_type].dtype))
    return Case("Reverse", 1, inputs, {"mode": mode}, constants=(1,) if is_constant else ())


REVERSES = [
    *(
        _reverse(CUBE, axes, is_constant=is_constant)
        for axes in ([], [0], [2, 0], [-1, 1], [1, 1])
        for is_constant in (True, False)
    ),
    *(
        _reverse(CUBE, [1, 0], element_type=element_type)
        for element_type in ("i8", "i16", "i32", "u8", "u16", "u32", "u64")
    ),
    *(
        _reverse(CUBE, mask, "mask", is_constant=is_constant, element_type="boolean")
        for mask in ([False, False, False], [True, False, True], [True, True, True])
        for is_constant in (True, False)
    ),
    _reverse(SCALAR, []),
    _reverse(SCALAR, [], "mask", element_type="boolean"),
    _reverse(CUBE[:, :0], [1, 2]),
    _reverse(TWELVE[:1, :1], [0, 1]),
    *(_reverse(_typed_values(name, (2, 3)), [1]) for name in ELEMENT_TYPES),
    Case(
        "Reverse",
        1,
        (np.array(["a", "b", "c"], object), np.array([0])),
        {"mode": "index"},
        constants=(1,),
        expected=(np.array(["c", "b", "a"], object),),
        oracle="nobody",
        note="strings, of which OpenVINO copies the handles",
    ),
]


def _sequence(
    data: Array,
    lengths: Sequence[float],
    batch_axis: int | None = None,
    seq_axis: int | None = None,
    *,
    is_constant: bool = True,
    element_type: str = "i64",
    expected: object = None,
    note: str = "",
) -> Case:
    axes = {"batch_axis": batch_axis, "seq_axis": seq_axis}
    return Case(
        "ReverseSequence",
        1,
        (data, np.array(lengths).astype(ElementType[element_type].dtype)),
        {name: axis for name, axis in axes.items() if axis is not None},
        constants=(1,) if is_constant else (),
        expected=None if expected is None else (np.array(expected, data.dtype),),
        note=note,
    )


SEQUENCES = [
    _sequence(TWELVE, [1, 2, 3, 1], expected=[[1, 2, 3], [5, 4, 6], [9, 8, 7], [10, 11, 12]]),
    _sequence(TWELVE, [0, 3, 0, 2], note="lengths of 0"),
    *(
        _sequence(CUBE, [1, 2, 2, 1][: CUBE.shape[batch]], batch, sequence, is_constant=is_constant)
        for batch, sequence in [(0, 1), (0, 2), (1, 0), (2, 0), (-1, -3), (1, -1)]
        for is_constant in (True, False)
    ),
    _sequence(CUBE, [4, 3], 0, 2),
    *(_sequence(CUBE, [2, 3], element_type=element_type) for element_type in ("i32", "i8", "u8", "f32", "f16", "u64")),
    _sequence(CUBE, [1.9, 2.5], element_type="f32", note="fractions"),
    _sequence(CUBE[:0], []),
    _sequence(CUBE[:, :, :0], [2, 3]),
    _sequence(CUBE[:, :0], [0, 0]),
    _sequence(TWELVE[:1, :1], [1]),
    *(_sequence(_typed_values(name, (2, 3)), [3, 2]) for name in ELEMENT_TYPES[:12]),
]

CASES: list[Case] = [*ROLLS, *REVERSES, *SEQUENCES]
