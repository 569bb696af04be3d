"""Tensors of integers of 8 bits in a graph: (integers - zero) * scale, for values and constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from onnx import NodeProto, TensorProto

from ir_exec.engines.int8.graph import Constant, EditedGraph, get_attribute
from ir_exec.types import Array

__all__ = ["Grid", "IntegerConstant", "channel_axis", "grid_of", "match_constant"]

_BYTES = frozenset({TensorProto.UINT8, TensorProto.INT8})
_ZERO_SHIFT = 2.0**-10
"""Maximum distance of a zero point from an integer: the quantizer computed it in floats. It counts in each product."""

_SHORT_FLOATS = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})


@dataclass(frozen=True)
class Grid:
    """The numbers that integers of 8 bits represent.

    Attributes:
        scale: A scalar, or the scale of each channel.
        zero: As `scale`, in the type of the integers.
        axis: The axis of the channels; None for scalars.
    """

    scale: Array
    zero: Array
    axis: int | None = None

    @property
    def limits(self) -> tuple[int, int]:
        info = np.iinfo(self.zero.dtype)
        return int(info.min), int(info.max)

    def round(self, number: float) -> Array:
        """The integers that represent a number in each channel."""
        low, high = self.limits
        with np.errstate(over="ignore", invalid="ignore"):
            steps: Array = np.rint(np.float32(number) / self.scale) + self.zero.astype(np.float32)
        clipped: Array = np.clip(steps, low, high)
        return clipped

    def equals(self, other: Grid) -> bool:
        return (
            self.axis == other.axis
            and self.zero.dtype == other.zero.dtype
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero, other.zero)
        )


def grid_of(graph: EditedGraph, node: NodeProto) -> Grid | None:
    """The grid of a QuantizeLinear or DequantizeLinear of constant scales and zero points; None for other nodes."""
    if len(node.input) < 3 or get_attribute(node, "block_size", 0):
        return None
    scale, zero = graph.numbers(node.input[1]), graph.constant(node.input[2])
    if scale is None or zero is None or zero.code not in _BYTES or scale.shape != zero.shape:
        return None
    if scale.size == 1:
        return Grid(scale.reshape(()), zero.read().reshape(()))
    return Grid(scale, zero.read(), channel_axis(node))


def channel_axis(node: NodeProto) -> int:
    return int(get_attribute(node, "axis", 1))


@dataclass(frozen=True)
class IntegerConstant:
    """A constant (integers - zero) * scale.

    Attributes:
        integers: Of 8 bits.
        scale: Broadcasts to the integers, of their rank.
        zero: As `scale`, as numbers.
    """

    integers: Constant
    scale: Array
    zero: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.integers.shape

    def reshape(self, shape: tuple[int, ...]) -> IntegerConstant | None:
        """The constant in another shape of equal elements; None if the scales do not broadcast to it.

        Leading axes may be merged or split: filters of groups become filters of one convolution.
        """
        varied = [axis for array in (self.scale, self.zero) for axis, size in enumerate(array.shape) if size > 1]
        leading = self.shape[: max(varied, default=-1) + 1]
        counts = [math.prod(shape[:count]) for count in range(len(shape) + 1)]
        if math.prod(leading) not in counts:
            return None
        count = counts.index(math.prod(leading))
        aligned = (*shape[:count], *[1] * (len(shape) - count))
        scale, zero = (
            np.broadcast_to(array, (*leading, *array.shape[len(leading) :])).reshape(aligned)
            for array in (self.scale, self.zero)
        )
        return IntegerConstant(self._derive(shape, lambda array: array.reshape(shape)), scale, zero)

    def transpose(self) -> IntegerConstant:
        """The constant with its last two axes swapped."""
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
        integers = self._derive(shape, lambda array: np.ascontiguousarray(array.swapaxes(-1, -2)))
        return IntegerConstant(integers, self.scale.swapaxes(-1, -2), self.zero.swapaxes(-1, -2))

    def to_signed(self) -> IntegerConstant:
        """The constant with signed integers, if it has unsigned ones: both differ by 128."""
        if self.integers.code == TensorProto.INT8:
            return self
        integers = replace(
            self._derive(self.shape, lambda array: (array ^ np.uint8(128)).view(np.int8)), code=TensorProto.INT8
        )
        return IntegerConstant(integers, self.scale, self.zero - 128)

    def to_unsigned(self) -> IntegerConstant:
        """The constant with unsigned integers, if it has signed ones."""
        if self.integers.code == TensorProto.UINT8:
            return self
        integers = replace(
            self._derive(self.shape, lambda array: array.view(np.uint8) ^ np.uint8(128)), code=TensorProto.UINT8
        )
        return IntegerConstant(integers, self.scale, self.zero + 128)

    def numbers(self) -> Constant:
        """The numbers in f32."""
        integers, scale, zero = self.integers, self.scale.astype(np.float32), self.zero.astype(np.float32)
        return Constant(TensorProto.FLOAT, self.shape, lambda: (integers.read().astype(np.float32) - zero) * scale)

    def along(self, axis: int) -> tuple[Array, Array] | None:
        """The scale and the zero point of each element of an axis; None if they vary along another one."""
        size = self.shape[axis]
        vectors = []
        for array in (self.scale, self.zero):
            if array.size != array.shape[axis]:
                return None
            vectors.append(np.broadcast_to(array.reshape(-1), (size,)))
        return vectors[0].astype(np.float32), vectors[1]

    def raise_scales(self, factors: Array, axis: int) -> IntegerConstant:
        """The constant with larger scales along an axis and integers rounded to them.

        Args:
            factors: The quotient of the new and the old scales; zero points are 0.
        """
        shape = [1] * len(self.shape)
        shape[axis] = -1
        wide = factors.reshape(shape)
        integers = self._derive(self.shape, lambda array: np.rint(array / wide).astype(np.int8))
        return replace(self, integers=integers, scale=self.scale * wide)

    def _derive(self, shape: tuple[int, ...], derive: Callable[[Array], Array]) -> Constant:
        read = self.integers.read
        return Constant(self.integers.code, shape, lambda: derive(read()))


def match_constant(graph: EditedGraph, name: str) -> IntegerConstant | None:
    """The integers, scales and zero points from which a constant of floats is computed; None for other tensors."""
    node = graph.producer(name)
    if node is None:
        return None
    if node.op_type == "Cast" and get_attribute(node, "to") in (TensorProto.FLOAT, *_SHORT_FLOATS):
        return match_constant(graph, node.input[0])
    if node.op_type == "DequantizeLinear":
        return _match_dequantized(graph, node)
    if node.op_type == "Mul":
        return _match_product(graph, *node.input) or _match_product(graph, *reversed(node.input))
    if node.op_type == "Reshape":
        source, target = match_constant(graph, node.input[0]), graph.constant(node.input[1])
        sizes = [] if target is None else [int(size) for size in target.read()]
        if source is None or not all(size > 0 or size == -1 for size in sizes):
            return None
        return source.reshape(np.empty(source.shape, np.bool_).reshape(sizes).shape)
    if node.op_type == "Transpose":
        source = match_constant(graph, node.input[0])
        order = list(get_attribute(node, "perm", ()))
        rank = len(order)
        is_swap = source is not None and order == [*range(rank - 2), rank - 1, rank - 2]
        return source.transpose() if source is not None and is_swap else None
    return None


def _match_dequantized(graph: EditedGraph, node: NodeProto) -> IntegerConstant | None:
    integers, scale = graph.constant(node.input[0]), graph.numbers(node.input[1])
    if integers is None or integers.code not in _BYTES or scale is None:
        return None
    zero = np.zeros((), np.float32)
    if len(node.input) > 2:
        stored = graph.constant(node.input[2])
        if stored is None:
            return None
        zero = stored.read().astype(np.float32)
    rank = len(integers.shape)
    if get_attribute(node, "block_size", 0):
        # Only blocks of complete rows: other ones do not broadcast.
        if any(size not in (1, full) for size, full in zip(scale.shape, integers.shape, strict=True)):
            return None
    elif scale.ndim == 1 and scale.size > 1:
        shape = [1] * rank
        shape[channel_axis(node)] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape if zero.size > 1 else [1] * rank)
    return _align_numbers(integers, scale, zero)


def _match_product(graph: EditedGraph, factor: str, scale_name: str) -> IntegerConstant | None:
    """Integers, converted and perhaps reduced by zero points, times a scale."""
    scale = graph.numbers(scale_name)
    zero = np.zeros((), np.float32)
    difference = graph.producer(factor, "Sub")
    if difference is not None:
        factor = difference.input[0]
        shift = _read_converted(graph, difference.input[1])
        if shift is None:
            return None
        zero = shift
    node = graph.producer(factor, "Cast")
    if node is None or scale is None:
        return None
    while node is not None:
        factor = node.input[0]
        node = graph.producer(factor, "Cast")
    integers = graph.constant(factor)
    if integers is None or integers.code not in _BYTES:
        return None
    return _align_numbers(integers, scale, zero)


def _read_converted(graph: EditedGraph, name: str) -> Array | None:
    """The numbers of a constant of floats or integers of 8 bits, which may be converted."""
    node = graph.producer(name, "Cast")
    while node is not None:
        name = node.input[0]
        node = graph.producer(name, "Cast")
    constant = graph.constant(name)
    return None if constant is None else constant.read().astype(np.float32)


def _align_numbers(integers: Constant, scale: Array, zero: Array) -> IntegerConstant | None:
    """The constant, if scales and zero points broadcast to its integers and the zero points are integers."""
    rank = len(integers.shape)
    if scale.ndim > rank or zero.ndim > rank:
        return None
    scale, zero = (array.reshape((1,) * (rank - array.ndim) + array.shape) for array in (scale, zero))
    is_broadcast = all(
        size in (1, full) for array in (scale, zero) for size, full in zip(array.shape, integers.shape, strict=True)
    )
    rounded = np.rint(zero)
    if not is_broadcast or (abs(zero - rounded) > _ZERO_SHIFT).any() or not (np.isfinite(scale) & (scale > 0)).all():
        return None
    low, high = (0, 255) if integers.code == TensorProto.UINT8 else (-128, 127)
    return IntegerConstant(integers, scale, rounded) if ((rounded >= low) & (rounded <= high)).all() else None
