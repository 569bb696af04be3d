"""Shortening of long names in tables: a common prefix is shown once, and the middle of a name is omitted.

Different names of a table are never shortened to the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

__all__ = ["ELLIPSIS", "find_shared_prefix", "measure_columns", "pad_text", "replace_prefix", "shorten_names"]

ELLIPSIS = "…"

_SEPARATOR = re.compile(r"[/.]+")

_LONG = 16
"""Maximum columns of names that are ignored in the search for a common prefix."""


def measure_columns(text: str) -> int:
    """Return the columns of a text in a terminal; wide East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad_text(text: str, width: int, side: Literal["left", "right"] = "left") -> str:
    """Return a text with blanks up to a width in columns, aligned to a side."""
    padding = " " * (width - measure_columns(text))
    return padding + text if side == "right" else text + padding


def find_shared_prefix(names: Iterable[str]) -> str:
    """Return the prefix, up to a separator, that saves the most columns and is shared by half of the long names.

    The result is empty if two names would become equal, or if fewer than two names share a prefix.
    """
    distinct = set(names)
    long = [name for name in distinct if measure_columns(name) > _LONG]
    counts = Counter(name[: match.end()] for name in long for match in _SEPARATOR.finditer(name, 0, len(name) - 1))
    shared = {prefix: count for prefix, count in counts.items() if count > 1 and 2 * count >= len(long)}
    best = max(shared, key=lambda prefix: ((measure_columns(prefix) - 1) * shared[prefix], prefix), default="")
    is_distinct = len({replace_prefix(name, best) for name in distinct}) == len(distinct)
    return best if is_distinct and measure_columns(best) > 2 else ""


def replace_prefix(name: str, prefix: str) -> str:
    """Replace a prefix by an ellipsis; a name equal to the prefix is kept."""
    return ELLIPSIS + name[len(prefix) :] if prefix and name.startswith(prefix) and name != prefix else name


def shorten_names(names: Collection[str], width: int) -> dict[str, str]:
    """Return the shortened text of each name for a width in columns: `enc…/dense/MatMul`.

    Both ends are kept, more of the last one. If two names would become equal, another part of the middle is omitted; if
    no part distinguishes them, the name is kept in full.
    """
    shown = {name: name for name in names if measure_columns(name) <= width}
    used = set(shown)
    pending = [name for name in dict.fromkeys(names) if name not in shown]
    for cut in _cuts(width):
        texts = {name: cut(name) for name in pending}
        counts = Counter(texts.values())
        unique = {name: text for name, text in texts.items() if counts[text] == 1 and text not in used}
        shown |= unique
        used |= set(unique.values())
        pending = [name for name in pending if name not in unique]
        if not pending:
            break
    return shown | {name: name for name in pending}


def _cuts(width: int) -> Sequence[Callable[[str], str]]:
    """Return functions that shorten a name, preferred first."""
    room = width - measure_columns(ELLIPSIS)
    liked = max(room // 3, 2)
    heads = sorted(range(2, room), key=lambda head: abs(head - liked))
    return [lambda name, head=head: _cut(name, head, room - head) for head in heads]  # type: ignore[misc]  # a default


def _cut(name: str, head: int, tail: int) -> str:
    """Keep the given columns of the start and the end of a name; the end starts at a nearby separator if any."""
    end = _end(name, tail)
    separator = _SEPARATOR.search(end, 0, max(len(end) // 2, 1))
    if separator is not None:
        end = end[separator.start() :]
    return _start(name, head + tail - measure_columns(end)) + ELLIPSIS + end


def _start(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    used = 0
    for position, char in enumerate(text):
        used += measure_columns(char)
        if used > columns:
            return text[:position]
    return text


def _end(text: str, columns: int) -> str:
    if text.isascii():
        return text[len(text) - columns :]
    used = 0
    for position in range(len(text) - 1, -1, -1):
        used += measure_columns(text[position])
        if used > columns:
            # A combining mark is kept with its letter.
            position += 1
            while position < len(text) and combining(text[position]):
                position += 1
            return text[position:]
    return text
