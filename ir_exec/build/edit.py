"""Editing: changes of a model that result in a new model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from ir_exec.build.constants import ElementTypeLike, as_array, as_element_type
from ir_exec.build.cutting import below, cut, region_at
from ir_exec.build.draft import LayerDraft, LayerPort
from ir_exec.build.edited_types import EditedTypes, Path, value_paths
from ir_exec.build.level import Level, Shared, parameter_data
from ir_exec.build.operators import attribute_text
from ir_exec.build.values import Value, derived_from
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, IRError, Location, raise_error
from ir_exec.graph import Graph, Node, build_graph
from ir_exec.graph import Value as GraphValue
from ir_exec.hints import suggested
from ir_exec.infer import infer_types, redeclare
from ir_exec.ir import NO_RT_INFO, Layer, RtInfo, source_info
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset, stored_size
from ir_exec.model import Loaded, Model, ShapeLike, Source, as_shape, numbered, read_model
from ir_exec.ops import resolve
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["Editor"]


class Editor:
    """Edits a model; `model()` returns the edited model, and the given model is unchanged.

    The argument is a Model, or an argument of `read_model`.

    ```python
    editor = build.Editor("model.xml")
    editor.rename("input.1", "image").reshape({"image": [1, 3, 224, 224]})
    editor.insert("logits", lambda logits: build.softmax(logits, axis=1))
    editor.model().save("edited.xml")
    ```

    Layers are named by their names, values by tensor names, names of outputs, names of layers, or `layer:1` for one of
    several outputs; inside the body of a Loop, TensorIterator or If by `loop/body/name`, `if/then_body/name`. Elements
    without edits are written as in the file: ids, names, attributes, rt_info. Ports with changed types are declared
    anew.

    Methods raise EvaluationError (IR705) for names that do not exist, GraphError for edits that are impossible for a
    layer, InvalidAttributeError for unknown attributes, and the errors of building a model.
    """

    def __init__(self, model: Model | Source) -> None:
        model = model if isinstance(model, Model) else read_model(model)
        model.require_complete()
        self._document = model.current_document()
        self._weights = model.weights
        self._before = _types_by_path(model.graph, model.all_types())
        draft = LayerDraft(self._document.layers, self._document.edges)
        arrays: dict[int, Array] = {}
        types = EditedTypes(self._infer, self._edited_layer, draft, self._weights, arrays, dict(self._before))
        self._shared = Shared(types, arrays)
        self._network = Level(draft, self._shared)

    def model(self) -> Model:
        """Return the edited model; raises the errors of reading a file of it."""
        layers, edges = self._network.edited_content()
        document = self._document.model_copy(update={"layers": layers, "edges": edges, "path": None})
        arrays = self._shared.arrays
        weights = ArrayWeights(arrays, self._weights) if arrays else self._weights
        graph = build_graph(document, weights, report=raise_error)
        after: dict[GraphValue, TensorType] = {}
        types = infer_types(graph, weights=weights, seen=after)
        paths = value_paths(graph)
        before = {value: self._before[path] for value, path in paths.items() if path in self._before}
        self._shared.types.replace_all({paths[value]: type for value, type in after.items()})
        document = redeclare(document, graph, before, after)
        return Model(Loaded(document, build_graph(document, weights, report=raise_error), weights, document), types)

    def value(self, name: str) -> Value:
        """Return a value of the model for functions: they can read it at its level, and in bodies below it."""
        level, name = self._at(name)
        return level.value(level.draft.value(name))

    def attributes(self, layer: str) -> dict[str, str]:
        """Return the attributes of a layer, in the spelling of the file."""
        return dict(self._layer(layer)[1].data)

    def rename(self, old: str, new: str) -> Self:
        """Rename `old`: an input or output, and the tensors and layers with this name.

        Inside a body, `new` is the name without the path: `rename("loop/body/sum", "total")`.
        """
        level, old = self._at(old)
        draft = level.draft
        if draft.find_by_any_name(new):
            raise GraphError(f"the name {draft.path + new!r} is taken", code=Code.duplicate_layer_name)
        renamed = draft.find_by_any_name(old)
        if not renamed:
            draft.value(old)
        is_tensor = any(old in port.names for layer in renamed for port in layer.outputs)
        for layer in renamed:
            draft.put(_rename_in_layer(layer, old, new))
        if not is_tensor and level.outer is None:
            # Inputs and outputs are identified by tensor names.
            level.name_end(new)
        return self

    def rename_layer(self, layer: str, name: str) -> Self:
        """Rename a layer; tensor names are unchanged."""
        level, element = self._layer(layer)
        if level.draft.find_layers(name):
            raise GraphError(f"the name {level.draft.path + name!r} is taken", code=Code.duplicate_layer_name)
        # Types do not depend on names.
        level.draft.put(element.model_copy(update={"name": name}))
        return self

    def set_attribute(self, layer: str, attribute: str, value: Any) -> Self:
        """Set an attribute of a layer, by the name of the operator's field or of the attribute in the file."""
        level, element = self._layer(layer)
        cls = resolve(element.type, element.version or "")
        spelled = next((field.attribute for field in cls.fields() if attribute in (field.name, field.attribute)), None)
        where = Location(layer_id=element.id, layer_name=element.name, layer_type=element.type)
        if spelled is None:
            attribute_names = ", ".join(field.name for field in cls.fields()) or "none"
            message = f"{element.type} has no attribute {attribute}; it has: {attribute_names}"
            raise InvalidAttributeError(message, code=Code.unknown_attribute, location=where)
        data = {**element.data, spelled: attribute_text(value)}

        def report(error: IRError) -> None:
            raise_error(error.located(where))

        cls.parse(data, report)
        level.put(element.model_copy(update={"data": data}))
        return self

    def set_constant(self, layer: str, value: Any, element_type: ElementTypeLike | None = None) -> Self:
        """Replace the elements of a constant, with `element_type`.

        Without it an array keeps its type, and numbers and lists get the type of the constant.
        """
        level, element = self._layer(layer)
        if not element.is_constant:
            raise GraphError(f"layer {layer!r} is a", actual=element.type, expected="a constant")
        parsed_type = None if element_type is None else as_element_type(element_type)
        if parsed_type is None and not hasattr(value, "dtype"):
            parsed_type = ElementType.parse(element.data["element_type"])
        array = as_array(value, parsed_type)
        size = stored_size(array)
        offset = reserve_offset(size)
        self._shared.arrays[offset] = array
        data = {
            "element_type": ElementType.of(array).name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(offset),
            "size": str(size),
        }
        level.put(element.model_copy(update={"data": {**element.data, **data}}))
        return self

    def reshape(self, shapes: Mapping[str, ShapeLike]) -> Self:
        """Change the shapes of inputs."""
        for name, shape in shapes.items():
            element = self._input(name)
            dims = as_shape(shape)
            self._retype(element, dims, ElementType.parse(element.data["element_type"]))
        return self

    def retype(self, element_types: Mapping[str, ElementTypeLike]) -> Self:
        """Change the element types of inputs: `element_types` by the names of the inputs."""
        for name, element_type in element_types.items():
            element = self._input(name)
            self._retype(element, Shape.parse(element.data["shape"]), as_element_type(element_type))
        return self

    def insert(self, value: str, function: Callable[[Value], Value], *, before: str | None = None) -> Self:
        """Insert `function(value)` between a value and its readers: all of them, or only the layer `before`.

        Tensor names move to the new value if all readers are redirected, and outputs keep their names.
        """
        level, value = self._at(value)
        port = level.draft.value(value)
        readers = level.draft.readers(port)
        if before is not None:
            reader_level, target = self._layer(before)
            readers = [reader for reader in readers if reader_level is level and reader.layer == target.id]
            if not readers:
                raise GraphError(f"layer {before!r} does not read {level.draft.path + value!r}")
        with derived_from(_source_of(level.draft.layers[port.layer])):
            (inserted,) = level.splice([function(level.value(port))])
        if before is None:
            level.move_names(port, inserted)
        level.read_instead(readers, port, inserted)
        return self

    def replace(self, layer: str, function: Callable[..., Value | Sequence[Value]]) -> Self:
        """Replace a layer by the layers that a function of its inputs makes; tensor names are kept.

        The layer that computes the only output gets the old layer's name, unless it has one.
        """
        level, element = self._layer(layer)
        draft = level.draft
        if element.is_parameter or element.is_result:
            raise GraphError(f"layer {layer!r} is a {element.type}, which cannot be replaced")
        inputs = [level.value(draft.sources[output]) for output in draft.inputs(element)]
        with derived_from(_source_of(element)):
            returned = function(*inputs)
        values = [returned] if isinstance(returned, Value) else list(returned)
        if len(values) != len(element.outputs):
            raise GraphError(f"layer {layer!r} has {len(element.outputs)} outputs, but function returns {len(values)}")
        if len(values) == 1 and not values[0].layer.name:
            values[0].layer.name = element.name
            draft.put(element.model_copy(update={"name": ""}))
        try:
            replacements = level.splice(values)
        finally:
            draft.put(element)
        for port, new in zip(element.outputs, replacements, strict=True):
            output = LayerPort(element.id, port.id)
            level.move_names(output, new)
            level.read_instead(draft.readers(output), output, new)
        level.drop(element.id)
        return self

    def remove(self, layer: str, *, passes: int = 0) -> Self:
        """Remove a layer: readers of its output read its input at position `passes`, with its tensor names.

        A Result and an input without readers are removed too; in bodies they are kept.
        """
        level, element = self._layer(layer)
        draft = level.draft
        places = draft.inputs(element)
        readers = [reader for port in element.outputs for reader in draft.readers(LayerPort(element.id, port.id))]
        if readers and (len(element.outputs) > 1 or passes >= len(places)):
            raise GraphError(
                f"layer {layer!r} has",
                actual=f"{len(places)} inputs, {len(element.outputs)} outputs and {len(readers)} readers",
                expected="one output, and an input to replace it",
            )
        if readers:
            source = draft.sources[places[passes]]
            output = LayerPort(element.id, element.outputs[0].id)
            level.move_names(output, source)
            level.read_instead(readers, output, source)
        level.drop(element.id)
        return self

    def cut(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Self:
        """Keep the layers between values.

        `inputs` become Parameters, and `outputs` the only Results (default: all Results). Unneeded inputs
        and variables are removed.
        """
        draft = self._network.draft
        stops = [self._outside(name, "cut") for name in inputs]
        output_ports = [self._outside(name, "cut") for name in outputs]
        for port in output_ports:
            # A layer that no output needed becomes part of the model as an output.
            self._network.result(port)
        region = region_at(self.model())
        nodes = {node.id: node for node in region.graph.nodes}
        starts = [_value_at(nodes[port.layer], port.port) for port in stops if port.layer in nodes]
        ends = [_value_at(nodes[port.layer], port.port) for port in output_ports]
        ends = ends or [node.values_in[0] for node in region.graph.results]
        part = cut(region, below(region, ends, starts), ends, opened=starts, next_id=draft.new_id())
        draft.become(part.model.document.layers, part.model.document.edges)
        self._shared.types.replace_all(None)
        for value in part.inputs:
            self._network.name_end(value.name)
        return self

    def add_output(self, value: str, name: str | None = None) -> Self:
        """Make a value an output too; `name` becomes one of its tensor names."""
        port = self._outside(value, "an output")
        self._network.result(port)
        if name is not None:
            self._network.add_name(port, name)
        return self

    def _infer(self) -> None:
        self.model()

    def _edited_layer(self, id: str) -> Layer:
        return self._network.with_bodies(self._network.draft.layers[id])

    def _at(self, name: str) -> tuple[Level, str]:
        """Return the level, the model or a body, that a name belongs to, and the name there."""
        match = self._network.find_level(name)
        if match is None:
            hint = suggested(name, [*self._network.draft.names(), *self._network.paths()])
            raise EvaluationError(f"there is no layer or tensor {name!r}", code=Code.unknown_input, hint=hint)
        return match

    def _layer(self, name: str) -> tuple[Level, Layer]:
        level, name = self._at(name)
        return level, level.draft.layer(name)

    def _outside(self, name: str, what: str) -> LayerPort:
        """Return a value of the model that is not in a body."""
        level, inner = self._at(name)
        if level is not self._network:
            hint = "use ir-exec extract, which cuts layers out of a body"
            raise GraphError(f"{name!r} is a value of a body, and cannot be {what}", hint=hint)
        return level.draft.value(inner)

    def _input(self, name: str) -> Layer:
        layers = self._network.draft.parameters()
        matches = [layer for layer in layers if name in _names_of(layer)]
        if not matches and (position := numbered(name, len(layers))) is not None:
            return layers[position]
        if not matches:
            names = ", ".join(layer.name for layer in layers) or "none"
            message = f"there is no input {name!r}; the inputs are: {names}"
            hint = suggested(name, (input_name for layer in layers for input_name in _names_of(layer)))
            raise EvaluationError(message, code=Code.unknown_input, hint=hint)
        return matches[0]

    def _retype(self, layer: Layer, shape: Shape, element_type: ElementType) -> None:
        self._network.put(layer.model_copy(update={"data": {**layer.data, **parameter_data(shape, element_type)}}))


def _value_at(node: Node, port: str) -> GraphValue:
    return next(
        value for value, layer_port in zip(node.outputs, node.layer.outputs, strict=True) if layer_port.id == port
    )


def _source_of(layer: Layer) -> RtInfo:
    """Return the line of Python of a layer, for the layers that are made from it."""
    entries = layer.source_entries
    return source_info(entries) if entries else NO_RT_INFO


def _names_of(layer: Layer) -> set[str]:
    return {layer.name, *layer.output_names, *(name for port in layer.outputs for name in port.names)}


def _rename_in_layer(layer: Layer, old: str, new: str) -> Layer:
    def rename(names: Sequence[str]) -> tuple[str, ...]:
        return tuple([new if name == old else name for name in names])

    outputs = tuple([port.model_copy(update={"names": rename(port.names)}) for port in layer.outputs])
    name = new if layer.name == old else layer.name
    return layer.model_copy(update={"name": name, "output_names": rename(layer.output_names), "outputs": outputs})


def _types_by_path(graph: Graph, types: Mapping[GraphValue, TensorType]) -> dict[Path, TensorType]:
    return {path: types[value] for value, path in value_paths(graph).items() if value in types}
