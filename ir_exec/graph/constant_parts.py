"""Values that layers compute from constants alone: codes, scales, zero points and tables of compressed weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from ir_exec.graph.graph import Node, Value
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "DEEPEST",
    "constant_shape",
    "evaluate_constants",
    "has_exact_conversion",
    "is_constant_part",
    "largest_constant",
    "nodes_above",
    "read_numbers",
    "stored_constant",
]

DEEPEST = 12
"""Maximum number of layers between a constant and the reader of a value."""

_SHORT_FLOATS = (ElementType.f16, ElementType.bf16)
_WIDE_CODES = (ElementType.f8e8m0, ElementType.nf4)
"""Types of few bits whose numbers 16-bit floats do not represent."""


def _is_arithmetic(node: Node) -> bool:
    """Return True for layers that converters write between constants: a notation in files."""
    return node.op_class.preserves_order or canonical(node.type) in ("Multiply", "Subtract")


def _is_in_chain(node: Node) -> bool:
    """Return True for layers between a constant of codes and the reader of a weight: a notation in files."""
    return _is_arithmetic(node) or canonical(node.type) in ("Transpose", "Gather", "FakeQuantize")


def is_constant_part(value: Value) -> bool:
    """Return True for constants, and for conversions, differences, products and reshapes of constants."""
    level = {value.node}
    for _ in range(DEEPEST + 1):
        constants = {node for node in level if isinstance(node.op, Const)}
        layers = level - constants
        if not all(isinstance(node.op, Const) and node.op.shape.is_static for node in constants):
            return False
        if not all(_is_arithmetic(node) and None not in node.inputs for node in layers):
            return False
        level = {source.node for node in layers for source in node.values_in}
        if not level:
            return True
    return False


def evaluate_constants(value: Value, weights: WeightsReader) -> Array:
    """Compute a value from constants with the operators of its layers, as an interpreted run does.

    16-bit floats are computed in f32, and a Convert rounds to its type.
    """
    op = value.node.op
    assert op is not None, "only layers with known operators are recognized"
    if isinstance(op, Const):
        return op.evaluate(weights=weights)
    sources = value.node.values_in
    outputs = {source: evaluate_constants(source, weights) for source in dict.fromkeys(sources)}
    if not op.is_conversion:
        outputs = {
            source: convert(array, ElementType.f32) if _is_short(array) else array for source, array in outputs.items()
        }
    with np.errstate(all="ignore"):
        return np.asarray(op.evaluate(*(outputs[source] for source in sources)))


def read_numbers(value: Value, weights: WeightsReader) -> Array:
    """The f32 array of a value that is computed from constants."""
    array = evaluate_constants(value, weights)
    return array if array.dtype == np.float32 else convert(array, ElementType.f32)


def stored_constant(value: Value) -> Const | None:
    """The constant before conversions that change none of its numbers in f32; None for all other values."""
    node = value.node
    while canonical(node.type) == "Convert" and has_exact_conversion(node):
        node = node.values_in[0].node
    return node.op if isinstance(node.op, Const) else None


def has_exact_conversion(node: Node) -> bool:
    """Return True if the Convert gives the numbers that a conversion of its source to f32 gives."""
    target: ElementType = vars(node.op)["destination_type"]
    if target is ElementType.f32:
        return True
    source = node.values_in[0].node
    while canonical(source.type) in ("Reshape", "Transpose") and None not in source.inputs:
        source = source.values_in[0].node
    source_type = source.op.element_type if isinstance(source.op, Const) else None
    if target not in _SHORT_FLOATS or source_type is None:
        return False
    return source_type is target or (0 < source_type.bits <= 8 and source_type not in _WIDE_CODES)


def constant_shape(value: Value) -> tuple[int, ...]:
    """The shape of a constant part, from the constants alone."""
    node = value.node
    if isinstance(node.op, Const):
        return node.op.shape.static
    if node.op_class.preserves_order and not node.op_class.is_conversion:
        return value.declared.shape.static if value.declared.shape.is_static else ()
    return np.broadcast_shapes(*(constant_shape(source) for source in node.values_in))


def largest_constant(value: Value) -> tuple[int, int]:
    """The number of elements of the largest constant above a value, and its negated bits; (0, 0) without constants."""
    largest, level = (0, 0), {value.node}
    for _ in range(DEEPEST + 1):
        constants = [node.op for node in level if isinstance(node.op, Const) and node.op.shape.is_static]
        sizes = ((prod(constant.shape.static), -constant.element_type.bits) for constant in constants)
        largest = max([largest, *sizes])
        level = {source.node for node in level if _is_in_chain(node) for source in node.values_in}
    return largest


def nodes_above(value: Value) -> Iterator[Node]:
    """The layers of a constant part, each once; only the node itself for other values."""
    if not is_constant_part(value):
        yield value.node
        return
    seen: set[Node] = set()
    waiting = [value.node]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += [source.node for source in reversed(node.values_in)]


def _is_short(array: Array) -> bool:
    return ElementType.of(array) in _SHORT_FLOATS
