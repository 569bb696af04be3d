"""The nodes of an ONNX file that replace the layers that they were lowered to, in a model for onnxruntime.

A node replaces its layers if all of them are in the exported graph, if its inputs are available, and if lowered layers
read only its outputs. All other layers are lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.build.cutting import is_counted
from ir_exec.graph import Graph, Node, Value
from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.registry import OLDEST_OPSET, find_lowering
from ir_exec.onnx.export.writer import Writer, rename
from ir_exec.onnx.lowering.original import LoweredTensor, OriginalGraph, OriginalNode
from ir_exec.onnx.lowering.registry import STANDARD
from ir_exec.onnx.reading.order import name_of
from ir_exec.types import Array, ElementType, TensorType

if TYPE_CHECKING:
    from onnx import NodeProto, ValueInfoProto

__all__ = ["NodeReplacement", "OriginalNodes", "select_originals"]


@dataclass(frozen=True, eq=False)
class NodeReplacement:
    """A node that replaces layers.

    Attributes:
        layers: The layers in the exported graph; none for a node whose outputs only such nodes read.
        inputs: The values in the exported graph that it reads, by name.
        constants: The constants that it reads, by name.
        outputs: The values in the exported graph, by name.
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
        replacements: The nodes in the order in which they are emitted.
        at: The nodes to emit at the last layer of each.
        reasons: The reasons for nodes whose layers are lowered, by a layer of each.
        is_complete: True if every layer is replaced.
    """

    graph: OriginalGraph
    opset: int
    replacements: Sequence[NodeReplacement]
    at: Mapping[Node, Sequence[NodeReplacement]]
    reasons: Mapping[Node, str]
    is_complete: bool
    _names: dict[str, str] = field(default_factory=dict)

    @cached_property
    def replaced_layers(self) -> frozenset[Node]:
        """The layers that nodes of the file replace."""
        return frozenset(node for replacement in self.replacements for node in replacement.layers)

    @property
    def names(self) -> Iterator[str]:
        """The names in the nodes and their bodies."""
        for replacement in self.replacements:
            yield from _names_of(replacement.original.proto)

    @property
    def domains(self) -> dict[str, int]:
        """The imported versions of the domains other than the standard one."""
        return {domain: version for domain, version in self.graph.opsets.items() if domain != STANDARD}

    def emit(self, replacement: NodeReplacement, writer: Writer, names: Mapping[Value, str]) -> NodeProto:
        """Return the node with the names of the exported graph; `names` are those of the values."""
        original = replacement.original
        node = type(original.proto)()
        node.CopyFrom(original.proto)
        renamed = {name: names[value] for name, value in (*replacement.inputs.items(), *replacement.outputs.items())}
        for name, array in replacement.constants.items():
            if name not in self._names:
                read = _reader_of(array)
                self._names[name] = writer.element_constant(name, ElementType.of(array), array.shape, read)
            renamed[name] = self._names[name]
        for name in original.reads:
            if name not in renamed:
                renamed[name] = self._names[name]
        for name in filter(None, node.output):
            self._names[name] = renamed[name] = renamed.get(name) or writer.fresh(name)
        rename(node, renamed)
        node.name = writer.node_name(name_of(original.proto))
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


def _reader_of(array: Array) -> Callable[[], Array]:
    return lambda: array


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
        opset: The version of the standard domain that all lowerings support.
        refused: Reasons against nodes, by the ids of their layers.
    """
    imported = original.opsets.get(STANDARD, 1)
    selection = _Selection(original, graph, inputs, types, imported, refused)
    if selection.is_complete or imported >= opset or (imported >= OLDEST_OPSET and selection.fits_opset):
        return selection.result()
    return _Selection(original, graph, inputs, types, opset, refused).result()


class _Selection:
    """The nodes that replace layers in a model of one opset.

    It starts with all nodes, and drops nodes until the remaining ones can be emitted.
    """

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
        self._values = {LoweredTensor(node.id, value.position): value for node in graph.nodes for value in node.outputs}
        for node, value in zip(graph.parameters, inputs, strict=True):
            self._values[LoweredTensor(value.node.id, value.position)] = node.outputs[0]
        nodes = {node.id: node for node in graph.nodes if is_counted(node)}
        order = {node: position for position, node in enumerate(graph.nodes)}
        self._layers = {
            node: sorted([nodes[id] for id in node.layers if id in nodes], key=order.__getitem__)
            for node in original.nodes
        }
        self._owners = {layer: node for node, layers in self._layers.items() for layer in layers}
        self._positions = {node: position for position, node in enumerate(original.nodes)}
        self._sources = {name: node for node in original.nodes for name in node.proto.output if name}
        self._reasons: dict[OriginalNode, str] = {}
        for original_node in original.nodes:
            reason = self._reason(original_node)
            if reason is not None:
                self._reasons[original_node] = reason
        while self._drop():
            pass
        self._replacements: dict[OriginalNode, NodeReplacement] = {}
        self._order: dict[Node, list[NodeReplacement]] = {}
        while (late := self._emit()) is not None:
            self._reasons[late] = "its layers are computed between those of other nodes"
            while self._drop():
                pass

    @property
    def _lowered_layers(self) -> Iterator[Node]:
        """The layers that no node replaces."""
        for layer in self._graph.nodes:
            owner = self._owners.get(layer)
            if is_counted(layer) and (owner is None or owner in self._reasons):
                yield layer

    @property
    def is_complete(self) -> bool:
        """True if nodes replace all layers."""
        return next(self._lowered_layers, None) is None

    @property
    def fits_opset(self) -> bool:
        """True if the other layers can be lowered to the opset."""
        for layer in self._lowered_layers:
            for node in (layer, *(inner for body in layer.bodies for inner in body.graph.all_nodes())):
                lowering = None if node.op is None else find_lowering(type(node.op))
                if lowering is not None and lowering.opset > self._opset:
                    return False
        return True

    def result(self) -> OriginalNodes:
        reasons = {self._layer_of(node): reason for node, reason in self._reasons.items() if self._layers[node]}
        emitted = [replacement for replacements in self._order.values() for replacement in replacements]
        return OriginalNodes(self._original, self._opset, emitted, self._order, reasons, self.is_complete)

    def _layer_of(self, node: OriginalNode) -> Node:
        """Return the layer with the name of a node, or else its first one."""
        name, layers = name_of(node.proto), self._layers[node]
        return next((layer for layer in layers if layer.name == name), layers[0])

    def _reason(self, node: OriginalNode) -> str | None:
        """Return the reason why a node cannot replace its layers, apart from the other nodes."""
        layers = self._layers[node]
        if len(layers) < len(node.layers):
            return "other parts compute some of its layers"
        refused = next((self._refused[layer.id] for layer in layers if layer.id in self._refused), None)
        if refused is not None:
            return refused
        if not layers and not node.is_safe:
            return "it was folded"
        return self._original.reason(node.proto, self._opset)

    def _drop(self) -> bool:
        """Drop the nodes that cannot be emitted without those dropped before; return True if there are any."""
        read = {value for layer in self._lowered_layers for value in layer.values_in}
        read |= {value for result in self._graph.results for value in result.values_in}
        dropped: dict[OriginalNode, str] = {}
        for node in self._original.nodes:
            if node in self._reasons:
                continue
            outputs = self._outputs(node).values()
            if any(value in read and value not in outputs for layer in self._layers[node] for value in layer.outputs):
                dropped[node] = "other nodes read intermediate values"
            missing = next((name for name in node.reads if self._resolve(name) is None), None)
            if missing is not None:
                dropped[node] = f"{missing!r} is no tensor of the part"
            elif any(map(self._is_carried, map(self._resolve, node.reads))):
                dropped[node] = f"opset {self._opset} lacks an element type"
        self._reasons |= dropped
        return bool(dropped)

    def _resolve(self, name: str) -> Value | Array | OriginalNode | None:
        """Return the value, the constant, or the node that gives a node an input; None if there is none."""
        value = self._find(name)
        if value is not None:
            owner = self._owners.get(value.node)
            if owner is None or owner in self._reasons or value in self._outputs(owner).values():
                return value
        constant = self._original.constants.get(name)
        if constant is not None:
            return constant
        source = self._sources.get(name)
        return None if source is None or source in self._reasons else source

    def _find(self, name: str) -> Value | None:
        port = self._original.ports.get(name)
        return None if port is None else self._values.get(port)

    def _outputs(self, node: OriginalNode) -> dict[str, Value]:
        """Return the outputs of a node that are values of the graph, each by its first name."""
        layers, outputs = self._layers[node], dict[str, Value]()
        for name in node.proto.output if layers else ():
            value = self._find(name)
            if value is not None and value.node in layers and value not in outputs.values():
                outputs[name] = value
        return outputs

    def _is_carried(self, source: Value | Array | OriginalNode | None) -> bool:
        """Return True for a tensor of an element type that the opset lacks."""
        if isinstance(source, Value):
            element_type = self._types.get(source, source.declared).element_type
            return element_type.is_known and is_carried(element_type, self._opset)
        if source is None or isinstance(source, OriginalNode):
            return False
        return is_carried(ElementType.of(source), self._opset)

    def _emit(self) -> OriginalNode | None:
        """Order the nodes as they are emitted, and return the first one that comes after a reader; else None."""
        self._order, self._replacements = {}, {}
        last: dict[OriginalNode, Node] = {}
        for layer in self._graph.nodes:
            owner = self._owners.get(layer)
            if owner is not None and owner not in self._reasons:
                last[owner] = layer
        at = {layer: node for node, layer in last.items()}
        computed: set[Value] = set()
        for layer in self._graph.nodes:
            owner = self._owners.get(layer)
            if owner is None or owner in self._reasons:
                late = next((value for value in layer.values_in if value not in computed), None)
                if late is not None:
                    return self._owners[late.node]
                computed.update(layer.outputs)
            elif layer in at:
                self._order[layer] = []
                node = at[layer]
                if node not in self._replacements and not self._append(node, computed, self._order[layer]):
                    return node
        return None

    def _append(self, node: OriginalNode, computed: set[Value], emitted: list[NodeReplacement]) -> bool:
        """Append a node after the nodes that it reads; return False if an input is not yet computed."""
        pending, required = [node], {node}
        while pending:
            sources = map(self._resolve, pending.pop().reads)
            new = {source for source in sources if isinstance(source, OriginalNode)} - required
            new -= self._replacements.keys()
            required |= new
            pending += new
        for original in sorted(required, key=self._positions.__getitem__):
            replacement = self._replacement(original)
            if not computed.issuperset(replacement.inputs.values()):
                return False
            self._replacements[original] = replacement
            emitted.append(replacement)
            computed.update(replacement.outputs.values())
        return True

    def _replacement(self, node: OriginalNode) -> NodeReplacement:
        sources = {name: self._resolve(name) for name in node.reads}
        inputs = {name: source for name, source in sources.items() if isinstance(source, Value)}
        constants = {name: source for name, source in sources.items() if isinstance(source, np.ndarray)}
        return NodeReplacement(node, tuple(self._layers[node]), inputs, constants, self._outputs(node))
