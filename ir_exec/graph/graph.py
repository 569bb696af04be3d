"""A network as a graph: nodes that compute, and the values that run between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ir_exec.errors import Location
from ir_exec.ir import Layer
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Ties
from ir_exec.types import TensorType

__all__ = ["BodyGraph", "Graph", "Node", "Value"]


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """What one output port of a node gives.

    number: its place in `Graph.values`, by which passes keep what they know of it.
    declared: the type that the file declares at the port; port dims may leave out what an unknown rank means.
    names: the tensor names of the port.
    """

    node: Node
    position: int
    number: int
    declared: TensorType
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for messages: the node's, with the port where there is more than one."""
        return self.node.name if len(self.node.outputs) == 1 else f"{self.node.name}:{self.position}"

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.declared}>"


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """A layer that takes part in the network.

    op: its operator, or None where there is none to be had: an unknown type, or attributes that are no good.
    path: the file.
    inputs: the values it takes, by position; an input that the file leaves without an edge is None.
    declared_inputs: the types that the file declares at the input ports.
    """

    layer: Layer
    op: Op | None
    path: str | None
    inputs: list[Value | None] = field(default_factory=list)
    outputs: tuple[Value, ...] = ()
    declared_inputs: tuple[TensorType, ...] = ()
    bodies: tuple[BodyGraph, ...] = ()

    @property
    def location(self) -> Location:
        """The place of the layer in the file."""
        layer = self.layer
        return Location(self.path, layer.line, layer.id, layer.name, layer.type)

    @property
    def id(self) -> str:
        return self.layer.id

    @property
    def name(self) -> str:
        return self.layer.name

    @property
    def type(self) -> str:
        return self.layer.type

    @property
    def is_whole(self) -> bool:
        """Whether the node can be inferred and run: it has an operator, every input its edge, every body its ties."""
        if self.op is None or None in self.inputs:
            return False
        if not self.bodies:
            return not self.op.body_names
        return all(body.ties for body in self.bodies) and not self.missing_bodies()

    def missing_bodies(self) -> list[str]:
        """The graphs that the layer's type asks for and the layer does not hold."""
        held = {body.name for body in self.bodies}
        return [name for name in (self.op.body_names if self.op else ()) if name not in held]

    @property
    def values_in(self) -> list[Value]:
        """The inputs of a node that is whole."""
        return [value for value in self.inputs if value is not None]

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name!r} {self.type}>"


@dataclass(eq=False, slots=True, repr=False)
class BodyGraph:
    """A graph inside a node, and how its Parameters and Results are tied to the node's ports.

    ties: None where the file's port map does not fit, which was reported when the graph was built.
    depth: how many bodies lie within each other, this one counted.
    """

    name: str
    graph: Graph
    ties: Ties | None
    depth: int = 1


@dataclass(eq=False, slots=True, repr=False)
class Graph:
    """A network, its nodes in topological order.

    parameters, results: in the order of the file, which is the order of the network's inputs and outputs.
    values: every value, each at its number.
    unreachable: nodes from which no Result and no Assign can be reached; OpenVINO does not build them.
    """

    name: str
    nodes: list[Node]
    parameters: list[Node]
    results: list[Node]
    values: list[Value]
    unreachable: list[Node]
    path: str | None = None

    def all_nodes(self, *, unreachable: bool = False) -> Iterator[Node]:
        """Every node, those of bodies right after the node that holds the body; at will the unreachable ones too."""
        for node in (*self.nodes, *self.unreachable) if unreachable else self.nodes:
            yield node
            for body in node.bodies:
                yield from body.graph.all_nodes(unreachable=unreachable)

    def __repr__(self) -> str:
        return f"<Graph {self.name!r} of {len(self.nodes)} nodes>"
