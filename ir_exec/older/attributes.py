"""Attributes of layers as text, parsed like in the Inference Engine.

`pads_begin` and `pads-begin` are the same name: in 2018 the Model Optimizer wrote dashes, later underscores. Integers
may be written as floats, `1` as `1.0000`, and booleans as `True`, `1` or `false`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar, overload

from ir_exec.codes import Code
from ir_exec.errors import InvalidAttributeError

__all__ = ["LayerAttributes"]

_MOST = 2**63

_T = TypeVar("_T")


class LayerAttributes:
    """The attributes of one layer. In all methods, an attribute without a default is required."""

    def __init__(self, data: Mapping[str, str]) -> None:
        self._data = {_one_spelling(name): value.strip() for name, value in data.items()}

    def has(self, *names: str) -> bool:
        """Return True if the layer has one of these attributes, and it is not empty."""
        return any(self._data.get(_one_spelling(name)) for name in names)

    def text(self, name: str, default: str | None = None) -> str:
        """Return the attribute; raise InvalidAttributeError IR301 if it is missing and has no default."""
        value = self._data.get(_one_spelling(name))
        if value:
            return value
        if default is None:
            raise InvalidAttributeError(f"attribute {name} is missing", code=Code.missing_attribute)
        return default

    @overload
    def integer(self, name: str) -> int: ...
    @overload
    def integer(self, name: str, default: _T) -> int | _T: ...
    def integer(self, name: str, default: object = ...) -> object:
        """Return the attribute as an integer."""
        if default is not ... and not self.has(name):
            return default
        return _integer(name, self.text(name))

    @overload
    def number(self, name: str) -> float: ...
    @overload
    def number(self, name: str, default: _T) -> float | _T: ...
    def number(self, name: str, default: object = ...) -> object:
        """Return the attribute as a float."""
        if default is not ... and not self.has(name):
            return default
        return _number(name, self.text(name))

    def flag(self, name: str, default: bool) -> bool:
        """Return the attribute as a boolean: true and false in any case, or a number other than 0."""
        text = self.text(name, str(default)).lower()
        if text in ("true", "false"):
            return text == "true"
        return _number(name, text) != 0

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Return the attribute as a list of integers."""
        if default is not None and not self.has(name):
            return default
        return tuple([_integer(name, item) for item in _items(self.text(name))])

    def numbers(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return the attribute as a list of floats."""
        if default is not None and not self.has(name):
            return default
        return tuple([_number(name, item) for item in _items(self.text(name))])

    def choice(self, name: str, choices: Mapping[str, _T], default: str | None = None) -> _T:
        """Return the attribute's value in `choices`, whose keys are in lower case; raise IR302 for any other text."""
        text = self.text(name, default).lower()
        if text not in choices:
            expected = ", ".join(choices)
            raise InvalidAttributeError(
                f"{name} is", actual=repr(text), expected=f"one of {expected}", code=Code.invalid_attribute
            )
        return choices[text]


def _one_spelling(name: str) -> str:
    return name.replace("-", "_").lower()


def _items(text: str) -> list[str]:
    return [item for item in re.split(r"[,\s]+", text.strip("[]() ")) if item]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidAttributeError(
            f"{name} is", actual=repr(text[:40]), expected="a number", code=Code.invalid_attribute
        ) from None


def _integer(name: str, text: str) -> int:
    try:
        integer = int(text)
    except ValueError:
        number = _number(name, text)
        if number != number or not abs(number) < _MOST or number != int(number):
            raise InvalidAttributeError(
                f"{name} is", actual=repr(text[:40]), expected="an integer", code=Code.invalid_attribute
            ) from None
        integer = int(number)
    if not -_MOST <= integer < _MOST:
        raise InvalidAttributeError(
            f"{name} is", actual=repr(text[:40]), expected="a 64-bit integer", code=Code.invalid_attribute
        )
    return integer
