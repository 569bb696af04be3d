"""Text of a file as it is shown: names in broken or hostile files may hold what terminals and CI services obey."""

from __future__ import annotations

import re

__all__ = ["inert", "printable"]

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Characters of zero width, or blank, that Unicode counts among letters and marks."""

_COMMAND = re.compile(r"^(\s*):(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#\[)")


def printable(text: str) -> str:
    """The text with an escape for each character that is not seen: `\\n`, `\\x1b`, `\\u202e`, `\\ufeff`.

    Those are control characters, line ends, those that turn the direction of text or have no width, and bytes that are
    no UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    escaped = text if text.isprintable() else "".join(map(_escaped, text))
    return _UNSEEN.sub(lambda match: _code_point(match[0]), escaped)


def inert(line: str) -> str:
    """A line of output of which CI services take nothing for a command, as GitHub takes `::error::` and `##[error]`."""
    if "::" not in line and "##[" not in line:
        return line
    return _OLD_COMMAND.sub(r"\\x23", _COMMAND.sub(r"\1\\x3a", line))


def _escaped(char: str) -> str:
    return char if char.isprintable() else repr(char)[1:-1]


def _code_point(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
