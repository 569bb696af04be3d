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


def is_constant_part(value: Value, depth: int = 0) -> bool:
    """Return True for constants, and for conversions, differences, products and reshapes of constants."""
    node = value.node
    if isinstance(node.op, Const):
        return node.op.shape.is_static
    # The layers that compressors write between constants: names of a notation in files.
    if canonical(node.type) not in ("Convert", "Multiply", "Subtract", "Reshape") or depth >= DEEPEST:
        return False
    return None not in node.inputs and all(is_constant_part(source, depth + 1) for source in node.values_in)


def evaluate_constants(value: Value, weights: WeightsReader) -> Array:
    """Compute a value from constants with the operators of its layers, as an interpreted run does.

    16-bit floats are computed in f32, and a Convert rounds to its type.
    """
    op = value.node.op
    assert op is not None, "only layers with known operators are recognized"
    if isinstance(op, Const):
        return op.evaluate(weights=weights)
    arrays = [evaluate_constants(source, weights) for source in value.node.values_in]
    if not op.is_conversion:
        arrays = [convert(array, ElementType.f32) if _is_short(array) else array for array in arrays]
    with np.errstate(all="ignore"):
        return np.asarray(op.evaluate(*arrays))


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
    kind = source.op.element_type if isinstance(source.op, Const) else None
    if target not in _SHORT_FLOATS or kind is None or kind in (ElementType.f8e8m0, ElementType.nf4):
        return kind is target and kind in _SHORT_FLOATS
    return kind is target or 0 < kind.bits <= 8


def constant_shape(value: Value) -> tuple[int, ...]:
    """The shape of a constant part, from the constants alone."""
    node = value.node
    if isinstance(node.op, Const):
        return node.op.shape.static
    if canonical(node.type) == "Reshape":
        return value.declared.shape.static if value.declared.shape.is_static else ()
    return np.broadcast_shapes(*(constant_shape(source) for source in node.values_in))


def largest_constant(value: Value, depth: int = 0) -> tuple[int, int]:
    """The number of elements of the largest constant above a value, and its negated bits; (0, 0) without constants."""
    node = value.node
    if isinstance(node.op, Const):
        return (prod(node.op.shape.static), -node.op.element_type.bits) if node.op.shape.is_static else (0, 0)
    if depth >= DEEPEST:
        return 0, 0
    return max((largest_constant(source, depth + 1) for source in node.values_in), default=(0, 0))


def nodes_above(value: Value) -> Iterator[Node]:
    """The layers of a constant part; only the node itself for other values."""
    yield value.node
    if is_constant_part(value):
        for source in value.node.values_in:
            yield from nodes_above(source)


def _is_short(array: Array) -> bool:
    return ElementType.of(array) in _SHORT_FLOATS
