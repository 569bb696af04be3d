"""Models of ONNX in memory, as messages: `onnx.ModelProto`, `onnx_ir.Model`, and `torch.onnx.ONNXProgram`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ir_exec.codes import Code
from ir_exec.errors import ParseError, ResourceError, SourceTypeError
from ir_exec.readers import SOURCE_TYPES, class_of_object

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["message_of", "serialize_model"]


def message_of(source: Any) -> tuple[ModelProto, str | None]:
    """Return a copy of the message of a model in memory, and the folder of its external data if there is one.

    Raises:
        ParseError: For a model that its own package cannot convert to a message.
        SourceTypeError: For another object.
    """
    name = class_of_object(source)
    try:
        if name == "onnx.ModelProto":
            copy: ModelProto = type(source)()
            copy.CopyFrom(source)
            return copy, None
        if name == "onnx_ir.Model":
            return sys.modules["onnx_ir"].to_proto(source), _folder_of(source)
        if name == "torch.onnx.ONNXProgram":
            return source.model_proto, _folder_of(source.model)
    except MemoryError:
        raise
    except Exception as error:
        # Any exception of the package of the object.
        message = f"{name} cannot be converted to a message: {type(error).__name__}: {error}"
        raise ParseError(message, code=Code.not_ir) from error
    raise SourceTypeError(
        "the source is of type", actual=type(source).__name__, expected=SOURCE_TYPES, code=Code.unreadable_path
    )


def serialize_model(source: Any) -> tuple[bytes, str | None]:
    """Return the bytes of a model in memory, and the folder of its external data if there is one.

    Raises:
        ParseError: As `message_of` does.
        ResourceError: For a message over 2 GiB.
    """
    message, folder = message_of(source)
    try:
        return message.SerializeToString(), folder
    except Exception as error:
        # protobuf raises different classes in its implementations.
        raise ResourceError(f"the model cannot be serialized: {error}", hint="save it with external data") from error


def _folder_of(model: Any) -> str | None:
    """Return the folder of the external tensors of an `onnx_ir.Model`; None if it has none."""
    folders = {
        os.path.abspath(value.const_value.base_dir)
        for value in model.graph.initializers.values()
        if hasattr(value.const_value, "base_dir")
    }
    if len(folders) > 1:
        raise ValueError(f"its external tensors are in {len(folders)} folders")
    return folders.pop() if folders else None
