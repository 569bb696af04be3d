"""Anonymous copies of ONNX files: other names and weights, the same operators and shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.debug.reduction.anonymizing import constants_of_inference, is_weight, redrawn
from ir_exec.model import Model
from ir_exec.onnx.editing.attributes import tensor_of
from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.lowering.registry import canonical_domain
from ir_exec.onnx.reading.signatures import find_signature
from ir_exec.types import Array

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

__all__ = ["anonymize_onnx"]

_VOCABULARY = re.compile(r"string|stopwords|vocab|keys|values|labels|pattern|separators|tokenexp|locale")
"""Attributes of defined operators with texts of users; other texts of these are modes and equations."""

_STATE = "ir_exec.state."
"""Prefix of the metadata of states, as in `ir_exec.onnx.lowering.states`."""


def anonymize_onnx(source: OnnxSource, model: Model, *, seed: int = 0) -> tuple[ModelProto, dict[str, str]]:
    """Return a copy of an ONNX file with different names and weights, and the new names of its values.

    Names of values, nodes, functions, dims and graphs become `tensor7`, `node7`, ...; documentation and metadata are
    omitted. Weights are drawn from `seed` with the distribution of each, as by `anonymous`: floats, integers of up to 8
    bits and strings, without constants whose values inference needs. Texts in attributes are other ones, except for the
    modes and equations of defined operators. Operators and the names of attributes remain.

    Args:
        model: The model of the file.
    """
    proto = type(source.proto)()
    proto.CopyFrom(source.proto)
    anonymizer = _OnnxAnonymizer(source, constants_of_inference(model), seed)
    anonymizer.change_model(proto)
    return proto, anonymizer.names_of("tensor")


class _OnnxAnonymizer:
    """Maps each name to a new one, the same one for every occurrence, and draws other weights."""

    def __init__(self, source: OnnxSource, retained: frozenset[str], seed: int) -> None:
        self._source = source
        # Values of functions and bodies have the path of the call before their names.
        self._retained = {name[start:] for name in retained for start in _starts_of_parts(name)}
        self._seed = seed
        self._names: dict[str, dict[str, str]] = {}
        self._functions: dict[tuple[str, str, str], str] = {}
        self._domains: dict[str, str] = {}
        self._tensors = 0

    def names_of(self, prefix: str) -> dict[str, str]:
        """Return the new names by the old ones."""
        return self._names.get(prefix, {})

    def _new(self, prefix: str, name: str) -> str:
        names = self._names.setdefault(prefix, {})
        return names.setdefault(name, f"{prefix}{len(names)}") if name else ""

    def change_model(self, proto: ModelProto) -> None:
        states = [entry for entry in proto.metadata_props if entry.key.startswith(_STATE)]
        states = [type(entry).FromString(entry.SerializeToString()) for entry in states]
        for field in ("doc_string", "metadata_props", "domain", "model_version", "training_info"):
            proto.ClearField(field)
        self._name_functions(proto)
        for entry in proto.opset_import:
            entry.domain = self._domains.get(entry.domain, entry.domain)
        opsets = {canonical_domain(entry.domain): entry.version for entry in proto.opset_import}
        self._change_graph(proto.graph, opsets)
        proto.graph.name = "network"
        for function in proto.functions:
            self._change_function(function)
        for entry in states:
            new = proto.metadata_props.add()
            new.key, new.value = _STATE + self._new("state", entry.key), self._state(entry.value)

    def _state(self, text: str) -> str:
        """Return the metadata of a state with the new names of its values."""
        tensors = self.names_of("tensor")
        try:
            fields = json.loads(text)
        except ValueError:
            return ""
        return json.dumps({key: tensors.get(value, value) for key, value in fields.items()})

    def _name_functions(self, proto: ModelProto) -> None:
        """Choose the names of functions, and of domains in which all operators are functions."""
        local = {(function.domain, function.name, function.overload) for function in proto.functions}
        called = {(node.domain, node.op_type, node.overload) for node in _all_nodes(proto)}
        foreign = {domain for domain, name, overload in called if (domain, name, overload) not in local}
        for domain, name, overload in sorted(local):
            if canonical_domain(domain) and domain not in foreign:
                self._domains.setdefault(domain, f"functions{len(self._domains)}")
                self._functions[domain, name, overload] = f"Function{len(self._functions)}"

    def _change_function(self, function: FunctionProto) -> None:
        name = self._functions.get((function.domain, function.name, function.overload))
        if name is not None:
            function.domain, function.name = self._domains[function.domain], name
            function.ClearField("overload")
        for field in ("doc_string", "metadata_props"):
            function.ClearField(field)
        for entry in function.opset_import:
            entry.domain = self._domains.get(entry.domain, entry.domain)
        for names in (function.input, function.output):
            names[:] = [self._new("tensor", name) for name in names]
        for declared in function.value_info:
            self._change_declaration(declared)
        opsets = {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
        for attribute in function.attribute_proto:
            self._change_attribute(attribute, is_defined=False, opsets=opsets)
        for node in function.node:
            self._change_node(node, opsets)

    def _change_graph(self, graph: GraphProto, opsets: dict[str, int]) -> None:
        for field in ("doc_string", "metadata_props"):
            graph.ClearField(field)
        graph.name = "body"
        # Weights first: their names identify those that inference needs.
        for tensor in graph.initializer:
            self._change_tensor(tensor, tensor.name)
            tensor.name = self._new("tensor", tensor.name)
        for sparse in graph.sparse_initializer:
            self._change_tensor(sparse.values, sparse.values.name)
            sparse.values.name = self._new("tensor", sparse.values.name)
        for declared in (*graph.input, *graph.output, *graph.value_info):
            self._change_declaration(declared)
        for annotation in graph.quantization_annotation:
            annotation.tensor_name = self._new("tensor", annotation.tensor_name)
            for entry in annotation.quant_parameter_tensor_names:
                entry.value = self._new("tensor", entry.value)
        for node in graph.node:
            self._change_node(node, opsets)

    def _change_declaration(self, declared: Any) -> None:
        declared.name = self._new("tensor", declared.name)
        for field in ("doc_string", "metadata_props"):
            declared.ClearField(field)
        self._change_type(declared.type)

    def _change_type(self, declared: Any) -> None:
        """Rename dims in a type, and in those of elements."""
        declared.ClearField("denotation")
        for field, value in declared.ListFields():
            if field.name == "tensor_type" or field.name == "sparse_tensor_type":
                for dim in value.shape.dim if value.HasField("shape") else ():
                    dim.ClearField("denotation")
                    if dim.dim_param:
                        dim.dim_param = self._new("dim", dim.dim_param)
            elif field.name in ("sequence_type", "optional_type"):
                self._change_type(value.elem_type)
            elif field.name == "map_type":
                self._change_type(value.value_type)

    def _change_node(self, node: NodeProto, opsets: dict[str, int]) -> None:
        key = (node.domain, node.op_type, node.overload)
        is_defined = find_signature(canonical_domain(node.domain), node.op_type, opsets.get(node.domain, 0)) is not None
        output = next((name for name in node.output if name), "")
        for field in ("doc_string", "metadata_props", "device_configurations"):
            if field in node.DESCRIPTOR.fields_by_name:
                node.ClearField(field)
        if key in self._functions:
            node.domain, node.op_type = self._domains[node.domain], self._functions[key]
            node.ClearField("overload")
        node.name = self._new("node", node.name)
        for names in (node.input, node.output):
            names[:] = [self._new("tensor", name) for name in names]
        for attribute in node.attribute:
            self._change_attribute(attribute, is_defined=is_defined, opsets=opsets, output=output)

    def _change_attribute(
        self, attribute: AttributeProto, *, is_defined: bool, opsets: dict[str, int], output: str = ""
    ) -> None:
        attribute.ClearField("doc_string")
        if not is_defined or _VOCABULARY.search(attribute.name):
            if attribute.s:
                attribute.s = self._other_text(attribute.s)
            attribute.strings[:] = [self._other_text(text) for text in attribute.strings]
        tensors = [*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors]
        for tensor in tensors:
            self._change_tensor(tensor, output)
            tensor.name = self._new("tensor", tensor.name)
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            self._change_graph(graph, opsets)

    def _other_text(self, text: bytes) -> bytes:
        array = np.array([text.decode("utf-8", "replace")], object)
        return str(redrawn(array, self._random())[0]).encode()

    def _random(self) -> np.random.Generator:
        self._tensors += 1
        return np.random.default_rng((self._seed, self._tensors))

    def _change_tensor(self, tensor: TensorProto, name: str) -> None:
        """Replace the elements of a weight.

        Args:
            name: The name of its value in the file.
        """
        array = self._array(tensor)
        random = self._random()
        for field in ("doc_string", "metadata_props"):
            tensor.ClearField(field)
        if name in self._retained or not is_weight(array):
            return
        other = tensor_of(tensor.name, redrawn(array, random))
        data_type = tensor.data_type
        tensor.CopyFrom(other)
        tensor.data_type = data_type

    def _array(self, tensor: TensorProto) -> Array:
        from onnx import numpy_helper

        array: Array = numpy_helper.to_array(self._source.tensor_with_data(tensor), self._source.folder or "")
        if array.dtype == object:
            texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in array.reshape(-1)]
            array = np.array(texts, object).reshape(array.shape)
        return array


def _starts_of_parts(path: str) -> Iterator[int]:
    yield 0
    yield from (position + 1 for position, character in enumerate(path) if character == "/")


def _all_nodes(proto: ModelProto) -> Iterator[NodeProto]:
    pending: list[Any] = [*proto.graph.node, *(node for function in proto.functions for node in function.node)]
    while pending:
        node = pending.pop()
        yield node
        pending += [inner for body in bodies_of(node) for inner in body.graph.node]
