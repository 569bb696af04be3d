"""The layers that nodes of a session were made from, by the names of the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from ir_exec.graph import Graph, Node

__all__ = ["LayerNames", "holders_of"]

_NODE = re.compile(r"(?:[Nn]ame: ?|name )'([^']*)'|[Nn]ode:? ?\(([^)]*)\)")
"""The names of nodes in messages of onnxruntime."""


class LayerNames:
    """The layers from which nodes of the ONNX graph were made: names of nodes begin with the name of their layer."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.name: holder for node, holder in holders_of(self._graph)}

    def of(self, name: str) -> Node | None:
        """Return the layer named by the longest prefix of a node's name."""
        while name:
            node = self._nodes.get(name)
            if node is not None:
                return node
            cut = max(name.rfind("/"), name.rfind("_"))
            name = name[:cut] if cut > 0 else ""
        return None

    def of_message(self, text: str) -> Node | None:
        """Return the layer that a message names."""
        for match in _NODE.finditer(text):
            node = self.of(match[1] or match[2])
            if node is not None:
                return node
        return None


def holders_of(graph: Graph) -> Iterable[tuple[Node, Node]]:
    """Yield each layer of the graph and of bodies, with the layer of the graph that contains it."""
    for node in graph.nodes:
        yield node, node
        for body in node.bodies:
            for inner in body.graph.all_nodes():
                yield inner, node
