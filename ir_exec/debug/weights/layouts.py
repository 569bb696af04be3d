"""Orders of the elements of a tensor, and reading of parts of it in such an order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, permutations
from math import prod
from operator import mul

import numpy as np

from ir_exec.debug.weights.readers.tensors import CheckpointTensor, MappedTensor, count_rows
from ir_exec.types import Array, ElementType, convert

__all__ = ["Layout", "TransposedTensor", "find_layouts", "read_flat", "read_in_layout", "squeeze_shape"]

_MOST_AXES = 5
"""Maximum axes of tensors whose axes are permuted: convolutions in three dimensions."""


@dataclass(frozen=True)
class Layout:
    """The elements of a tensor with its axes of size 1 removed, in another order of the axes.

    Attributes:
        shape: The shape of the tensor without axes of size 1.
        axes: The order of the axes.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def is_row_major(self) -> bool:
        """Return True for the order of the tensor itself."""
        return self.axes == tuple(range(len(self.axes)))

    @property
    def permuted_shape(self) -> tuple[int, ...]:
        """The shape in the order of the axes."""
        return tuple([self.shape[axis] for axis in self.axes])

    def map_positions(self, positions: Array) -> Array:
        """The flat positions in the tensor of flat positions in the layout."""
        if self.is_row_major:
            return positions
        indices = np.unravel_index(positions, self.permuted_shape)
        by_axis = dict(zip(self.axes, indices, strict=True))
        return np.asarray(np.ravel_multi_index([by_axis[axis] for axis in range(len(self.shape))], self.shape))


@dataclass(frozen=True, eq=False)
class TransposedTensor:
    """A matrix whose rows are the columns of another tensor, or several matrices, each transposed."""

    tensor: CheckpointTensor

    @property
    def layout(self) -> Layout:
        """The order of the axes."""
        count = len(self.tensor.shape)
        return Layout(self.tensor.shape, (*range(count - 2), count - 1, count - 2))

    @property
    def name(self) -> str:
        """The name of the tensor."""
        return self.tensor.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The dims."""
        return self.layout.permuted_shape

    @property
    def format(self) -> str:
        """The format of the elements."""
        return self.tensor.format

    @property
    def size(self) -> int:
        """The bytes in the file."""
        return self.tensor.size

    def read(self, start: int, stop: int) -> Array:
        """Return rows along the first axis as f32."""
        return read_in_layout(self.tensor, self.layout, self.shape, start, stop)

    def gather(self, positions: Array) -> Array:
        """Return the elements at flat positions as f32."""
        return self.tensor.gather(self.layout.map_positions(positions))


def squeeze_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without axes of size 1."""
    return tuple([size for size in shape if size != 1])


def find_layouts(tensor_shape: tuple[int, ...], weight_shape: tuple[int, ...]) -> Iterator[Layout]:
    """Yield the layouts in which a tensor may have the elements of a weight, its own order first.

    The axes may also be in another order, and neighboring ones of them joined.
    """
    shape, target = squeeze_shape(tensor_shape), squeeze_shape(weight_shape)
    own = tuple(range(len(shape)))
    yield Layout(shape, own)
    if len(shape) < 2 or len(shape) > _MOST_AXES:
        return
    for axes in permutations(own):
        permuted = tuple([shape[axis] for axis in axes])
        if axes != own and (permuted == target or (len(shape) == 2 != len(target)) or _joins_axes(permuted, target)):
            yield Layout(shape, axes)


def _joins_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return True if each size of the target is that of an axis, or of neighboring ones."""
    return len(target) < len(shape) and {*accumulate(target, mul)} <= {*accumulate(shape, mul)}


def read_in_layout(
    tensor: CheckpointTensor, layout: Layout, weight_shape: tuple[int, ...], start: int, stop: int
) -> Array:
    """Return rows of a weight's shape from a tensor in a layout, as f32."""
    rows = count_rows(weight_shape)
    width = prod(weight_shape[1:])
    shape = (stop - start, *weight_shape[1:])
    if layout.is_row_major:
        return read_flat(tensor, start * width, stop * width).reshape(shape)
    if layout.permuted_shape[0] == rows and isinstance(tensor, MappedTensor) and not tensor.is_column_major:
        # Only the needed part is converted to f32.
        stored = tensor.weights.read(tensor.element_type, layout.shape, tensor.offset, tensor.size)
        part = np.ascontiguousarray(stored.transpose(layout.axes)[start:stop])
        with np.errstate(all="ignore"):
            return convert(part, ElementType.f32).reshape(shape)
    everything = tensor.read(0, count_rows(tensor.shape)).reshape(layout.shape).transpose(layout.axes)
    if layout.permuted_shape[0] == rows:
        return np.asarray(everything[start:stop]).reshape(shape)
    return np.asarray(everything).reshape(weight_shape)[start:stop].reshape(shape)


def read_flat(tensor: CheckpointTensor, start: int, stop: int) -> Array:
    """A range of flat positions."""
    width = max(prod(tensor.shape[1:]), 1)
    first, last = start // width, -(-stop // width)
    return tensor.read(first, last).reshape(-1)[start - first * width : stop - first * width]
