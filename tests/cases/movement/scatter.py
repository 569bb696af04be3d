"""ScatterUpdate, ScatterElementsUpdate."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case
from tests.helpers.index_cases import indices_of, values_of
from tests.helpers.values import floats, ints, iota, scalar

NUMBERS = ("bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
"""Element types that OpenVINO calculates with as they are, as long as numbers stay small."""

MOVED = (*NUMBERS, "boolean", "i4", "u4", "f8e4m3", "f8e5m2", "f8e8m0")
"""Element types that the CPU plugin moves about without a fault."""

OTHERS = ("u1", "u2", "u3", "u6", "nf4", "f4e2m1", "string")
"""Element types that it refuses, crashes at, or gives wrong elements of; `expected` names the elements by hand."""

INDEX_TYPES = ("i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64")

IN_REFERENCE = ("i16", "i32", "i64", "u32", "u64")
"""Integer types of which OpenVINO's reference kernel gives means; it rounds them down as specified."""


def below(*shape: int) -> Array:
    """Like `iota`, with negative numbers."""
    return -1 - iota(*shape)


def distinct(shape: tuple[int, ...], size: int, seed: int) -> Array:
    """Indices of which no two are equal: parallel threads of OpenVINO leave open which of two would win."""
    return np.random.default_rng(seed).permutation(size)[: prod(shape)].reshape(shape)


def update(data: Array, indices: Array, updates: Array, axis: Array, **fields: object) -> Case:
    fields = {"constants": {3}, **fields}
    return Case("ScatterUpdate", 3, (data, indices, updates, axis), **fields)  # type: ignore[arg-type]  # as a caller


def elements(since: int, data: Array, indices: Array, updates: Array, axis: Array, **fields: object) -> Case:
    """`reduction` and `use_init_val` among the rest are attributes."""
    attributes = {name: fields.pop(name) for name in ("reduction", "use_init_val") if name in fields}
    fields = {"constants": {3}, **fields}
    inputs = (data, indices, updates, axis)
    return Case("ScatterElementsUpdate", since, inputs, attributes, **fields)  # type: ignore[arg-type]  # as a caller


CASES: list[Case] = []

# ScatterUpdate: shapes of data and indices, axis. The CPU plugin takes no scalar indices, the reference kernel does.
UPDATED: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((1,), (1,), -1),
    ((3, 5), (2,), 1),
    ((3, 5), (), 0),
    ((3, 5), (), -1),
    ((4, 3), (2, 2), 0),
    ((2, 7, 3), (2, 3), 1),
    ((2, 3, 4), (3,), -1),
    ((2, 3, 4), (1, 2, 1), 2),
    ((2, 3, 2, 6), (5,), -1),
    ((6, 1, 2), (2, 1), -3),
    ((3, 4), (0,), 1),
    ((3, 4), (2, 0), 0),
]
for seed, (shape, indices_shape, axis) in enumerate(UPDATED):
    for dtype in ("i32", "i64"):
        indices = distinct(indices_shape, shape[axis], seed).astype(ElementType[dtype].dtype)
        position = axis % len(shape)
        updates = below(*shape[:position], *indices_shape, *shape[position + 1 :])
        axis_input = scalar(axis) if seed % 3 else ints(axis, element_type=dtype)
        asked = {"oracle": "plugin" if indices_shape else "reference", "constants": {1, 3} if seed % 4 == 1 else {3}}
        CASES.append(update(iota(*shape), indices, updates, axis_input, **asked))
CASES += [
    update(iota(2, 3), ints(2, 0), below(2, 2), scalar(1), constants=(), note="the axis is an input"),
    update(iota(0, 3), ints(2, 0), below(0, 2), scalar(1)),
    update(iota(3, 0), ints(2, 0), below(2, 0), scalar(0)),
    update(iota(2, 0), ints(), below(2, 0), scalar(1)),
    update(iota(3), ints(1, 1, 0, 1), floats(5, 6, 7, 8), scalar(0), oracle="nobody",
           expected=(floats(7, 8, 2),), note="the last one wins"),
    update(iota(2, 2), ints([1, 0], [1, 0]), floats([[5, 6], [7, 8]], [[9, 10], [11, 12]]), scalar(1),
           oracle="nobody", expected=(floats([8, 7], [12, 11]),), note="the last one wins"),
    update(floats([-1, 1, -1, 3, 4], [-1, 6, -1, 8, 9], [-1, 11, 1, 13, 14]), ints(0, 2),
           floats([1, 1], [1, 1], [1, 2]), ints(1), expected=(
               floats([1, 1, 1, 3, 4], [1, 6, 1, 8, 9], [1, 11, 2, 13, 14]),), note="example 2"),
    update(iota(2), scalar(1), np.array(9, np.float32), scalar(0), oracle="nobody", expected=(floats(0, 9),),
           note="updates is a scalar, at which OpenVINO crashes"),
]  # fmt: skip
for name in INDEX_TYPES:
    CASES.append(update(iota(3, 4), ints(2, 0, element_type=name), below(2, 4), scalar(0)))
for name in ("i4", "i8", "u4", "u16", "u64"):
    CASES.append(update(iota(3, 4), ints(2, 0), below(3, 2), scalar(1, name)))
CASES.append(update(iota(300), ints(255, 0, 128, element_type="u8"), below(3), scalar(0)))

# ScatterElementsUpdate: shapes of data and indices, axis.
SCATTERED: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((1,), (1,), -1),
    ((3, 5), (2, 4), 0),
    ((3, 5), (2, 3), 1),
    ((2, 3, 4), (1, 3, 2), 1),
    ((2, 3, 4), (2, 1, 4), -1),
    ((2, 3, 4), (2, 3, 4), -3),
    ((2, 4, 1, 2), (1, 3, 1, 2), 1),
    ((3, 2), (0, 2), 0),
    ((3, 2), (2, 0), 0),
]
for seed, (shape, indices_shape, axis) in enumerate(SCATTERED):
    permuted = np.argsort(np.random.default_rng(seed).random(shape), axis=axis)
    indices = permuted[tuple(slice(size) for size in indices_shape)]
    for since in (3, 12):
        dtype = "i64" if seed % 2 else "i32"
        if since == 12:
            # From the end is where every index also is.
            indices = np.where(np.random.default_rng(seed).random(indices_shape) < 0.5, indices, indices - shape[axis])
        axis_input = scalar(axis) if seed % 3 else ints(axis, element_type=dtype)
        inputs = (iota(*shape), indices.astype(ElementType[dtype].dtype), below(*indices_shape), axis_input)
        CASES.append(elements(since, *inputs, constants={1, 3} if seed % 4 == 1 else {3}))
CASES += [
    elements(3, iota(3, 3) * 0, ints([1, 0, 2], [0, 2, 1]), floats([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]), scalar(0),
             expected=(floats([2.0, 1.1, 0.0], [1.0, 0.0, 2.2], [0.0, 2.1, 1.2]),), note="ONNX Scatter, axis 0"),
    elements(12, floats([1, 2, 3, 4, 5]), ints([1, 3]), floats([1.1, 2.1]), scalar(1),
             expected=(floats([1.0, 1.1, 3.0, 2.1, 5.0]),), note="ONNX Scatter, axis 1"),
    elements(12, iota(3, 4).astype(np.int32) * 0, ints([1, 2], [0, 3]),
             ints([11, 12], [13, 14], element_type="i32"), ints(1),
             use_init_val=True, reduction="none", note="example 3",
             expected=(ints([0, 11, 12, 0], [13, 0, 0, 14], [0, 0, 0, 0], element_type="i32"),)),
    elements(12, iota(2, 3), ints([2, 0]), below(1, 2), scalar(1), constants=(), note="the axis is an input"),
    elements(12, iota(0, 3), np.zeros((0, 2), np.int64), below(0, 2), scalar(1)),
    elements(3, iota(3), ints(1, 1, 0, 1), floats(5, 6, 7, 8), scalar(0), expected=(floats(7, 8, 2),)),
    elements(12, iota(2, 2), ints([1, -2], [1, 1], [-1, 0]), below(3, 2), scalar(0),
             expected=(floats([0, -6], [-5, -4]),), note="the last one wins"),
]  # fmt: skip
for name in INDEX_TYPES:
    CASES.append(elements(12, iota(3, 4), ints([2, 0], element_type=name), below(1, 2), scalar(1, name)))
CASES.append(elements(12, iota(300), ints(127, -128, -1, element_type="i8"), below(3), scalar(0)))
CASES.append(elements(3, iota(2), np.array([True, False]), below(2), scalar(0)))

# ScatterElementsUpdate-12: reductions, with and without what data holds. Sums of small whole numbers are exact.
MET = ints([0, 2, 1], [2, 2, -1], [0, -3, 1], [-1, 2, 1])
for turn, reduction in enumerate(("none", "sum", "prod", "min", "max", "mean")):
    for number, name in enumerate(NUMBERS):
        element_type = ElementType[name]
        low = -3 if element_type.is_signed else 1
        data, updates = (
            indices_of((3, 3), low, 4, 1).astype(element_type.dtype),
            indices_of((4, 3), low, 4, 2).astype(element_type.dtype),
        )
        asked: dict[str, object] = {"use_init_val": (turn + number) % 2 == 0}
        if reduction == "mean" and element_type.is_integer and element_type.is_signed:
            if name not in IN_REFERENCE:
                continue  # the plugin rounds towards zero, the reference kernel has none
            asked["oracle"] = "reference"
        elif reduction == "mean":
            asked["rtol"] = {"f64": 1e-6, "bf16": 1e-2}.get(name, 0.0)
        CASES.append(elements(12, data, MET, updates, scalar(0), reduction=reduction, **asked))
    for use_init_val in (True, False):
        attributes = {"reduction": reduction, "use_init_val": use_init_val}
        CASES.append(elements(12, iota(4, 3) - 5, MET[:, :2] % 3, below(4, 2) % 7, ints(-1), **attributes))
        if reduction != "mean":
            data, updates = np.array([True, False, True, False]), np.array([True, False, True, True, False])
            CASES.append(elements(12, data, ints(0, 0, 1, 2, -1), updates, scalar(0), **attributes))
EXAMPLE = ints(2, 3, 4, 6, element_type="i32"), ints(10, 20, 30, 40, 70, 60, element_type="i32")
CASES += [
    elements(12, EXAMPLE[0], ints(1, 0, 0, -2, -1, 2), EXAMPLE[1], ints(0), reduction="sum",
             expected=(ints(52, 13, 104, 76, element_type="i32"),), note="example 1"),
    elements(12, EXAMPLE[0], ints(1, 0, 0, 2, 3, 2), EXAMPLE[1], ints(0), reduction="sum", use_init_val=False,
             expected=(ints(50, 10, 100, 70, element_type="i32"),), note="example 2"),
    elements(12, np.full((3, 4), 1), ints([1, 1], [0, 3]), ints([11, 12], [13, 14]), ints(1), reduction="SUM",
             expected=(ints([1, 24, 1, 1], [14, 1, 1, 15], [1, 1, 1, 1]),), note="example 4"),
    elements(12, np.full((3, 4), 2), ints([1, 1], [0, 3]), ints([11, 12], [13, 14]), ints(1), reduction="prod",
             expected=(ints([2, 264, 2, 2], [26, 2, 2, 28], [2, 2, 2, 2]),), note="example 5"),
    elements(12, ints(-7, 100, 3, element_type="i8"), ints(0, 1, 1, 2), ints(2, 100, 101, 5, element_type="i8"),
             scalar(0), reduction="mean", oracle="nobody", expected=(ints(-3, 100, 4, element_type="i8"),),
             note="rounded down; the plugin rounds towards zero, and wraps sums"),
    elements(12, ints(-7, 4, 9), ints(0, 0, 1), ints(2, 0, -9), scalar(0), reduction="mean", oracle="reference"),
    elements(12, ints(-7, 4, 9), ints(0, 0, 1), ints(2, -5, -9), scalar(0), reduction="mean", use_init_val=False,
             oracle="reference", expected=(ints(-2, -9, 9),)),
    elements(12, ints(100, 100, element_type="i8"), ints(0, 1, 1), ints(100, 2, 100, element_type="i8"), scalar(0),
             reduction="sum"),
    elements(12, ints(200, 7, element_type="u8"), ints(0, 1, 1), ints(100, 9, 11, element_type="u8"), scalar(0),
             reduction="prod"),
    elements(12, floats(1, np.nan, 3), ints(0, 1, 2), floats(np.nan, 3, 2), scalar(0), reduction="min"),
    elements(12, floats(1, np.nan, 3), ints(0, 1, 2), floats(np.nan, 3, 4), scalar(0), reduction="max"),
    elements(12, floats(1, 2, 3), ints(0, 1), floats(np.inf, np.nan), scalar(0), reduction="sum", use_init_val=False),
    elements(12, floats(1, 2), ints(0, 1), floats(np.inf, -np.inf), scalar(0), reduction="min", use_init_val=False,
             oracle="nobody", expected=(floats(np.inf, -np.inf),), note="OpenVINO gives the largest finite number"),
    elements(12, floats(1e8, 0), ints(0, 0, 0), floats(1, 1, -1e8), scalar(0), reduction="sum",
             expected=(floats(0, 0),), note="one after the other"),
]  # fmt: skip

# Element types that are only moved.
for name in MOVED:
    data, updates, expected = values_of(name, [0, 1, 2]), values_of(name, [3, 0]), values_of(name, [0, 0, 3])
    CASES.append(update(data, ints(2, 1), updates, scalar(0), expected=(expected,)))
    CASES.append(elements(12, data, ints(-1, 1), updates, scalar(0), expected=(expected,)))
for name in OTHERS:
    codes = ([1, 1, 0], [1, 0], [1, 0, 1]) if name == "u1" else ([0, 1, 2], [3, 0], [0, 0, 3])
    data, updates, expected = (values_of(name, list(some)) for some in codes)
    fields = {"oracle": "nobody", "expected": (expected,), "note": "the plugin cannot"}
    CASES.append(update(data, ints(2, 1), updates, scalar(0), **fields))
    CASES.append(elements(12, data, ints(-1, 1), updates, scalar(0), **fields))
# 4-bit integers wrap in four bits; small floats are added in f32 and rounded once.
CASES += [
    elements(12, ints(7, -8, element_type="i4"), ints(0, 1), ints(1, -1, element_type="i4"), scalar(0), reduction="sum",
             oracle="nobody", expected=(ints(-8, 7, element_type="i4"),), note="wraps"),
    elements(12, ints(1, element_type="f8e4m3"), ints(0, 0), ints(2, 3, element_type="f8e4m3"), scalar(0),
             reduction="sum"),
    elements(12, ints(2048, element_type="f16"), ints(0, 0), ints(1, 1, element_type="f16"), scalar(0), reduction="sum",
             expected=(ints(2050, element_type="f16"),), note="rounded once"),
]  # fmt: skip
