"""StridedSlice, Slice, SliceScatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.values import array_of

Oracle: TypeAlias = Literal["plugin", "reference", "nobody"]

I64_MIN, I64_MAX = -(2**63), 2**63 - 1
I32_MIN, I32_MAX = -(2**31), 2**31 - 1

ELEMENT_TYPES = ["boolean", "bf16", "f16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
ELEMENT_TYPES += ["f8e4m3", "f8e5m2", "f8e8m0"]

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TEN = np.arange(10, dtype=np.float32)


def _i64(*values: int) -> Array:
    return np.array(values, np.int64)


def _typed_values(name: str, shape: tuple[int, ...]) -> Array:
    """Different values of any element type."""
    element_type = ElementType[name]
    size = int(np.prod(shape))
    if element_type is ElementType.string:
        return np.array([f"text {i}" for i in range(size)], object).reshape(shape)
    codes = np.arange(size, dtype=np.uint8) % 2 ** min(element_type.bits, 7)
    if element_type.dtype.names is not None:
        return codes.view(element_type.dtype).reshape(shape)
    if element_type.bits == 8 and element_type.is_float:
        return codes.view(element_type.dtype).reshape(shape)
    return codes.astype(element_type.dtype).reshape(shape)


def _slice(
    data: Array,
    start: Sequence[int],
    stop: Sequence[int],
    step: Sequence[int],
    axes: Sequence[int] | None = None,
    *,
    is_constant: bool = True,
    expected: object = None,
    index: type[np.generic] = np.int64,
    note: str = "",
    oracle: Oracle = "plugin",
) -> Case:
    vectors = [np.array(vector, index) for vector in (start, stop, step)]
    if axes is not None:
        vectors.append(np.array(axes, index))
    outputs = None if expected is None else (np.array(expected, data.dtype),)
    constants = tuple(range(1, len(vectors) + 1)) if is_constant else ()
    return Case(
        "Slice",
        8,
        (data, *vectors),
        constants=constants,
        expected=outputs,
        note=note,
        oracle=oracle,
    )


WORKED = [
    _slice(TEN, [1], [8], [1], [0], expected=range(1, 8), note="specification, example 1"),
    _slice(TEN, [1], [8], [1], expected=range(1, 8), note="specification, example 2"),
    _slice(TEN, [1], [8], [2], [0], expected=[1, 3, 5, 7], note="specification, example 3"),
    _slice(TEN, [-100], [100], [1], [0], expected=range(10), note="specification, example 4"),
    _slice(TEN, [9], [-11], [-1], [0], expected=range(9, -1, -1), note="specification, example 5"),
    _slice(TEN, [9], [0], [-1], [0], expected=range(9, 0, -1), note="specification, example 6"),
    _slice(TEN, [9], [-10], [-1], [0], expected=range(9, 0, -1), note="specification, example 7"),
    _slice(TEN, [9], [-11], [-2], [0], expected=[9, 7, 5, 3, 1], note="specification, example 8"),
    _slice(TEN, [100], [-100], [-1], [0], expected=range(9, -1, -1), note="specification, example 9"),
    _slice(
        TEN.reshape(2, 5), [0, 1], [2, 4], [1, 2], [0, 1], expected=[[1, 3], [6, 8]], note="specification, example 10"
    ),
]

BOUNDS = [
    (start, stop, step)
    for start, stop, step in [
        (0, 0, 1),
        (3, 3, 1),
        (5, 2, 1),
        (2, 5, -1),
        (-3, -1, 1),
        (-1, -3, -1),
        (-1, I64_MIN, -1),
        (I64_MAX, I64_MIN, -3),
        (I64_MIN, I64_MAX, 3),
        (0, I64_MAX, I64_MAX),
        (-1, I64_MIN, -(2**20)),
        (7, -100, -4),
        (-7, 9, 2),
        (10, 20, 1),
        (0, 1, 7),
    ]
]

SLICES = [
    *WORKED,
    *(_slice(TEN, [start], [stop], [step]) for start, stop, step in BOUNDS),
    # Where start and stop come at run time the plugin takes them as i32.
    *(_slice(TEN, [start], [stop], [step], [0], is_constant=False, oracle="reference") for start, stop, step in BOUNDS),
    _slice(TEN, [-100], [I64_MIN], [-1], expected=[0], note="backward from before the axis"),
    _slice(TEN, [1], [I32_MAX], [2], index=np.int32),
    _slice(TEN, [-2], [I32_MIN], [-1], [-1], index=np.int32),
    *(_slice(TEN, [1], [7], [2], [0], index=index) for index in (np.int8, np.int16, np.uint8, np.uint16, np.uint32)),
    _slice(TEN, [1], [7], [2], [0], index=np.uint64),
    _slice(np.arange(200, dtype=np.float32), [0], [127], [1], index=np.int8, note="the end of i8 is an index"),
    _slice(CUBE, [], [], [], []),
    _slice(CUBE, [], [], []),
    _slice(CUBE, [1, 2], [2, -5], [1, -1], [2, -2]),
    _slice(CUBE, [0, 1, 3], [2, 3, 0], [1, 1, -2]),
    _slice(CUBE, [0, 1, 3], [2, 3, 0], [1, 1, -2], [2, 0, 1]),
    _slice(CUBE, [1], [3], [1], is_constant=False),
    _slice(CUBE, [1, 0], [3, 9], [1, 2], [-1, 0], is_constant=False),
    _slice(CUBE[:, :0], [0, 0], [9, 9], [2, -1]),
    _slice(CUBE[:, :0], [0, 0, 1], [9, 9, 2], [2, -1, 1], is_constant=False),
    _slice(np.zeros((1,), np.float32), [0], [1], [1]),
    _slice(np.zeros((1,), np.float32), [0], [-5], [-1]),
    Case("Slice", 8, (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 1), _i64(0, 2)), constants=(2, 3, 4), note="start unknown"),
    Case("Slice", 8, (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 2), _i64(0, 2)), constants=(1, 3, 4), note="stop unknown"),
    Case("Slice", 8, (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 2), _i64(0, 2)), constants=(1, 2, 4), note="step unknown"),
    Case(
        "Slice",
        8,
        (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 2), _i64(0, 2)),
        constants=(1, 2, 3),
        note="axes unknown",
        oracle="reference",
    ),
    Case("Slice", 8, (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 2)), constants=(3,), note="axes left out, bounds unknown"),
    *(_slice(_typed_values(name, (4, 6)), [0, 4], [3, 0], [2, -1], [0, 1]) for name in ELEMENT_TYPES),
]


def _strided_slice(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    stride: Sequence[int] | None = None,
    *,
    is_constant: bool = True,
    expected: object = None,
    oracle: Oracle = "plugin",
    note: str = "",
    dynamic: bool = True,
    **masks: tuple[int, ...],
) -> Case:
    vectors = [np.array(vector, np.int64) for vector in (begin, end, stride) if vector is not None]
    zeros = (0,) * len(begin)
    attributes = {"begin_mask": zeros, "end_mask": zeros} | masks
    outputs = None if expected is None else (np.array(expected, data.dtype),)
    return Case(
        "StridedSlice",
        1,
        (data, *vectors),
        attributes,
        constants=tuple(range(1, len(vectors) + 1)) if is_constant else (),
        expected=outputs,
        oracle=oracle,
        note=note,
        dynamic=dynamic,
    )


SIX = np.arange(4**6, dtype=np.float32).reshape((4,) * 6)

STRIDED = [
    _strided_slice(
        SIX,
        [0, 1, 0, 1, 3, 3],
        [4, 4, 4, 4, 0, 0],
        [1, 1, 2, 2, -1, -2],
        expected=SIX[0:4, 1:4, 0:4:2, 1:4:2, 3:0:-1, 3:0:-2],
        note="specification, first example",
    ),
    _strided_slice(
        CUBE, [0, 0, 0], [2, 2, -1], [1, 1, 1], expected=CUBE[0:2, 0:2, 0:-1], note="specification, negative"
    ),
    _strided_slice(
        CUBE,
        [1, 1, 123],
        [0, 0, 2],
        [1, 1, -1],
        begin_mask=(0, 1, 1),
        end_mask=(1, 1, 1),
        expected=CUBE[1:, :, ::-1],
        note="specification, begin_mask and end_mask",
    ),
    _strided_slice(
        CUBE[0],
        [1234, 0, -1, 0],
        [1234, 2, 9876, 4],
        [132, 1, 241, 1],
        new_axis_mask=(1, 0, 1, 0),
        expected=CUBE[0][np.newaxis, 0:2, np.newaxis, 0:4],
        note="specification, new_axis_mask",
    ),
    _strided_slice(
        np.arange(48, dtype=np.float32).reshape(1, 2, 3, 4, 2),
        [0, 0, 0, 0, 0],
        [1, 0, 384, 640, 8],
        [1, 1, 1, 1, 1],
        shrink_axis_mask=(0, 1, 0, 0, 0),
        expected=np.arange(48).reshape(1, 2, 3, 4, 2)[0:1, 0, 0:384, 0:640, 0:8],
        note="specification, shrink_axis_mask",
    ),
    _strided_slice(
        SIX,
        [0, 0, 0],
        [4, 0, 3],
        [1, -1, 1],
        ellipsis_mask=(0, 1, 0),
        expected=SIX[0:4, ..., 0:3],
        note="specification, ellipsis_mask",
    ),
    _strided_slice(
        SIX,
        [2, 1, 10, 10],
        [123, 1, 10, 3],
        [1, -1, 1, 1],
        begin_mask=(0, 0, 1, 1),
        end_mask=(1, 1, 0, 0),
        new_axis_mask=(0, 0, 1),
        shrink_axis_mask=(0,),
        ellipsis_mask=(0, 1),
        oracle="nobody",
        dynamic=False,
        expected=SIX[2:, ..., np.newaxis, :3],
        note="specification, masks of unequal length, which OpenVINO refuses",
    ),
    *(_strided_slice(TEN, [start], [stop], [step]) for start, stop, step in BOUNDS),
    *(
        _strided_slice(TEN, [start], [stop], [step], is_constant=False, oracle="reference")
        for start, stop, step in BOUNDS
    ),
    *(
        _strided_slice(TEN, [4], [6], [step], begin_mask=(begin,), end_mask=(end,))
        for begin, end, step in product((0, 1), (0, 1), (1, 3, -1, -4))
    ),
    _strided_slice(TEN, [-100], [I64_MIN], [-1], expected=[0], note="backward from before the axis"),
    _strided_slice(CUBE, [1], [2]),
    _strided_slice(CUBE, [1, 1], [2, 2], begin_mask=(0, 1), end_mask=(1, 0)),
    _strided_slice(CUBE, [1], [2], is_constant=False, note="stride left out"),
    _strided_slice(CUBE, [], [], []),
    _strided_slice(CUBE, [0, 1], [2, 3], [1, 1], is_constant=False, begin_mask=(1, 0), end_mask=(1, 0)),
    _strided_slice(CUBE, [0, -1], [1, 0], [1, 1], shrink_axis_mask=(0, 1)),
    _strided_slice(CUBE, [1, 2, 3], [2, 3, 4], [1, 1, 1], shrink_axis_mask=(1, 1, 1), expected=23),
    _strided_slice(
        TEN,
        [4],
        [5],
        [1],
        shrink_axis_mask=(1,),
        begin_mask=(1,),
        expected=0,
        note="begin_mask on a shrunken axis",
    ),
    _strided_slice(
        CUBE, [1, 0, 2], [2, 1, 3], [1, 1, 1], shrink_axis_mask=(1, 0, 0), new_axis_mask=(0, 1, 0), oracle="reference"
    ),
    _strided_slice(
        CUBE, [1, 0, 2], [2, 1, 3], [1, 1, 1], shrink_axis_mask=(0, 0, 1), new_axis_mask=(1, 0, 0), oracle="reference"
    ),
    _strided_slice(
        CUBE,
        [0, 1, 2, 0],
        [1, 2, 3, 1],
        [1, 1, 1, 1],
        shrink_axis_mask=(0, 1, 1, 0),
        new_axis_mask=(1, 0, 0, 1),
        expected=CUBE[np.newaxis, 1, 2, np.newaxis],
        oracle="reference",
    ),
    _strided_slice(
        CUBE,
        [0, 1],
        [1, 2],
        [1, 1],
        shrink_axis_mask=(1, 0),
        new_axis_mask=(1, 0),
        note="a new axis goes before a shrunken one",
    ),
    *(
        _strided_slice(CUBE, [0, 1], [1, 2], [1, 1], ellipsis_mask=(1, 0), **{other: (1, 0)})
        for other in ("new_axis_mask", "shrink_axis_mask")
    ),
    *(
        _strided_slice(
            CUBE,
            [1, 0, 2, 1],
            [2, 1, 3, 4],
            [1, 1, 1, 2],
            ellipsis_mask=ellipsis,
            new_axis_mask=new,
            note=str(i),
        )
        for i, (ellipsis, new) in enumerate(
            [((1, 0, 0, 0), (0, 1, 0, 0)), ((0, 1, 0, 0), (1, 0, 0, 0)), ((0, 0, 1, 0), (1, 1, 0, 0))]
        )
    ),
    _strided_slice(
        CUBE, [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], ellipsis_mask=(1, 0, 0, 0), note="an ellipsis over nothing"
    ),
    _strided_slice(np.array(3, np.float32), [], [], []),
    _strided_slice(np.array(3, np.float32), [0], [0], [1], new_axis_mask=(1,)),
    _strided_slice(CUBE[:0], [0, 1], [5, 9], [1, -1]),
    _strided_slice(CUBE[:, :0], [0], [5], [1], is_constant=False),
    Case("StridedSlice", 1, (CUBE, _i64(1), _i64(2)), constants=(1, 2), note="no masks at all"),
    Case(
        "StridedSlice",
        1,
        (CUBE, _i64(0, 1), _i64(1, 3), _i64(1, 2)),
        {"begin_mask": (0, 0), "end_mask": (0, 0)},
        constants=(1, 2),
        note="stride unknown",
    ),
    *(_strided_slice(_typed_values(name, (4, 6)), [0, 4], [3, 0], [2, -1]) for name in ELEMENT_TYPES),
]


def _strings() -> list[Case]:
    """The plugin crashes on strings, and the reference kernels copy handles of theirs."""
    data = _typed_values("string", (2, 3))
    return [
        Case(
            type_name,
            opset,
            (data, _i64(0, 2), _i64(1, 0), _i64(1, -1)),
            constants=(1, 2, 3),
            expected=(np.array([["text 2", "text 1"]], object),),
            oracle="nobody",
            note="strings",
        )
        for type_name, opset in (("Slice", 8), ("StridedSlice", 1))
    ]


def _scatter(
    data: Array,
    updates: Array,
    start: Sequence[int],
    stop: Sequence[int],
    step: Sequence[int],
    axes: Sequence[int] | None = None,
    *,
    is_constant: bool = True,
    expected: object = None,
    note: str = "",
) -> Case:
    vectors = [np.array(vector, np.int64) for vector in (start, stop, step)]
    if axes is not None:
        vectors.append(np.array(axes, np.int64))
    output = np.array(_as_specified(data, updates, start, stop, step, axes) if expected is None else expected)
    return Case(
        "SliceScatter",
        15,
        (data, updates, *vectors),
        constants=tuple(range(2, 2 + len(vectors))) if is_constant else (),
        expected=(output.astype(data.dtype),),
        # The plugin takes start and stop of the first inference where they are no constants; there is no other kernel.
        oracle="plugin" if is_constant else "nobody",
        note=note,
    )


def _as_specified(
    data: Array,
    updates: Array,
    start: Sequence[int],
    stop: Sequence[int],
    step: Sequence[int],
    axes: Sequence[int] | None,
) -> Array:
    """The operator as its specification writes it down in NumPy."""
    output = data.copy()
    index = [slice(None)] * data.ndim
    for axis, *bounds in zip(range(len(start)) if axes is None else axes, start, stop, step, strict=True):
        index[axis] = slice(*bounds)
    output[tuple(index)] = updates
    return output


PAIR = TEN.reshape(2, 5)
TRIPLE = np.arange(15, dtype=np.float32).reshape(3, 5)
MINUS = -1 - CUBE

SCATTERS = [
    _scatter(
        PAIR,
        np.array([[10, 20, 30, 40, 50]], np.float32),
        [0],
        [1],
        [1],
        [0],
        expected=[[10, 20, 30, 40, 50], [5, 6, 7, 8, 9]],
        note="specification, example 1",
    ),
    _scatter(
        PAIR,
        np.array([[10, 20, 30], [40, 50, 60]], np.float32),
        [-25],
        [25],
        [2],
        [1],
        expected=[[10, 1, 20, 3, 30], [40, 6, 50, 8, 60]],
        note="specification, example 2",
    ),
    _scatter(
        TRIPLE,
        np.array([[50, 60], [70, 80]], np.float32),
        [0, 1],
        [3, 5],
        [2, 2],
        expected=[[0, 50, 2, 60, 4], [5, 6, 7, 8, 9], [10, 70, 12, 80, 14]],
        note="specification, example 3",
    ),
    _scatter(CUBE, MINUS[:, ::-1, :2], [2, -2], [I64_MIN, I64_MAX], [-1, 1], [1, -1]),
    _scatter(CUBE, MINUS[:, ::-1, :2], [2, -2], [I64_MIN, I64_MAX], [-1, 1], [1, -1], is_constant=False),
    _scatter(CUBE, MINUS[1:], [1], [9], [1]),
    _scatter(CUBE, MINUS[1:], [1], [9], [1], is_constant=False),
    _scatter(CUBE, MINUS[:, :, :0], [2], [2], [1], [2]),
    _scatter(CUBE, MINUS[:, :, 1:2], [1], [2], [5], [2]),
    _scatter(CUBE, MINUS, [], [], [], []),
    _scatter(CUBE[:, :0], MINUS[:, :0], [0], [5], [1], [1], is_constant=False),
    _scatter(np.zeros((1,), np.float32), np.ones((1,), np.float32), [0], [1], [1]),
    *(
        _scatter(_typed_values(name, (4, 6)), _typed_values(name, (2, 3)), [0, 5], [4, 0], [3, -2])
        for name in ELEMENT_TYPES[:12]
    ),
    # The plugin writes bytes of another type into the output as they are.
    *(
        replace(_scatter(array_of(TEN, element_type), array_of(values, other), [1], [6], [2]), oracle="nobody")
        for element_type, other, values in [
            ("i32", "f32", [2.7, -1.5, 300]),
            ("f16", "f32", [2.5, -1.5, 300]),
            ("f32", "i64", [2, -1, 300]),
            ("u8", "i32", [2, 200, 44]),
        ]
    ),
]

CASES: list[Case] = [*SLICES, *STRIDED, *_strings(), *SCATTERS]
