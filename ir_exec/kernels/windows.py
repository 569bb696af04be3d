"""Windows that slide over the spatial axes of [batch, channels, spatial...], for convolution and pooling.

Window number i of an axis covers the elements `i * stride + k * dilation - pad` of the data, k counting through the
kernel. Elements before the first and after the last one of the data are padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ir_exec.kernels.limits import require_temporary
from ir_exec.types import Array

__all__ = [
    "Covered",
    "Reached",
    "Scratch",
    "SlidingAxis",
    "block_sizes",
    "blocks",
    "copy_rows",
    "covered_part",
    "is_finite",
    "padded_part",
    "placed_blocks",
    "reached_elements",
    "strides_of",
    "window_layout",
    "window_view",
]

Block: TypeAlias = tuple[slice, ...]

Reached: TypeAlias = tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]
"""An element of a kernel, the windows in which it is inside the data, and the data there; see `reached_elements`."""

Covered: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, ...]]
"""Slices of the data, slices of the covered elements, and their shape; see `covered_part`."""


@dataclass(frozen=True, slots=True)
class SlidingAxis:
    """`count` windows along one axis of `size` elements."""

    size: int
    kernel: int
    stride: int
    dilation: int
    pad: int
    count: int

    @property
    def is_plain(self) -> bool:
        """Return True if the windows are the elements."""
        return self.kernel == self.stride == 1 and self.pad == 0 and self.count == self.size

    def reach(self, k: int) -> tuple[slice, slice] | None:
        """The windows whose element k is inside the data, and these elements; None if there are none."""
        shift = self.pad - k * self.dilation
        first = max(-(-shift // self.stride), 0)
        last = min((self.size - 1 + shift) // self.stride, self.count - 1)
        if first > last:
            return None
        start = first * self.stride - shift
        return slice(first, last + 1), slice(start, last * self.stride - shift + 1, self.stride)

    def extent(self, windows: int) -> int:
        """The number of elements covered by this many neighboring windows, including gaps."""
        return (windows - 1) * self.stride + (max(self.kernel, 1) - 1) * self.dilation + 1

    def positions(self) -> Iterator[int]:
        """Every k whose elements may be inside the data, in ascending order.

        A kernel larger than the data, which large pads allow, is not iterated over.
        """
        if self.kernel <= self.size:
            yield from range(self.kernel)
            return
        following = 0
        for i in reversed(range(self.count)):
            shift = self.pad - i * self.stride
            first = max(-(-shift // self.dilation), following)
            following = max(following, min((self.size - 1 + shift) // self.dilation, self.kernel - 1) + 1)
            yield from range(first, following)

    def touching(self) -> tuple[slice, SlidingAxis]:
        """The elements of the kernel from the first to the last inside the data in some window, and their axis.

        With dilations as large as the data, most of a kernel is over padding only.
        """
        on_data = [k for k in self.positions() if self.reach(k) is not None] if self.count else []
        if not on_data:
            return slice(0, self.kernel), self
        elements = slice(on_data[0], on_data[-1] + 1)
        shift = elements.start * self.dilation
        return elements, SlidingAxis(
            self.size, elements.stop - elements.start, self.stride, self.dilation, self.pad - shift, self.count
        )

    def part(self, windows: slice) -> SlidingAxis:
        """The axis with these windows only."""
        return SlidingAxis(
            self.size,
            self.kernel,
            self.stride,
            self.dilation,
            self.pad - windows.start * self.stride,
            windows.stop - windows.start,
        )


class Scratch:
    """Memory for intermediate arrays, one at a time, allocated once."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._buffer: Array = np.empty(0, dtype)

    def array(self, shape: tuple[int, ...]) -> Array:
        """An uninitialized array of this shape in the memory of the previous one."""
        size = prod(shape)
        if size > self._buffer.size:
            self._buffer = np.empty(size, self._buffer.dtype)
        return self._buffer[:size].reshape(shape)


def block_sizes(counts: Sequence[int], target: int) -> tuple[int, ...]:
    """The number of windows per axis of a block, about `target` in total.

    Axes are filled from the last one, so the windows of a block are consecutive in the output.
    """
    sizes: list[int] = []
    left = max(target, 1)
    for count in reversed(counts):
        chunks = -(-count // min(max(left, 1), max(count, 1)))
        size = -(-count // chunks) if chunks else 0
        left = left // size if size == count and size else 1
        sizes.append(size)
    return tuple(reversed(sizes))


def blocks(counts: Sequence[int], sizes: Sequence[int]) -> Iterator[Block]:
    """Boxes of at most these sizes that cover all windows, in their order."""
    if 0 in counts:
        return
    for index in np.ndindex(*[-(-count // size) for count, size in zip(counts, sizes, strict=True)]):
        yield tuple(
            slice(i * size, min((i + 1) * size, count)) for i, size, count in zip(index, sizes, counts, strict=True)
        )


def placed_blocks(
    batch_and_groups: tuple[int, ...], counts: Sequence[int], sizes: Sequence[int], pairs: int
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...], slice]]:
    """Blocks of windows, their places in an array [batch, groups, channels, windows], and the groups there.

    Args:
        sizes: The sizes of the blocks.
        pairs: The number of pairs of a batch and a group in a block, at least one.
    """
    batch, groups = batch_and_groups
    group_step = min(max(pairs, 1), max(groups, 1))
    batch_step = max(pairs // max(groups, 1), 1)
    start = 0
    for block in blocks(counts, sizes):
        stop = start + prod(windows.stop - windows.start for windows in block)
        for b in range(0, batch, batch_step):
            for g in range(0, groups, group_step):
                some_groups = slice(g, g + group_step)
                yield block, (slice(b, b + batch_step), some_groups, slice(None), slice(start, stop)), some_groups
        start = stop


def padded_part(data: Array, axes: Sequence[SlidingAxis], covered: Covered | None = None) -> Array:
    """The elements covered by the windows of all spatial axes, from the first to the last; a view without padding.

    Args:
        data: Its last axes are the spatial ones. Padding is 0.
        covered: The result of `covered_part`, if known.
    """
    inside, target, shape = covered or covered_part(axes)
    part = data[(..., *inside)]
    if part.shape[-len(axes) :] == shape:
        return part
    dims = (*data.shape[: -len(axes)], *shape)
    require_temporary(prod(dims) * data.itemsize, data.nbytes)
    padded = np.zeros(dims, data.dtype)
    if part.size:
        copy_rows(part, padded[(..., *target)])
    return padded


def covered_part(axes: Sequence[SlidingAxis]) -> Covered:
    """The covered elements of the data, their place in the covered block, and the shape of the block."""
    inside: list[slice] = []
    target: list[slice] = []
    shape = []
    for axis in axes:
        length = axis.extent(axis.count)
        start, stop = min(max(-axis.pad, 0), axis.size), min(max(length - axis.pad, 0), axis.size)
        inside.append(slice(start, max(stop, start)))
        target.append(slice(start + axis.pad, max(stop, start) + axis.pad))
        shape.append(length)
    return tuple(inside), tuple(target), tuple(shape)


def reached_elements(axes: Sequence[SlidingAxis]) -> list[Reached]:
    """For each element of a kernel of several axes, the windows in which it is inside the data, and the data there."""
    reached = []
    for element in np.ndindex(*[axis.kernel for axis in axes]):
        pairs = [pair for axis, k in zip(axes, element, strict=True) if (pair := axis.reach(k)) is not None]
        if len(pairs) == len(axes):
            reached.append((element, tuple([windows for windows, _ in pairs]), tuple([data for _, data in pairs])))
    return reached


def is_finite(array: Array) -> bool:
    """Return True if neither the floats nor their sum of squares, which is tested, are infinite or NaN."""
    flat = array.reshape(-1)
    return bool(np.isfinite(np.dot(flat, flat)))


def window_layout(
    shape: Sequence[int], strides: Sequence[int], axes: Sequence[SlidingAxis]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of `window_view` for a covered block of this shape and these strides."""
    others = len(shape) - len(axes)
    spatial = strides[others:]
    return (
        (*shape[:others], *[axis.kernel for axis in axes], *[axis.count for axis in axes]),
        (
            *strides[:others],
            *[step * axis.dilation for step, axis in zip(spatial, axes, strict=True)],
            *[step * axis.stride for step, axis in zip(spatial, axes, strict=True)],
        ),
    )


def strides_of(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of a contiguous array of this shape."""
    return tuple([itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))])


def window_view(covering: Array, axes: Sequence[SlidingAxis]) -> Array:
    """The elements of every window, [..., kernel..., count...]: a read-only view of `padded_part`."""
    shape, strides = window_layout(covering.shape, covering.strides, axes)
    if prod(shape) == 0:
        return np.empty(shape, covering.dtype)
    if covering.flags.c_contiguous:
        # Equivalent to the code below, but 5x faster.
        return np.ndarray(shape, covering.dtype, covering, 0, strides)
    return as_strided(covering, shape, strides, writeable=False)


def copy_rows(rows: Array, target: Array) -> None:
    """target[...] = rows, of equal shape and element type; 3x faster for short rows of adjacent elements.

    NumPy needs some 10 ns for every row, and less for a single element of as many bytes.
    """
    if rows.size and rows.strides[-1] == target.strides[-1] == rows.itemsize:
        row_dtype = np.dtype((np.void, rows.shape[-1] * rows.itemsize))
        rows, target = rows.view(row_dtype), target.view(row_dtype)
    target[...] = rows
