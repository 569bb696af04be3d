"""Printable text: names in broken or hostile files may contain control sequences and commands of CI services."""

from __future__ import annotations

import re

__all__ = ["inert", "printable"]

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Characters of zero width, or blank, that Unicode classifies as letters and marks."""

_COMMAND = re.compile(r"^(\s*):(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#\[)")


def printable(text: str) -> str:
    """Return the text with an escape for each invisible character: `\\n`, `\\x1b`, `\\u202e`, `\\ufeff`.

    Invisible are control characters, line ends, characters of zero width or that change the direction of text, and
    bytes that are not UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    escaped = text if text.isprintable() else "".join(map(_escaped, text))
    return _UNSEEN.sub(lambda match: _code_point(match[0]), escaped)


def inert(line: str) -> str:
    """Return a line of output with commands of CI services escaped, such as GitHub's `::error::` and `##[error]`."""
    if "::" not in line and "##[" not in line:
        return line
    return _OLD_COMMAND.sub(r"\\x23", _COMMAND.sub(r"\1\\x3a", line))


def _escaped(char: str) -> str:
    return char if char.isprintable() else repr(char)[1:-1]


def _code_point(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
