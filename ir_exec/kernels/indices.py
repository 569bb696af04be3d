"""Index arithmetic: offsets in memory for indices of axes.

An index counts along one axis of a tensor: from 0, or from the end if it is negative. Before anything is read or
written, every index is checked to be within its axis. Positions then become offsets into the flattened tensor, with
which NumPy moves elements by one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.chunks import as_unsigned
from ir_exec.types import Array

__all__ = [
    "Negative",
    "OutOfRangeError",
    "add_to_negative",
    "as_integers",
    "as_wide_integers",
    "check_duplicates",
    "check_indices",
    "count_from_front",
    "element_offsets",
    "find_indices",
    "lie_within",
    "positions_within",
    "tuple_offsets",
]

Negative: TypeAlias = Literal["counted", "tolerated", "refused"]
"""The meaning of a negative index. counted: the specification counts it from the end. tolerated: the specification does
not define it; it counts from the end as in OpenVINO, with a warning. refused: the specification requires an error.
"""


class OutOfRangeError(Exception):
    """An index is out of range. The handler calls `find_indices` for an error with the index."""


def as_integers(indices: Array) -> Array:
    """Convert integers to a dtype with NumPy arithmetic."""
    if indices.dtype.names is not None:
        return np.asarray(indices[indices.dtype.names[0]])
    if indices.dtype.kind in "iu":
        return indices
    return indices.astype(np.int64)


def as_wide_integers(indices: Array, longest: int) -> Array:
    """`as_integers`, as i64 if negative ones, viewed as unsigned, might be less than the size of the longest axis."""
    integers = as_integers(indices)
    is_narrow = integers.dtype.kind == "i" and longest > 2**7 and longest > np.iinfo(integers.dtype).max
    return integers.astype(np.int64) if is_narrow else integers


def add_to_negative(positions: Array, size: int | Array) -> None:
    """Count negative positions from the end of an axis, in place, without a branch or a mask."""
    # The shift gives -1 for negative numbers and 0 for others.
    positions += (positions >> (8 * positions.itemsize - 1)) & size


def count_from_front(indices: Array, size: int, *, negative: bool = True) -> tuple[Array, Array | None]:
    """Positions on an axis of this size, and a mask of the indices out of range, None if there are none.

    Positions of the masked indices have no meaning.

    Args:
        negative: negative indices count from the end.
    """
    positions, outside = as_wide_integers(indices, size), None
    if not lie_within(positions, size):
        if negative and positions.dtype.kind == "i":
            positions = positions.astype(np.int64)
            add_to_negative(positions, size)
        mask = as_unsigned(positions) >= size
        outside = mask if mask.any() else None
    # np.take rejects u64 as unsafe; all values within an axis fit into i64.
    return positions.view(np.int64) if positions.dtype == np.uint64 else positions, outside


def positions_within(indices: Array, size: int) -> Array:
    """Positions on an axis of this size; negative indices count from its end.

    Raises:
        OutOfRangeError: If an index is out of range.
    """
    positions, outside = count_from_front(indices, size)
    if outside is not None:
        raise OutOfRangeError
    return positions


def find_indices(indices: Array, size: int, axis: int, negative: Negative, component: int | None = None) -> Array:
    """Positions on axis `axis` of the data, which has this size; all are within it.

    Args:
        component: The element of the tuples along the last axis of `indices`; only for messages.

    Raises:
        EvaluationError: IR701 for an index out of range.
    """
    positions, outside = count_from_front(indices, size, negative=negative != "refused")
    if outside is not None:
        raise _out_of_range(indices, outside, size, axis, negative, component)
    return positions


def lie_within(positions: Array, size: int) -> bool:
    """Return True if all positions are within an axis of this size, and none is negative.

    One pass checks both ends: viewed as unsigned, a negative number is larger than any size.
    """
    return not positions.size or int(np.maximum.reduce(as_unsigned(positions), axis=None)) < size


def _out_of_range(
    indices: Array, outside: Array, size: int, axis: int, negative: Negative, component: int | None
) -> EvaluationError:
    first = [int(i) for i in np.unravel_index(int(np.argmax(outside)), outside.shape)]
    value = int(as_integers(indices)[tuple(first)])
    if component is not None:
        first.append(component)
    name = f"indices[{','.join(map(str, first))}]" if first else "indices"
    least = 0 if negative == "refused" else -size
    reason = f": axis {axis} of data has size {size}"
    count = int(np.count_nonzero(outside))
    if count > 1:
        reason += f" ({count} of {outside.size} indices are out of range)"
    return EvaluationError(
        f"{name} is",
        actual=value,
        expected=f"{least} to {size - 1}" if size else "no index",
        reason=reason,
        code=Code.index_out_of_range,
        port="indices",
    )


def element_offsets(positions: Array, axis: int, shape: Sequence[int]) -> Array:
    """Offsets into a flattened tensor: of element [i, positions[i, j, k], k] at [i, j, k], shown for axis 1 of rank 3.

    `positions` has the rank of the tensor of this shape and, except on `axis`, at most its sizes.
    """
    strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    offsets = np.multiply(positions, strides[axis], dtype=np.int64)
    for dims in (range(axis), range(axis + 1, len(shape))):
        if dims:
            sizes = [positions.shape[dim] if dim in dims else 1 for dim in range(len(shape))]
            offsets += _grid(sizes, strides)
    return offsets


def _grid(sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """Offsets of all elements of a block of these sizes at the beginning of the tensor."""
    total = np.zeros((1,) * len(sizes), np.int64)
    for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = [1] * len(sizes)
        along[dim] = size
        total = total + (np.arange(size, dtype=np.int64) * stride).reshape(along)
    return total


def tuple_offsets(indices: Array, sizes: Sequence[int], first_axis: int, negative: Negative) -> Array:
    """Offsets of the slices selected by tuples of indices along the last axis, counted in slices.

    Args:
        sizes: The sizes of the axes that a tuple refers to, the first of which is `first_axis` of the data.

    Raises:
        EvaluationError: IR701 for an index out of range.
    """
    offsets = np.zeros(indices.shape[:-1], np.int64)
    for component, size in enumerate(sizes):
        offsets *= size
        offsets += find_indices(indices[..., component], size, first_axis + component, negative, component)
    return offsets


def check_indices(
    indices: Array, size: int, axis: int, negative: Negative, component: int | None = None
) -> list[IRError]:
    """The faults of constant indices: IR701, or the warning IR702 for a tolerated negative index."""
    try:
        find_indices(indices, size, axis, negative, component)
    except EvaluationError as error:
        return [error]
    values = as_integers(indices)
    below = int(np.count_nonzero(values < 0))
    if negative != "tolerated" or not below:
        return []
    return [
        EvaluationError(
            f"{below} of {values.size} indices are negative and count from the end of the axis",
            expected="non-negative ones by the specification",
            code=Code.negative_index,
            port="indices",
            severity="warning",
        )
    ]


def check_duplicates(offsets: Array) -> list[IRError]:
    """The information IR703 for constant indices that select an element or slice for overwriting repeatedly."""
    duplicates = offsets.size - np.unique(offsets).size
    if not duplicates:
        return []
    message = f"{duplicates} of {offsets.size} indices are duplicates; the last one wins"
    return [EvaluationError(message, code=Code.duplicate_index, port="indices", severity="info")]
