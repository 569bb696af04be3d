"""The registry of layer types of IR versions 2 to 7 and the functions that lower them to current operators.

    @older_layer("Power")
    def power(layer: LayerCall, data: Value) -> Value: ...

The parameters after the first are the inputs of the layer: inputs with a default are optional, `*inputs` is any number.
Attributes have several spellings, so functions read them from the LayerCall. Types are not case-sensitive.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["FAMILIES", "OlderLowering", "find_lowering", "lowered_types", "older_layer"]

FAMILIES = (
    "control",
    "convolution",
    "detection",
    "elementwise",
    "matrix",
    "movement",
    "normalization",
    "pooling",
    "proposals",
    "quantization",
    "recurrent",
    "reduction",
    "resampling",
    "shape",
    "sort",
)
"""The modules of `ir_exec.older.ops`."""


class OlderLowering:
    """The function for a layer type. `name` is the type as spelled in files."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    @cached_property
    def _inputs(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.function).parameters.values())[1:]

    @property
    def least_inputs(self) -> int:
        """The minimum number of inputs."""
        return sum(input.kind is input.POSITIONAL_OR_KEYWORD and input.default is input.empty for input in self._inputs)

    @property
    def most_inputs(self) -> int:
        """The maximum number of inputs."""
        if any(input.kind is input.VAR_POSITIONAL for input in self._inputs):
            return sys.maxsize
        return len(self._inputs)


_lowerings: dict[str, OlderLowering] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


def older_layer(*names: str) -> Callable[[Function], Function]:
    """Register a function for layer types.

    Raises:
        TypeError: If a type already has a function.
    """

    def decorate(function: Function) -> Function:
        for name in names:
            lowering = _lowerings.setdefault(name.lower(), OlderLowering(name, function))
            if lowering.function is not function:
                current = lowering.function.__name__
                raise TypeError(f"{name} is already registered as {current}; {function.__name__} cannot replace it")
        return function

    return decorate


def find_lowering(type_name: str) -> OlderLowering | None:
    """The function for a layer type; None for an unknown type."""
    _import()
    return _lowerings.get(type_name.lower())


def lowered_types() -> list[str]:
    """Every layer type with a function, as spelled in files."""
    _import()
    return sorted(lowering.name for lowering in _lowerings.values())


@cache
def _import() -> None:
    for family in FAMILIES:
        import_module(f"ir_exec.older.ops.{family}")
