"""Inputs whose axes have names: the dims that several inputs share, merged by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.types import UNBOUNDED, Dim, ElementType, Shape, TensorType

__all__ = ["Layout", "element_type_of", "merged_dims"]

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
