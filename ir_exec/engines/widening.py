"""Widening of an ONNX graph of 16-bit floats to f32, as in the interpreter unless the precision is "file".

Constants keep their 16 bits and are cast; inputs and outputs are f32. Cast to a 16-bit float still rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ir_exec.onnx.export.lower import Exported

__all__ = ["widen_model"]

_SHORT = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})


def widen_model(exported: Exported) -> Exported:
    """Rewrite the model in place, and return it; its stored 16-bit floats get other names, and are cast."""
    model, tensors = exported.proto, dict(exported.tensors)
    for name in [name for name, tensor in tensors.items() if tensor.code in _SHORT]:
        stored = f"{name}/stored"
        tensors[stored] = replace(tensors.pop(name), name=stored)
        cast = helper.make_node("Cast", [stored], [name], name=f"{name}/Cast", to=TensorProto.FLOAT)
        model.graph.node.insert(0, cast)
    _widen_graph(model.graph)
    for function in model.functions:
        _widen_nodes(function.node)
    return replace(exported, tensors=tensors)


def _widen_graph(graph: GraphProto) -> None:
    for declared in (*graph.input, *graph.output, *graph.value_info):
        _widen_type(declared)
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Any) -> None:
    rounding: list[tuple[int, NodeProto]] = []
    for position, node in enumerate(nodes):
        for attribute in node.attribute:
            _widen_attribute(attribute)
        to = next((entry for entry in node.attribute if entry.name == "to"), None)
        if node.op_type == "Cast" and to is not None and to.i in _SHORT:
            rounding.append((position, node))
        elif node.op_type != "Cast":
            for attribute in node.attribute:
                if attribute.name in ("dtype", "output_dtype") and attribute.i in _SHORT:
                    attribute.i = TensorProto.FLOAT
    # In reverse order, to keep the positions of earlier nodes.
    for position, node in reversed(rounding):
        rounded, result = f"{node.output[0]}/rounded", node.output[0]
        node.output[0] = rounded
        back = helper.make_node("Cast", [rounded], [result], name=f"{node.name}/back", to=TensorProto.FLOAT)
        nodes.insert(position + 1, back)


def _widen_attribute(attribute: AttributeProto) -> None:
    for tensor in _tensors(attribute):
        _widen_tensor(tensor)
    if attribute.HasField("g"):
        _widen_graph(attribute.g)
    for graph in attribute.graphs:
        _widen_graph(graph)


def _tensors(attribute: AttributeProto) -> Iterator[TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in _SHORT:
        array = numpy_helper.to_array(tensor).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _widen_type(declared: ValueInfoProto) -> None:
    for tensor in _tensor_types(declared.type):
        if tensor.elem_type in _SHORT:
            tensor.elem_type = TensorProto.FLOAT


def _tensor_types(type: Any) -> Iterable[Any]:
    if type.HasField("tensor_type"):
        yield type.tensor_type
    elif type.HasField("sequence_type"):
        yield from _tensor_types(type.sequence_type.elem_type)
    elif type.HasField("optional_type"):
        yield from _tensor_types(type.optional_type.elem_type)
