"""A model or body during editing: built values are converted to layers, and names move along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ir_exec.build.draft import LayerDraft, LayerPort
from ir_exec.build.edited_types import EditedTypes, Path
from ir_exec.build.network import constants_of, layer_element, needed_layers, output_port
from ir_exec.build.operators import attribute_text
from ir_exec.build.values import BuiltLayer, Value, new_layer
from ir_exec.codes import Code
from ir_exec.errors import GraphError
from ir_exec.ir import Body, Edge, Layer, Port, PortMapEntry
from ir_exec.ops.infrastructure.values import Parameter, Result
from ir_exec.types import Array, ElementType, Shape

__all__ = ["Level", "Shared", "parameter_data"]


@dataclass
class Shared:
    """The state shared by the levels of one model.

    Attributes:
        types: The types of the values.
        arrays: The arrays of new constants, by offset.
        placeholders: Parameters that represent values of the model in functions of a caller, with these values.
    """

    types: EditedTypes
    arrays: dict[int, Array]
    placeholders: dict[BuiltLayer, tuple[Level, LayerPort]] = field(default_factory=dict)


class Level:
    """A graph of the edited model: the model itself, or a body.

    Attributes:
        draft: The layers.
        outer: The level of the layer with the body, None for the model itself.
    """

    def __init__(
        self, draft: LayerDraft, shared: Shared, outer: Level | None = None, holder: str = "", body: str = ""
    ) -> None:
        self.draft = draft
        self.outer = outer
        self._shared = shared
        self._holder = holder
        self._body = body
        self._inner: dict[str, dict[str, Level]] = {}
        self._around: Path = () if outer is None else (*outer._around, holder, body)

    def inside(self, layer: Layer, body: Body) -> Level:
        """Return the level of a body."""
        levels = self._inner.setdefault(layer.id, {})
        if body.name not in levels:
            draft = LayerDraft(body.layers, body.edges, f"{self.draft.path}{layer.name}/{body.name}/")
            levels[body.name] = Level(draft, self._shared, self, layer.id, body.name)
        return levels[body.name]

    def find_level(self, name: str) -> tuple[Level, str] | None:
        """Return the level for `loop/body/name`, and the name there; None for an unknown name."""
        if self.draft.has_name(name):
            return self, name
        for layer in self.draft.find_enclosing_layers(name):
            for body in layer.bodies:
                start = f"{layer.name}/{body.name}/"
                inner = self.inside(layer, body).find_level(name[len(start) :]) if name.startswith(start) else None
                if inner is not None:
                    return inner
        return None

    def paths(self) -> list[str]:
        """Return the names of all layers, in bodies as `loop/body/name`."""
        names = [f"{self.draft.path}{layer.name}" for layer in self.draft.layers.values()]
        for layer in self.draft.layers.values():
            for body in layer.bodies:
                names += self.inside(layer, body).paths()
        return names

    def edited_content(self) -> tuple[tuple[Layer, ...], tuple[Edge, ...]]:
        """Return the layers with edited bodies, and the edges."""
        layers, edges = self.draft.content()
        return tuple(map(self.with_bodies, layers)), edges

    def with_bodies(self, layer: Layer) -> Layer:
        """Return a layer with its edited bodies."""
        levels = self._inner.get(layer.id)
        if levels is None:
            return layer
        bodies = []
        for body in layer.bodies:
            inner = levels.get(body.name)
            if inner is not None:
                layers, edges = inner.edited_content()
                body = body.model_copy(update={"layers": layers, "edges": edges})
            bodies.append(body)
        return layer.model_copy(update={"bodies": tuple(bodies)})

    def infer_again(self, id: str) -> None:
        """Have the types of a layer inferred again, for a body with those of the layer of the model that holds it."""
        self._shared.types.changed.add(str(self._around[0]) if self._around else id)

    def put(self, layer: Layer) -> None:
        """Replace a layer by one with other attributes."""
        self.draft.put(layer)
        self.infer_again(layer.id)

    def drop(self, id: str) -> None:
        """Remove a layer.

        Raises:
            GraphError: If the layer is connected to a port of the enclosing layer.
        """
        layer = self.draft.layers[id]
        if self.outer is not None and (layer.is_parameter or layer.is_result):
            name = f"{self.draft.path}{layer.name}"
            raise GraphError(f"{name!r} is a {layer.type} that is connected to a port of the enclosing layer")
        self.draft.drop(id)

    def value(self, layer_port: LayerPort) -> Value:
        """Return a value of the model for the functions of a caller."""
        layer = self.draft.layers[layer_port.layer]
        type = self._shared.types.get(self._path(layer_port))
        placeholder = new_layer("Parameter", Parameter(element_type=type.element_type, shape=type.shape), (), [type])
        placeholder.name = layer.name
        self._shared.placeholders[placeholder] = self, layer_port
        return placeholder.outputs[0]

    def _path(self, layer_port: LayerPort) -> Path:
        layer = self.draft.layers[layer_port.layer]
        return (*self._around, layer.id, [port.id for port in layer.outputs].index(layer_port.port))

    def splice(self, values: Sequence[Value]) -> list[LayerPort]:
        """Add the layers of these values to the model or body."""
        needed = needed_layers(values)
        placeholders = [layer for layer in needed if layer in self._shared.placeholders]
        ids = {layer: self._read_here(*self._shared.placeholders[layer]) for layer in placeholders}
        added = [layer for layer in needed if layer not in ids and not layer.is_result]
        for layer in added:
            if layer.scope.outer is not None and layer.constant is None:
                raise GraphError("a value of a body is used outside the body").located(layer.location)
            if self.outer is not None and layer.is_parameter:
                message = "a body takes its inputs from the enclosing layer: a Parameter in it would have no value"
                raise GraphError(message).located(layer.location)
            self._splice(layer, ids)
        sources = [value.layer.inputs[0] if value.layer.is_result else value for value in values]
        return [_port_of(value, ids) for value in sources]

    def _read_here(self, level: Level, port: LayerPort) -> LayerPort:
        """Return the port at which a value of this or an enclosing level can be read here."""
        if level is self:
            return port
        if self.outer is None:
            raise GraphError(f"{level.draft.path}{level.draft.layers[port.layer].name} is read outside its body")
        outside = self.outer._read_here(level, port)
        return self._find_tied(outside) or self._tie(outside)

    def _find_tied(self, outside: LayerPort) -> LayerPort | None:
        """Return the Parameter with this value in every iteration."""
        assert self.outer is not None, "a body has an enclosing level"
        holder = self.outer.draft.layers[self._holder]
        body = next(body for body in holder.bodies if body.name == self._body)
        changing = {edge.to_layer for edge in body.back_edges}
        for entry in body.port_map:
            is_whole = entry.direction == "input" and entry.axis is None and entry.internal_layer_id not in changing
            port = LayerPort(holder.id, str(entry.external_port_id))
            if is_whole and self.outer.draft.sources.get(port) == outside:
                inner = self.draft.layers[entry.internal_layer_id]
                return LayerPort(inner.id, inner.outputs[0].id)
        return None

    def _tie(self, outside: LayerPort) -> LayerPort:
        """Return a new Parameter for a value, connected to a new input of the enclosing layer."""
        assert self.outer is not None, "a body has an enclosing level"
        value = self.outer.value(outside)
        parameter = layer_element(value.layer, self.draft.new_id(), self.draft.new_name(value.layer.name), {})
        parameter = parameter.model_copy(update={"data": parameter_data(value.shape, value.element_type)})
        port = self.outer._with_input(self._holder, parameter.outputs[0], outside)
        holder = self.outer.draft.layers[self._holder]
        entry = PortMapEntry(direction="input", external_port_id=int(port), internal_layer_id=parameter.id)
        bodies = [
            body.model_copy(update={"port_map": (*body.port_map, entry)}) if body.name == self._body else body
            for body in holder.bodies
        ]
        self.outer.draft.put(holder.model_copy(update={"bodies": tuple(bodies)}))
        self.draft.put_after_parameters([parameter])
        self.infer_again(parameter.id)
        return LayerPort(parameter.id, parameter.outputs[0].id)

    def _with_input(self, id: str, port: Port, source: LayerPort) -> str:
        """Add an input after the existing ones of a layer.

        Returns:
            The id of its port.
        """
        layer = self.draft.layers[id]
        new = 1 + max([int(input.id) for input in layer.inputs], default=-1)
        self.draft.sources[LayerPort(id, str(new))] = source
        outputs = layer.outputs
        if str(new) in {output.id for output in outputs}:
            # OpenVINO numbers all ports of a layer, inputs first.
            moved = {output.id: str(int(output.id) + 1) for output in outputs if int(output.id) >= new}
            outputs = tuple([output.model_copy(update={"id": moved.get(output.id, output.id)}) for output in outputs])
            layer = layer.model_copy(update={"bodies": tuple([_with_ports(body, moved) for body in layer.bodies])})
            self._move_ports(id, moved)
        added = port.model_copy(update={"id": str(new), "names": ()})
        self.draft.put(layer.model_copy(update={"inputs": (*layer.inputs, added), "outputs": outputs}))
        return str(new)

    def _move_ports(self, id: str, moved: Mapping[str, str]) -> None:
        def move_port(port: LayerPort) -> LayerPort:
            return LayerPort(id, moved.get(port.port, port.port)) if port.layer == id else port

        readers = {port: self.draft.readers(LayerPort(id, port)) for port in moved}
        for port, targets in readers.items():
            for target in targets:
                self.draft.sources[target] = LayerPort(id, moved[port])
        for layer, (level, at) in self._shared.placeholders.items():
            if level is self:
                self._shared.placeholders[layer] = self, move_port(at)

    def _splice(self, layer: BuiltLayer, ids: dict[BuiltLayer, LayerPort]) -> None:
        id = self.draft.new_id()
        names = {value: value.tensor_names for value in layer.outputs}
        for name in (name for tensor_names in names.values() for name in tensor_names):
            if self.draft.has_tensor(name):
                message = f"tensor name {name!r} is taken"
                raise GraphError(message, code=Code.duplicate_tensor_name).located(layer.location)
        element = layer_element(layer, id, self.draft.new_name(layer.name or f"{layer.type}_{id}"), names)
        sources = [_port_of(value, ids) for value in layer.inputs]
        if layer.is_parameter:
            self.draft.put_after_parameters([element])
        else:
            self.draft.put_after([element], [source.layer for source in sources])
        for target, source in zip(self.draft.inputs(element), sources, strict=True):
            self.draft.sources[target] = source
        for position, value in enumerate(layer.outputs):
            self._shared.types.put((*self._around, element.id, position), value.type)
        self._shared.arrays |= constants_of(layer)
        ids[layer] = LayerPort(element.id, "")

    def read_instead(self, readers: Sequence[LayerPort], old: LayerPort, new: LayerPort) -> None:
        """Redirect input ports to another value."""
        is_same = self._shared.types.are_equal(self._path(old), self._path(new))
        for reader in readers:
            self.draft.sources[reader] = new
            if not is_same:
                self.infer_again(reader.layer)

    def move_names(self, old: LayerPort, new: LayerPort) -> None:
        """Move tensor names to the value that replaces another one; an input keeps its names."""
        layer = self.draft.layers[old.layer]
        if old == new or layer.is_parameter:
            return
        names = self._port(old).names
        results = [self.draft.layers[reader.layer] for reader in self.draft.readers(old)]
        if self.outer is None and not names and any(result.is_result and not result.output_names for result in results):
            # An output without a tensor name is identified by the name of its layer.
            names = (layer.name,) if len(layer.outputs) == 1 else ()
        self._set_names(old, ())
        for name in names:
            self.add_name(new, name)

    def add_name(self, port: LayerPort, name: str) -> None:
        """Add a tensor name to a value."""
        names = self._port(port).names
        self._set_names(port, names if name in names else (*names, name))

    def _set_names(self, layer_port: LayerPort, names: tuple[str, ...]) -> None:
        layer = self.draft.layers[layer_port.layer]
        ports = [
            port.model_copy(update={"names": names}) if port.id == layer_port.port else port for port in layer.outputs
        ]
        self.draft.put(layer.model_copy(update={"outputs": tuple(ports)}))

    def _port(self, layer_port: LayerPort) -> Port:
        return next(port for port in self.draft.layers[layer_port.layer].outputs if port.id == layer_port.port)

    def name_end(self, name: str) -> None:
        """Add the name of layers that are inputs or outputs to their tensor names."""
        for layer in self.draft.find_layers(name):
            if layer.is_result:
                self.add_name(self.draft.sources[self.draft.inputs(layer)[0]], name)
            elif len(layer.outputs) == 1 and not layer.outputs[0].names:
                output = LayerPort(layer.id, layer.outputs[0].id)
                readers = [self.draft.layers[reader.layer] for reader in self.draft.readers(output)]
                if layer.is_parameter or any(reader.is_result for reader in readers):
                    self.add_name(output, name)

    def result(self, port: LayerPort) -> str:
        """Return the id of the Result of a value, which is created if necessary."""
        for reader in self.draft.readers(port):
            if self.draft.layers[reader.layer].is_result:
                return reader.layer
        value = self.value(port)
        id = self.draft.new_id()
        name = self.draft.new_name(f"{self.draft.layers[port.layer].name}/sink_port_0")
        element = layer_element(new_layer("Result", Result(), (value,), [value.type]), id, name, {})
        self.draft.append([element])
        self.draft.sources[self.draft.inputs(element)[0]] = port
        return element.id


def parameter_data(shape: Shape, element_type: ElementType) -> dict[str, str]:
    """Return the attributes of a Parameter."""
    return {"shape": attribute_text(shape), "element_type": element_type.name}


def _port_of(value: Value, ids: Mapping[BuiltLayer, LayerPort]) -> LayerPort:
    port = ids[value.layer]
    return port if port.port else LayerPort(port.layer, output_port(value))


def _with_ports(body: Body, moved: Mapping[str, str]) -> Body:
    """Return the body with changed ids of output ports of the enclosing layer."""
    entries = [
        entry.model_copy(update={"external_port_id": int(moved.get(id, id))}) if entry.direction == "output" else entry
        for entry in body.port_map
        for id in [str(entry.external_port_id)]
    ]
    return body.model_copy(update={"port_map": tuple(entries)})
