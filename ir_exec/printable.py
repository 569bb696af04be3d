"""Printable text: names in broken or hostile files may contain control sequences and commands of CI services."""

from __future__ import annotations

import re

__all__ = ["PrintableStream", "inert", "printable", "printable_lines"]

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Characters of zero width, or blank, that Unicode classifies as letters and marks."""

_COMMAND = re.compile(r"^(\s*):(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#\[)")

_OPEN_COMMAND = re.compile(r"^\s*:?$|#+$")
_OPEN_OLD = re.compile(r"#+$")
"""Ends of an incomplete line that may become a command."""


def printable(text: str) -> str:
    """Return the text with an escape for each invisible character: `\\n`, `\\x1b`, `\\u202e`, `\\ufeff`.

    Invisible are control characters, line ends, characters of zero width or that change the direction of text, and
    bytes that are not UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    escaped = text if text.isprintable() else "".join(map(_escape, text))
    return _UNSEEN.sub(lambda match: _code_point(match[0]), escaped)


def printable_lines(text: str) -> str:
    """Return the text with its line ends `\\n`, and each line made printable."""
    return "\n".join(map(printable, text.split("\n")))


def inert(line: str) -> str:
    """Return a line of output with commands of CI services escaped, such as GitHub's `::error::` and `##[error]`."""
    if "::" not in line and "##[" not in line:
        return line
    return _OLD_COMMAND.sub(r"\\x23", _COMMAND.sub(r"\1\\x3a", line))


class PrintableStream:
    """Text that arrives in parts, as printed: `printable` and `inert` in each line, with its tabs and line ends.

    The parts of a possible command are retained until the next part shows what they are.
    """

    def __init__(self) -> None:
        self._retained = ""
        self._is_line_start = True

    def add(self, text: str) -> str:
        """Return what is to be printed after the next part of the text."""
        *lines, last = (self._retained + text).split("\n")
        output = "".join([self._convert(line, is_complete=True) + "\n" for line in lines])
        return output + self._convert(last, is_complete=False)

    def end(self) -> str:
        """Return the rest of the text."""
        text, self._retained = self._retained, ""
        output = self._convert(text, is_complete=True)
        self._is_line_start = True
        return output

    def _convert(self, line: str, *, is_complete: bool) -> str:
        """Return a line, or the text of the current line without its end that is retained."""
        retained = (
            None if is_complete else _OPEN_COMMAND.search(line) if self._is_line_start else _OPEN_OLD.search(line)
        )
        self._retained = "" if retained is None else retained[0]
        line = line[: len(line) - len(self._retained)]
        escaped = "\t".join(map(printable, line.split("\t")))
        # Only the start of a line can be a command: another start is put before the rest of a line.
        output = inert(escaped) if self._is_line_start else inert(f".{escaped}")[1:]
        self._is_line_start = is_complete or (self._is_line_start and not line)
        return output


def _escape(char: str) -> str:
    return char if char.isprintable() else repr(char)[1:-1]


def _code_point(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
