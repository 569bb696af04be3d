"""Values of traces that are computed from stored constants when they are read, instead of being stored.

The layers that decompress a weight compute values many times larger than its constants: a few bits of each element are
stored, and f32 after each of these layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ir_exec.build.cutting import cut, region_at
from ir_exec.debug.traces.walk import Walker
from ir_exec.debug.values.entries import Key
from ir_exec.graph import Node
from ir_exec.graph.compressed import find_weight
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.constant_values import constant_values
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array

__all__ = ["LEAST_BYTES", "ExpandedValues", "find_expanded", "save_layers"]

LEAST_BYTES = 2**16
"""Minimum bytes of a value that is computed when it is read."""


def find_expanded(model: Model, is_stored: Callable[[Node], bool]) -> dict[Key, Node]:
    """The layers that expand stored constants, by the keys of their values.

    Args:
        is_stored: Returns True for a constant whose value is stored.
    """
    expanded: dict[Key, Node] = {}
    for value in constant_values(model.graph):
        weight = find_weight(value)
        if weight is not None and all(is_stored(node) for node in weight.nodes if isinstance(node.op, Const)):
            expanded[(), value.node.id, value.position] = value.node
    return expanded


def save_layers(model: Model, nodes: Mapping[Key, Node], path: Path) -> None:
    """Write a model of these layers; its inputs are their constants that traces store, with their ids.

    Raises:
        IRError: If it cannot be written.
    """
    layers = set(nodes.values())
    pending = list(layers)
    while pending:
        sources = {value.node for value in pending.pop().values_in} - layers
        computed = [node for node in sources if not isinstance(node.op, Const)]
        layers.update(computed)
        pending += computed
    stored = {
        value
        for node in layers
        for value in node.values_in
        if isinstance(value.node.op, Const) and _is_large(value.node)
    }
    outputs = [value for node in layers for value in node.outputs]
    cut(region_at(model), layers, outputs, opened=stored).model.save(path)


def _is_large(node: Node) -> bool:
    return isinstance(node.op, Const) and node.op.size >= LEAST_BYTES


class ExpandedValues:
    """Values computed by the layers of a model from its constants.

    Args:
        model: The model of the trace, or of `save_layers`.
        precision: As for the trace.
        load: Returns a stored constant by the id of its layer.
    """

    def __init__(self, model: Model, precision: Precision, load: Callable[[str], Array]) -> None:
        self._walker = Walker(model, precision=precision)
        self._nodes = {node.id: node for node in model.graph.nodes}
        self._load = load

    def compute(self, layer_id: str, port: int) -> Array:
        """Return the value of an output of a layer."""
        array = self._compute(self._nodes[layer_id], port)
        array.flags.writeable = False
        return array

    def _compute(self, node: Node, port: int) -> Array:
        # The chain of a weight has a few layers.
        if (node.op is not None and node.op.is_parameter) or _is_large(node):
            return self._load(node.id)
        return self._walker.again(node, [self._compute(value.node, value.position) for value in node.values_in])[port]
