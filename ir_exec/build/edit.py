"""Editing: a network as it is, with changes, as another network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias

from ir_exec.build.constants import ElementTypeLike, as_array, as_element_type
from ir_exec.build.cutting import below, cut, level_at
from ir_exec.build.draft import Draft, Place
from ir_exec.build.network import constants_of, layer_element, needed_layers, output_port
from ir_exec.build.operators import attribute_text
from ir_exec.build.values import BuiltLayer, Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, IRError, Location, raise_error
from ir_exec.graph import Graph, Node, build_graph
from ir_exec.graph import Value as GraphValue
from ir_exec.infer import infer_types, redeclared
from ir_exec.ir import Layer, Port
from ir_exec.ir.held import HeldWeights, reserve_offset, stored_size
from ir_exec.model import Loaded, Model, ShapeLike, as_shape
from ir_exec.ops import resolve
from ir_exec.ops.infrastructure.values import Parameter, Result
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["Editor"]

_Path: TypeAlias = tuple[str | int, ...]
"""A value by the ids of its layer and of those around it, which an edit leaves as they are."""


class Editor:
    """Changes a network; `model()` is the network as it is then, and the one that was given stays as it was.

    ```python
    editor = build.Editor(ir_exec.read_model("model.xml"))
    editor.rename("input.1", "image").reshape({"image": [1, 3, 224, 224]})
    editor.insert("logits", lambda logits: build.softmax(logits, axis=1))
    editor.model().save("edited.xml")
    ```

    Layers are named by their names, values by tensor names, names of outputs, names of layers, or `layer:1` for one of
    several outputs. What an edit does not touch is written as the file has it: ids, names, attributes, rt_info. Ports
    are declared anew where the type is another one than before. Layers inside bodies cannot be edited.

    Raises EvaluationError (IR705) for names that do not exist, and what building a network raises.
    """

    def __init__(self, model: Model) -> None:
        self._draft = Draft(model.current_document())
        self._weights = model.weights
        self._arrays: dict[int, Array] = {}
        self._before = _types_by_path(model.graph, _all_types(model))
        self._types: dict[_Path, TensorType] | None = dict(self._before)
        self._given: dict[BuiltLayer, Place] = {}

    def model(self) -> Model:
        """The network as it is now; raises what reading a file of it would raise."""
        document = self._draft.document()
        weights = HeldWeights(self._arrays, self._weights) if self._arrays else self._weights
        graph = build_graph(document, weights, report=raise_error)
        after: dict[GraphValue, TensorType] = {}
        types = infer_types(graph, weights=weights, seen=after)
        paths = _paths(graph)
        before = {value: self._before[path] for value, path in paths.items() if path in self._before}
        self._types = {paths[value]: type for value, type in after.items()}
        document = redeclared(document, graph, before, after)
        return Model(Loaded(document, build_graph(document, weights, report=raise_error), weights, document), types)

    def value(self, name: str) -> Value:
        """A value of the network, for functions that read it too."""
        return self._value(self._draft.value(name))

    def rename(self, old: str, new: str) -> Self:
        """Give what is named `old` another name: an input or output, the tensors and layers of this name."""
        if any(new in _names_of(layer) for layer in self._draft.layers.values()):
            raise GraphError(f"the name {new!r} is taken", code=Code.duplicate_layer_name)
        renamed = [layer for layer in self._draft.layers.values() if old in _names_of(layer)]
        if not renamed:
            self._draft.value(old)
        is_tensor = any(old in port.names for layer in renamed for port in layer.outputs)
        for layer in renamed:
            self._draft.put(_renamed(layer, old, new))
        if not is_tensor:
            # Inputs and outputs are found by tensor names.
            self._name_end(new)
        return self

    def set_attribute(self, layer: str, attribute: str, value: Any) -> Self:
        """Set an attribute of a layer, by the name of the operator's field or that of the file."""
        found = self._draft.layer(layer)
        cls = resolve(found.type, found.version or "")
        spelt = next((one.attribute for one in cls.fields() if attribute in (one.name, one.attribute)), None)
        where = Location(layer_id=found.id, layer_name=found.name, layer_type=found.type)
        if spelt is None:
            known = ", ".join(one.name for one in cls.fields()) or "none"
            message = f"{found.type} has no attribute {attribute}; it has: {known}"
            raise InvalidAttributeError(message, code=Code.unknown_attribute, location=where)
        data = {**found.data, spelt: attribute_text(value)}

        def report(error: IRError) -> None:
            raise_error(error.located(where))

        cls.parse(data, report)
        self._put(found.model_copy(update={"data": data}))
        return self

    def set_constant(self, layer: str, value: Any, element_type: ElementTypeLike | None = None) -> Self:
        """Give a constant other elements: an array keeps its type, numbers and lists take the constant's."""
        found = self._draft.layer(layer)
        if not found.is_constant:
            raise GraphError(f"layer {layer!r} is a {found.type}, no constant")
        kind = None if element_type is None else as_element_type(element_type)
        if kind is None and not hasattr(value, "dtype"):
            kind = ElementType.parse(found.data["element_type"])
        array = as_array(value, kind)
        size = stored_size(array)
        offset = reserve_offset(size)
        self._arrays[offset] = array
        data = {
            "element_type": ElementType.of(array).name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(offset),
            "size": str(size),
        }
        self._put(found.model_copy(update={"data": {**found.data, **data}}))
        return self

    def reshape(self, shapes: Mapping[str, ShapeLike]) -> Self:
        """Give inputs other shapes."""
        for name, shape in shapes.items():
            found = self._input(name)
            dims = as_shape(shape)
            self._retyped(found, dims, ElementType.parse(found.data["element_type"]))
        return self

    def retype(self, element_types: Mapping[str, ElementTypeLike]) -> Self:
        """Give inputs other element types."""
        for name, kind in element_types.items():
            found = self._input(name)
            self._retyped(found, Shape.parse(found.data["shape"]), as_element_type(kind))
        return self

    def insert(self, value: str, function: Callable[[Value], Value], *, before: str | None = None) -> Self:
        """Let layers read `function(value)` in the place of a value: all that read it, or only the layer `before`.

        Tensor names move along where all read it, so that outputs keep their names.
        """
        place = self._draft.value(value)
        readers = self._draft.readers(place)
        if before is not None:
            target = self._draft.layer(before).id
            readers = [one for one in readers if one.layer == target]
            if not readers:
                raise GraphError(f"layer {before!r} does not read {value!r}")
        (made,) = self._spliced([function(self._value(place))])
        if before is None:
            self._move_names(place, made)
        self._read_instead(readers, place, made)
        return self

    def replace(self, layer: str, function: Callable[..., Value | Sequence[Value]]) -> Self:
        """Let `function`, called with the inputs of a layer, compute its outputs; they keep the tensor names."""
        found = self._draft.layer(layer)
        if found.is_parameter or found.is_result:
            raise GraphError(f"layer {layer!r} is a {found.type}, which cannot be replaced")
        given = [self._value(self._draft.sources[place]) for place in self._draft.inputs(found)]
        returned = function(*given)
        values = [returned] if isinstance(returned, Value) else list(returned)
        if len(values) != len(found.outputs):
            raise GraphError(f"layer {layer!r} has {len(found.outputs)} outputs, and {len(values)} take their place")
        for port, made in zip(found.outputs, self._spliced(values), strict=True):
            place = Place(found.id, port.id)
            self._move_names(place, made)
            self._read_instead(self._draft.readers(place), place, made)
        self._draft.drop(found.id)
        return self

    def remove(self, layer: str, *, passes: int = 0) -> Self:
        """Remove a layer: those that read its output read its input at position `passes`, with its tensor names.

        A Result and an input that nothing reads go without that.
        """
        found = self._draft.layer(layer)
        places = self._draft.inputs(found)
        readers = [one for port in found.outputs for one in self._draft.readers(Place(found.id, port.id))]
        if readers and (len(found.outputs) > 1 or passes >= len(places)):
            message = f"layer {layer!r} has {len(places)} inputs and {len(found.outputs)} outputs, and {len(readers)}"
            raise GraphError(f"{message} inputs read it: nothing can take its place")
        if readers:
            source = self._draft.sources[places[passes]]
            place = Place(found.id, found.outputs[0].id)
            self._move_names(place, source)
            self._read_instead(readers, place, source)
        self._draft.drop(found.id)
        self._types = None
        return self

    def cut(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Self:
        """Keep what lies between values: `inputs` become Parameters, `outputs` the only Results (without any: all).

        Inputs, and variables, that nothing needs any more go.
        """
        stops = [self._draft.value(name) for name in inputs]
        wanted = [self._draft.value(name) for name in outputs]
        for place in wanted:
            # A layer that no output needed is part of the network as soon as it is one.
            self._result(place)
        level = level_at(self.model())
        nodes = {node.id: node for node in level.graph.nodes}
        starts = [_value_at(nodes[place.layer], place.port) for place in stops if place.layer in nodes]
        ends = [_value_at(nodes[place.layer], place.port) for place in wanted]
        ends = ends or [node.values_in[0] for node in level.graph.results]
        part = cut(level, below(level, ends, starts), ends, opened=starts, next_id=self._draft.new_id())
        self._draft.become(part.model.document)
        self._types = None
        for value in part.inputs:
            self._name_end(value.name)
        return self

    def add_output(self, value: str, name: str | None = None) -> Self:
        """Make a value an output too; `name` becomes a tensor name of it."""
        place = self._draft.value(value)
        self._result(place)
        if name is not None:
            self._add_name(place, name)
        return self

    def _value(self, place: Place) -> Value:
        """A value of the network for the functions of a caller."""
        if self._types is None:
            self.model()
        assert self._types is not None, "a model has types"
        layer = self._draft.layers[place.layer]
        position = [port.id for port in layer.outputs].index(place.port)
        type = self._types[place.layer, position]
        stands = new_layer("Parameter", Parameter(element_type=type.element_type, shape=type.shape), (), [type])
        stands.name = layer.name
        self._given[stands] = place
        return stands.outputs[0]

    def _spliced(self, values: Sequence[Value]) -> list[Place]:
        """Make the layers of these values part of the network."""
        ids: dict[BuiltLayer, Place] = dict(self._given)
        made = [layer for layer in needed_layers(values) if layer not in ids and layer.type != "Result"]
        for layer in made:
            if layer.scope.outer is not None and layer.constant is None:
                raise GraphError("a value of a body is used outside of it").located(layer.location)
            self._splice(layer, ids)
        sources = [value.layer.inputs[0] if value.layer.type == "Result" else value for value in values]
        return [_place(value, ids) for value in sources]

    def _splice(self, layer: BuiltLayer, ids: dict[BuiltLayer, Place]) -> None:
        id = self._draft.new_id()
        taken = {name for one in self._draft.layers.values() for port in one.outputs for name in port.names}
        names = {value: value.tensor_names for value in layer.outputs}
        for name in taken & {name for one in names.values() for name in one}:
            message = f"tensor name {name!r} is taken"
            raise GraphError(message, code=Code.duplicate_tensor_name).located(layer.location)
        element = layer_element(layer, id, self._draft.new_name(layer.name or f"{layer.type}_{id}"), names)
        sources = [_place(value, ids) for value in layer.inputs]
        behind = [source.layer for source in sources]
        if layer.type == "Parameter":
            behind = [one.id for one in self._draft.layers.values() if one.is_parameter]
        self._draft.put_behind([element], behind)
        for place, source in zip(self._draft.inputs(element), sources, strict=True):
            self._draft.sources[place] = source
        for position, value in enumerate(layer.outputs):
            if self._types is not None:
                self._types[element.id, position] = value.type
        self._arrays |= constants_of(layer)
        ids[layer] = Place(element.id, "")

    def _read_instead(self, readers: Sequence[Place], old: Place, new: Place) -> None:
        """Let input ports read another value."""
        for reader in readers:
            self._draft.sources[reader] = new
        if self._types is not None and self._value(old).type != self._value(new).type:
            self._types = None

    def _move_names(self, old: Place, new: Place) -> None:
        """Give a value the tensor names of the one whose place it takes; an input keeps its own."""
        layer = self._draft.layers[old.layer]
        if old == new or layer.is_parameter:
            return
        names = self._port(old).names
        results = [self._draft.layers[one.layer] for one in self._draft.readers(old)]
        if not names and any(one.is_result and not one.output_names for one in results):
            # An output without a tensor name is found by the name of its layer.
            names = (layer.name,) if len(layer.outputs) == 1 else ()
        self._set_names(old, ())
        for name in names:
            self._add_name(new, name)

    def _add_name(self, place: Place, name: str) -> None:
        names = self._port(place).names
        self._set_names(place, names if name in names else (*names, name))

    def _set_names(self, place: Place, names: tuple[str, ...]) -> None:
        layer = self._draft.layers[place.layer]
        ports = [port.model_copy(update={"names": names}) if port.id == place.port else port for port in layer.outputs]
        self._draft.put(layer.model_copy(update={"outputs": tuple(ports)}))

    def _port(self, place: Place) -> Port:
        return next(port for port in self._draft.layers[place.layer].outputs if port.id == place.port)

    def _name_end(self, name: str) -> None:
        """Where layers of this name are inputs or give outputs, let the name be a tensor name too."""
        for layer in list(self._draft.layers.values()):
            if layer.name != name:
                continue
            if layer.is_result:
                self._add_name(self._draft.sources[self._draft.inputs(layer)[0]], name)
            elif len(layer.outputs) == 1 and not layer.outputs[0].names:
                place = Place(layer.id, layer.outputs[0].id)
                readers = [self._draft.layers[one.layer] for one in self._draft.readers(place)]
                if layer.is_parameter or any(one.is_result for one in readers):
                    self._add_name(place, name)

    def _put(self, layer: Layer) -> None:
        self._draft.put(layer)
        self._types = None

    def _input(self, name: str) -> Layer:
        found = [layer for layer in self._draft.layers.values() if layer.is_parameter and name in _names_of(layer)]
        if not found:
            names = ", ".join(layer.name for layer in self._draft.layers.values() if layer.is_parameter) or "none"
            raise EvaluationError(f"there is no input {name!r}; the inputs are: {names}", code=Code.unknown_input)
        return found[0]

    def _retyped(self, layer: Layer, shape: Shape, kind: ElementType) -> None:
        self._put(layer.model_copy(update={"data": {**layer.data, **_attributes(shape, kind)}}))

    def _result(self, place: Place) -> str:
        """The id of the Result of a value, which is made where there is none."""
        for reader in self._draft.readers(place):
            if self._draft.layers[reader.layer].is_result:
                return reader.layer
        value = self._value(place)
        id = self._draft.new_id()
        name = self._draft.new_name(f"{self._draft.layers[place.layer].name}/sink_port_0")
        made = layer_element(new_layer("Result", Result(), (value,), [value.type]), id, name, {})
        self._draft.put_behind([made], self._draft.layers)
        self._draft.sources[self._draft.inputs(made)[0]] = place
        return made.id


def _place(value: Value, ids: Mapping[BuiltLayer, Place]) -> Place:
    place = ids[value.layer]
    return place if place.port else Place(place.layer, output_port(value))


def _value_at(node: Node, port: str) -> GraphValue:
    return next(value for value, one in zip(node.outputs, node.layer.outputs, strict=True) if one.id == port)


def _names_of(layer: Layer) -> set[str]:
    return {layer.name, *layer.output_names, *(name for port in layer.outputs for name in port.names)}


def _renamed(layer: Layer, old: str, new: str) -> Layer:
    def named(names: Sequence[str]) -> tuple[str, ...]:
        return tuple([new if name == old else name for name in names])

    outputs = tuple([port.model_copy(update={"names": named(port.names)}) for port in layer.outputs])
    name = new if layer.name == old else layer.name
    return layer.model_copy(update={"name": name, "output_names": named(layer.output_names), "outputs": outputs})


def _attributes(shape: Shape, kind: ElementType) -> dict[str, str]:
    return {"shape": attribute_text(shape), "element_type": kind.name}


def _all_types(model: Model) -> dict[GraphValue, TensorType]:
    seen: dict[GraphValue, TensorType] = {}
    infer_types(model.graph, weights=model.weights, given=model.given, seen=seen)
    return seen


def _types_by_path(graph: Graph, types: Mapping[GraphValue, TensorType]) -> dict[_Path, TensorType]:
    return {path: types[value] for value, path in _paths(graph).items() if value in types}


def _paths(graph: Graph, around: _Path = ()) -> dict[GraphValue, _Path]:
    """Where every value of a graph and its bodies is."""
    found: dict[GraphValue, _Path] = {}
    for node in (*graph.nodes, *graph.unreachable):
        for value in node.outputs:
            found[value] = (*around, node.id, value.position)
        for body in node.bodies:
            found |= _paths(body.graph, (*around, node.id, body.name))
    return found
