"""Dims that several inputs share, merged by their names; those of operators on boxes and images, and their indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.types import UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "FOUR_COORDINATES",
    "Layout",
    "at_most",
    "batches_classes_boxes",
    "dims_of",
    "element_type_of",
    "images_of",
    "merged_dims",
]

Layout: TypeAlias = Sequence[str | tuple[str, int]]
"""The axes of an input: the name of each dim; (name, 4) for an axis four times as long as the dim."""


def merged_dims(
    inputs: Mapping[str, tuple[TensorType | None, Layout]], known: Mapping[str, Dim] | None = None
) -> dict[str, Dim]:
    """The dims of all inputs, merged by name; an input may be left out (None).

    known: dims that are known beforehand.
    Raises ShapeError: IR501 for a wrong rank, IR502 where inputs contradict each other or `known`, IR505 where the size
    of an axis is not a multiple of its number.
    """
    dims = dict(known or {})
    for port, (tensor, layout) in inputs.items():
        if tensor is None:
            continue
        require_rank(tensor, len(layout), port)
        for axis, entry in enumerate(layout):
            name, times = entry if isinstance(entry, tuple) else (entry, 1)
            found = Dim.any() if tensor.shape.dims is None else _part(tensor.shape, axis, times, port)
            what = f"{name} of {port} and of the inputs before it"
            dims[name] = merge_dims(dims[name], found, what, port=port) if name in dims else found
    return dims


def _part(shape: Shape, axis: int, times: int, port: str) -> Dim:
    """The dim of which an axis has `times` the size."""
    dim = shape[axis]
    if times == 1:
        return dim
    lo, hi = -(-dim.lo // times), dim.hi // times if dim.is_bounded else UNBOUNDED
    if lo > hi:
        raise ShapeError(
            f"axis {axis} of {port} is {dim}, expected a multiple of {times}", code=Code.impossible_shape, port=port
        )
    return Dim(lo, hi)


def element_type_of(tensors: Sequence[TensorType | None]) -> ElementType:
    """The element type that all these share: the first that is known."""
    return next((one.element_type for one in tensors if one and one.element_type.is_known), ElementType.dynamic)


FOUR_COORDINATES = {"4 coordinates": Dim.of(4)}
"""A known dim for `merged_dims`."""


def batches_classes_boxes(boxes: TensorType, scores: TensorType, coordinates: int) -> tuple[Dim, Dim, Dim]:
    """The numbers of batches, classes and boxes from boxes [batches, boxes, coordinates] and scores [batches, classes,
    boxes]; raises ShapeError where these contradict each other."""
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
    """From 0 to the greatest size of `dim`, and to `most` at most where that is known."""
    return Dim(0, dim.hi if most is None else min(dim.hi, max(most, 0)))


def images_of(numbers: Array, batches: int, port: str) -> list[int]:
    """The indices of images as ints; raises EvaluationError IR701 for one that is out of range."""
    # In this form NaN is wrong too.
    wrong = ~((numbers >= 0) & (numbers < batches))
    if wrong.any():
        first = int(np.argmax(wrong))
        allowed = f"allowed are 0 to {batches - 1}" if batches else "none is allowed"
        message = f"{port}[{first}] is {numbers[first]}, {allowed}: data has {batches} images"
        raise EvaluationError(message, code=Code.index_out_of_range, port=port)
    images: list[int] = numbers.astype(np.int64).tolist()
    return images


def dims_of(tensor: TensorType, rank: int) -> tuple[Dim, ...]:
    """The dims of a tensor that has this rank if its rank is known; any dims if it is not."""
    return (Dim.any(),) * rank if tensor.shape.dims is None else tensor.shape.dims
