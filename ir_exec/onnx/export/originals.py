"""The nodes of an ONNX file that replace the layers that they were lowered to, in a model for onnxruntime.

A node replaces its layers if all of them are in the exported graph, if its inputs are available, and if other layers
read only its outputs. All other layers are lowered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ir_exec.build.cutting import is_counted
from ir_exec.graph import Graph, Node, Value
from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.writer import Writer, rename
from ir_exec.onnx.lowering.original import OriginalGraph, OriginalNode, Port
from ir_exec.onnx.lowering.registry import STANDARD
from ir_exec.onnx.reading.order import name_of
from ir_exec.types import Array, ElementType, TensorType

if TYPE_CHECKING:
    from onnx import NodeProto, ValueInfoProto

__all__ = ["OriginalNodes", "Replacement", "select_originals"]


@dataclass(frozen=True, eq=False)
class Replacement:
    """A node that replaces layers.

    Attributes:
        inputs: The values in the exported graph that it reads, by name.
        constants: The other tensors that it reads.
        outputs: The values in the exported graph, by name; unread outputs are missing.
    """

    original: OriginalNode
    layers: tuple[Node, ...]
    inputs: Mapping[str, Value]
    constants: Mapping[str, Array]
    outputs: Mapping[str, Value]


@dataclass(eq=False)
class OriginalNodes:
    """The nodes of a file in an exported graph.

    Attributes:
        opset: The version of the standard domain in the exported model.
        is_complete: True if every layer has been replaced; the exported model then has the opset of the file.
        reasons: The reasons for nodes whose layers are lowered, by a layer of each.
    """

    graph: OriginalGraph
    opset: int
    replacements: Sequence[Replacement]
    reasons: Mapping[Node, str]
    is_complete: bool
    _constants: dict[str, str] = field(default_factory=dict)

    @cached_property
    def replaced(self) -> frozenset[Node]:
        """The layers that nodes of the file replace."""
        return frozenset(node for replacement in self.replacements for node in replacement.layers)

    @cached_property
    def at(self) -> Mapping[Node, Replacement]:
        """The nodes of the file by the last of the layers that they replace."""
        return {replacement.layers[-1]: replacement for replacement in self.replacements}

    @property
    def names(self) -> Iterator[str]:
        """The names in the nodes and their bodies."""
        for replacement in self.replacements:
            yield from _names_of(replacement.original.proto)

    @property
    def domains(self) -> dict[str, int]:
        """The imported versions of the domains other than the standard one."""
        return {domain: version for domain, version in self.graph.opsets.items() if domain != STANDARD}

    def emit(self, replacement: Replacement, writer: Writer, names: Mapping[Value, str]) -> NodeProto:
        """Return the node with the names of the exported graph; `names` are those of the values."""
        node = type(replacement.original.proto)()
        node.CopyFrom(replacement.original.proto)
        renamed = {name: names[value] for name, value in (*replacement.inputs.items(), *replacement.outputs.items())}
        for name, array in replacement.constants.items():
            renamed[name] = self._constants.get(name) or self._add_constant(name, array, writer)
        renamed |= {name: writer.fresh(name) for name in node.output if name and name not in renamed}
        rename(node, renamed)
        node.name = writer.node_name(name_of(replacement.original.proto))
        return node

    def name_dims(self, inputs: Iterable[ValueInfoProto]) -> None:
        """Give dynamic dims of inputs their names in the file: kernels are fused if dims are known to be equal."""
        for declared in inputs:
            dims = declared.type.tensor_type.shape.dim
            names = self.graph.dims.get(declared.name, ())
            if len(names) == len(dims):
                for dim, name in zip(dims, names, strict=True):
                    if dim.HasField("dim_param") and name:
                        dim.dim_param = name

    def _add_constant(self, name: str, array: Array, writer: Writer) -> str:
        element_type = ElementType.of(array)
        self._constants[name] = writer.element_constant(name, element_type, array.shape, lambda: array)
        return self._constants[name]


def _names_of(node: NodeProto) -> Iterator[str]:
    yield from node.input
    yield from node.output
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
            yield from (tensor.name for tensor in graph.initializer)
            yield from (port.name for port in (*graph.input, *graph.output))
            for inner in graph.node:
                yield from _names_of(inner)


def select_originals(
    original: OriginalGraph,
    graph: Graph,
    inputs: Sequence[Value],
    types: Mapping[Value, TensorType],
    *,
    opset: int,
    refused: Mapping[str, str],
) -> OriginalNodes:
    """Return the nodes of the file that replace layers of a graph.

    Args:
        graph: The graph of the model that was lowered from the file, or of a part of it.
        inputs: The values of the model at the Parameters of the graph.
        types: The types of the values of the graph.
        opset: The least version of the standard domain for lowered layers.
        refused: Reasons against nodes, by the ids of their layers.
    """
    complete = _Selection(original, graph, inputs, types, original.opsets.get(STANDARD, 1), refused)
    if complete.is_complete:
        return complete.result()
    newest = max(opset, original.opsets.get(STANDARD, 1))
    if newest == original.opsets.get(STANDARD, 1):
        return complete.result()
    return _Selection(original, graph, inputs, types, newest, refused).result()


class _Selection:
    """The nodes that replace layers in a model of one opset."""

    def __init__(
        self,
        original: OriginalGraph,
        graph: Graph,
        inputs: Sequence[Value],
        types: Mapping[Value, TensorType],
        opset: int,
        refused: Mapping[str, str],
    ) -> None:
        self._original = original
        self._graph = graph
        self._types = types
        self._opset = opset
        self._refused = refused
        self._nodes = {node.id: node for node in graph.nodes}
        self._positions = {node: position for position, node in enumerate(graph.nodes)}
        self._readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in node.values_in:
                self._readers.setdefault(value, []).append(node)
        self._values = {Port(node.id, value.position): value for node in graph.nodes for value in node.outputs}
        for node, value in zip(graph.parameters, inputs, strict=True):
            self._values[Port(value.node.id, value.position)] = node.outputs[0]
        self._reasons: dict[Node, str] = {}
        self._replacements: list[Replacement] = []
        for node in original.nodes:
            layers = [layer for id in node.layers if (layer := self._nodes.get(id)) is not None and is_counted(layer)]
            layers.sort(key=self._positions.__getitem__)
            if not layers:
                continue
            candidate = self._replacement(node, layers)
            if isinstance(candidate, Replacement):
                self._replacements.append(candidate)
            else:
                self._reasons[layers[0]] = candidate
        self._require_order()

    @property
    def is_complete(self) -> bool:
        """True if the nodes of the file replace all layers."""
        replaced = {node for replacement in self._replacements for node in replacement.layers}
        return all(node in replaced or not is_counted(node) for node in self._graph.nodes)

    def result(self) -> OriginalNodes:
        return OriginalNodes(self._original, self._opset, self._replacements, self._reasons, self.is_complete)

    def _replacement(self, node: OriginalNode, layers: list[Node]) -> Replacement | str:
        """Return the replacement of the layers by a node, or the reason against it."""
        if len(layers) < len(node.layers):
            return "other parts compute some of its layers"
        reason = next((self._refused[layer.id] for layer in layers if layer.id in self._refused), None)
        reason = reason or self._original.reason(node.proto, self._opset)
        if reason is not None:
            return reason
        inputs: dict[str, Value] = {}
        constants: dict[str, Array] = {}
        for name in node.reads:
            value = self._find(name)
            if value is not None:
                inputs[name] = value
            elif name in self._original.constants:
                constants[name] = self._original.constants[name]
            else:
                return f"{name!r} is no tensor of the part"
        carried = [value for value in inputs.values() if self._is_carried(value)]
        if carried or any(is_carried(ElementType.of(array), self._opset) for array in constants.values()):
            return f"opset {self._opset} lacks an element type"
        outputs = {}
        for name in node.proto.output:
            value = self._find(name)
            if value is not None and value.node in layers and value not in outputs.values():
                outputs[name] = value
        if not self._are_only_read(layers, outputs.values()):
            return "other nodes read intermediate values"
        return Replacement(node, tuple(layers), inputs, constants, outputs)

    def _find(self, name: str) -> Value | None:
        port = self._original.ports.get(name)
        return None if port is None else self._values.get(port)

    def _is_carried(self, value: Value) -> bool:
        element_type = self._types.get(value, value.declared).element_type
        return element_type.is_known and is_carried(element_type, self._opset)

    def _are_only_read(self, layers: Collection[Node], outputs: Collection[Value]) -> bool:
        """Return True if layers outside a node read only its outputs."""
        inside = set(layers)
        return all(
            value in outputs or inside.issuperset(self._readers.get(value, ()))
            for layer in layers
            for value in layer.outputs
        )

    def _require_order(self) -> None:
        """Drop the nodes that read values computed after some of their outputs are read."""
        at = {layer: replacement for replacement in self._replacements for layer in replacement.layers}

        def computed(value: Value) -> int:
            replacement = at.get(value.node)
            return self._positions[value.node if replacement is None else replacement.layers[-1]]

        def read(node: Node) -> int:
            replacement = at.get(node)
            return self._positions[node if replacement is None else replacement.layers[-1]]

        retained = []
        for replacement in self._replacements:
            position = self._positions[replacement.layers[-1]]
            is_ordered = all(computed(value) < position for value in replacement.inputs.values())
            readers = [reader for value in replacement.outputs.values() for reader in self._readers.get(value, ())]
            if is_ordered and all(read(reader) >= position for reader in readers):
                retained.append(replacement)
            else:
                self._reasons[replacement.layers[0]] = "its layers are computed between those of other nodes"
        self._replacements = retained
