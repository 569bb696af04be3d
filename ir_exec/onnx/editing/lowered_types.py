"""Types of ONNX values from the inference of IR, for those that ONNX's inference does not find, as in bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.errors import IRError, UnsupportedError
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.types import set_dims
from ir_exec.onnx.reading.files import read_message
from ir_exec.onnx.reading.tensors import onnx_type
from ir_exec.types import TensorType

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

__all__ = ["infer_by_lowering", "type_proto_of"]


def infer_by_lowering(source: OnnxSource, proto: ModelProto) -> dict[str, TypeProto]:
    """Return the inferred types of values by name, in bodies, too; none if the model cannot be read."""
    try:
        model = read_message(source.readable_proto(proto), source.folder, source.path, report=lambda error: None)
        types = {} if model is None else model.all_types()
    except IRError:
        return {}
    protos: dict[str, TypeProto] = {}
    for value, tensor_type in types.items():
        for name in value.names:
            declared = type_proto_of(tensor_type)
            if declared is not None:
                protos.setdefault(name, declared)
    return protos


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
