"""The nodes of a model and of its bodies, with their ids and paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ir_exec.graph import Graph, Node
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.ir import Weights
from ir_exec.model import Model

__all__ = ["PlacedNode", "placed_nodes"]


class PlacedNode(NamedTuple):
    """A node of the model or of a body, with the types of its graph.

    Attributes:
        id: The id, preceded by the ids of the enclosing layers: `16/then/2`.
        path: Names, `loop/body/add`, as in traces.
    """

    id: str
    path: str
    node: Node
    types: Types
    graph: Graph

    @property
    def prefix(self) -> str:
        return self.id.removesuffix(self.node.id)


def placed_nodes(network: Model) -> Iterator[PlacedNode]:
    """Yield every node; the nodes of bodies follow the node that contains the body."""
    return _walk_placed(network.graph, network.types, network.weights, "", "")


def _walk_placed(graph: Graph, types: Types, weights: Weights | None, prefix: str, scope: str) -> Iterator[PlacedNode]:
    for node in graph.nodes:
        yield PlacedNode(f"{prefix}{node.id}", f"{scope}{node.name}", node, types, graph)
        for body in node.bodies:
            inside = infer_types(body.graph, weights=weights, settle=inferred_or_declared)
            label = f"{prefix}{node.id}/" + ("" if body.name == "body" else f"{body.name.removesuffix('_body')}/")
            yield from _walk_placed(body.graph, inside, weights, label, f"{scope}{node.name}/{body.name}/")
