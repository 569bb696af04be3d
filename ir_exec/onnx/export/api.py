"""Writing IR models as ONNX."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ir_exec.codes import Code
from ir_exec.errors import IRError, UnsupportedError
from ir_exec.hints import install_hint
from ir_exec.model import Model
from ir_exec.onnx.export.files import write_exported
from ir_exec.onnx.export.lower import DEFAULT_OPSET, Exported, lower_model

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["exported_model", "to_proto", "write_model"]

TARGETS = ("", "onnxruntime", "openvino")


def exported_model(
    model: Model, *, opset: int = DEFAULT_OPSET, target: str | None = None, partial: bool = False
) -> Exported:
    """The ONNX model of an IR model, with constants that are read on demand.

    Raises:
        UnsupportedError: If the package onnx is not installed, and for layers that ONNX cannot express.
    """
    if find_spec("onnx") is None:
        hint = install_hint("onnx")
        message = "the package onnx is required for writing ONNX files, but is not installed"
        raise UnsupportedError(message, code=Code.unwritable, hint=hint)
    if (target or "") not in TARGETS:
        raise UnsupportedError(
            "the target of ONNX files is", actual=repr(target), expected="onnxruntime or openvino", code=Code.unwritable
        )
    return lower_model(model, opset=opset, target=target or "", partial=partial)


def write_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    opset: int = DEFAULT_OPSET,
    target: str | None = None,
    partial: bool = False,
    external_data: bool | None = None,
) -> None:
    """Write a model as an ONNX file.

    Args:
        opset: of the standard domain, 17 or newer.
        target: "onnxruntime" for a file that may use operators of com.microsoft, and model-local functions, which
            OpenVINO does not read; "openvino" or None for a file that both read.
        partial: layers that ONNX cannot express become nodes of the domain `ir_exec.not_representable`, for
            inspection only.
        external_data: constants are written to `NAME.onnx.data` next to the file; by default if they have 1 GiB or
        more.

    Raises:
        UnsupportedError: names every layer that ONNX cannot express, with the reason.
        IRError: IR009 for a path that cannot be written to; then nothing is written.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise IRError(
            "the path is of type", actual=type(path).__name__, expected="a path to write to", code=Code.unwritable
        )
    write_exported(
        exported_model(model, opset=opset, target=target, partial=partial), path, external_data=external_data
    )


def to_proto(
    model: Model, *, opset: int = DEFAULT_OPSET, target: str | None = None, partial: bool = False
) -> ModelProto:
    """The model as an `onnx.ModelProto` with all constants inside."""
    from onnx import TensorProto

    from ir_exec.onnx.export.writer import raw_bytes

    exported = exported_model(model, opset=opset, target=target, partial=partial)
    for tensor in exported.tensors.values():
        tensor_proto: TensorProto = exported.proto.graph.initializer.add()
        tensor_proto.name, tensor_proto.data_type = tensor.name, tensor.code
        tensor_proto.dims.extend(tensor.shape)
        tensor_proto.raw_data = bytes(raw_bytes(tensor.read()))
    return exported.proto
