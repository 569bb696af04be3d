"""Lowering of an IR graph to an ONNX graph."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import IRError, UnsupportedError, internal_error
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.constant_parts import is_constant_part
from ir_exec.ir import RtInfo, Weights
from ir_exec.model import Model, ModelPort
from ir_exec.onnx.export.cached_attention import CacheLowerer
from ir_exec.onnx.export.caches import Caches
from ir_exec.onnx.export.compressed import (
    Compressed,
    emit_gather,
    emit_weight,
    find_compressed,
    fits_gather,
    is_table,
    packed_reader,
)
from ir_exec.onnx.export.compressed_products import ProductLevels, emit_matmul, fits_matmul
from ir_exec.onnx.export.fused_layers import emit_fused, find_fused_layers
from ir_exec.onnx.export.fusible import merge_scales, prune_nodes, readers_of, vector_shape
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.onnx.export.levels import emit_levels
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.originals import NodeReplacement, OriginalNodes
from ir_exec.onnx.export.registry import OLDEST_OPSET, find_lowering, reason_not_representable
from ir_exec.onnx.export.writer import StoredTensor, Writer, WriterScope, free_names, rename
from ir_exec.onnx.lowering.registry import NEWEST
from ir_exec.onnx.lowering.states import NOTE
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, ReadsVariable
from ir_exec.ops.quantization import FakeQuantize
from ir_exec.plan.graph import FusedNode
from ir_exec.report.numbers import format_count
from ir_exec.runtime.precision import file_types
from ir_exec.types import Array, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

__all__ = ["DEFAULT_OPSET", "Exported", "Lowerer", "lower_model"]

DEFAULT_OPSET = 21
"""The newest opset that onnxruntime 1.18 reads, the oldest supported release."""

PARTIAL_DOMAIN = "ir_exec.not_representable"
"""The domain of nodes that replace layers that ONNX cannot express."""

_FUNCTION_FROM = 7
"""Minimum nodes of a composition that becomes a model-local function."""

_MOST_NAMED = 100


@dataclass(frozen=True)
class Exported:
    """An ONNX model.

    Attributes:
        proto: The message, without the tensors of `tensors`.
        tensors: Constants that are read on demand, by name.
        inputs: The inputs of the ONNX graph, in the order of the IR model; states excluded.
        outputs: The outputs of the ONNX graph, in the order of the IR model; states excluded.
        states: For each variable the names of its input and its output.
        not_representable: Layers that ONNX cannot express, with the reason; empty unless the model is partial.
        shapes: The shapes of the tensors that are values of the IR model.
    """

    proto: ModelProto
    tensors: Mapping[str, StoredTensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    states: Mapping[str, tuple[str, str]]
    not_representable: tuple[tuple[Node, str], ...] = ()
    shapes: Mapping[str, Shape] = field(default_factory=dict)


@dataclass
class Lowerer(GraphLowerer):
    """Lowers graphs into one writer.

    Attributes:
        functions: Compositions of many nodes become model-local functions.
        not_representable: Layers that ONNX cannot express, with the reason.
        compressed: The compressed weights by value.
        has_sources: Nodes carry the line of Python of their layers in their metadata.
        originals: Nodes of an ONNX file that replace layers.
        fuses: Several layers become one operator that only onnxruntime has.
    """

    functions: bool = True
    has_sources: bool = True
    originals: OriginalNodes | None = None
    fuses: bool = False
    not_representable: list[tuple[Node, str]] = field(default_factory=list)
    has_variables: bool = False
    expands_weights: bool = False
    has_integers: bool = False
    compressed: dict[Value, Compressed] = field(default_factory=dict)
    tables: set[Value] = field(default_factory=set)
    caches: CacheLowerer | None = None
    levels: ProductLevels = field(default_factory=ProductLevels)

    def nodes(self, graph: Graph) -> None:
        """Lower the nodes of a graph whose Parameters have names."""
        self.depth += 1
        try:
            self._nodes(graph)
        finally:
            self.depth -= 1

    def _nodes(self, graph: Graph) -> None:
        originals = self.originals
        replaced_layers: frozenset[Node] = frozenset() if originals is None else originals.replaced_layers
        compressed_weights = find_compressed(graph, self.types, self.weights, self.writer.opset)
        if replaced_layers:
            compressed_weights = {
                node: compressed
                for node, compressed in compressed_weights.items()
                if node not in replaced_layers and replaced_layers.isdisjoint(compressed.weight.line)
            }
        replaced = {node for compressed in compressed_weights.values() for node in compressed.weight.line}
        fused: dict[Node, FusedNode] = {}
        if self.fuses:
            lowered_otherwise = {*replaced_layers, *replaced, *compressed_weights}
            if self.caches is not None:
                lowered_otherwise |= self.caches.caches.nodes
            fused = find_fused_layers(graph, self.types, lowered_otherwise)
        fused_layers = {member for node in fused.values() for member in node.members}
        readers = readers_of(graph)
        for node in graph.nodes:
            op = node.op
            if op is not None and (op.is_parameter or op.is_result):
                continue
            if originals is not None and node in originals.replaced_layers:
                for replacement in originals.at.get(node, ()):
                    self._emit_original(originals, replacement)
                continue
            if node in compressed_weights:
                compressed = compressed_weights[node]
                self._compressed_weight(compressed, readers.get(compressed.weight.value, ()), replaced_layers)
                continue
            if node in replaced:
                continue
            if isinstance(op, Const):
                is_fused = self.writer.target == "onnxruntime" and replaced_layers.isdisjoint(
                    readers.get(node.outputs[0], ())
                )
                vector = vector_shape(node, op, readers, self.types) if is_fused else None
                self._constant(node, op, vector or op.shape.static)
                continue
            if node in fused_layers:
                if node in fused:
                    self._emit_layers(fused[node])
                continue
            with self.writer.derived_from(node.layer.source_entries if self.has_sources else {}):
                outputs = (self.caches and self.caches.lower(node)) or self._outputs(node)
            for value, name in zip(node.outputs, outputs, strict=False):
                self.names[value] = name

    def _compressed_weight(
        self, compressed: Compressed, readers: Sequence[Node], replaced_layers: Collection[Node]
    ) -> None:
        """Emit a compressed weight for the readers that do not read it themselves."""
        value = compressed.weight.value
        self.compressed[value] = compressed
        if is_table(compressed, readers):
            self.tables.add(value)
        if all(node not in replaced_layers and self._reads_compressed(compressed, node) for node in readers):
            return
        self.names[value] = emit_weight(self, compressed)

    def _emit_layers(self, fused: FusedNode) -> None:
        """Emit one operator for several layers."""
        assert fused.op is not None, "a fused node has an operator"
        inputs = [self.names[value] for value in fused.values_in]
        types, out_types = ([self.type_of(value) for value in values] for values in (fused.values_in, fused.outputs))
        export = ExportNode(self.writer, fused.op, fused.name, inputs, types, out_types, (), self, fused.inputs)
        with self.writer.inside() as scope:
            (self.names[fused.outputs[0]],) = self._final_names(fused, scope, [emit_fused(export)])
        self.writer.scope.nodes.extend(scope.nodes)

    def _emit_original(self, originals: OriginalNodes, replacement: NodeReplacement) -> None:
        """Append a node of the file in place of its layers."""
        for value in replacement.outputs.values():
            element_type = self.type_of(value).element_type
            self.names[value] = self.new_name(value)
            self.writer.codes[self.names[value]] = self.writer.code(element_type)
        self.writer.scope.nodes.append(originals.emit(replacement, self.writer, self.names))

    def _reads_compressed(self, compressed: Compressed, node: Node) -> bool:
        """Return True if the node itself reads a compressed weight, as an operator of onnxruntime."""
        if self.writer.target != "onnxruntime":
            return False
        return self._fits_matmul(compressed, node) or fits_gather(compressed, node)

    def _fits_matmul(self, compressed: Compressed, node: Node) -> bool:
        shape = self.type_of(node.values_in[0]).shape
        if not fits_matmul(compressed, node, shape.rank):
            return False
        if compressed.weight.constant.element_type.bits < 8:
            return True
        if self.has_integers:
            return False
        if not self.expands_weights:
            return True
        # A product of 8 bits is faster than one of f32 for one row, and takes twice the time for many.
        if self.levels.concerns(compressed, node.name):
            return True
        has_one_row = shape.is_static and math.prod(shape.static[:-1]) == 1
        return has_one_row or self.has_variables or compressed.weight.value in self.tables

    def _constant(self, node: Node, op: Const, shape: tuple[int, ...]) -> None:
        value = node.outputs[0]
        if self.weights is None:
            raise UnsupportedError("the weights of the model are missing", code=Code.weights_missing).located(
                node.location
            )
        reader = self.weights
        release = partial(_release, reader) if isinstance(reader, Weights) else None
        self.names[value] = self.writer.element_constant(
            self.value_name(value),
            op.element_type,
            shape,
            lambda: op.evaluate(weights=reader).reshape(shape),
            release,
            packed_reader(op, reader),
        )

    def name_outputs(self, graph: Graph, ports: Sequence[ModelPort]) -> list[str]:
        """Reserve the names of the outputs of the graph before other tensors use them.

        An output that is an input of the same name needs no further tensor.
        """
        names = []
        for node, port in zip(graph.results, ports, strict=True):
            value = node.values_in[0]
            name = port.name if self.names.get(value) == port.name else self.writer.unique(port.name)
            names.append(name)
            if value not in self.names and not isinstance(value.node.op, Const):
                self.output_names.setdefault(value, name)
        return names

    def output(self, node: Node, name: str) -> ValueInfoProto:
        """The declaration of an output of the graph; a value with another name is copied."""
        value, writer = node.values_in[0], self.writer
        source = self.names[value]
        if source != name:
            writer.node("Identity", [source], [name], name=writer.node_name(f"{node.name}/Identity"), attributes={})
            writer.codes[name] = writer.codes[source]
        return self.value_info(name, self.type_of(value))

    def _outputs(self, node: Node) -> Sequence[str]:
        inputs = [self.names.get(value, "") if value is not None else "" for value in node.inputs]
        try:
            return self._lower_node(node, inputs)
        except UnsupportedError as error:
            self.not_representable.append((node, error.message))
        except IRError:
            raise
        except Exception as error:
            raise internal_error(error).located(node.location) from error
        return self._placeholder(node, inputs)

    def _lower_node(self, node: Node, inputs: list[str]) -> Sequence[str]:
        op = node.op
        if op is None:
            raise UnsupportedError(f"ir_exec has no operator {node.type} of {node.layer.version}")
        lowering = find_lowering(type(op))
        if lowering is None:
            raise UnsupportedError(reason_not_representable(type(op)))
        if lowering.opset > self.writer.opset:
            raise UnsupportedError(
                f"it requires opset {lowering.opset} of ONNX, but opset {self.writer.opset} is written"
            )
        types = [self.types.get(value, value.declared) if value else TensorType.unknown() for value in node.inputs]
        out_types = [self.types.get(value, value.declared) for value in node.outputs]
        export = ExportNode(self.writer, op, node.name, inputs, types, out_types, node.bodies, self, node.inputs)
        writer = self.writer
        # Attributes may exceed the range of the element type, such as the bounds of a Clamp.
        with writer.inside() as scope, np.errstate(all="ignore"):
            result = self._of_compressed(node, inputs) or emit_levels(export) or lowering.function(export)
            outputs = [result] if isinstance(result, str) else list(result)
            final = self._final_names(node, scope, outputs)
        is_function = self.functions and len(scope.nodes) >= _FUNCTION_FROM and writer.target == "onnxruntime"
        if is_function and not lowering.inline:
            writer.function(node.type, scope, final, node_name=writer.node_name(node.name), layer_inputs=inputs)
        else:
            if len(scope.nodes) == 1:
                scope.nodes[0].name = writer.node_name(node.name)
            writer.scope.nodes.extend(scope.nodes)
        return final

    def _of_compressed(self, node: Node, inputs: Sequence[str]) -> str | None:
        """The output of an operator of onnxruntime that reads a compressed weight; None for other nodes."""
        for value in node.values_in:
            compressed = self.compressed.get(value)
            if compressed is None or not self._reads_compressed(compressed, node):
                continue
            if self._fits_matmul(compressed, node):
                is_transposed = vars(node.op)["transpose_b"]
                return emit_matmul(
                    self, compressed, inputs[0], node.name, is_transposed=is_transposed, levels=self.levels
                )
            return emit_gather(self, compressed, inputs[1], node.name)
        return None

    def _final_names(self, node: Node, scope: WriterScope, outputs: Sequence[str]) -> list[str]:
        """Give the outputs of a lowered layer the preferred names of their values."""
        writer = self.writer
        computed = {output for proto in scope.nodes for output in proto.output}
        final, renamed = [], {}
        for value, name in zip(node.outputs, outputs, strict=False):
            final_name = self.new_name(value)
            writer.codes[final_name] = writer.codes.get(name, 0)
            if name in computed and name not in renamed:
                renamed[name] = final_name
            else:
                source = renamed.get(name, name)
                writer.node(
                    "Identity", [source], [final_name], name=writer.node_name(f"{node.name}/Identity"), attributes={}
                )
            final.append(final_name)
        for proto in scope.nodes:
            rename(proto, renamed)
        return final

    def _placeholder(self, node: Node, inputs: list[str]) -> Sequence[str]:
        """A node of a custom domain in place of a layer that ONNX cannot express."""
        writer = self.writer
        outputs = [self.new_name(value) for value in node.outputs]
        for value, name in zip(node.outputs, outputs, strict=True):
            element_type = self.types.get(value, value.declared).element_type
            writer.codes[name] = writer.code(element_type if element_type.is_known else ElementType.f32)
        attributes = {key: str(value) for key, value in node.layer.data.items()}
        writer.node(
            node.type, inputs, outputs, name=writer.node_name(node.name), domain=PARTIAL_DOMAIN, attributes=attributes
        )
        return outputs

    def name_states(self, graph: Graph, outputs: Collection[str]) -> None:
        """Give the variables the names of their inputs and outputs, before tensors use them."""
        for node in graph.nodes:
            if isinstance(node.op, ReadsVariable | AssignsVariable) and node.op.variable_id not in self.state_names:
                id = node.op.variable_id
                past, present = f"past.{id}", f"present.{id}"
                if present in outputs:
                    present += ".state"
                self.state_names[id] = (self.writer.unique(past), self.writer.unique(present))

    def declare(self, value: Value, name: str) -> ValueInfoProto:
        """Give the value of a Parameter its name, and return its declaration."""
        type = self.types.get(value, value.declared)
        if not type.element_type.is_known:
            raise UnsupportedError(f"the element type of input {name!r} is unknown")
        self.names[value] = name
        self.writer.codes[name] = self.writer.code(type.element_type)
        return self.value_info(name, type, dims=re.sub(r"\W+", "_", name))


def _release(weights: Weights, array: Array) -> None:
    """Release the pages of a mapped constant."""
    if weights.maps(array):
        weights.forget(array)


def lower_model(
    model: Model,
    *,
    opset: int = DEFAULT_OPSET,
    target: str = "",
    partial: bool = False,
    functions: bool = True,
    finite: bool = False,
    int8: bool = False,
    sources: bool = True,
    originals: OriginalNodes | None = None,
    expand: bool = False,
    has_variables: bool | None = None,
    caches: Caches | None = None,
    levels: ProductLevels | None = None,
    fuses: bool = False,
) -> Exported:
    """The ONNX model that computes the same as an IR model.

    Args:
        target: "onnxruntime" to use its custom operators and model-local functions, "openvino" or "" for neither.
        partial: Layers that ONNX cannot express become nodes of a custom domain.
        functions: Compositions of many nodes become model-local functions, for the target onnxruntime.
        finite: As for a Writer.
        int8: As for a Writer.
        sources: Write the line of Python of each layer into the metadata of its nodes.
        originals: Nodes of an ONNX file that replace layers; they determine the opset.
        expand: Compressed weights of 8 bits are dequantized where products of f32 are faster.
        has_variables: The model is part of one with variables; None to search it for them.
        caches: Inputs that are memory with room for more elements, for the target onnxruntime. The sizes of the memory
            are the last inputs, and the target shapes to be checked the last outputs.
        levels: The products that round activations, for the target onnxruntime. The errors of measured ones are further
            outputs.
        fuses: As for a Lowerer.

    Raises:
        UnsupportedError: Names every layer that ONNX cannot express, with the reason.
    """
    model.require_complete()
    from onnx import helper

    if originals is not None:
        opset = originals.opset
    elif not OLDEST_OPSET <= opset <= NEWEST:
        raise UnsupportedError("the opset is", actual=opset, expected=f"{OLDEST_OPSET} to {NEWEST}")
    writer = Writer(opset, target, finite=finite, int8=int8)
    graph = model.graph
    if has_variables is None:
        has_variables = any(isinstance(node.op, ReadsVariable) for node in graph.all_nodes())
    lowerer = Lowerer(
        writer,
        file_types(model),
        model.weights,
        functions=functions,
        has_sources=sources,
        originals=originals,
        fuses=fuses,
        has_variables=has_variables,
        expands_weights=expand,
        has_integers=int8 and _quantizes_activations(graph),
    )
    if not graph.results and not any(isinstance(node.op, AssignsVariable) for node in graph.nodes):
        raise UnsupportedError("the model has no tensors as outputs, which an ONNX graph requires")
    writer.reserved |= {lowerer.value_name(output) for node in graph.all_nodes() for output in node.outputs}
    if originals is not None:
        writer.reserved.update(originals.names)
    inputs = []
    for node, port in zip(graph.parameters, model.inputs, strict=True):
        inputs.append(lowerer.declare(node.outputs[0], writer.unique(port.name)))
    lowerer.levels = levels or lowerer.levels
    if caches is not None:
        lowerer.caches = CacheLowerer(caches, lowerer)
        inputs += lowerer.caches.declare()
    output_names = lowerer.name_outputs(graph, model.outputs)
    lowerer.name_states(graph, {port.name for port in model.outputs})
    lowerer.nodes(graph)
    outputs = [lowerer.output(node, name) for node, name in zip(graph.results, output_names, strict=True)]
    if lowerer.caches is not None:
        outputs += lowerer.caches.emit_checks()
    outputs += [helper.make_tensor_value_info(name, writer.codes[name], [2]) for name in lowerer.levels.errors.values()]
    if lowerer.not_representable and not partial:
        raise _not_representable(lowerer.not_representable)
    required_names = {output.name for output in (*outputs, *lowerer.state_outputs)} | set(lowerer.initial.values())
    writer.scope.nodes = prune_nodes(writer.scope.nodes, required_names, domain=PARTIAL_DOMAIN)
    if target == "onnxruntime" and (originals is None or not originals.is_complete):
        shapes = {name: tensor.shape for name, tensor in writer.tensors.items()}
        shapes |= {name: tuple(tensor.dims) for name, tensor in writer.small.items()}
        writer.scope.nodes = merge_scales(writer.scope.nodes, shapes, required_names)
    used = {*required_names, *free_names(writer.scope.nodes), *(input.name for input in lowerer.state_inputs)}
    small = [tensor for name, tensor in writer.small.items() if name in used]
    proto_graph = helper.make_graph(
        writer.scope.nodes,
        graph.name or "model",
        [*inputs, *lowerer.state_inputs],
        [*outputs, *lowerer.state_outputs],
        small,
    )
    imports = [helper.make_opsetid("", opset)]
    versions = dict.fromkeys(writer.domains, 1) | ({} if originals is None else originals.domains)
    imports += [helper.make_opsetid(domain, version) for domain, version in sorted(versions.items())]
    proto = helper.make_model(proto_graph, opset_imports=imports, functions=list(writer.functions.values()))
    if originals is not None:
        proto.functions.extend(originals.graph.functions)
    proto.ir_version = min(proto.ir_version, helper.find_min_ir_version_for([helper.make_opsetid("", opset)], True))
    if originals is not None:
        proto.ir_version = max(proto.ir_version, originals.graph.ir_version)
        originals.name_dims(proto.graph.input)
    if proto.functions:
        proto.ir_version = max(proto.ir_version, 8)
    proto.producer_name = "ir_exec"
    _add_metadata(proto, model, lowerer)
    return Exported(
        proto,
        {name: tensor for name, tensor in writer.tensors.items() if name in used},
        tuple(input.name for input in inputs),
        tuple(output.name for output in outputs),
        lowerer.states,
        tuple(lowerer.not_representable),
        {name: lowerer.type_of(value).shape for value, name in lowerer.names.items()},
    )


def _quantizes_activations(graph: Graph) -> bool:
    """Return True if a FakeQuantize has an input that is no constant."""
    return any(isinstance(node.op, FakeQuantize) and not is_constant_part(node.values_in[0]) for node in graph.nodes)


def _not_representable(layers: Sequence[tuple[Node, str]]) -> UnsupportedError:
    """One error that names every layer that ONNX cannot express."""
    lines = [f"{node.type} {node.name!r}: {reason}" for node, reason in layers[:_MOST_NAMED]]
    if len(layers) > _MOST_NAMED:
        lines.append(f"and {len(layers) - _MOST_NAMED} more")
    count = format_count(len(layers), "layer")
    hint = "fix the shapes of inputs (--shape, --static), or keep these layers in a custom domain (--partial)"
    error = UnsupportedError(f"ONNX cannot express {count} of the model: {'; '.join(lines)}", hint=hint)
    return error.located(layers[0][0].location) if len(layers) == 1 else error


def _flatten_rt_info(info: RtInfo, path: str) -> Iterator[tuple[str, str]]:
    """The values of an rt_info by their paths, `rt_info/conversion_parameters/framework`."""
    for child in info.children:
        name = f"{path}/{child.attributes.get('name', child.name) if child.name == 'info' else child.name}"
        if "value" in child.attributes or child.text:
            yield name, child.attributes.get("value", child.text)
        yield from _flatten_rt_info(child, name)


def _add_metadata(proto: ModelProto, model: Model, lowerer: Lowerer) -> None:
    metadata = {"ir_exec.ir_version": str(model.document.version)}
    if model.graph.path:
        metadata["ir_exec.source"] = os.path.basename(model.graph.path)
    metadata |= dict(_flatten_rt_info(model.document.rt_info, "rt_info"))
    for name, (past, present) in lowerer.states.items():
        note = {"past": past, "present": present, "initial": lowerer.notes.get(f"initial {name}", "")}
        if name in lowerer.initial:
            note["tensor"] = lowerer.initial[name]
        metadata[f"{NOTE}{name}"] = json.dumps(note)
    for key, text in metadata.items():
        if text:
            entry = proto.metadata_props.add()
            entry.key, entry.value = key, text
