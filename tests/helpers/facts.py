"""The facts of an error or a message: what a test compares instead of its wording.

`fault_with` compares errors and findings, with what they found and what they expected. `mentions` and `naming` are for
text that has no such fields, such as the output of a command.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from ir_exec.errors import IRError

__all__ = ["coded", "facts", "fault_with", "mentions", "naming"]

_FACT = re.compile(
    r"""'[^']*'|"[^"]*"|\w*\[[^]]*\]|\b[\w.-]*[_/]\w[\w./-]*|\b[A-Z]\w*[A-Z]\w*|\b[A-Za-z]+\d\w*|(?<!\w)-?\b\d[\d,]*(?:\.\d+)?"""
)
_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


def facts(message: str | None) -> list[str]:
    """Return the quoted names, shapes, identifiers and numbers of a message, sorted."""
    return sorted(fact.strip(",'\"") for fact in _FACT.findall(message or ""))


def naming(*names: object) -> str:
    """Return a pattern for messages that contain all names, shapes and numbers, in any order."""
    return "(?s)" + "".join(rf"(?=.*(?<!\w){re.escape(str(name))}(?!\w))" for name in names)


def coded(code: str, **location: object) -> Callable[[BaseException], bool]:
    """Return a check for `pytest.raises`: True for an `IRError` with this code and place.

    place: attributes of its `Location`, such as `port`, `line` and `layer_name`.

    with pytest.raises(ShapeError, check=coded("IR502", port="indices")):
    """

    def is_it(error: BaseException) -> bool:
        if not isinstance(error, IRError) or error.code != code:
            return False
        return all(getattr(error.location, part) == value for part, value in location.items())

    return is_it


class mentions:  # noqa: N801 - read as a function, as `pytest.approx` is
    """Equal to each text that contains all names, shapes and numbers, in any order; a number as often as it is given.

    assert error.message == mentions("axis", 3, "[2,4]")
    assert mentions("known.json", 5) in result.output.splitlines()
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *names: object) -> None:
        self.names = [str(name) for name in names]

    def __eq__(self, text: object) -> bool:
        if not isinstance(text, str):
            return False
        numbers = Counter(name for name in self.names if _NUMBER.fullmatch(name))
        others = [name for name in self.names if name not in numbers]
        return numbers <= Counter(facts(text)) and re.search(naming(*others), text) is not None

    def __repr__(self) -> str:
        return f"mentions({', '.join(map(repr, self.names))})"


class fault_with:  # noqa: N801 - read as a function, as `pytest.approx` is
    """Equal to each error, `Fault` or `Diagnostic` with these values; without `actual` or `expected` it has none.

    assert error.value == fault_with("axis", code="IR503", port="axis", actual=3, expected="-2 to 1")

    Args:
        names: Names, shapes and numbers in its message, in any order.
        actual: The text of its field, or the facts of a longer text, as `mentions`.
        expected: See `actual`.
        parts: Its code and severity, and attributes of its `Location`.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *names: object, actual: object = None, expected: object = None, **parts: object) -> None:
        self.names = names
        self.values: dict[str, object] = {"actual": _text(actual), "expected": _text(expected)}
        self.parts = parts

    def __eq__(self, error: object) -> bool:
        content: Any = error.fault if isinstance(error, IRError) else error
        if not all(hasattr(content, name) for name in ("message", "location", *self.values)):
            return False
        own = {name: getattr(content, name, None) for name in ("code", "severity")}
        return (
            all(getattr(content, name) == value for name, value in self.values.items())
            and all(
                (own[name] if name in own else getattr(content.location, name)) == self.parts[name]
                for name in self.parts
            )
            and content.message == mentions(*self.names)
        )

    def __repr__(self) -> str:
        values = {name: value for name, value in self.values.items() if value is not None} | self.parts
        return f"fault_with({', '.join([*map(repr, self.names), *(f'{key}={values[key]!r}' for key in values)])})"


def _text(value: object) -> object:
    return value if value is None or isinstance(value, mentions) else str(value)
