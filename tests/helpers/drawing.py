"""Random shapes, data and indices for properties, and types of which less is known."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType

SIZES = st.integers(0, 4)
INDEX_TYPES = st.sampled_from(sorted(INTEGER, key=lambda element_type: element_type.name))


def draw_shape(draw: st.DrawFn, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(draw(st.lists(SIZES, min_size=least, max_size=most)))


def draw_data(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Every element another number, in rows, in columns, or backwards in memory."""
    data = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    order = draw(st.sampled_from(["C", "F", "strided", "backwards"] if shape else ["C"]))
    if order == "strided":
        return np.repeat(data, 2, axis=-1)[..., ::2]
    if order == "backwards":
        return np.flip(np.flip(data).copy())
    return np.asarray(data, order=order)


def draw_indices(draw: st.DrawFn, shape: tuple[int, ...], low: int, high: int, element_type: ElementType) -> Array:
    """Indices from low to high - 1, as far as the element type goes; of shape [0] where there are none."""
    low = max(low, -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0)
    high = min(high, 2 ** (element_type.bits - element_type.is_signed))
    size = int(np.prod(shape, dtype=int))
    values = draw(st.lists(st.integers(low, high - 1), min_size=size, max_size=size)) if size else []
    if element_type.dtype.names:
        return np.array(values, np.uint8).reshape(shape).view(element_type.dtype)
    return np.array(values, np.int64).reshape(shape).astype(element_type.dtype)


def plain(indices: Array) -> Array:
    """The same numbers as i64."""
    return indices.view(np.uint8).astype(np.int64) if indices.dtype.names else indices.astype(np.int64)


def draw_wider(draw: st.DrawFn, shape: tuple[int, ...]) -> Shape:
    """A shape that holds this one: dims known, within bounds or not at all, or not even a rank."""
    if draw(st.integers(0, 9)) == 0:
        return Shape.unknown()
    dims = []
    for size in shape:
        lo = draw(st.integers(0, size))
        hi = draw(st.sampled_from([size, size + 1, size + 5, None]))
        dims.append(draw(st.sampled_from([Dim(size), Dim(lo, size), Dim.any() if hi is None else Dim(lo, hi)])))
    return Shape(dims)


def draw_unsure(draw: st.DrawFn, values: Array, *, zero_is_known: bool = False) -> TensorType:
    """The type of integers of which the value, bounds, or only the number are known; -1 is known where bounds are.

    zero_is_known: bounds hold 0 only where the value is 0.
    """
    type_ = TensorType.of(values)
    choice = draw(st.sampled_from(["value", "bounds", "nothing"]))
    if choice == "value":
        return type_
    if choice == "nothing":
        return type_.without_values()
    least = 1 if zero_is_known else 0
    lower = [max(value - draw(st.integers(0, 3)), min(value, least)) for value in values.tolist()]
    upper = [value if value < least else value + draw(st.sampled_from([0, 1, 7, 1000])) for value in values.tolist()]
    return type_.with_bounds(np.array(lower, values.dtype), np.array(upper, values.dtype))
