"""Removal of nodes and values of an ONNX graph, with what only they read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ir_exec.errors import GraphError
from ir_exec.onnx.editing.scopes import GraphScope
from ir_exec.onnx.reading.order import name_of, needed_names

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["position_of", "prune", "remove_node", "remove_value"]


def remove_node(scope: GraphScope, node: NodeProto) -> list[str]:
    """Remove a node, whose readers read its first input, with the nodes and initializers that only it read.

    Returns:
        The names of the values whose types may change.

    Raises:
        GraphError: If several of its outputs are read, or without an input to replace them.
    """
    outputs = [output for output in node.output if output]
    used = [output for output in outputs if scope.readers(output) or output in scope.output_names]
    source = next((value for value in node.input if value), None)
    if used and (len(used) > 1 or used[0] != node.output[0] or source is None):
        raise GraphError(
            f"node {scope.path + name_of(node)!r} has",
            actual=f"{len(node.input)} inputs and {len(used)} outputs that are read",
            expected="one output, and an input to replace it",
        )
    dropped = [value for value in needed_names(node) if value != source or not used]
    position = position_of(scope, node)
    if used and source is not None:
        _bypass(scope, node, used[0], source, position)
    else:
        del scope.nodes[position]
        scope.forget_nodes()
    prune(scope, dropped)
    return used if source is None else [*used, source]


def _bypass(scope: GraphScope, node: NodeProto, output: str, source: str, position: int) -> None:
    """Remove a node, and let the readers of its output read its input; outputs of graphs keep their names."""
    if output not in scope.output_names:
        readers = list(scope.readers(output))
        del scope.nodes[position]
        scope.read_instead(readers, output, source)
        _forget_declaration(scope, output)
        return
    producer = scope.producers.get(source)
    if producer is not None and source not in scope.output_names:
        del scope.nodes[position]
        scope.forget_nodes()
        _forget_declaration(scope, source)
        producer.output[:] = [output if name == source else name for name in producer.output]
        scope.read_instead(list(scope.readers(source)), source, output)
        return
    # An output cannot have the name of an input or of another output.
    identity = type(node)(op_type="Identity", name=node.name, input=[source], output=[output])
    node.CopyFrom(identity)
    scope.forget_nodes()


def remove_value(scope: GraphScope, value: str) -> None:
    """Remove an unread input or initializer of the graph; raises GraphError for other values."""
    if scope.readers(value) or value in scope.output_names:
        raise GraphError(f"{scope.path + value!r} is read", expected="a node, or an unread input or initializer")
    if scope.is_function or scope.outer is not None:
        raise GraphError(f"{scope.path + value!r} is an input of a body or function, which keeps its inputs")
    for declared in list(scope.content.input):
        if declared.name == value:
            scope.content.input.remove(declared)
    _drop_initializer(scope, value)


def prune(scope: GraphScope, values: Iterable[str]) -> None:
    """Remove the nodes and initializers that only a removed node read."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if not value or scope.readers(value) or value in scope.output_names or not scope.has_value(value):
            continue
        if value in scope.initializers:
            if value not in scope.input_names:
                _drop_initializer(scope, value)
            continue
        node = scope.producers.get(value)
        if node is None or any(scope.readers(name) or name in scope.output_names for name in node.output if name):
            continue
        pending += needed_names(node)
        for name in node.output:
            _forget_declaration(scope, name)
        del scope.nodes[position_of(scope, node)]
        scope.forget_nodes()


def _drop_initializer(scope: GraphScope, name: str) -> None:
    for tensors in (scope.content.initializer, scope.content.sparse_initializer):
        for position in reversed(range(len(tensors))):
            tensor = tensors[position]
            if (tensor if tensor.DESCRIPTOR.name == "TensorProto" else tensor.values).name == name:
                del tensors[position]
    _forget_declaration(scope, name)
    scope.forget_nodes()


def _forget_declaration(scope: GraphScope, name: str) -> None:
    """Remove the declared type of a value that no longer exists."""
    declarations = scope.content.value_info
    for position in reversed(range(len(declarations))):
        if declarations[position].name == name:
            del declarations[position]
            scope.forget_nodes()


def position_of(scope: GraphScope, node: NodeProto) -> int:
    """Return the position of a node in its graph."""
    return next(position for position, candidate in enumerate(scope.nodes) if candidate is node)
