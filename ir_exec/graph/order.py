"""The order in which nodes run, the needed nodes, and any value of a graph as its output."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, ReportFault
from ir_exec.graph.graph import Graph, Node, Value
from ir_exec.hints import suggested
from ir_exec.ops.infrastructure.values import AssignsVariable, Result

__all__ = ["find_value", "last_uses", "reachable", "topological_order", "with_outputs"]


def topological_order(nodes: list[Node], report: ReportFault) -> list[Node]:
    """The nodes, each after the sources of its inputs, and else in the given order.

    One cycle is reported (IR107), with its layers in the message; nodes on cycles, and nodes that depend on them, come
    last, in the given order.
    """
    index_of = {node: index for index, node in enumerate(nodes)}
    if _is_ordered(nodes, index_of):
        return list(nodes)
    consumers: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for index, node in enumerate(nodes):
        for source in {value.node for value in node.inputs if value is not None}:
            consumers[index_of[source]].append(index)
            waiting[index] += 1
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for consumer in consumers[index]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, consumer)
    if len(order) < len(nodes):
        left = [nodes[index] for index, count in enumerate(waiting) if count > 0]
        _report_cycle(left, report)
        return [nodes[index] for index in order] + left
    return [nodes[index] for index in order]


def _is_ordered(nodes: list[Node], index_of: dict[Node, int]) -> bool:
    """Return True if every node already follows the sources of its inputs, as in most files."""
    for index, node in enumerate(nodes):
        for value in node.inputs:
            if value is not None and index_of[value.node] >= index:
                return False
    return True


def _report_cycle(left: list[Node], report: ReportFault) -> None:
    """Walk backwards from a node that could not be placed, until a node repeats."""
    pending = set(left)
    walk: list[Node] = []
    seen: dict[Node, int] = {}
    node = left[0]
    while node not in seen:
        seen[node] = len(walk)
        walk.append(node)
        node = next(value.node for value in node.inputs if value is not None and value.node in pending)
    cycle = walk[seen[node] :][::-1]
    start = cycle.index(min(cycle, key=left.index))
    cycle = cycle[start:] + cycle[:start]
    names = [f'layer {member.id} "{member.name}"' for member in cycle]
    shown = names if len(names) <= 12 else [*names[:6], f"... {len(names) - 11} more ...", *names[-5:]]
    message = f"the layers form a cycle: {' -> '.join([*shown, names[0]])}"
    report(GraphError(message, code=Code.cycle).located(cycle[0].location))


def reachable(sinks: Iterable[Node]) -> set[Node]:
    """The nodes that the sinks depend on, including the sinks."""
    visited = set(sinks)
    pending = list(visited)
    while pending:
        for value in pending.pop().inputs:
            if value is not None and value.node not in visited:
                visited.add(value.node)
                pending.append(value.node)
    return visited


def last_uses(nodes: list[Node]) -> list[list[int]]:
    """For each node, the numbers of the values, including outputs, that no later node reads."""
    last: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for value in (*node.outputs, *node.inputs):
            if value is not None:
                last[value.number] = index
    dying: list[list[int]] = [[] for _ in nodes]
    for number, index in last.items():
        dying[index].append(number)
    return dying


def with_outputs(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph with the values of these names as its outputs, and with the layers that they and the variables need.

    All Parameters are kept.

    Raises:
        EvaluationError: As `find_value` does.
    """
    free = max((int(node.id) for node in graph.nodes), default=-1) + 1
    results = [_result(graph, name, free + position) for position, name in enumerate(names)]
    needed = reachable([*results, *(node for node in graph.nodes if isinstance(node.op, AssignsVariable))])
    nodes = [node for node in graph.nodes if node in needed or node in graph.parameters]
    nodes = [node for node in nodes if not isinstance(node.op, Result)]
    return replace(graph, nodes=[*nodes, *results], results=results)


def find_value(graph: Graph, name: str) -> Value:
    """The value of this tensor name, layer name (its only output), `layer:1` (one of several) or output name.

    Raises:
        EvaluationError: For an unknown name, with a similar name as a hint, or for a layer with several outputs.
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
    names = [text for value in graph.values for text in (*value.names, value.name)]
    raise EvaluationError(f"there is no layer or tensor {name!r}", code=Code.unknown_input, hint=suggested(name, names))


def _result(graph: Graph, name: str, id: int) -> Node:
    value = find_value(graph, name)
    template = graph.results[0].layer if graph.results else value.node.layer
    layer = template.changed(id=str(id), name=name, type="Result", version="opset1", output_names=(name,))
    return Node(layer=layer, op=Result(), path=graph.path, op_class=Result, inputs=[value])
