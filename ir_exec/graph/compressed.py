"""Compressed weights: constants of few bits, and the layers that expand them.

Files write a compressed weight as a chain of layers: a constant of codes, Convert, Subtract of a zero point, Multiply
by a scale, Reshape of the groups of a row into one, Convert. A codebook has a Gather from a table in place of the first
Convert; weights of quantized models may have a FakeQuantize of a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from ir_exec.graph.graph import Graph, Node, Value
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType, convert, element_types

__all__ = ["CompressedWeight", "chain_of", "compressed_weights", "is_constant_part", "numbers_of"]

_DEEPEST = 12
"""Maximum number of layers between a constant and the layer that reads the weight."""

_FLOAT_CODES = element_types("nf4 f4e2m1 f8e4m3 f8e5m2")
_NAMES = {
    ElementType.nf4: "nf4",
    ElementType.f4e2m1: "fp4",
    ElementType.f8e4m3: "fp8_e4m3",
    ElementType.f8e5m2: "fp8_e5m2",
}


@dataclass(frozen=True, eq=False)
class CompressedWeight:
    """A chain of layers from a constant of codes to a weight: (codes - zero) * scale, in another shape.

    Attributes:
        value: The weight.
        codes: The node of the constant.
        line: The layers from the one of `value` to the reader of `codes`.
        table: The values of a codebook, indexed by the codes.
        zero: The values of the zero point and the scale.
        scale: See `zero`.
        limits: The FakeQuantize on the line. None if the chain has no such layer.
    """

    value: Value
    codes: Node
    line: tuple[Node, ...]
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
    def is_compressed(self) -> bool:
        """Return True if the constant has fewer bits than the weight, and layers expand it."""
        if self.limits is not None:
            return True
        kind = self.element_type
        if not self.constant.shape.is_static or not 0 < kind.bits <= 8 or kind is ElementType.boolean:
            return False
        return self.table is not None or kind in _FLOAT_CODES or self.scale is not None

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All layers of the chain, including scales and zero points."""
        found: dict[Node, None] = dict.fromkeys((*self.line, self.codes))
        for node in self.line:
            for value in node.values_in:
                found |= dict.fromkeys(_layers_above(value))
        return tuple(found)

    @cached_property
    def constants(self) -> tuple[Node, ...]:
        """The constants of codes, tables, zero points, scales and limits, without shapes and axes."""
        parts = [self.codes, *(node for value in self._numbers() for node in _layers_above(value))]
        return tuple([node for node in dict.fromkeys(parts) if isinstance(node.op, Const)])

    @cached_property
    def stored_bytes(self) -> int:
        """The bytes of the constants of the chain."""
        constants = [node.op for node in self.constants if isinstance(node.op, Const)]
        return sum(packed_size(one.element_type, prod(one.shape.static)) for one in constants)

    def _numbers(self) -> Iterator[Value]:
        yield from (value for value in (self.table, self.zero, self.scale) if value is not None)
        if self.limits is not None:
            yield from self.limits.values_in[1:]

    @cached_property
    def levels(self) -> int | None:
        """The number of levels of a FakeQuantize; None for all other chains."""
        return None if self.limits is None else int(vars(self.limits.op)["levels"])

    @cached_property
    def group_size(self) -> int | None:
        """The number of adjacent elements of a channel that share a scale; None for a whole channel or tensor."""
        stored, scale = self.constant.shape.static, self.scale
        if scale is None:
            return None
        sizes = _shape_of(scale)
        if len(sizes) > len(stored):
            return None
        aligned = (1,) * (len(stored) - len(sizes)) + sizes
        shared = [axis for axis, size in enumerate(stored) if aligned[axis] == 1 and size > 1]
        if not shared:
            return 1 if prod(sizes) > 1 else None
        after = self._reshaped
        if after is None or len(shared) == sum(size > 1 for size in stored):
            return None
        axes = next((axes for axes in _merged(stored, after) if shared[-1] in axes), range(0))
        size = stored[shared[-1]]
        return size if prod([stored[one] for one in axes]) > size else None

    @property
    def _reshaped(self) -> tuple[int, ...] | None:
        """The shape that the first Reshape after the scale gives the weight; None where there is none."""
        found = None
        for node in self.line:
            kind = canonical(node.type)
            if kind in ("Multiply", "Subtract"):
                break
            if kind == "Reshape" and node.outputs[0].declared.shape.is_static:
                found = node.outputs[0].declared.shape.static
        return found

    def is_symmetric(self, weights: Weights) -> bool:
        """Return True if the range of codes is centred: no zero point, or the middle of an unsigned type."""
        if self.limits is not None:
            low, high = (numbers_of(self.limits.values_in[position], weights) for position in (1, 2))
            levels = self.levels or 2
            # Signed integers have one more level on the negative side.
            most = np.maximum(np.abs(low), np.abs(high))
            return bool((np.abs(low + high) <= most * 2.5 / levels).all())
        if self.zero is None:
            return True
        middle = 0 if self.element_type.is_signed else 2 ** (self.element_type.bits - 1)
        return bool((numbers_of(self.zero, weights) == middle).all())

    def format(self, weights: Weights) -> str:
        """The name of the format, like the modes of NNCF: int4_sym, nf4, mxfp4, codebook, ..."""
        kind = self.element_type
        if self.limits is not None:
            return f"fake_quantize{self.levels}"
        if self.table is not None:
            return "codebook"
        if kind in _NAMES:
            scales = [] if self.scale is None else [one for one in _layers_above(self.scale) if _is_const(one)]
            kinds = {one.op.element_type for one in scales if isinstance(one.op, Const)}
            if ElementType.f8e8m0 in kinds:
                return f"mx{_NAMES[kind]}"
            return f"nv{_NAMES[kind]}" if ElementType.f8e4m3 in kinds else _NAMES[kind]
        return f"int{kind.bits}_{'sym' if self.is_symmetric(weights) else 'asym'}"

    def expand(self, weights: Weights) -> Array:
        """The weight as f32: Convert rounds to its type, and all else is computed in f32, as in a run."""
        return self._expanded(weights, self.constant.evaluate(weights=weights), is_step=False)

    def steps(self, weights: Weights) -> Array | None:
        """The greater distance to a neighbouring level for each element of the weight.

        None for levels of a FakeQuantize.
        """
        if self.limits is not None:
            return None
        codes = self.constant.evaluate(weights=weights)
        if self.table is not None:
            table = numbers_of(self.table, weights).reshape(-1)
            gaps = _gaps(table, table)
            return self._expanded(weights, gaps[_whole(codes)], is_step=True)
        if self.element_type.is_integer:
            return self._expanded(weights, np.ones(codes.shape, np.float32), is_step=True)
        every = np.arange(2**self.element_type.bits, dtype=np.uint8).view(self.element_type.dtype)
        numbers = convert(codes, ElementType.f32)
        return self._expanded(weights, _gaps(convert(every, ElementType.f32), numbers), is_step=True)

    def at_ends(self, weights: Weights) -> Array:
        """A mask of elements of the weight whose code is the first or last of the format's levels.

        The sign of the scale is not considered. A FakeQuantize has `ranges` instead.
        """
        codes = self.constant.evaluate(weights=weights)
        if self.table is not None:
            numbers = numbers_of(self.table, weights).reshape(-1)[_whole(codes)]
            low, high = float(numbers_of(self.table, weights).min()), float(numbers_of(self.table, weights).max())
        else:
            numbers = convert(codes, ElementType.f32)
            low, high = _ends_of(self.element_type)
        found = (numbers <= low) | (numbers >= high)
        for node in reversed(self.line):
            if canonical(node.type) in ("Reshape", "Transpose"):
                assert node.op is not None
                others = [_exact(value, weights) for value in node.values_in[1:]]
                found = np.asarray(node.op.evaluate(found, *others))
        return np.array(found)

    def ranges(self, weights: Weights) -> tuple[Array, Array]:
        """The lowest and the highest level of the FakeQuantize, as they broadcast to the weight."""
        assert self.limits is not None
        low, high = (numbers_of(self.limits.values_in[position], weights) for position in (3, 4))
        return low, high

    def _expanded(self, weights: Weights, codes: Array, *, is_step: bool) -> Array:
        """The value at the end of the line.

        Args:
            is_step: `codes` are differences of levels, without zero points.
        """
        found = codes
        for node in reversed(self.line):
            kind = canonical(node.type)
            if kind == "Convert":
                found = found if is_step else _rounded(found, vars(node.op)["destination_type"])
            elif kind == "Gather":
                if not is_step and self.table is not None:
                    found = numbers_of(self.table, weights).reshape(-1)[_whole(found)]
            elif kind == "Subtract":
                if not is_step and self.zero is not None:
                    found = _single(found) - numbers_of(self.zero, weights)
            elif kind == "Multiply":
                assert self.scale is not None
                found = _single(found) * numbers_of(self.scale, weights)
            else:
                assert node.op is not None
                others = [_exact(value, weights) for value in node.values_in[1:]]
                found = np.asarray(node.op.evaluate(_single(found), *others))
        found = _single(found)
        return np.abs(found) if is_step else found


def compressed_weights(graph: Graph) -> dict[Value, CompressedWeight]:
    """The compressed weights of a graph without its bodies, in the order of their readers."""
    found: dict[Value, CompressedWeight] = {}
    inside: set[Node] = set()
    for node in reversed([*graph.nodes, *graph.unreachable]):
        if node in inside:
            continue
        for value in node.values_in:
            if value in found or isinstance(value.node.op, Const):
                continue
            chain = chain_of(value)
            if chain is not None and chain.is_compressed:
                found[value] = chain
                inside.update(chain.nodes)
    return dict(reversed(found.items()))


def chain_of(value: Value) -> CompressedWeight | None:
    """The chain from a constant to a value, of at least one layer; None if other layers take part."""
    line: list[Node] = []
    table = zero = scale = None
    limits = None
    node = value.node
    while not isinstance(node.op, Const):
        kind, inputs = canonical(node.type), node.inputs
        if node.op is None or None in inputs or len(node.outputs) != 1 or node.bodies or len(line) >= _DEEPEST:
            return None
        values = node.values_in
        following, others = values[0] if values else None, values[1:]
        if kind in ("Reshape", "Transpose") or (kind == "Convert" and not others):
            pass
        elif kind == "Multiply" and scale is None and zero is None and table is None and limits is None:
            if not any(map(is_constant_part, values)):
                return None
            if _elements(values[1]) > _elements(values[0]):
                following, others = values[1], values[:1]
            scale = others[0]
        elif kind == "Subtract" and zero is None and table is None and limits is None:
            zero = others[0]
        elif kind == "Gather" and table is None and limits is None and len(values) == 3:
            table, following = values[0], values[1]
            others = [values[0], values[2]]
        elif kind == "FakeQuantize" and limits is None and scale is None and table is None:
            limits = node
        else:
            return None
        if following is None or not all(map(is_constant_part, others)):
            return None
        line.append(node)
        node = following.node
    if not line or not node.op.shape.is_static:
        return None
    return CompressedWeight(value, node, tuple(line), table, zero, scale, limits)


def is_constant_part(value: Value, depth: int = 0) -> bool:
    """Return True for constants, and for conversions, differences, products and reshapes of constants."""
    node = value.node
    if isinstance(node.op, Const):
        return node.op.shape.is_static
    if canonical(node.type) not in ("Convert", "Multiply", "Subtract", "Reshape") or depth >= _DEEPEST:
        return False
    return None not in node.inputs and all(is_constant_part(one, depth + 1) for one in node.values_in)


def numbers_of(value: Value, weights: Weights) -> Array:
    """The f32 array of a value for which `is_constant_part` is True."""
    node = value.node
    if isinstance(node.op, Const):
        return _single(node.op.evaluate(weights=weights))
    first, *others = node.values_in
    kind = canonical(node.type)
    if kind == "Convert":
        source = first.node.op.evaluate(weights=weights) if isinstance(first.node.op, Const) else None
        target: ElementType = vars(node.op)["destination_type"]
        return _single(_rounded(numbers_of(first, weights) if source is None else source, target))
    found = numbers_of(first, weights)
    if kind == "Reshape":
        assert node.op is not None
        return np.asarray(node.op.evaluate(found, _exact(others[0], weights)))
    with np.errstate(all="ignore"):
        other = numbers_of(others[0], weights)
        return np.asarray(found * other if kind == "Multiply" else found - other)


def _exact(value: Value, weights: Weights) -> Array:
    """A constant in its own element type: a shape, an order of axes, a limit."""
    if isinstance(value.node.op, Const):
        found = value.node.op.evaluate(weights=weights)
        return _single(found) if ElementType.of(found).is_float else found
    return numbers_of(value, weights)


def _rounded(array: Array, kind: ElementType) -> Array:
    with np.errstate(over="ignore"):
        return array if ElementType.of(array) is kind else convert(array, kind)


def _single(array: Array) -> Array:
    return array if array.dtype == np.float32 else convert(array, ElementType.f32)


def _whole(codes: Array) -> Array:
    return convert(codes, ElementType.i64)


def _ends_of(kind: ElementType) -> tuple[float, float]:
    """The first and last level of an element type; -max counts as the first of signed integers too."""
    if kind.is_integer:
        return (
            (float(1 - 2 ** (kind.bits - 1)), float(2 ** (kind.bits - 1) - 1))
            if kind.is_signed
            else (0.0, float(2**kind.bits - 1))
        )
    every = convert(np.arange(2**kind.bits, dtype=np.uint8).view(kind.dtype), ElementType.f32)
    finite = every[np.isfinite(every)]
    return float(finite.min()), float(finite.max())


def _gaps(levels: Array, numbers: Array) -> Array:
    """The greater distance to a neighbouring level for each number, which is one of the levels."""
    known = np.unique(levels[np.isfinite(levels)])
    if len(known) < 2:
        return np.zeros(numbers.shape, np.float32)
    apart = np.diff(known)
    gaps = np.maximum(np.append(apart, apart[-1]), np.insert(apart, 0, apart[0]))
    places = np.searchsorted(known, np.nan_to_num(numbers)).clip(0, len(known) - 1)
    return np.asarray(gaps[places], np.float32)


def _merged(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[range]:
    """The axes that a Reshape merges into one, or splits and merges."""
    ends, start = set(accumulate(after, mul)), 0
    for axis, product in enumerate(accumulate(before, mul)):
        if product in ends:
            yield range(start, axis + 1)
            start = axis + 1
    if start < len(before):
        yield range(start, len(before))


def _is_const(node: Node) -> bool:
    return isinstance(node.op, Const)


def _shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a constant part, from the constants alone."""
    node = value.node
    if isinstance(node.op, Const):
        return node.op.shape.static
    if canonical(node.type) == "Reshape":
        return value.declared.shape.static if value.declared.shape.is_static else ()
    return np.broadcast_shapes(*(_shape_of(one) for one in node.values_in))


def _elements(value: Value, depth: int = 0) -> int:
    """The number of elements of the largest constant above a value; 0 if there is none."""
    node = value.node
    if isinstance(node.op, Const):
        return prod(node.op.shape.static) if node.op.shape.is_static else 0
    if depth >= _DEEPEST:
        return 0
    return max((_elements(one, depth + 1) for one in node.values_in), default=0)


def _layers_above(value: Value) -> Iterator[Node]:
    """The layers of a constant part; only the node itself for other values."""
    yield value.node
    if is_constant_part(value):
        for one in value.node.values_in:
            yield from _layers_above(one)
