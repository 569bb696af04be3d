"""Dims shared by inputs and merged by name, dims of boxes and images, slices, and axes.

Axes of inputs and attributes are checked against the rank of the data, and counted from the front.

The interval of the length of a slice follows from the intervals of its indices. A negative index counts from the end;
one beyond the axis is clamped. An index at the end of the range of i32 or i64 means "to the end of the axis", of any
length.

`known_...` read the types of inputs and raise ShapeError, `given_...` read arrays and raise EvaluationError.
`shapes.py` contains the counterparts for integer axes: `normalize_axis`, `normalize_axes`, `known_axes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, Location, ShapeError
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.precision import type_limits
from ir_exec.ops.base.shapes import known_int, merge_dims, normalize_axis, require_one_element, require_rank
from ir_exec.types import INDEX, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType, element_types

__all__ = [
    "ANYWHERE",
    "AXES",
    "BEYOND",
    "FOUR_COORDINATES",
    "HUGE",
    "Interval",
    "Layout",
    "at_most",
    "axes_of",
    "batches_classes_boxes",
    "clamp_bounds",
    "dims_of",
    "distinct_axes",
    "element_type_of",
    "given_axes",
    "given_axis",
    "images_of",
    "index_bounds",
    "index_values",
    "known_axis",
    "merged_dims",
    "slice_length",
    "sliced_dim",
]

AXES = element_types("i8 i16 i32 i64 u8 u16 u32 u64")
"""The element types of an input that lists axes of a reduction."""


Layout: TypeAlias = Sequence[str | tuple[str, int]]
"""The axes of an input: the name of each dim; (name, 4) for an axis four times as long as the dim."""


def merged_dims(
    inputs: Mapping[str, tuple[TensorType | None, Layout]], declared: Mapping[str, Dim] | None = None
) -> dict[str, Dim]:
    """Merge the dims of all inputs by name; an input may be None.

    Args:
        declared: Dims that are known beforehand.

    Raises:
        ShapeError: IR501 for a wrong rank, IR502 if inputs contradict each other or `declared`, IR505 if the size of an
            axis is not a multiple of its factor.
    """
    dims = dict(declared or {})
    for port, (tensor, layout) in inputs.items():
        if tensor is None:
            continue
        require_rank(tensor, len(layout), port)
        for axis, entry in enumerate(layout):
            name, times = entry if isinstance(entry, tuple) else (entry, 1)
            dim = Dim.any() if tensor.shape.dims is None else _part(tensor.shape, axis, times, port)
            what = f"{name} of {port} and of the inputs before it"
            dims[name] = merge_dims(dims[name], dim, what, port=port) if name in dims else dim
    return dims


def _part(shape: Shape, axis: int, times: int, port: str) -> Dim:
    """The dim for an axis of `times` its size."""
    dim = shape[axis]
    if times == 1:
        return dim
    lo, hi = -(-dim.lo // times), dim.hi // times if dim.is_bounded else UNBOUNDED
    if lo > hi:
        raise ShapeError(
            f"axis {axis} of {port} is",
            actual=dim,
            expected=f"a multiple of {times}",
            code=Code.impossible_shape,
            port=port,
        )
    return Dim(lo, hi)


def element_type_of(tensors: Sequence[TensorType | None]) -> ElementType:
    """The element type shared by all of these: the first that is known."""
    for tensor in tensors:
        if tensor is not None and tensor.element_type.is_known:
            return tensor.element_type
    return ElementType.dynamic


FOUR_COORDINATES = {"4 coordinates": Dim.of(4)}
"""A known dim for `merged_dims`."""


def batches_classes_boxes(boxes: TensorType, scores: TensorType, coordinates: int) -> tuple[Dim, Dim, Dim]:
    """The numbers of batches, classes and boxes.

    Args:
        boxes: [batches, boxes, coordinates].
        scores: [batches, classes, boxes].

    Raises:
        ShapeError: If boxes and scores contradict each other.
    """
    require_rank(boxes, 3, "boxes")
    require_rank(scores, 3, "scores")
    batches, count = Dim.any(), Dim.any()
    if boxes.shape.dims is not None:
        what = f"the last axis of boxes and its {coordinates} coordinates"
        merge_dims(boxes.shape[2], Dim.of(coordinates), what, port="boxes")
        batches, count = boxes.shape[0], boxes.shape[1]
    if scores.shape.dims is None:
        return batches, Dim.any(), count
    batches = merge_dims(batches, scores.shape[0], "axis 0 of boxes and scores", port="scores")
    count = merge_dims(count, scores.shape[2], "axis 1 of boxes and axis 2 of scores", port="scores")
    return batches, scores.shape[1], count


def at_most(dim: Dim, most: int | None) -> Dim:
    """The dim from 0 to the greatest size of `dim`, limited to `most` if that is known."""
    return Dim(0, dim.hi if most is None else min(dim.hi, max(most, 0)))


def images_of(numbers: Array, batches: int, port: str) -> list[int]:
    """The indices of images as ints.

    Raises:
        EvaluationError: IR701 for one that is out of range.
    """
    # In this form NaN is wrong too.
    wrong = ~((numbers >= 0) & (numbers < batches))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise EvaluationError(
            f"{port}[{first}] is",
            actual=numbers[first],
            expected=f"0 to {batches - 1}" if batches else "none",
            reason=f": data has {batches} images",
            code=Code.index_out_of_range,
            port=port,
        )
    images: list[int] = numbers.astype(np.int64).tolist()
    return images


def dims_of(tensor: TensorType, rank: int) -> tuple[Dim, ...]:
    """The dims of a tensor with this many axes; dynamic dims if its rank is unknown."""
    return (Dim.any(),) * rank if tensor.shape.dims is None else tensor.shape.dims


Interval: TypeAlias = tuple[int, int]
"""The least and the greatest value of an index."""

BEYOND = 2**400
"""An index beyond every axis, even divided by any step."""

HUGE = 2**48
"""The least size that has no meaning: no tensor has so many elements."""

ANYWHERE: Interval = (-BEYOND, BEYOND)


def clamp_bounds(size: int, start: int, stop: int, step: int) -> Interval:
    """The start and stop of a slice of an axis of this size, with negative indices counted from the end.

    A backward slice that includes the first element stops at -1.
    """
    # As OpenVINO does, and Python does not, a backward slice that starts before the axis starts at its first element.
    start += size if start < 0 else 0
    stop += size if stop < 0 else 0
    if step > 0:
        return min(max(start, 0), size), min(max(stop, 0), size)
    return min(max(start, 0), size - 1), min(max(stop, -1), size)


def slice_length(size: int, start: int, stop: int, step: int) -> int:
    """The number of elements in a slice of an axis of this size."""
    first, end = clamp_bounds(size, start, stop, step)
    return max(0, -((first - end) // step))


def sliced_dim(dim: Dim, start: Interval, stop: Interval, step: int) -> Dim:
    """The narrowest interval of the slice's length over every size in `dim` and every start and stop."""
    lengths = [
        slice_length(size, first, end, step)
        for first in _ends(start)
        for end in _ends(stop)
        for size in _turning_sizes(dim.lo, dim.hi, first, end)
    ]
    longest = max(lengths)
    # As in OpenVINO, the maximum length of a backward slice from a known index is that in an axis of 2**63 - 1
    # elements.
    if longest >= HUGE and not dim.is_bounded and (step > 0 or start[1] == BEYOND):
        longest = UNBOUNDED
    return Dim(min(lengths), longest)


def _ends(index: Interval) -> list[int]:
    # The indexed element moves with the index, except for the jump from the last to the first between -1 and 0.
    low, high = index
    if low == high:
        return [low]
    return [low, -1, 0, high] if low < 0 <= high else [low, high]


def _turning_sizes(low: int, high: int, start: int, stop: int) -> list[int]:
    # Between two of these sizes the set of clamped indices is constant: the length is linear in the size.
    if low == high:
        return [low]
    turns = (1, start, start + 1, -start, stop, -stop, -1 - stop)
    return [low, high, *{size for size in turns if low < size < high}]


def index_bounds(indices: TensorType) -> list[Interval] | None:
    """The bounds of every index of a vector, -BEYOND and BEYOND for missing ones; None if nothing is known."""
    bounds = indices.bounds
    if bounds is None:
        return None
    lower, upper = bounds
    is_exact = lower is upper or np.array_equal(lower, upper)
    return list(zip(index_values(lower, is_exact=is_exact), index_values(upper, is_exact=is_exact), strict=True))


def index_values(indices: Array, *, is_exact: bool = True) -> list[int]:
    """The indices of a vector, with the ends of the range of their type replaced by -BEYOND and BEYOND.

    Args:
        is_exact: These are the indices themselves, not their bounds; then only the ends of i32 and i64 are replaced.
    """
    if indices.dtype.hasobject:
        return _traced_values(indices)
    values: list[int] = as_integers(indices).ravel().tolist()
    # In shorter types, indices at the end of the range have no special meaning.
    if is_exact and ElementType.of(indices) not in INDEX:
        return values
    least, most = type_limits(as_integers(indices).dtype)
    ends = {most: BEYOND} | ({least: -BEYOND} if least else {})
    return [ends.get(value, value) for value in values]


def _traced_values(indices: Array) -> list[int]:
    """Traced indices.

    Raises:
        TypeError: For the end of the range of i32 or i64, which may mean any index beyond the axis.
    """
    values: list[int] = indices.ravel().tolist()
    for value in values:
        if value in (2**31 - 1, 2**63 - 1, -(2**31), -(2**63)):
            raise TypeError("the end of the range of a type cannot be traced")
    return values


def known_axis(axis: TensorType, rank: int | None) -> int | None:
    """The axis named by an input, or None if it or the rank of the data is unknown.

    The input is a scalar or has one element.

    Raises:
        ShapeError: IR501 or IR502 for another shape of the input, IR501 for data that is a scalar, IR503 for an axis
            outside of -rank .. rank - 1.
    """
    require_one_element(axis, "axis")
    if rank is None:
        return None
    if rank == 0:
        raise ShapeError("data has rank", actual=0, expected="1 or more", code=Code.wrong_rank, port="data")
    value = known_int(axis)
    return None if value is None else normalize_axis(value, rank)


def given_axis(axis: Array, rank: int) -> int:
    """The axis named by an input.

    Raises:
        EvaluationError: IR704 unless it is one element within -rank .. rank - 1.
    """
    axes = given_axes(axis, rank, name="axis")
    if len(axes) != 1:
        raise EvaluationError("axis has", actual=len(axes), detail="elements", expected=1, port="axis")
    return axes[0]


def given_axes(axes: Array, rank: int, *, name: str = "axes", code: str = Code.bad_value) -> list[int]:
    """The axes in the input `name`, in their order.

    Raises:
        EvaluationError: Outside of -rank .. rank - 1.
    """
    try:
        return [normalize_axis(axis, rank, name=name) for axis in as_integers(axes).ravel().tolist()]
    except ShapeError as error:
        raise EvaluationError.of(error.fault).changed(code=code, location=Location(port=name)) from None


def distinct_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """The axes in ascending order, without duplicates.

    The specification requires unique axes; as in OpenVINO, duplicates are ignored.

    Raises:
        ShapeError: IR503 outside of -rank .. rank - 1.
    """
    return tuple(sorted({normalize_axis(axis, rank, name="axis") for axis in axes}))


def axes_of(axes: Array, rank: int) -> tuple[int, ...]:
    """The axes in the input `axes`, in ascending order, without duplicates.

    Raises:
        EvaluationError: IR701.
    """
    return tuple(sorted(set(given_axes(axes, rank, code=Code.index_out_of_range))))
