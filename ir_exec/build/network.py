"""Conversion of values to a model: layers are numbered and named, and become the document and the graph of a Model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ir_exec.build.values import BuiltLayer, Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import GraphError
from ir_exec.graph import Graph, Node
from ir_exec.graph import Value as GraphValue
from ir_exec.infer import Types
from ir_exec.ir import NO_RT_INFO, Document, Edge, Layer, Port, RtInfo
from ir_exec.ir.array_weights import ArrayWeights
from ir_exec.ir.document import create_unvalidated
from ir_exec.model import Loaded, Model
from ir_exec.ops.infrastructure.values import Result
from ir_exec.types import Array, ElementType, TensorType

__all__ = [
    "BuiltNetwork",
    "assemble",
    "constants_of",
    "edge",
    "layer_element",
    "model",
    "model_with_ids",
    "needed_layers",
    "output_port",
    "result",
    "with_conversion_parameters",
]


def result(value: Value, name: str | None = None, *, tensor_names: Iterable[str] = ()) -> Value:
    """Return an output of the model for `model`; `name` is also its tensor name, unless others are given."""
    names = tuple(tensor_names) or ((name,) if name else ())
    layer = new_layer("Result", Result(), (value,), [value.type], name=name)
    layer.output_names = names
    return layer.outputs[0]


def model(
    results: Value | Sequence[Value],
    parameters: Sequence[Value] | None = None,
    *,
    name: str = "model",
    sinks: Sequence[Value] = (),
) -> Model:
    """Return the model that computes these values, which can be run, checked and saved.

    Args:
        results: The outputs in their order, Results or any other values.
        parameters: The inputs in their order, if it differs from the order of creation; inputs without readers are
            kept.
        sinks: Assigns that no output needs.

    Raises:
        GraphError: For values of a body, for inputs missing in `parameters`, and for duplicate names of inputs, outputs
            or tensors.
    """
    return model_with_ids(results, parameters, name=name, sinks=sinks)[0]


def model_with_ids(
    results: Value | Sequence[Value],
    parameters: Sequence[Value] | None = None,
    *,
    name: str = "model",
    sinks: Sequence[Value] = (),
) -> tuple[Model, dict[BuiltLayer, str]]:
    """Return the model as `model` does, and the id of each of its layers."""
    ends = [results] if isinstance(results, Value) else list(results)
    if not ends and not sinks:
        raise GraphError("the model has no Result and would compute nothing", code=Code.no_result)
    ends = [end if end.layer.is_result else result(end) for end in ends]
    layers = needed_layers([*ends, *sinks, *(parameters or ())])
    for layer in layers:
        if layer.scope.outer is not None and layer.constant is None:
            raise GraphError("a value of a body is used outside the body").located(layer.location)
    used = [layer.outputs[0] for layer in layers if layer.is_parameter]
    ordered = used if parameters is None else list(parameters)
    missing = [parameter for parameter in used if parameter not in ordered]
    if missing:
        message = f"the model reads {missing[0].name}, which is not among the parameters"
        raise GraphError(message).located(missing[0].layer.location)
    network = assemble(layers, ordered, ends, name)
    weights = ArrayWeights(network.constants)
    document = Document.model_construct(
        name=name,
        version=11,
        layers=network.layers,
        edges=network.edges,
        rt_info=_rt_info(),
    )
    return Model(Loaded(document, network.graph, weights, document), network.types), network.ids


def _rt_info() -> RtInfo:
    from ir_exec import __version__

    version = RtInfo(name="ir_exec_version", attributes={"value": __version__})
    return RtInfo(name="rt_info", children=(version,))


def with_conversion_parameters(document: Document, parameters: Mapping[str, str]) -> Document:
    """Return the document with the options of its conversion in `rt_info`."""
    children = tuple([RtInfo(name=name, attributes={"value": value}) for name, value in parameters.items()])
    options = RtInfo(name="conversion_parameters", children=children)
    rt_info = document.rt_info or RtInfo(name="rt_info")
    changed = rt_info.model_copy(update={"children": (*rt_info.children, options)})
    return document.model_copy(update={"rt_info": changed})


def needed_layers(values: Iterable[Value]) -> list[BuiltLayer]:
    """Return the layers that compute these values, in the order of creation: sources come first."""
    pending = [value.layer for value in values]
    needed = set(pending)
    while pending:
        for value in pending.pop().inputs:
            if value.layer not in needed:
                needed.add(value.layer)
                pending.append(value.layer)
    return sorted(needed, key=lambda layer: layer.serial)


@dataclass(eq=False, slots=True)
class BuiltNetwork:
    """A finished model or body.

    Attributes:
        types: The types of the values of the graph.
        constants: The constants by offset, bodies included.
        ids: The ids of the layers.
    """

    layers: tuple[Layer, ...]
    edges: tuple[Edge, ...]
    graph: Graph
    types: Types
    constants: dict[int, Array] = field(default_factory=dict)
    ids: dict[BuiltLayer, str] = field(default_factory=dict)


def assemble(
    needed: Sequence[BuiltLayer], parameters: Sequence[Value], results: Sequence[Value], name: str
) -> BuiltNetwork:
    """Return the model of these layers, each after its sources. Parameters come first and Results last."""
    inputs = [value.layer for value in parameters]
    outputs = [value.layer for value in results]
    ends = {*inputs, *outputs}
    ordered = [*inputs, *(layer for layer in needed if layer not in ends), *outputs]
    tensor_names = _tensor_names(ordered)
    names = _layer_names(ordered)
    elements: list[Layer] = []
    nodes: list[Node] = []
    edges: list[Edge] = []
    values: list[GraphValue] = []
    types: Types = []
    places: dict[BuiltLayer, int] = {}
    constants: dict[int, Array] = {}
    for id, layer in enumerate(ordered):
        places[layer] = id
        element = layer_element(layer, id, names[id], tensor_names)
        node = Node(element, layer.op, None, type(layer.op))
        node.inputs = [nodes[places[value.layer]].outputs[value.position] for value in layer.inputs]
        node.declared_inputs = tuple([value.type.without_values() for value in layer.inputs])
        node.bodies = tuple([body.graph for body in layer.bodies])
        outputs_of = () if layer.is_result else layer.outputs
        node.outputs = tuple([_graph_value(node, output, len(values), tensor_names) for output in outputs_of])
        types += [value.type for value in outputs_of]
        values += node.outputs
        for position, value in enumerate(layer.inputs):
            edges.append(edge(str(places[value.layer]), output_port(value), str(id), str(position)))
        constants |= constants_of(layer)
        elements.append(element)
        nodes.append(node)
    graph = Graph(name, nodes, nodes[: len(inputs)], nodes[len(nodes) - len(outputs) :], values, [])
    ids = {layer: str(id) for layer, id in places.items()}
    return BuiltNetwork(tuple(elements), tuple(edges), graph, types, constants, ids)


def layer_element(layer: BuiltLayer, id: int, name: str, tensor_names: Mapping[Value, tuple[str, ...]]) -> Layer:
    """Return the layer as an element of a file. It is not validated again."""
    outputs = () if layer.is_result else layer.outputs
    count = len(layer.inputs)
    return create_unvalidated(
        Layer,
        id=str(id),
        name=name,
        type=layer.type,
        version=layer.version,
        data=dict(layer.attributes),
        inputs=tuple([_port(position, value.type) for position, value in enumerate(layer.inputs)]),
        outputs=tuple(
            [_port(count + output.position, output.type, tensor_names.get(output, ())) for output in outputs]
        ),
        bodies=tuple([body.body for body in layer.bodies]),
        output_names=layer.output_names,
        rt_info=NO_RT_INFO if layer.is_parameter or layer.is_result else layer.rt_info,
        line=0,
        data_line=0,
    )


def edge(from_layer: str, from_port: str, to_layer: str, to_port: str) -> Edge:
    return create_unvalidated(
        Edge, from_layer=from_layer, from_port=from_port, to_layer=to_layer, to_port=to_port, line=0
    )


def output_port(value: Value) -> str:
    """Return the id of the port of a built value: all ports of a layer are numbered, inputs first."""
    return str(len(value.layer.inputs) + value.position)


def constants_of(layer: BuiltLayer) -> dict[int, Array]:
    """Return the arrays of a layer and its bodies, by their offsets."""
    constants = {} if layer.constant is None else {int(layer.attributes["offset"]): layer.constant}
    for body in layer.bodies:
        constants |= body.constants
    return constants


def _graph_value(node: Node, value: Value, first: int, tensor_names: Mapping[Value, tuple[str, ...]]) -> GraphValue:
    declared = value.type.without_values()
    return GraphValue(node, value.position, first + value.position, declared, tensor_names.get(value, ()))


def _port(id: int, type: TensorType, names: tuple[str, ...] = ()) -> Port:
    dims = type.shape.dims
    sizes = () if dims is None else tuple([dim.lo if dim.lo == dim.hi else -1 for dim in dims])
    return _shared_port(id, type.element_type, sizes, names)


@lru_cache(maxsize=2**14)
def _shared_port(id: int, element_type: ElementType, dims: tuple[int, ...], names: tuple[str, ...]) -> Port:
    # A model has few types, each at many ports.
    return create_unvalidated(
        Port, id=str(id), precision=element_type.precision, dims=dims, names=names, line=0, rt_info=NO_RT_INFO
    )


def _tensor_names(layers: Sequence[BuiltLayer]) -> dict[Value, tuple[str, ...]]:
    """Return the tensor names of each named value, including names of its Results."""
    names_of: dict[Value, dict[str, None]] = {}
    for layer in layers:
        for value in layer.outputs:
            if value.tensor_names and not layer.is_result:
                names_of.setdefault(value, {}).update(dict.fromkeys(value.tensor_names))
        if layer.output_names:
            names_of.setdefault(layer.inputs[0], {}).update(dict.fromkeys(layer.output_names))
    owners: dict[str, Value] = {}
    for value, names in names_of.items():
        for name in names:
            other = owners.setdefault(name, value)
            if other is not value:
                message = f"{other.name} ({other.layer.type}) and {value.name} share the tensor name {name!r}"
                raise GraphError(message, code=Code.duplicate_tensor_name).located(value.layer.location)
    return {value: tuple(names) for value, names in names_of.items()}


def _layer_names(layers: Sequence[BuiltLayer]) -> list[str]:
    """Return a unique name for each layer: its own, its type and number, or the name of a Result's source."""
    taken_names = {layer.name for layer in layers if layer.name}
    owners: dict[str, BuiltLayer] = {}
    names: list[str] = []
    places: dict[BuiltLayer, int] = {}
    for id, layer in enumerate(layers):
        places[layer] = id
        name = layer.name
        other = owners.setdefault(name, layer) if name else layer
        is_end = layer.is_parameter or layer.is_result
        if other is not layer and is_end and other.type == layer.type:
            raise GraphError(
                f"two layers of type {layer.type} are named",
                actual=repr(name),
                expected="unique names",
                code=Code.duplicate_layer_name,
            ).located(layer.location)
        if not name and layer.is_result:
            source = layer.inputs[0]
            name = f"{names[places[source.layer]]}/sink_port_{source.position}"
        elif not name:
            name = f"{layer.type}_{id}"
        if other is not layer or (not layer.name and name in taken_names):
            name = _free(name, taken_names)
        taken_names.add(name)
        names.append(name)
    return names


def _free(name: str, taken_names: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in taken_names:
        number += 1
    return f"{name}_{number}"
