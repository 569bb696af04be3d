"""Rules and helpers that the operators of the scatter family share: types and shapes, copies, counts of updates."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, IRError, ShapeError
from ir_exec.kernels.chunks import as_bits
from ir_exec.kernels.scatter import copy_into, put_slices
from ir_exec.kernels.scatter_reduced import Reduction
from ir_exec.tuning import thresholds
from ir_exec.types import ALL, BOOLEAN, STRING, Array, Dim, Shape, TensorType, element_types

__all__ = [
    "COMPUTING_REDUCTIONS",
    "copy_data",
    "like_data",
    "most_updates",
    "overwrite_slices",
    "require_reducible",
    "require_updates",
    "too_large",
]

_REDUCED = ALL - STRING - element_types("u1 u3 u6 nf4")
"""The element types of a reduction."""


def copy_data(data: Array) -> Array:
    """Return a copy, made by several threads if worthwhile."""
    if data.size <= thresholds.FEW_ELEMENTS:
        return data.copy()
    output = np.empty(data.shape, data.dtype)
    copy_into(output, data)
    return output


COMPUTING_REDUCTIONS = frozenset({"sum", "sub", "prod", "mean"})
"""Reductions that compute, other than the selection of an element."""


def most_updates(offsets: Array) -> int:
    """The maximum number of updates of one element, for the offsets of all."""
    return int(np.unique(offsets, return_counts=True)[1].max(initial=0))


def overwrite_slices(data: Array, positions: Array, updates: Array, output: Array, shape: tuple[int, int, int]) -> None:
    """`put_slices` on tensors of any shape viewed in this one."""
    target = as_bits(output).reshape(shape)
    source = target if output is data else as_bits(data).reshape(shape)
    put_slices(source, positions, as_bits(updates).reshape(shape[0], positions.size, shape[2]), target)


def like_data(data: TensorType, updates: TensorType) -> TensorType:
    element_type = data.element_type if data.element_type.is_known else updates.element_type
    return TensorType(element_type, data.shape)


def require_updates(updates: TensorType, expected: Shape, rule: str) -> None:
    """Require updates to have the shape given by `rule`, as far as both are known."""
    if updates.rank is not None and updates.rank != expected.rank:
        raise ShapeError(
            "updates has rank",
            actual=updates.rank,
            detail=f"({updates.shape})",
            expected=f"{rule} = {expected}",
            code=Code.wrong_rank,
            port="updates",
        )
    if updates.shape & expected is None:
        raise ShapeError(
            "updates has shape",
            actual=updates.shape,
            expected=f"{rule} = {expected}",
            code=Code.dims_differ,
            port="updates",
        )


def too_large(error: type[IRError], axis: int, size: Dim | int, most: Dim | int) -> IRError:
    expected = f"at most {most}"
    return error(f"axis {axis} of indices is", actual=size, expected=expected, reason=" as in data", port="indices")


def require_reducible(data: TensorType, reduction: Reduction) -> None:
    element_type = data.element_type
    refused = element_type.is_known and element_type not in (_REDUCED - BOOLEAN if reduction == "mean" else _REDUCED)
    if reduction != "none" and refused:
        raise ElementTypeError(f"data is {element_type}, which the reduction {reduction} does not take", port="data")
