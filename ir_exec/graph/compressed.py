"""Compressed weights: constants of few bits, and the layers that expand them.

Files write a compressed weight as a chain of layers: a constant of codes, Convert, Subtract of a zero point, Multiply
by a scale, Reshape of the groups of a row into one, Convert. A codebook has a Gather from a table in place of the first
Convert; weights of quantized models may have a FakeQuantize of a constant.

`describe_weight` is the only place that recognizes such chains. Their numbers are computed by `graph.decoding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Literal, NamedTuple

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph.constant_parts import (
    DEEPEST,
    constant_shape,
    is_constant_part,
    largest_constant,
    nodes_above,
    read_numbers,
)
from ir_exec.graph.graph import Graph, Node, Value
from ir_exec.graph.weight_encodings import FLOAT_CODES, encoding_name
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.ops.base.registry import canonical, type_key
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import ElementType, TensorType

__all__ = [
    "CompressedWeight",
    "WeightMismatch",
    "ZeroPoint",
    "describe_weight",
    "find_compressed_weights",
    "find_weight",
]

ZeroPoint = Literal["none", "middle", "other"]
"""`middle`: every zero point is the middle of an unsigned type (8 of u4): the weights are symmetric."""


class WeightMismatch(NamedTuple):
    """The reason why a value is not a constant that layers expand.

    Attributes:
        node: The first layer above the value that does not fit.
        expected: A description of what fits.
        actual: What it is.
    """

    node: Node
    expected: str
    actual: str


@dataclass(frozen=True, eq=False)
class CompressedWeight:
    """A chain of layers from a constant of codes to a weight: (codes - zero) * scale, in another shape.

    Attributes:
        value: The weight.
        codes: The node of the constant.
        line: The layers from the one of `value` to the reader of `codes`; empty for a constant without layers.
        table: The values of a codebook, indexed by the codes.
        zero: The values of the zero point.
        scale: The values of the scale.
        limits: The FakeQuantize on the line. None if the chain has no such layer.
    """

    value: Value
    codes: Node
    line: tuple[Node, ...] = ()
    table: Value | None = None
    zero: Value | None = None
    scale: Value | None = None
    limits: Node | None = None

    @property
    def constant(self) -> Const:
        """The operator of the constant of codes."""
        assert isinstance(self.codes.op, Const)
        return self.codes.op

    @property
    def element_type(self) -> ElementType:
        """The element type of the codes."""
        return self.constant.element_type

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the codes."""
        return self.constant.shape.static

    @property
    def size(self) -> int:
        """The number of codes."""
        return prod(self.stored_shape)

    @property
    def output(self) -> TensorType:
        """The declared type of the weight."""
        return self.value.declared

    @property
    def is_compressed(self) -> bool:
        """Return True if the constant has fewer bits than the weight, and layers expand it."""
        if self.limits is not None:
            return True
        if not 0 < self.element_type.bits <= 8 or self.element_type is ElementType.boolean or not self.line:
            return False
        return self.table is not None or self.element_type in FLOAT_CODES or self.scale is not None

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All layers of the chain, including scales and zero points."""
        nodes: dict[Node, None] = dict.fromkeys((*self.line, self.codes))
        for node in self.line:
            for value in node.values_in:
                nodes |= dict.fromkeys(nodes_above(value))
        return tuple(nodes)

    @cached_property
    def constants(self) -> tuple[Node, ...]:
        """The constants of codes, tables, zero points, scales and limits, without shapes and axes."""
        parts = [self.codes, *(node for value in self._numbers() for node in nodes_above(value))]
        return tuple([node for node in dict.fromkeys(parts) if isinstance(node.op, Const)])

    @cached_property
    def stored_bytes(self) -> int:
        """The bytes of the constants of the chain."""
        constants = [node.op for node in self.constants if isinstance(node.op, Const)]
        return sum(packed_size(constant.element_type, prod(constant.shape.static)) for constant in constants)

    def _numbers(self) -> Iterator[Value]:
        yield from (value for value in (self.table, self.zero, self.scale) if value is not None)
        if self.limits is not None:
            yield from self.limits.values_in[1:]

    def has_same_layers(self, other: CompressedWeight) -> bool:
        """Return True if both chains have the same types of layers and codes."""
        types = [[type_key(node.type) for node in weight.nodes] for weight in (self, other)]
        return self.element_type is other.element_type and types[0] == types[1]

    @property
    def levels(self) -> int | None:
        """The number of levels of a FakeQuantize; None for all other chains."""
        return None if self.limits is None else int(vars(self.limits.op)["levels"])

    @cached_property
    def scaled_value(self) -> Value:
        """The value that the zero point and the scale apply to: the codes, or a Reshape of them."""
        below = [node for node in self.line if canonical(node.type) in ("Subtract", "Multiply")]
        if not below:
            return self.codes.outputs[0]
        position = self.line.index(below[-1]) + 1
        before = (node for node in self.line[position:] if canonical(node.type) in ("Reshape", "Transpose", "Gather"))
        return next((node.outputs[0] for node in before), self.codes.outputs[0])

    @cached_property
    def group_axis(self) -> int | None:
        """The axis of `scaled_value` whose elements share a scale; None if they are a whole channel or tensor."""
        axis, is_part = self._shared_axis
        return axis if is_part else None

    @cached_property
    def group_size(self) -> int | None:
        """The number of adjacent elements of a channel that share a scale; None for a whole channel or tensor."""
        axis, is_part = self._shared_axis
        if not is_part:
            return None
        return 1 if axis is None else self._scaled_shape[axis]

    @property
    def _scaled_shape(self) -> tuple[int, ...]:
        shape = self.scaled_value.declared.shape
        return shape.static if shape.is_static else self.stored_shape

    @cached_property
    def _shared_axis(self) -> tuple[int | None, bool]:
        """The last axis with one scale, None if each element has its own; True if it is only a part of a channel."""
        shape = self._scaled_shape
        sizes = () if self.scale is None else constant_shape(self.scale)
        if self.scale is None or len(sizes) > len(shape):
            return None, False
        aligned = (1,) * (len(shape) - len(sizes)) + sizes
        shared = [axis for axis, size in enumerate(shape) if aligned[axis] == 1 and size > 1]
        if not shared:
            return None, prod(sizes) > 1
        after = self._shape_after_scale
        if after is None or len(shared) == sum(size > 1 for size in shape):
            return shared[-1], False
        axes = next((axes for axes in _merge_axes(shape, after) if shared[-1] in axes), range(0))
        return shared[-1], prod([shape[axis] for axis in axes]) > shape[shared[-1]]

    @property
    def _shape_after_scale(self) -> tuple[int, ...] | None:
        """The shape that the first Reshape after the scale gives the weight; None where there is none."""
        shape = None
        for node in self.line:
            if canonical(node.type) in ("Multiply", "Subtract"):
                break
            if canonical(node.type) == "Reshape" and node.outputs[0].declared.shape.is_static:
                shape = node.outputs[0].declared.shape.static
        return shape

    def zero_point(self, weights: Weights | None) -> ZeroPoint:
        """The kind of the zero points; `other` if they cannot be read."""
        if self.zero is None:
            return "none"
        try:
            numbers = None if weights is None else read_numbers(self.zero, weights)
        except (IRError, ValueError):
            numbers = None
        middle = 0 if self.element_type.is_signed else 2 ** (self.element_type.bits - 1)
        if numbers is None or not numbers.size or not (numbers == middle).all():
            return "other"
        return "middle" if middle else "none"

    def is_symmetric(self, weights: Weights) -> bool:
        """Return True if the range of codes is centered: no zero point, or the middle of an unsigned type."""
        if self.limits is None:
            return self.zero_point(weights) != "other"
        low, high = (read_numbers(self.limits.values_in[position], weights) for position in (1, 2))
        # Signed integers have one more level on the negative side.
        most = np.maximum(np.abs(low), np.abs(high))
        return bool((np.abs(low + high) <= most * 2.5 / (self.levels or 2)).all())

    def format(self, weights: Weights) -> str:
        """The name of the format, like the modes of NNCF: int4_sym, nf4, mxfp4, codebook, ..."""
        if self.limits is not None:
            return f"fake_quantize{self.levels}"
        if self.table is not None:
            return "codebook"
        scales = () if self.scale is None else nodes_above(self.scale)
        scale_types = {node.op.element_type for node in scales if isinstance(node.op, Const)}
        return encoding_name(self.element_type, scale_types, is_symmetric=self.is_symmetric(weights))


def find_compressed_weights(
    graph: Graph, is_weight: Callable[[CompressedWeight, Node], bool] | None = None
) -> dict[Value, CompressedWeight]:
    """The compressed weights of a graph without its bodies, in the order of their readers.

    Args:
        is_weight: Returns True for a chain that is a weight of the layer that reads it; by default compressed ones.
    """
    weights: dict[Value, CompressedWeight] = {}
    inside: set[Node] = set()
    for node in reversed([*graph.nodes, *graph.unreachable]):
        if node in inside:
            continue
        for value in node.values_in:
            weight = None if value in weights else find_weight(value)
            if weight is not None and (weight.is_compressed or (is_weight is not None and is_weight(weight, node))):
                weights[value] = weight
                inside.update(weight.nodes)
    return dict(reversed(weights.items()))


def find_weight(value: Value) -> CompressedWeight | None:
    """The chain from a constant to a value, of at least one layer; None if other layers take part."""
    weight = describe_weight(value)
    return weight if isinstance(weight, CompressedWeight) and weight.line else None


def describe_weight(value: Value) -> CompressedWeight | WeightMismatch:
    """The chain from a constant to a value, or the first layer that does not belong to one."""
    chain = _Chain()
    node = value.node
    while not isinstance(node.op, Const):
        step = chain.extend(node)
        if isinstance(step, WeightMismatch):
            return step
        node = step.node
    if not node.op.shape.is_static:
        return WeightMismatch(node, "codes of a static shape", str(node.op.shape))
    return CompressedWeight(value, node, tuple(chain.line), chain.table, chain.zero, chain.scale, chain.limits)


@dataclass
class _Chain:
    """The layers of a chain from its reader upward."""

    line: list[Node] = field(default_factory=list)
    table: Value | None = None
    zero: Value | None = None
    scale: Value | None = None
    limits: Node | None = None

    def extend(self, node: Node) -> Value | WeightMismatch:
        """Add a layer, and return its input with the codes."""
        if node.op is None or None in node.inputs or len(node.outputs) != 1 or node.bodies or not node.inputs:
            return WeightMismatch(node, "a constant and the layers that expand it", f"the output of {node.type}")
        if len(self.line) >= DEEPEST:
            return WeightMismatch(node, f"at most {DEEPEST} layers after the codes", "more layers")
        step = self._step(node)
        if isinstance(step, WeightMismatch):
            return step
        source, others = step
        for other in others:
            if not is_constant_part(other):
                return WeightMismatch(node, "constants as all other inputs", f"the output of {other.node.type}")
        self.line.append(node)
        return source

    def _step(self, node: Node) -> tuple[Value, list[Value]] | WeightMismatch:
        """The input of a layer with the codes, and its other inputs."""
        source, *others = node.values_in
        # The notation of compressed weights in files.
        match canonical(node.type):
            case "Convert" | "Reshape" | "Transpose":
                return source, others
            case "Multiply" if self.scale is None and self._is_before_zero:
                if is_constant_part(source) and largest_constant(others[0]) > largest_constant(source):
                    source, others = others[0], [source]
                self.scale = others[0]
                return source, others
            case "Subtract" if self._is_before_zero:
                if largest_constant(others[0])[0] > largest_constant(source)[0]:
                    return WeightMismatch(node, "codes as the first input of Subtract", "a zero point")
                self.zero = others[0]
                return source, others
            case "Gather" if self.table is None and self.limits is None and len(others) == 2:
                if len(constant_shape(source) if is_constant_part(source) else ()) != 1:
                    return WeightMismatch(node, "a constant table with one axis", f"the output of {source.node.type}")
                self.table = source
                return others[0], [source, others[1]]
            case "FakeQuantize" if self.limits is None and self.scale is None and self.table is None:
                self.limits = node
                return source, others
        expected = "Convert, Subtract, Multiply, Reshape, Transpose, Gather and FakeQuantize, in this order and once"
        return WeightMismatch(node, expected, f"another {node.type}")

    @property
    def _is_before_zero(self) -> bool:
        return self.zero is None and self.table is None and self.limits is None


def _merge_axes(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[range]:
    """The axes that a Reshape merges into one, or splits and merges."""
    ends, start = set(accumulate(after, mul)), 0
    for axis, product in enumerate(accumulate(before, mul)):
        if product in ends:
            yield range(start, axis + 1)
            start = axis + 1
    if start < len(before):
        yield range(start, len(before))
