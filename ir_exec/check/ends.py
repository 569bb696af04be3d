"""The ends of edges: the output port that a value comes from, and the input ports that it goes to."""

from __future__ import annotations

from typing import NamedTuple

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, IRError, Location, ShapeError
from ir_exec.graph import Graph, Node, Value
from ir_exec.ir import Port
from ir_exec.types import TensorType

__all__ = ["End", "fault_at", "layer_of", "readers_of_values", "source_of"]


class End(NamedTuple):
    """An input or output port of a node."""

    node: Node
    position: int
    is_output: bool

    @property
    def port(self) -> Port:
        layer = self.node.layer
        return (layer.outputs if self.is_output else layer.inputs)[self.position]

    @property
    def value(self) -> Value | None:
        """What leaves or enters the node here; None for an input without an edge."""
        return self.node.outputs[self.position] if self.is_output else self.node.inputs[self.position]

    @property
    def declared(self) -> TensorType:
        """The type that the file declares here."""
        return self.node.outputs[self.position].declared if self.is_output else self.node.declared_inputs[self.position]

    @property
    def name(self) -> str:
        """What messages call the port: the operator's name for it, or its id where there is no operator."""
        op = self.node.op
        if op is None:
            return self.port.id
        return op.output_name(self.position) if self.is_output else op.input_name(self.position)

    @property
    def location(self) -> Location:
        return Location(line=self.port.line, port=self.name).filled_from(self.node.location)


def source_of(value: Value) -> End:
    """The output port that a value comes from."""
    return End(value.node, value.position, is_output=True)


def readers_of_values(graph: Graph) -> dict[Value, list[End]]:
    """The input ports to which each value of a graph goes."""
    readers: dict[Value, list[End]] = {value: [] for value in graph.values}
    for node in graph.nodes:
        for position, value in enumerate(node.inputs):
            if value is not None:
                readers[value].append(End(node, position, is_output=False))
    return readers


def fault_at(
    end: End, code: Code, message: str, *, hint: str | None = None, related: tuple[Location, ...] = ()
) -> IRError:
    """An error about what a port declares, placed at the port."""
    cls = ElementTypeError if code is Code.declared_element_type else ShapeError
    return cls(message, code=code, hint=hint, location=end.location, related=related)


def layer_of(node: Node) -> str:
    """The layer in a sentence: `layer 7 "gather" (GatherElements)`."""
    return str(Location(layer_id=node.id, layer_name=node.name, layer_type=node.type))
