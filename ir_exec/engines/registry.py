"""Engines by name: `onnxruntime` is built in, others register through the entry point group `ir_exec.engines`.

`auto` is onnxruntime or the interpreter, whichever is faster in the first calls.
An entry point is a function that takes an `EngineSetting` and returns an `Engine`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoints
from typing import TypeAlias

from ir_exec.engines.interface import Engine, EngineSetting
from ir_exec.errors import EvaluationError
from ir_exec.hints import suggested

__all__ = ["AUTO", "GROUP", "engine_names", "make_engine"]

AUTO = "auto"
"""The name of the engine whose calls are interpreted if that is faster."""

GROUP = "ir_exec.engines"
"""The group of entry points of engines in other packages."""

EngineFactory: TypeAlias = Callable[[EngineSetting], Engine]


def engine_names() -> list[str]:
    """Return the names of the available engines."""
    return sorted({AUTO, "onnxruntime", *(entry.name for entry in registered_engines())})


def registered_engines() -> EntryPoints:
    from importlib.metadata import entry_points  # it scans all installed packages

    return entry_points(group=GROUP)


def make_engine(name: str, setting: EngineSetting) -> Engine:
    """Return the engine of this name; EvaluationError IR704 if there is none, or if it cannot be made."""
    if name in (AUTO, "onnxruntime"):
        from ir_exec.engines.onnxruntime import OnnxRuntime  # slow to import

        return OnnxRuntime(setting)
    for entry in registered_engines():
        if entry.name == name:
            try:
                engine: Engine = entry.load()(setting)
            except (ImportError, AttributeError) as error:
                raise EvaluationError(f"the engine {name!r} cannot be loaded: {error}") from error
            return engine
    names = engine_names()
    message = f"there is no engine {name!r}; the engines are: {', '.join(names)}"
    raise EvaluationError(message, hint=suggested(str(name), names))
