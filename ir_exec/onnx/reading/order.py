"""The order in which the nodes of a graph can be converted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ir_exec.codes import Code
from ir_exec.errors import GraphError, Location, ReportFault
from ir_exec.onnx.reading.sources import line_of_node

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

__all__ = ["in_order", "name_of", "needed_names", "place_of"]


def in_order(
    nodes: Sequence[NodeProto], available: Collection[str], report: ReportFault
) -> Iterator[tuple[int, NodeProto]]:
    """The nodes with their positions, each after the sources of its inputs; in the order of the file if that is valid.

    Reports GraphError: IR122 (a warning) for a node before a source of its inputs; IR107 for nodes in a cycle, which
    are omitted; IR102 for an undefined name.
    """
    defined = set(available)
    makers = {name: position for position, node in enumerate(nodes) for name in node.output if name}
    waiting: dict[int, int] = {}
    readers: dict[str, list[int]] = {}
    for start, node in enumerate(nodes):
        needed = {name for name in needed_names(node) if name not in defined}
        unknown = sorted(needed - makers.keys())
        if unknown:
            report(_dangling(node, start, unknown[0]))
            defined.update(unknown)
            needed -= set(unknown)
        if needed:
            waiting[start] = len(needed)
            for name in needed:
                readers.setdefault(name, []).append(start)
            continue
        ready = [start]
        while ready:
            position = ready.pop()
            if position < start:
                report(_unsorted_node(nodes[position], position))
            yield position, nodes[position]
            for name in nodes[position].output:
                defined.add(name)
                for reader in readers.pop(name, ()):
                    waiting[reader] -= 1
                    if not waiting[reader]:
                        del waiting[reader]
                        ready.append(reader)
    if waiting:
        first = min(waiting)
        names = ", ".join(name_of(nodes[position]) for position in sorted(waiting)[:5])
        location = place_of(nodes[first], first)
        report(GraphError(f"nodes form a cycle or depend on one: {names}", code=Code.cycle, location=location))


def name_of(node: NodeProto) -> str:
    """The name of a node in messages: its name, or its first output."""
    return node.name or next((name for name in node.output if name), "")


def place_of(node: NodeProto, position: int, port: str | None = None) -> Location:
    """The location of a node for messages."""
    source = line_of_node(node)
    return Location(
        layer_id=str(position),
        layer_name=name_of(node),
        layer_type=node.op_type,
        port=port,
        kind="node",
        source=None if source is None else source.summary,
    )


def needed_names(node: NodeProto) -> set[str]:
    """The names that a node reads, including the outer names read by its bodies."""
    needed = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
            needed |= _free_names(graph)
    return needed


def _free_names(graph: GraphProto) -> set[str]:
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    needed = {output.name for output in graph.output}
    for node in graph.node:
        needed |= needed_names(node)
    return needed - own


def _unsorted_node(node: NodeProto, position: int) -> GraphError:
    location = place_of(node, position)
    message = "the node reads an output of a later node"
    return GraphError(message, code=Code.unsorted_nodes, severity="warning", location=location)


def _dangling(node: NodeProto, position: int, name: str) -> GraphError:
    location = place_of(node, position, port=name)
    return GraphError(
        f"{name!r} is not the output of a node, an input or an initializer", code=Code.dangling_edge, location=location
    )
