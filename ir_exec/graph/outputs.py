"""Any value of a graph as an output of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.graph.graph import Graph, Node, Value
from ir_exec.graph.order import reachable
from ir_exec.ops.infrastructure.values import AssignsVariable, Result

__all__ = ["find_value", "suggested", "with_outputs"]


def with_outputs(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph with the values of these names as its outputs, and of its layers what they and the variables need.

    All Parameters stay. Raises EvaluationError as `find_value` does.
    """
    free = max((int(node.id) for node in graph.nodes), default=-1) + 1
    results = [_result(graph, name, free + position) for position, name in enumerate(names)]
    needed = reachable([*results, *(node for node in graph.nodes if isinstance(node.op, AssignsVariable))])
    nodes = [node for node in graph.nodes if node in needed or node in graph.parameters]
    nodes = [node for node in nodes if not isinstance(node.op, Result)]
    return replace(graph, nodes=[*nodes, *results], results=results)


def find_value(graph: Graph, name: str) -> Value:
    """The value of this tensor name, layer name (its only output), `layer:1` (one of several) or output name.

    Raises EvaluationError, with a name that is like it, where there is none, and for a layer of several outputs.
    """
    for result in graph.results:
        if name in result.layer.output_names:
            return result.values_in[0]
    for value in graph.values:
        if name in value.names:
            return value
    for node in graph.nodes:
        if node.name == name and isinstance(node.op, Result):
            return node.values_in[0]
        if node.name == name and len(node.outputs) == 1:
            return node.outputs[0]
        if node.name == name and node.outputs:
            choices = ", ".join(value.name for value in node.outputs)
            raise EvaluationError(f"layer {name!r} has {len(node.outputs)} outputs: {choices}", code=Code.unknown_input)
    for value in graph.values:
        if name == f"{value.node.name}:{value.position}":
            return value
    known = [text for value in graph.values for text in (*value.names, value.name)]
    raise EvaluationError(f"there is no layer or tensor {name!r}", code=Code.unknown_input, hint=suggested(name, known))


def suggested(name: str, known: Iterable[str]) -> str | None:
    """A hint that names what is like a name that does not exist."""
    near = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=3)
    return f"did you mean {' or '.join(near)}?" if near else None


def _result(graph: Graph, name: str, id: int) -> Node:
    value = find_value(graph, name)
    template = graph.results[0].layer if graph.results else value.node.layer
    layer = template.changed(id=str(id), name=name, type="Result", version="opset1", output_names=(name,))
    return Node(layer=layer, op=Result(), path=graph.path, op_class=Result, inputs=[value])
