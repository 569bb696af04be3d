"""The libraries of the extra `text`, imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import UnsupportedError
from ir_exec.hints import install_hint

__all__ = ["library"]


def library(name: str, purpose: str) -> Any:
    """Import the module `name`; UnsupportedError (IR900) with the installation command if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise UnsupportedError(
            f"{purpose} needs the package {name}, which is not installed",
            code=Code.unsupported,
            hint=install_hint("text"),
        ) from None
