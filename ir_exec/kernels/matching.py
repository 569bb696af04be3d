"""Matches of regular expressions within the time and the memory of a run: a match may take exponential time."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from functools import lru_cache
from time import monotonic
from typing import Any, TypeVar

from ir_exec.errors import ResourceError
from ir_exec.kernels.limits import MemoryMeter, current_limits

__all__ = ["MATCH_SECONDS", "MatchTimer", "find_spans", "is_quick", "require_compilable"]

Result = TypeVar("Result")

MATCH_SECONDS = 10.0
"""Seconds for all matches of a layer without `max_seconds`, in addition to those for long texts."""

SECONDS_PER_BYTE = 1e-5
"""Additional seconds without `max_seconds`: a hundred times the time of the patterns of tokenizers."""

RECURSION_SECONDS = 1.0
"""Seconds for the matches of a pattern with recursion, without `max_seconds`: `regex` may take 400 MB in this time."""

_RECURSION = re.compile(r"\(\?(?:R|[+-]?[0-9]|&|P>)")

_LONGEST_TRY = 1e6
"""Maximum seconds that `regex` can measure."""

_SPAN_BYTES = 9
"""Bytes of a begin or an end, with the reserve of a growing array."""

_COUNTED_SPANS = 2**12
"""Begins and ends that are counted at once."""

_SHOWN_TEXT = 20


class MatchTimer:
    """The time for all matches of a layer: the rest of `max_seconds` of the run, or a default by the size of the texts.

    Args:
        size: The total bytes of the texts.
        search: The pattern, or None if it is not compiled.
    """

    def __init__(self, size: int, search: Any) -> None:
        limits = current_limits()
        seconds = MATCH_SECONDS + SECONDS_PER_BYTE * size
        if search is not None and _RECURSION.search(search.pattern):
            seconds = min(seconds, RECURSION_SECONDS)
        left = limits.seconds_left if limits.is_timed else seconds
        self._seconds = left if limits.max_seconds is None else limits.max_seconds
        self._end = monotonic() + left

    @property
    def seconds_left(self) -> float:
        """The remaining time; 0 if it is over."""
        return min(max(self._end - monotonic(), 0.0), _LONGEST_TRY)

    def run(self, match: Callable[[float], Result], text: str, position: Callable[[], int]) -> Result:
        """Return the result of `match`, which is called with its time limit in seconds.

        `regex` measures the processor time of all threads of the process. If it ends a match before the time is over,
        `match` is called again, with more of it.

        Args:
            text: The text, for the error.
            position: Returns the position that was reached in the text, in characters.

        Raises:
            ResourceError: If the time is over.
        """
        factor = 1
        while left := self.seconds_left:
            try:
                return match(min(factor * left, _LONGEST_TRY))
            except TimeoutError:
                factor *= 2
        offset = position()
        shown = repr(text[offset : offset + _SHOWN_TEXT])
        message = f"the pattern takes longer than {self._seconds:g} seconds, at character {offset} of the text, {shown}"
        hint = "simplify the pattern, or set max_seconds of compile_model to more seconds"
        raise ResourceError(message, hint=hint)


def require_compilable(pattern: str) -> None:
    """Raise ResourceError if compiling takes too much memory: `regex` copies what is repeated `{n}` times.

    Nested counts multiply: 19 characters may take any amount of memory.
    """
    size = _count_elements(pattern)
    if size > max(_MOST_ELEMENTS, len(pattern)):
        raise ResourceError(
            "the pattern has",
            actual=f"{size:,}",
            detail="elements after its counts are expanded",
            expected=f"at most {_MOST_ELEMENTS:,}",
        )
    if size > len(pattern):
        current_limits().require(_ELEMENT_BYTES * size)


_MOST_ELEMENTS = 2**19
_ELEMENT_BYTES = 300
_ELEMENT = re.compile(
    r"(?P<escape>\\.)|(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<open>\()|(?P<close>\))|\{(?P<count>\d{1,9})(?:,\d*)?\}|.",
    re.DOTALL,
)


def _count_elements(pattern: str) -> int:
    """Return the number of characters, classes and groups of a pattern whose `{n}` are written out."""
    groups = [0]
    last = 0
    for element in _ELEMENT.finditer(pattern):
        count = element["count"]
        if count is not None:
            repeated = last * max(int(count) - 1, 0)
            last += repeated
            groups[-1] += repeated
        elif element["open"]:
            groups.append(0)
        elif element["close"] and len(groups) > 1:
            last = groups.pop() + 1
            groups[-1] += last
        else:
            last = 1
            groups[-1] += 1
    return sum(groups)


def is_quick(search: Any, text: str) -> bool:
    """Return True if a text is so short, and the pattern so simple, that a match needs no time limit.

    A time limit takes several times the time of such a match.
    """
    return len(text) <= _SHORT_TEXT and _is_polynomial(search.pattern)


@lru_cache(maxsize=256)
def _is_polynomial(pattern: str) -> bool:
    """Return True if no group is repeated, and at most two repetitions follow each other: a cubic time."""
    if len(pattern) > _LONGEST_QUICK or _REFERENCE.search(pattern):
        return False
    plain = _CLASS.sub("x", _ESCAPE.sub("x", pattern))
    groups = -1
    while groups:
        plain, groups = _GROUP.subn("x", plain)
    return "(" not in plain and all(len(_REPEATED.findall(part)) <= _MOST_REPEATED for part in plain.split("|"))


_SHORT_TEXT = 32
_MOST_REPEATED = 2
_LONGEST_QUICK = 5000
_REFERENCE = re.compile(r"\\[0-9kgR]|\(\?[^:=!<i]|\(\?<[^=!]|\(\?i[^:]")
_ESCAPE = re.compile(r"\\(?:[pP]\{[^{}]*\}|U[0-9a-f]{8}|x[0-9a-f]{2}|.)", re.DOTALL)
_CLASS = re.compile(r"\[[^\[\]]*\]")
_GROUP = re.compile(r"\((?:\?(?:i?:|=|!|<=|<!))?[^()*+?{]*\)(?![*+?{])")
_REPEATED = re.compile(r"[*+{]")


def find_spans(search: Any, text: str, timer: MatchTimer, *, with_groups: bool = False) -> array[int]:
    """Return begin and end of the matches in a text, one after the other, up to the first empty match.

    Args:
        with_groups: Return begin and end of the last group, too, or of the match if it has none.

    Raises:
        ResourceError: If the matches exceed the time or the memory of the run.
    """
    spans: array[int] = array("q")
    collect = _collect_groups if with_groups else _collect
    try:
        left = timer.seconds_left
        collect(spans, search, text, None if left and is_quick(search, text) else left)
    except TimeoutError:

        def again(timeout: float) -> None:
            del spans[:]
            collect(spans, search, text, timeout)

        end = -3 if with_groups else -1
        timer.run(again, text, lambda: spans[end] if spans else 0)
    return spans


def _collect(spans: array[int], search: Any, text: str, timeout: float | None) -> None:
    meter, counted = None, _COUNTED_SPANS
    for match in search.finditer(text, timeout=timeout):
        span = match.span()
        if span[0] == span[1]:
            break
        spans.extend(span)
        if len(spans) > counted:
            meter = meter or MemoryMeter()
            meter.add(_SPAN_BYTES * _COUNTED_SPANS)
            counted += _COUNTED_SPANS


def _collect_groups(spans: array[int], search: Any, text: str, timeout: float | None) -> None:
    meter, counted = None, _COUNTED_SPANS
    for match in search.finditer(text, timeout=timeout):
        span = match.span()
        if span[0] == span[1]:
            break
        group = match.span(match.lastindex) if match.lastindex else span
        spans.extend(span)
        spans.extend(group if group[0] != group[1] else span)
        if len(spans) > counted:
            meter = meter or MemoryMeter()
            meter.add(_SPAN_BYTES * _COUNTED_SPANS)
            counted += _COUNTED_SPANS
