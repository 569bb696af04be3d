"""The facts of a message: what a test compares instead of its wording."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from ir_exec.errors import IRError

__all__ = ["coded", "facts", "mentions", "naming"]

_FACT = re.compile(
    r"""'[^']*'|"[^"]*"|\w*\[[^]]*\]|\b[\w.-]*[_/]\w[\w./-]*|\b[A-Z]\w*[A-Z]\w*|\b[A-Za-z]+\d\w*|(?<!\w)-?\b\d[\d,]*(?:\.\d+)?"""
)
_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


def facts(message: str | None) -> list[str]:
    """Return the quoted names, shapes, identifiers and numbers of a message, sorted."""
    return sorted(found.strip(",'\"") for found in _FACT.findall(message or ""))


def naming(*names: object) -> str:
    """Return a pattern for messages that contain all names, shapes and numbers, in any order."""
    return "(?s)" + "".join(rf"(?=.*(?<!\w){re.escape(str(name))}(?!\w))" for name in names)


def coded(code: str, **place: object) -> Callable[[BaseException], bool]:
    """Return a check for `pytest.raises`: True for an `IRError` with this code and place.

    place: attributes of its `Location`, such as `port`, `line` and `layer_name`.

    with pytest.raises(ShapeError, check=coded("IR502", port="indices")):
    """

    def is_it(error: BaseException) -> bool:
        if not isinstance(error, IRError) or error.code != code:
            return False
        return all(getattr(error.location, part) == value for part, value in place.items())

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
