"""A model as a graph: nodes that compute, and the values between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ir_exec.errors import Location
from ir_exec.ir import Layer
from ir_exec.ir.sources import CodeLocation
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Ties
from ir_exec.types import TensorType

__all__ = ["BodyGraph", "Graph", "Node", "Value"]


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """The value of one output port of a node.

    Attributes:
        number: Its index in `Graph.values`, and in the lists made by passes.
        declared: The type that the file declares at the port; without dims, the rank is unknown.
        names: The tensor names of the port.
    """

    node: Node
    position: int
    number: int
    declared: TensorType
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for messages: the name of the node, with the position if it has several outputs."""
        return self.node.name if len(self.node.outputs) == 1 else f"{self.node.name}:{self.position}"

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.declared}>"


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """A layer with its operator and its inputs.

    Attributes:
        op: Its operator; None if its type is unknown or its attributes are invalid.
        path: The file.
        op_class: The class with the properties of all versions of its type; Op itself if the type is unknown.
        inputs: The values that it reads, by position; None for an input without an edge.
        declared_inputs: The types that the file declares at the input ports.
    """

    layer: Layer
    op: Op | None
    path: str | None
    op_class: type[Op] = Op
    inputs: list[Value | None] = field(default_factory=list)
    outputs: tuple[Value, ...] = ()
    declared_inputs: tuple[TensorType, ...] = ()
    bodies: tuple[BodyGraph, ...] = ()

    @property
    def location(self) -> Location:
        """The place of the layer in the file."""
        layer = self.layer
        source = layer.source
        summary = None if source is None else source.summary
        return Location(self.path, layer.line or None, layer.id, layer.name, layer.type, source=summary)

    @property
    def source(self) -> CodeLocation | None:
        """The line of Python that the layer was exported from, None if the file does not contain it."""
        return self.layer.source

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
        """Return True if the node can be inferred and run: it has an operator, all edges and the ties of all bodies."""
        if self.op is None or None in self.inputs:
            return False
        if not self.bodies:
            return not self.op.body_names
        return all(body.ties for body in self.bodies) and not self.missing_bodies()

    def missing_bodies(self) -> list[str]:
        """The names of bodies required by the layer's type but missing in the layer."""
        if self.op is None or not self.op.body_names:
            return []
        present = {body.name for body in self.bodies}
        return [name for name in self.op.body_names if name not in present]

    @property
    def values_in(self) -> list[Value]:
        """The inputs that have an edge; all of them if the node is whole."""
        return [value for value in self.inputs if value is not None]

    @property
    def values_read(self) -> list[Value]:
        """The inputs that have an edge and whose elements matter, not only their type or shape."""
        reads = self.op_class.reads_elements
        return [value for position, value in enumerate(self.inputs) if value is not None and reads(position)]

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.name!r} {self.type}>"


@dataclass(eq=False, slots=True, repr=False)
class BodyGraph:
    """A graph inside a node, with ties of its Parameters and Results to the ports of the node.

    Attributes:
        ties: None if the port map of the file is wrong, which is reported when the graph is built.
        depth: The levels of nested bodies, including this one.
    """

    name: str
    graph: Graph
    ties: Ties | None
    depth: int = 1


@dataclass(eq=False, slots=True, repr=False)
class Graph:
    """A model, its nodes in topological order.

    Attributes:
        parameters: The Parameters in the order of the file, the order of the model's inputs.
        results: The Results in the order of the file, the order of the model's outputs.
        values: Every value, at the index `value.number`.
        unreachable: Nodes that no Result or Assign depends on; OpenVINO does not build them.
    """

    name: str
    nodes: list[Node]
    parameters: list[Node]
    results: list[Node]
    values: list[Value]
    unreachable: list[Node]
    path: str | None = None

    def all_nodes(self, *, unreachable: bool = False) -> Iterator[Node]:
        """Every node, followed by the nodes of its bodies; optionally with the unreachable ones."""
        for node in (*self.nodes, *self.unreachable) if unreachable else self.nodes:
            yield node
            for body in node.bodies:
                yield from body.graph.all_nodes(unreachable=unreachable)

    def scopes(
        self, *, unreachable: bool = False, scope: tuple[str, ...] = ()
    ) -> Iterator[tuple[tuple[str, ...], Graph]]:
        """This graph and those of all bodies, outer graphs first, each with its scope.

        Args:
            unreachable: include the bodies of unreachable nodes.
            scope: the names that lead to this graph, two for each body: the layer that holds it, and the body.
        """
        yield scope, self
        holders = self.holder_names()
        for node in (*self.nodes, *self.unreachable) if unreachable else self.nodes:
            for body in node.bodies:
                yield from body.graph.scopes(unreachable=unreachable, scope=(*scope, holders[node], body.name))

    def node_paths(self) -> dict[Node, str]:
        """The path of every node, including nodes of bodies: `loop/body/name`."""
        return {node: "/".join((*scope, node.name)) for scope, graph in self.scopes() for node in graph.nodes}

    def holder_names(self) -> dict[Node, str]:
        """The name in paths (`loop/body/name`) of each layer with bodies, with its id if several have one name."""
        holders = [node for node in (*self.nodes, *self.unreachable) if node.bodies]
        counts = Counter(node.name for node in holders)
        return {node: node.name if counts[node.name] == 1 else f"{node.name}#{node.id}" for node in holders}

    def take_apart(self) -> None:
        """Disconnect the nodes, to free an unused graph immediately.

        Nodes and values refer to each other. Collecting them as cyclic garbage would take a quarter of the time of
        checking a model.
        """
        for node in self.all_nodes(unreachable=True):
            node.inputs.clear()
            node.outputs = ()

    def __repr__(self) -> str:
        return f"<Graph {self.name!r} of {len(self.nodes)} nodes>"
