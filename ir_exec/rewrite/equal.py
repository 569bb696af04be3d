"""Merging of layers that compute the same from the same values."""

from __future__ import annotations

from collections.abc import Hashable

from ir_exec.graph import Node, Value
from ir_exec.ops.base.registry import type_key
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.rewrite.network import EditedNetwork

__all__ = ["merge_equal_layers"]

_MOST_MERGED = 2**8
"""Maximum bytes of constants that are compared: larger ones are weights, which are kept under their names."""


def merge_equal_layers(network: EditedNetwork) -> None:
    """Merge equal layers without bodies, random numbers and state, and equal small constants."""
    first_of: dict[Hashable, Node] = {}
    for node in network.graph.nodes:
        if node in network.removed:
            continue
        key = _key(network, node)
        if key is None:
            continue
        other = first_of.setdefault(key, node)
        if other is not node:
            for value, by in zip(node.outputs, other.outputs, strict=True):
                network.replace(value, by)


def _key(network: EditedNetwork, node: Node) -> Hashable | None:
    op = node.op
    if op is None or isinstance(op, (Parameter, Result)) or node.bodies or not op.deterministic:
        return None
    if isinstance(op, Const):
        value = network.constant_value(node.outputs[0]) if op.size <= _MOST_MERGED else None
        if value is None or value.dtype == object or not _may_share(network, node.outputs[0]):
            return None
        return "const", op.element_type, value.shape, value.tobytes()
    if op.evaluate_context or not node.outputs or not _is_shared_by_name(network, node):
        return None
    sources = tuple([network.current(value) for value in node.values_in])
    return type_key(node.type), node.layer.version, tuple(sorted(node.layer.data.items())), sources, len(node.inputs)


def _may_share(network: EditedNetwork, value: Value) -> bool:
    """Return False for a named vector of floats: it is a weight."""
    return not value.names or not network.type(value).element_type.is_float or network.type(value).rank == 0


def _is_shared_by_name(network: EditedNetwork, node: Node) -> bool:
    """Return False if a Result reads a value: its layer must be kept."""
    return not any(isinstance(reader.op, Result) for value in node.outputs for reader, _ in network.readers(value))
