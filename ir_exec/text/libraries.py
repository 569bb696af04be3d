"""The libraries of the extra `ir-exec[text]`, each imported when a layer needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import UnsupportedError

__all__ = ["library"]


def library(name: str, purpose: str) -> Any:
    """The module `name`; UnsupportedError (IR900) where it is not installed, with the command that installs it."""
    try:
        return import_module(name)
    except ImportError:
        raise UnsupportedError(
            f"{purpose} needs the package {name}, which is not installed",
            code=Code.unsupported,
            hint="pip install 'ir-exec[text]'",
        ) from None
