r"""Regular expressions of PCRE2, as compiled by openvino_tokenizers (UTF and UCP), run by the package `regex`.

`regex` has nearly the same syntax. Differences are rewritten here:

- `\w`, `\s`, `\d`, `\b` and the classes `[:...:]` match other characters: PCRE2's `\w` matches letters, digits,
  nonspacing marks and connecting punctuation (Unicode's L, N, Mn, Pc), `\s` matches Unicode's Z and the whitespace of C
  with U+0085 and U+180E;
- `\x{...}`, `\Z`, `\z`, `\Q...\E`; names of scripts match script extensions;
- `[` in a class is a literal character.

PCRE2 rejects `\u`, `\U`, `\L`, `\l` and `\N{...}`, counts above 65,535, and more than 250 nested parentheses. OpenVINO
ignores a pattern that does not compile, and leaves the text unchanged; `compile_pattern` returns None for it, and
`check` reports it.

Source: the pages pcre2pattern and pcre2unicode of PCRE2 10.45.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.kernels.limits import current_limits
from ir_exec.kernels.matching import require_compilable
from ir_exec.report.text import shorten
from ir_exec.text.libraries import library

__all__ = ["compile_pattern", "refusal"]

MOST_PATTERN = 2**21
"""Maximum bytes of a pattern. One that lists 16,384 special tokens has 280 KB; compiling this size takes 6 seconds."""

_COMPILED_BYTES = 256
"""Bytes that compiling takes for a byte of the pattern."""

_MOST_COUNT = 65_535
_MOST_PARENTHESES = 250
_COUNTED = re.compile(r"\{(\d+)(?:,(\d*))?\}", re.ASCII)

_WORD = r"\p{L}\p{N}\p{Mn}\p{Pc}"
_NO_WORD = r"\p{Mc}\p{Me}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\p{S}\p{Z}\p{C}"
_SPACE = r"\t\n\x0b\f\r\x85\u180e\p{Z}"
_FORMATS = (
    r"\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    r"\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0001\U000e0020-\U000e007f"
)
"""Unicode's Cf without U+180E, which is whitespace here."""

_NO_SPACE = (
    rf"\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\p{{Cs}}\p{{Co}}\p{{Cn}}{_FORMATS}"
)
_BOUNDARY = rf"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_NO_BOUNDARY = rf"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"

_ITEMS = {"w": _WORD, "W": _NO_WORD, "s": _SPACE, "S": _NO_SPACE, "d": r"\p{Nd}", "D": r"\P{Nd}"}
"""Replacements of shorthand escapes in a class."""

_ESCAPES = {"b": _BOUNDARY, "B": _NO_BOUNDARY, "Z": r"(?=\n?\Z)", "z": r"\Z", "e": r"\x1b", "N": r"[^\n]"}
"""Replacements of other escapes outside of a class."""

_POSIX = {
    "alpha": r"\p{L}",
    "lower": r"\p{Ll}",
    "upper": r"\p{Lu}",
    "alnum": r"\p{L}\p{N}",
    "digit": r"\p{Nd}",
    "space": _SPACE,
    "blank": r"\t\p{Zs}",
    "cntrl": r"\p{Cc}",
    "word": _WORD,
    "punct": r"\p{P}$+<=>\^`|~",
    "xdigit": "0-9A-Fa-f",
    "ascii": r"\x00-\x7f",
}

_REFUSED = "uULl"
"""Letters after a backslash that PCRE2 does not support."""

_SCRIPTS = frozenset(
    {"han", "hiragana", "katakana", "thai", "hangul", "arabic", "cyrillic", "latin", "greek", "hebrew"}
)
_PROPERTIES = {"Xan": r"\p{L}\p{N}", "Xsp": _SPACE, "Xps": _SPACE, "Xwd": _WORD, "Any": r"\x00-\U0010ffff"}


class _RefusedError(ValueError):
    """A pattern that PCRE2 does not compile."""


def refusal(pattern: bytes) -> str | None:
    """Return the reason why PCRE2 does not compile the pattern; None if no reason is known."""
    try:
        _translate(pattern.decode("utf-8", "surrogateescape"))
    except _RefusedError as error:
        return str(error)
    return None


@lru_cache(maxsize=256)
def compile_pattern(pattern: bytes) -> Any:
    """Compile a pattern with `regex`; None if PCRE2 does not compile it.

    Raises:
        UnsupportedError: If `regex` is not installed.
        EvaluationError: IR704 if it cannot compile the pattern.
        ResourceError: If the pattern is too long, or takes too much memory.
    """
    regex = library("regex", "a regular expression")
    if len(pattern) > MOST_PATTERN:
        raise ResourceError(
            "the pattern has", actual=f"{len(pattern):,}", detail="bytes", expected=f"at most {MOST_PATTERN:,}"
        )
    current_limits().require(_COMPILED_BYTES * len(pattern))
    text = pattern.decode("utf-8", "surrogateescape")
    try:
        translated = _translate(text)
    except _RefusedError:
        return None
    require_compilable(translated)
    try:
        return regex.compile(translated)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        shown = repr(shorten(text, _SHOWN))
        raise EvaluationError(f"the pattern {shown} cannot be compiled: {reason}", code=Code.bad_value) from None


_SHOWN = 200


def _translate(pattern: str) -> str:
    """Return the pattern in the syntax of `regex`."""
    out: list[str] = []
    at = depth = 0
    while at < len(pattern):
        char = pattern[at]
        depth += (char == "(") - (char == ")")
        if depth > _MOST_PARENTHESES:
            raise _RefusedError(f"more than {_MOST_PARENTHESES} nested parentheses at {at}")
        if char == "\\":
            if pattern.startswith("\\Q", at):
                end = pattern.find("\\E", at)
                end = len(pattern) if end < 0 else end
                out += [
                    "\\" + literal if not literal.isalnum() and literal.isascii() else literal
                    for literal in pattern[at + 2 : end]
                ]
                at = end + 2
                continue
            item, at = _escape(pattern, at)
            if item in _ITEMS:
                out.append(f"[{_ITEMS[item]}]")
            else:
                out.append(_ESCAPES.get(item, item))
        elif char == "[":
            item, at = _class(pattern, at)
            out.append(item)
        else:
            if char == "{":
                _check_count(pattern, at)
            out.append(char)
            at += 1
    return "".join(out)


def _check_count(pattern: str, at: int) -> None:
    """Raise an error for a count that PCRE2 does not support."""
    counted = _COUNTED.match(pattern, at)
    for digits in counted.groups(default="") if counted is not None else ():
        number = digits.lstrip("0")
        if len(number) > 5 or int(number or 0) > _MOST_COUNT:
            raise _RefusedError(f"the count at {at} is above {_MOST_COUNT}")


def _escape(pattern: str, at: int) -> tuple[str, int]:
    """Parse an escape at its backslash.

    Returns:
        A key of `_ITEMS` or `_ESCAPES`, or its text, and the end position.
    """
    if at + 1 >= len(pattern):
        raise _RefusedError("the pattern ends with a backslash")
    letter = pattern[at + 1]
    if letter in _REFUSED or pattern.startswith("\\N{", at):
        raise _RefusedError(f"PCRE2 does not support \\{letter}")
    if letter == "x":
        return _hexadecimal(pattern, at)
    if letter in "pP":
        return _property(pattern, at)
    if letter in _ITEMS or letter in _ESCAPES:
        return letter, at + 2
    return pattern[at : at + 2], at + 2


def _hexadecimal(pattern: str, at: int) -> tuple[str, int]:
    if pattern.startswith("\\x{", at):
        end = pattern.find("}", at)
        digits = pattern[at + 3 : end] if end > 0 else ""
        end += 1
    else:
        end = at + 2
        while end < min(at + 4, len(pattern)) and pattern[end] in "0123456789abcdefABCDEF":
            end += 1
        digits = pattern[at + 2 : end] or "0"
    try:
        code = int(digits, 16)
    except ValueError:
        raise _RefusedError(f"\\x at {at} has no hexadecimal digits") from None
    if code > 0x10FFFF:
        raise _RefusedError(f"the character {digits} is out of range, expected at most 10FFFF")
    return f"\\U{code:08x}", end


def _property(pattern: str, at: int) -> tuple[str, int]:
    if not pattern.startswith("{", at + 2):
        return pattern[at : at + 3], at + 3
    end = pattern.find("}", at)
    if end < 0:
        raise _RefusedError(f"\\{pattern[at + 1]} at {at} has no closing brace")
    name = pattern[at + 3 : end]
    negated = (pattern[at + 1] == "P") != name.startswith("^")
    name = name.removeprefix("^")
    letter = "P" if negated else "p"
    if name in _PROPERTIES:
        return f"[{'^' if negated else ''}{_PROPERTIES[name]}]", end + 1
    if name.lower() in _SCRIPTS:
        return f"\\{letter}{{scx={name}}}", end + 1
    return f"\\{letter}{{{name}}}", end + 1


_LONGEST_NAME = 40
"""Characters within which a POSIX class ends."""


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Parse a class at its bracket, and return it with its end position."""
    start, out = at, ["["]
    at += 1
    if pattern.startswith("^", at):
        out.append("^")
        at += 1
    if pattern.startswith("]", at):
        out.append("\\]")
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            item, at = _escape(pattern, at)
            item = {"b": "\\x08", "B": "B", "Z": "Z", "z": "z", "e": "\\x1b"}.get(item, _ITEMS.get(item, item))
            # A property that expands to a class is merged into this class.
            out.append(item[1:-1] if item.startswith("[") and not item.startswith("[^") else item)
        elif pattern.startswith("[:", at) and (end := pattern.find(":]", at, at + _LONGEST_NAME)) > 0:
            name = pattern[at + 2 : end]
            if name.removeprefix("^") not in _POSIX:
                raise _RefusedError(f"[:{name}:] is not a POSIX class")
            if name.startswith("^"):
                out.append(f"[:{name}:]")
            else:
                out.append(_POSIX[name])
            at = end + 2
        else:
            # In classes of `regex` these may begin a set or a set operator.
            out.append("\\" + pattern[at] if pattern[at] in "[&~|" else pattern[at])
            at += 1
    if at >= len(pattern):
        raise _RefusedError(f"the class at {start} has no closing bracket")
    return "".join(out) + "]", at + 1
