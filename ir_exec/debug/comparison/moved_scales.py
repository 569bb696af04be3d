"""Constant scales and shifts that one of two files applies after a layer, and the other one in the layer's weights.

Converters fold `convolution(x) * gamma` into the weights and keep one of the names. The value of the reference is then
that of the scale, although its layer is paired with the layer before the scale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from ir_exec.debug.comparison.references.value_search import relative_distance
from ir_exec.debug.traces.walk import Walker
from ir_exec.debug.values.entries import Key
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array

__all__ = ["find_scaled_layer", "readers_of_layers"]

_MOST_STEPS = 3
"""Maximum scales and shifts after a layer: a bias, a scale, and the shift of a normalization."""


def readers_of_layers(graph: Graph) -> Mapping[str, Sequence[Node]]:
    """Return the layers that read the outputs of each layer, by the id of the layer; Results count as layers."""
    readers: dict[str, list[Node]] = defaultdict(list)
    for node in dict.fromkeys([*graph.nodes, *graph.results]):
        for value in node.inputs:
            if value is not None:
                readers[value.node.id].append(node)
    return readers


def find_scaled_layer(
    walker: Walker,
    node: Node,
    output: Array,
    expected: Array,
    readers: Mapping[str, Sequence[Node]],
    partners: Collection[Key],
) -> Node | None:
    """Return the layer that scales or shifts the output of a layer by constants to the value of the reference.

    Args:
        node: A layer whose output differs from its value in the reference.
        output: Its output, computed from the inputs of the reference if they are known.
        expected: The value of the reference.
        readers: The result of `readers_of_layers`.
        partners: The values that have a partner; a layer with a partner is not returned.
    """
    for _ in range(_MOST_STEPS):
        following = readers.get(node.id, ())
        if len(following) != 1 or len(node.outputs) != 1 or ((), following[0].id, 0) in partners:
            return None
        scaled = _apply(walker, node, following[0], output)
        if scaled is None or scaled.shape != output.shape:
            return None
        node, output = following[0], scaled
        if output.shape == expected.shape and relative_distance(output, expected) is not None:
            return node
    return None


def _apply(walker: Walker, node: Node, reader: Node, output: Array) -> Array | None:
    """Return the output of a layer that combines a value with a constant; None for other layers."""
    if reader.op is None or reader.op.neutral is None or len(reader.inputs) != 2 or len(reader.outputs) != 1:
        return None
    arguments = []
    for value in reader.inputs:
        argument = output if value is not None and value.node is node else _constant_value(walker, value)
        if argument is None:
            return None
        arguments.append(argument)
    try:
        return walker.again(reader, arguments)[0]
    except (IRError, ValueError):
        return None


def _constant_value(walker: Walker, value: Value | None, depth: int = _MOST_STEPS) -> Array | None:
    """Return a constant, also one that layers reshape or convert; None for other values."""
    if value is None or value.node.op is None:
        return None
    if isinstance(value.node.op, Const):
        return walker.constant(value.node)
    if not depth or not value.node.op.is_data_movement or value.node.bodies:
        return None
    arguments = [_constant_value(walker, argument, depth - 1) for argument in value.node.inputs]
    arrays = [argument for argument in arguments if argument is not None]
    if not arrays or len(arrays) < len(arguments):
        return None
    try:
        return walker.again(value.node, arrays)[value.position]
    except (IRError, ValueError):
        return None
