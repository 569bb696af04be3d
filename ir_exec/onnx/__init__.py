"""ONNX files: reading and lowering to operators of IR, editing, writing, and the backend interface of ONNX."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir_exec.onnx.editing.editor import OnnxEditor as OnnxEditor
    from ir_exec.onnx.editing.nodes import NodeText as NodeText
    from ir_exec.onnx.export.api import write_model as write_model

_MODULES = {
    "NodeText": "ir_exec.onnx.editing.nodes",
    "OnnxEditor": "ir_exec.onnx.editing.editor",
    "write_model": "ir_exec.onnx.export.api",
}


def __getattr__(name: str) -> Any:
    # Reading does not import the modules for editing and writing.
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
