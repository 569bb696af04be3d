"""Layers in options of the command line: `NAME=TYPE(input, attribute=value)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ir_exec.cli.output.terminal import Unusable

__all__ = ["LayerText", "read_layers"]

_NAMED_LAYER = re.compile(r"(?P<name>.+?)=(?P<type>[A-Za-z_][\w.]*)(?P<arguments>\(.*\))?", re.DOTALL)

_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


class LayerText(NamedTuple):
    """A parsed layer.

    Attributes:
        inputs: Numbers, lists, and texts (names of values or .npy files).
        attributes: The attributes by name.
    """

    type: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]


def read_layers(texts: Iterable[str], option: str) -> Iterator[tuple[str, LayerText]]:
    """Parse each `NAME=TYPE(...)`; names may contain `=`.

    Raises:
        Unusable: For other texts.
    """
    for text in texts:
        match = _NAMED_LAYER.fullmatch(text)
        if match is None:
            raise Unusable(f"{option} is {text!r}, expected NAME=TYPE or NAME=TYPE(input, attribute=value)")
        try:
            yield match["name"], _layer(match["type"], match["arguments"] or "()")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            message = f"{option} is {text!r}, expected numbers, [lists] and quoted names, then attribute=value"
            raise Unusable(message) from None


def _layer(type: str, arguments: str) -> LayerText:
    # The type may contain the domain of an ONNX operator.
    call = ast.parse(f"operator{arguments}", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError
    attributes: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ValueError
        attributes[keyword.arg] = keyword.value.id if isinstance(keyword.value, ast.Name) else _literal(keyword.value)
    return LayerText(type, tuple(map(_input, call.args)), attributes)


def _input(node: ast.expr) -> Any:
    return _BOOLEANS[node.id] if isinstance(node, ast.Name) and node.id in _BOOLEANS else _literal(node)


def _literal(node: ast.expr) -> bool | int | float | str | list[Any]:
    value = ast.literal_eval(node)
    if not isinstance(value, bool | int | float | str | list | tuple):
        raise ValueError
    return list(value) if isinstance(value, tuple) else value
