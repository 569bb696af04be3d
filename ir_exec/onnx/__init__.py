"""ONNX files: what reads them, lowered to operators of IR; what writes them; the interface for ONNX's backend tests."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir_exec.onnx.export.api import write_model as write_model


def __getattr__(name: str) -> Any:
    # Reading needs nothing of what writes.
    if name == "write_model":
        return import_module("ir_exec.onnx.export.api").write_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
