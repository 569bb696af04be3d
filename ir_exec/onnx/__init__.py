"""ONNX files: reading and lowering to operators of IR, writing, and the backend interface of ONNX."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir_exec.onnx.export.api import write_model as write_model


def __getattr__(name: str) -> Any:
    # Reading does not import the modules for writing.
    if name == "write_model":
        return import_module("ir_exec.onnx.export.api").write_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
