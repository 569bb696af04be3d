"""Cutting of submodels: any set of layers as a separate model, with Parameters at the cuts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ir_exec.build.draft import unused_name
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError
from ir_exec.graph import BodyGraph, Graph, Node, Value, build_graph
from ir_exec.infer import Types
from ir_exec.ir import Edge, Layer, Port, Weights, encode
from ir_exec.model import Loaded, Model
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, Parameter, ReadsVariable, Result
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = [
    "Cut",
    "Region",
    "below",
    "cut",
    "declared_port",
    "is_counted",
    "needed_by",
    "region_at",
    "source",
    "with_variables",
]


@dataclass(frozen=True)
class Region:
    """The layers to cut from: those of a model or of a body.

    Attributes:
        types: The types of all values, indexed by value number.
        scope: The names of the enclosing layers and bodies.
    """

    model: Model
    graph: Graph
    types: Types
    scope: tuple[str, ...] = ()

    @cached_property
    def layers(self) -> dict[Node, Layer]:
        """The layers with declared ports: missing declarations of the file are added, also for input shapes that differ
        from the file's.
        """
        return {node: self._declared_anew(node) for node in self.graph.nodes}

    def type(self, value: Value) -> TensorType:
        return self.types[value.number]

    def known(self, value: Value) -> Array | None:
        """Return the value if it is known to inference."""
        return self.type(value).value if self.type(value).element_type.is_known else None

    def _declared_anew(self, node: Node) -> Layer:
        inputs = self._ports(node.layer.inputs, node.inputs)
        outputs = self._ports(node.layer.outputs, node.outputs)
        if inputs == node.layer.inputs and outputs == node.layer.outputs:
            return node.layer
        return node.layer.changed(inputs=inputs, outputs=outputs)

    def _ports(self, ports: Sequence[Port], values: Sequence[Value | None]) -> tuple[Port, ...]:
        return tuple(
            declared_port(port, self.type(value)) if value is not None and (self.model.given or not port.dims) else port
            for port, value in zip(ports, values, strict=True)
        )


def region_at(model: Model, scope: Sequence[str] = ()) -> Region:
    """Return the model, or the body at this path of names of layers and bodies, with the types inferred there."""
    graph, types = model.graph, model.types
    for name, body_name in zip(scope[::2], scope[1::2], strict=True):
        graph = _body(graph, name, body_name).graph
    if scope:
        seen = model.all_types()
        types = [seen.get(value, value.declared) for value in graph.values]
    return Region(model, graph, types, tuple(scope))


def _body(graph: Graph, name: str, body_name: str) -> BodyGraph:
    named = [node for node, holder_name in graph.holder_names().items() if name in (holder_name, node.name)]
    bodies = [body for node in named for body in node.bodies if body.name == body_name]
    if not bodies:
        raise EvaluationError(f"there is no body {name}/{body_name}", code=Code.unknown_input)
    return bodies[0]


@dataclass(frozen=True)
class Cut:
    """A submodel, and the values of the whole model at its inputs and outputs, in their order.

    Attributes:
        original: The ONNX graph that the whole model was lowered from, if engines may run its nodes.
    """

    model: Model
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    original: Any = None


def source(value: Value) -> Value:
    """Return the value itself, or the input of an Assign for its output, to avoid a dependency on the Assign."""
    while isinstance(value.node.op, AssignsVariable) and value.node.inputs[0] is not None:
        value = value.node.inputs[0]
    return value


def needed_by(
    sinks: Iterable[Node], stops: Collection[Value] = (), read: Callable[[Value], Value] = source
) -> set[Node]:
    """Return the layers that the sinks depend on, including the sinks, up to the stops.

    Args:
        read: The value that a layer actually reads for its input.
    """
    layers = set(sinks)
    pending = list(layers)
    while pending:
        for value in map(read, pending.pop().values_in):
            if value not in stops and value.node not in layers:
                layers.add(value.node)
                pending.append(value.node)
    return layers


def with_variables(region: Region, keep: Iterable[Node]) -> set[Node]:
    """Return the layers with the Assign of every variable that is read, and without Assigns of other variables."""
    retained = set(keep)
    read = {node.op.variable_id for node in retained if isinstance(node.op, ReadsVariable)}
    for node in region.graph.nodes:
        if isinstance(node.op, AssignsVariable):
            (retained.add if node.op.variable_id in read else retained.discard)(node)
    return retained


def below(
    region: Region, outputs: Iterable[Value], stops: Collection[Value] = (), read: Callable[[Value], Value] = source
) -> set[Node]:
    """Return the layers that compute these values from the stops, with the Assigns of the variables they read."""
    retained: set[Node] = set()
    sinks = {value.node for value in outputs if value not in stops}
    while sinks - retained:
        retained = {node for node in needed_by(sinks, stops, read) if is_counted(node)}
        retained = with_variables(region, retained)
        sinks |= {node for node in retained if isinstance(node.op, AssignsVariable)}
        retained |= {node for node in sinks if not is_counted(node)}
    return {node for node in retained if is_counted(node)}


def cut(
    region: Region,
    keep: AbstractSet[Node],
    outputs: Sequence[Value] | None = None,
    *,
    constants: Mapping[Value, Array] | None = None,
    opened: Collection[Value] = (),
    replaced: Mapping[Value, Value] | None = None,
    next_id: int = 0,
) -> Cut:
    """Return the submodel of these layers and the constants that they read, with Parameters for all other values.

    Args:
        keep: Layers without Results; Assigns of exactly the variables that are read.
        outputs: The values of the outputs, repeated ones included; by default the values that layers outside `keep`
            read.
        constants: Values that replace Parameters.
        opened: Values of constants and of these layers that become Parameters.
        replaced: Values to be read in place of others.
        next_id: The minimum id of new layers, which otherwise have the id of the layer that they replace.

    Raises:
        IRError: The errors of building a graph and inferring its types.
        EvaluationError: If no output is left.
    """
    return _Cutter(region, keep, constants or {}, frozenset(opened), replaced or {}, next_id).cut(outputs)


@dataclass
class _Cutter:
    region: Region
    keep: AbstractSet[Node]
    constants: Mapping[Value, Array]
    opened: frozenset[Value]
    replaced: Mapping[Value, Value]
    next_id: int
    layers: list[Layer] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    ends: dict[Value, tuple[str, str]] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)
    stored: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        nodes = self.region.graph.nodes
        self.taken = {node.id for node in nodes if node in self.keep}
        self.next_id = max([self.next_id, *(int(node.id) + 1 for node in nodes)])
        weights = self.region.model.weights
        self.weights = weights if weights is not None else Weights.of_bytes(b"")

    def cut(self, outputs: Sequence[Value] | None) -> Cut:
        ends = self.open_ends() if outputs is None else list(map(self.read, outputs))
        if not ends:
            raise EvaluationError("the submodel has no outputs", expected="at least one", code=Code.no_result)
        read = {self.read(value) for node in self.keep for value in node.values_in} | set(ends)
        for node in self.region.graph.nodes:
            if node in self.keep:
                self.layers.append(self.layer_of(node))
                for value, port in zip(node.outputs, node.layer.outputs, strict=True):
                    if value not in self.opened:
                        self.ends[value] = (node.id, port.id)
            for value in node.outputs:
                if value in read and value not in self.ends:
                    self.begin(value)
        for node in self.region.graph.nodes:
            if node in self.keep:
                for value, port in zip(node.values_in, node.layer.inputs, strict=True):
                    self.edges.append(self.edge(value, node.id, port.id))
        for value in ends:
            self.end(value)
        return Cut(self.model(), tuple(self.inputs), tuple(ends))

    def read(self, value: Value) -> Value:
        value = source(value)
        while value in self.replaced:
            value = source(self.replaced[value])
        return value

    def open_ends(self) -> list[Value]:
        """Return the values of kept layers that others read, in the order of the Results, then of the layers."""
        shown = [node.values_in[0] for node in self.region.graph.results]
        shown += [value for node in self.region.graph.nodes if node not in self.keep for value in node.values_in]
        return [value for value in dict.fromkeys(map(self.read, shown)) if value.node in self.keep]

    def layer_of(self, node: Node) -> Layer:
        """Return a kept layer; the names of an opened value move to its Parameter."""
        layer = self.region.layers[node]
        if self.opened.isdisjoint(node.outputs):
            return layer
        ports = zip(layer.outputs, node.outputs, strict=True)
        outputs = tuple([port.changed(names=()) if value in self.opened else port for port, value in ports])
        return layer.changed(outputs=outputs)

    def begin(self, value: Value) -> None:
        """Add the layer of a value that no layer computes: a constant, or an input."""
        node = value.node
        if isinstance(node.op, Const) and value not in self.opened and value not in self.constants:
            layer = self.region.layers[node]
            self.taken.add(node.id)
        elif value in self.constants:
            layer = self.constant(value, self.constants[value])
        else:
            layer = self.parameter(value)
            self.inputs.append(value)
        self.layers.append(layer)
        self.ends[value] = (layer.id, layer.outputs[0].id)

    def parameter(self, value: Value) -> Layer:
        type = self.region.type(value)
        attributes = {"shape": str(type.shape)[1:-1], "element_type": str(type.element_type)}
        if isinstance(value.node.op, Parameter):
            layer = self.region.layers[value.node]
            self.taken.add(layer.id)
            return layer.changed(data={**layer.data, **attributes}, outputs=(declared_port(layer.outputs[0], type),))
        return self.layer(value, "Parameter", attributes)

    def constant(self, value: Value, array: Array) -> Layer:
        content = encode(array, self.weights.order)
        attributes = {
            "element_type": str(ElementType.of(array)),
            "shape": ",".join(map(str, array.shape)),
            "offset": str(self.weights.size + len(self.stored)),
            "size": str(max(len(content), 1)),
        }
        self.stored += content or b"\0"
        return self.layer(value, "Const", attributes).with_source_of(value.node.layer)

    def layer(self, value: Value, type: str, attributes: dict[str, str]) -> Layer:
        node = value.node
        port = declared_port(node.layer.outputs[value.position].changed(id="0"), self.region.type(value))
        id = self.fresh_id() if node in self.keep or node.id in self.taken else node.id
        self.taken.add(id)
        return Layer(id=id, name=value.name, type=type, version="opset1", data=attributes, outputs=(port,))

    def fresh_id(self) -> str:
        self.next_id += 1
        return str(self.next_id - 1)

    def end(self, value: Value) -> None:
        """Add the Result of an output: an existing one of the model, or a new one."""
        for result in self.region.graph.results:
            if self.read(result.values_in[0]) is value and result.id not in self.taken:
                layer = self.region.layers[result]
                break
        else:
            port = declared_port(Port(id="0", precision=None), self.region.type(value))
            name = unused_name(f"{value.name}/sink_port_0", {node.name for node in self.region.graph.nodes})
            layer = Layer(id=self.fresh_id(), name=name, type="Result", version="opset1", inputs=(port,))
        self.taken.add(layer.id)
        self.layers.append(layer)
        self.edges.append(self.edge(value, layer.id, layer.inputs[0].id))

    def edge(self, value: Value, to_layer: str, to_port: str) -> Edge:
        from_layer, from_port = self.ends[self.read(value)]
        return Edge(from_layer=from_layer, from_port=from_port, to_layer=to_layer, to_port=to_port)

    def model(self) -> Model:
        model = self.region.model
        document = model.document.changed(layers=tuple(self.layers), edges=tuple(self.edges), path=None)
        weights = self.weights.append(bytes(self.stored)) if self.stored else self.weights
        return Model(Loaded(document, build_graph(document, weights), weights, document))


def declared_port(port: Port, type: TensorType) -> Port:
    """Return the port with a declared type."""
    precision = type.element_type.precision if type.element_type.is_known else port.precision
    dims = _dims(type.shape)
    return port if (port.precision, port.dims) == (precision, dims) else port.changed(precision=precision, dims=dims)


def _dims(shape: Shape) -> tuple[int, ...]:
    return tuple([dim.lo if dim.is_static else -1 for dim in shape.dims or ()])


def is_counted(node: Node) -> bool:
    """Return True if a layer computes something: it is not a Parameter, Const or Result."""
    return not isinstance(node.op, (Parameter, Const, Result))
