"""Types of ONNX values from the inference of IR, for those that ONNX's inference does not find, as in bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ir_exec.errors import IRError, UnsupportedError
from ir_exec.onnx.editing.scopes import bodies_of
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.types import set_dims
from ir_exec.onnx.reading.files import read_message
from ir_exec.onnx.reading.order import name_of
from ir_exec.onnx.reading.tensors import onnx_type
from ir_exec.types import TensorType

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

__all__ = ["infer_by_lowering", "names_of_port", "outputs_by_layer", "type_proto_of"]


def infer_by_lowering(source: OnnxSource, proto: ModelProto) -> dict[str, TypeProto]:
    """Return the inferred types of values by name, in bodies, too; none if the model cannot be read."""
    try:
        model = read_message(source.readable_proto(proto), source.folder, source.path, report=lambda error: None)
        types = {} if model is None else model.all_types()
    except IRError:
        return {}
    by_layer = outputs_by_layer(proto)
    protos: dict[str, TypeProto] = {}
    for value, tensor_type in types.items():
        declared = type_proto_of(tensor_type)
        for name in names_of_port(value.names, value.node.name, value.position, by_layer):
            if declared is not None:
                protos.setdefault(name, declared)
    return protos


def outputs_by_layer(proto: ModelProto) -> dict[str, list[str]]:
    """Return the outputs of the nodes in bodies by the names of their layers: layers in bodies have no tensor names."""
    outputs: dict[str, list[str]] = {}
    pending = [body.graph for node in proto.graph.node for body in bodies_of(node)]
    while pending:
        for node in pending.pop().node:
            outputs.setdefault(name_of(node), list(node.output))
            pending += [body.graph for body in bodies_of(node)]
    return outputs


def names_of_port(
    tensor_names: Iterable[str], layer: str, position: int, by_layer: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names in ONNX of an output of a layer.

    Args:
        tensor_names: The tensor names of the output, which layers in bodies do not have.
        by_layer: The result of `outputs_by_layer`.
    """
    names = list(tensor_names)
    outputs = by_layer.get(layer, ())
    if not names and position < len(outputs) and outputs[position]:
        names.append(outputs[position])
    return names


def type_proto_of(tensor_type: TensorType) -> TypeProto | None:
    """Return the declaration of a type; None for an unknown element type, and for one that ONNX does not have."""
    from onnx import TypeProto

    declared = TypeProto()
    try:
        declared.tensor_type.elem_type = onnx_type(tensor_type.element_type)
    except UnsupportedError:
        return None
    if tensor_type.shape.dims is not None:
        set_dims(declared, tuple([dim.size if dim.is_static else None for dim in tensor_type.shape]))
    return declared
