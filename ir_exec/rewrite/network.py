"""A model during simplification: an unchanged graph, and the edits to make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ir_exec.build.draft import LayerDraft, LayerPort
from ir_exec.errors import raise_error
from ir_exec.graph import Node, Value, build_graph
from ir_exec.infer import infer_types
from ir_exec.ir import Layer, Port
from ir_exec.ir.array_weights import ArrayWeights, reserve_offset, stored_size
from ir_exec.model import Loaded, Model
from ir_exec.ops.infrastructure.values import Parameter, Result
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["EditedNetwork"]

_MOST_READ = 2**12
"""Maximum bytes of a constant whose elements are read by rules."""


class EditedNetwork:
    """The graph of a model, its types, and the edits so far; `model()` applies them.

    Attributes:
        removed: Nodes whose outputs have no reader.
        is_changed: true after an edit.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._document = model.current_document()
        self.graph = build_graph(self._document, model.weights, report=raise_error)
        self.types = infer_types(self.graph, weights=model.weights)
        self._draft = LayerDraft(self._document.layers, self._document.edges)
        self._readers: dict[Value, list[tuple[Node, int]]] = defaultdict(list)
        for node in (*self.graph.nodes, *self.graph.unreachable):
            for position, value in enumerate(node.inputs):
                if value is not None:
                    self._readers[value].append((node, position))
        self._names: dict[Value, tuple[str, ...]] = {}
        self._instead: dict[Value, Value] = {}
        self._arrays: dict[int, Array] = {}
        self.removed: set[Node] = set()
        self.is_changed = False

    def type(self, value: Value) -> TensorType:
        return self.types[value.number]

    def constant_value(self, value: Value) -> Array | None:
        """Return the elements of a small value that is known before a run."""
        type = self.types[value.number]
        shape = type.shape
        if type.source is None or not shape.is_static or not type.element_type.is_known:
            return None
        if shape.size.hi * max(type.element_type.bits // 8, 1) > _MOST_READ:
            return None
        return type.value

    def current(self, value: Value) -> Value:
        """Return the value that is read in place of this one."""
        while value in self._instead:
            value = self._instead[value]
        return value

    def inputs(self, node: Node) -> list[Value]:
        """Return the values that a node reads after the edits."""
        return [self.current(value) for value in node.values_in]

    def readers(self, value: Value) -> list[tuple[Node, int]]:
        """Return the nodes that read a value, with the positions of their inputs."""
        return [reader for reader in self._readers[value] if reader[0] not in self.removed]

    def names(self, value: Value) -> tuple[str, ...]:
        return self._names.get(value, value.names)

    def replace(self, value: Value, by: Value) -> bool:
        """Redirect the readers of a value to another one, which gets its tensor names unless it is an input; return
        False if that is impossible.

        OpenVINO gives a tensor the names of one Result alone, and a Result of an input has separate names.
        """
        readers = self.readers(value)
        if any(isinstance(node.op, Result) for node, _ in readers) and (
            isinstance(by.node.op, Parameter)
            or any(isinstance(node.op, Result) for node, _ in self.readers(by))
            or sum(isinstance(node.op, Result) for node, _ in readers) > 1
        ):
            return False
        self._redirect(value, LayerPort(by.node.id, by.node.layer.outputs[by.position].id))
        self._readers[by] += readers
        self._readers[value] = []
        if value.names and not isinstance(by.node.op, Parameter):
            self._names[by] = tuple(dict.fromkeys((*self.names(by), *self.names(value))))
        self._instead[value] = by
        if all(not self.readers(output) for output in value.node.outputs):
            self._drop(value.node)
        return True

    def replace_by_new(self, value: Value, port: LayerPort) -> None:
        """Redirect the readers of a value to a port of a layer that is new in this round."""
        self._redirect(value, port)
        self._readers[value] = []
        self._drop(value.node)

    def set_input(self, node: Node, position: int, port: LayerPort) -> None:
        """Connect an input port to an output port."""
        self._draft.sources[LayerPort(node.id, node.layer.inputs[position].id)] = port
        self.is_changed = True

    def read_constant(self, node: Node, position: int, port: LayerPort) -> None:
        """Connect an input of a node to a new constant; the old value is removed if it has no other reader."""
        value = self.current(node.values_in[position])
        self._forget(value, node, position)
        self.set_input(node, position, port)

    def become_reshape(self, node: Node, data: Value, shape: LayerPort) -> None:
        """Turn a node with one output into a Reshape of another value."""
        for position, value in enumerate(node.values_in):
            self._forget(self.current(value), node, position)
        self._rewire(node, "Reshape", {"special_zero": "false"}, [self.port_of(data), shape])
        self._readers[data].append((node, 0))

    def set_inputs(self, node: Node, sources: list[LayerPort]) -> None:
        """Give a node with a variable number of inputs fewer inputs."""
        for position, value in enumerate(node.values_in):
            self._forget(self.current(value), node, position)
        self._rewire(node, node.layer.type, node.layer.data, sources)

    def set_attributes(self, node: Node, **attributes: str) -> None:
        layer = self._draft.layers[node.id]
        self._draft.put(layer.model_copy(update={"data": {**layer.data, **attributes}}))
        self.is_changed = True

    def constant(self, array: Array, name: str, neighbor: Node) -> LayerPort:
        """Add a constant; its position in the file is next to the node."""
        size, element_type = stored_size(array), ElementType.of(array)
        offset = reserve_offset(size)
        self._arrays[offset] = array
        data = {
            "element_type": element_type.name,
            "shape": ",".join(map(str, array.shape)),
            "offset": str(offset),
            "size": str(size),
        }
        port = Port(id="0", precision=element_type.precision, dims=array.shape)
        return self.add("Const", "opset1", data, [], port, name, neighbor)

    def add(
        self,
        type: str,
        version: str,
        data: dict[str, str],
        sources: list[LayerPort],
        output: Port,
        name: str,
        neighbor: Node,
    ) -> LayerPort:
        """Add a layer with one output; its input ports declare no type, because their sources do."""
        id = str(self._draft.new_id())
        inputs = tuple([Port(id=str(at), precision=None) for at in range(len(sources))])
        output = output.model_copy(update={"id": str(len(sources))})
        layer = Layer(
            id=id,
            name=self._draft.new_name(name),
            type=type,
            version=version,
            data=data,
            inputs=inputs,
            outputs=(output,),
        ).with_source_of(neighbor.layer)
        self._draft.put_after([layer], [neighbor.id])
        for at, source in enumerate(sources):
            self._draft.sources[LayerPort(id, str(at))] = source
        self.is_changed = True
        return LayerPort(id, output.id)

    def port_of(self, value: Value) -> LayerPort:
        """Return the output port of a value, or of its replacement."""
        value = self.current(value)
        return LayerPort(value.node.id, value.node.layer.outputs[value.position].id)

    def model(self) -> Model:
        """Return the model with the edits."""
        for value, names in self._names.items():
            layer = self._draft.layers[value.node.id]
            outputs = list(layer.outputs)
            outputs[value.position] = outputs[value.position].model_copy(update={"names": names})
            self._draft.put(layer.model_copy(update={"outputs": tuple(outputs)}))
        layers, edges = self._draft.content()
        changed = self._document.model_copy(update={"layers": layers, "edges": edges})
        weights = ArrayWeights(self._arrays, self._model.weights) if self._arrays else self._model.weights
        return Model(Loaded(changed, build_graph(changed, weights, report=raise_error), weights, changed))

    def _forget(self, value: Value, node: Node, position: int) -> None:
        """Remove a node from the readers of a value, and the value if it has no other reader."""
        self._readers[value] = [reader for reader in self._readers[value] if reader != (node, position)]
        self._drop(value.node)

    def _rewire(self, node: Node, type: str, data: Mapping[str, str], sources: list[LayerPort]) -> None:
        """Connect the first ports of a node to these sources, and remove the other ports."""
        layer = self._draft.layers[node.id]
        ports = layer.inputs[: len(sources)]
        for port in layer.inputs:
            self._draft.sources.pop(LayerPort(node.id, port.id), None)
        # The declared types of the ports belong to the old sources.
        open_ports = tuple([Port(id=port.id, precision=None) for port in ports])
        version = layer.version if type == layer.type else "opset1"
        changes = {"type": type, "version": version, "data": dict(data), "inputs": open_ports}
        self._draft.put(layer.model_copy(update=changes))
        for port, source in zip(ports, sources, strict=True):
            self._draft.sources[LayerPort(node.id, port.id)] = source
        self.is_changed = True

    def _redirect(self, value: Value, port: LayerPort) -> None:
        for node, position in self.readers(value):
            self.set_input(node, position, port)

    def _drop(self, node: Node) -> None:
        """Remove a node without readers, and nodes that only it reads."""
        pending = [node]
        while pending:
            node = pending.pop()
            if node in self.removed or isinstance(node.op, (Parameter, Result)):
                continue
            if any(self.readers(value) for value in node.outputs) or node.op is None or node.op.evaluate_context:
                continue
            self.removed.add(node)
            self.is_changed = True
            pending += [value.node for value in self.inputs(node)]
