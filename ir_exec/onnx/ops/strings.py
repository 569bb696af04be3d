"""Strings: IR has no operators for them, and they must be known at conversion, except for the counts of n-grams."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import (
    ElementTypeError,
    EvaluationError,
    InvalidAttributeError,
    ResourceError,
    ShapeError,
    UnsupportedError,
)
from ir_exec.hints import install_hint
from ir_exec.kernels.limits import MemoryMeter, current_limits
from ir_exec.kernels.matching import MatchTimer, is_quick, require_compilable
from ir_exec.onnx.lowering.attributes import Floats, Ints, Strings, chosen
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import as_i64, cast, ints, known_array, known_rank, number, numbers, shape_of
from ir_exec.onnx.ops.lookups import look_up
from ir_exec.report.text import shorten
from ir_exec.types import Array, ElementType, convert

__all__ = ["numbers_of_strings", "strings_of_numbers"]

_FLOAT = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan))", re.I)
_INTEGER = re.compile(r"\s*([+-]?\d+)")

_MOST_DIGITS = 1000
"""Maximum digits of a number in a string. Python refuses longer ones, in quadratic time."""

_ENTRY = 16
"""Bytes of an entry of a list and of an array of objects."""

_MOST_PATTERN = 2**16
"""Maximum characters of a regular expression."""

_MOST_SKIPPED = 2**10
"""Maximum number of skipped items of an n-gram: each adds layers."""

_MOST_COLUMNS = 2**24
"""Maximum number of columns of a table of n-grams."""


def numbers_of_strings(strings: Array, element_type: ElementType) -> Array:
    """Strings as numbers: a prefix is read, as by strtod for floats and by strtol for integers; integers wrap.

    Raises:
        EvaluationError: For a string that does not begin with a number.
    """
    pattern = _FLOAT if element_type.is_float else _INTEGER
    values: list[Any] = []
    for text in strings.ravel():
        match = pattern.match(str(text))
        if match is None:
            raise EvaluationError(
                "the string is",
                actual=repr(str(text)),
                expected=f"a number of type {element_type}",
                code=Code.bad_value,
            )
        if len(match[1]) > _MOST_DIGITS:
            raise EvaluationError(
                "a string is a number of",
                actual=f"{len(match[1]):,}",
                detail="characters",
                expected=f"at most {_MOST_DIGITS:,}",
                code=Code.bad_value,
            )
        values.append(_float(match[1]) if element_type.is_float else int(match[1]))
    if element_type.is_float:
        with np.errstate(over="ignore"):
            return convert(np.array(values, np.float64).reshape(strings.shape), element_type)
    if element_type is ElementType.boolean:
        return np.array([value != 0 for value in values], np.bool_).reshape(strings.shape)
    wrapped = np.array([value % 2**64 for value in values], np.uint64)
    return wrapped.astype(element_type.dtype).reshape(strings.shape)


def _float(text: str) -> float:
    if "x" not in text.lower():
        return float(text)
    value = int(text, 16)
    # Python raises for integers that a float cannot represent.
    return float(value) if abs(value) < 2**1023 else float("-inf" if value < 0 else "inf")


def strings_of_numbers(array: Array) -> Array:
    """Numbers as strings, as in onnxruntime: floats with eight digits, `NaN`, `INF` and `-INF`."""
    element_type = ElementType.of(array)
    if element_type.is_float:
        texts = [_text_of(float(value)) for value in array.astype(np.float64).ravel()]
    else:
        texts = [str(int(value)) for value in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def _text_of(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return f"{value:.8g}"


def _strings(data: Value, what: str) -> Array:
    if data.element_type is not ElementType.string:
        raise ElementTypeError(
            f"{what} is", actual=data.element_type, expected="strings", code=Code.element_type_not_taken
        )
    return known_array(data, what)


def _texts(array: Array) -> list[str]:
    return [str(element) for element in array.ravel()]


def _collect_texts(texts: Iterable[str]) -> list[str]:
    """Return the strings of an iterator, whose memory is compared with the limits of the conversion before it grows."""
    meter = MemoryMeter()
    strings: list[str] = []
    for text in texts:
        meter.add(sys.getsizeof(text) + _ENTRY)
        strings.append(text)
    return strings


def _require_concatenated(left: Array, right: Array) -> None:
    """Raise ResourceError if the concatenation of two strings alone exceeds the limits."""
    largest = max(map(len, left.ravel()), default=0) + max(map(len, right.ravel()), default=0)
    current_limits().require(4 * largest)


def _as_strings(texts: Iterable[str], shape: tuple[int, ...]) -> Value:
    """Return a constant. The strings of all constants of a conversion remain in memory and are counted together."""
    strings = _collect_texts(texts)
    current_limits().planned += sum(sys.getsizeof(text) + _ENTRY for text in strings)
    return build.constant(np.array(strings, object).reshape(shape))


_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@onnx_op("StringNormalizer", since=10, unused=("locale",))
def string_normalizer(data: Value, *, case_change_action: str, is_case_sensitive: bool, stopwords: Strings) -> Value:
    """Remove stop words, then change the case; one empty string if no string remains."""
    change = chosen("case_change_action", case_change_action, _CASES)
    strings = _strings(data, "the input")
    if strings.ndim not in (1, 2) or (strings.ndim == 2 and strings.shape[0] != 1):
        raise ShapeError(
            "the input has shape", actual=list(strings.shape), expected="[C] or [1, C]", code=Code.wrong_rank
        )
    compared = str if is_case_sensitive else str.lower
    stops = {compared(word) for word in stopwords}
    texts = [change(text) for text in _texts(strings) if compared(text) not in stops] or [""]
    return _as_strings(texts, (len(texts),) if strings.ndim == 1 else (1, len(texts)))


@onnx_op("StringConcat", since=20)
def string_concat(a: Value, b: Value) -> Value:
    left, right = np.broadcast_arrays(_strings(a, "X"), _strings(b, "Y"))
    _require_concatenated(left, right)
    pairs = zip(left.ravel(), right.ravel(), strict=True)
    return _as_strings((str(first) + str(second) for first, second in pairs), left.shape)


@onnx_op("StringSplit", since=20)
def string_split(data: Value, *, delimiter: str = "", maxsplit: int | None) -> list[Value]:
    """The parts of each string along a new last axis, filled with empty strings, and their numbers."""
    strings = _strings(data, "the input")
    most = -1 if maxsplit is None else maxsplit
    parts = [text.split(delimiter or None, most) if text else [] for text in _texts(strings)]
    counts = np.array([len(part) for part in parts], np.int64).reshape(strings.shape)
    width = max(map(len, parts), default=0)
    current_limits().require(_ENTRY * width * len(parts))
    texts = (text for part in parts for text in (*part, *[""] * (width - len(part))))
    return [_as_strings(texts, (*strings.shape, width)), build.constant(counts)]


@onnx_op("RegexFullMatch", since=20)
def regex_full_match(data: Value, *, pattern: str = "") -> Value:
    """True for strings that match a pattern from the first to the last character."""
    strings = _strings(data, "the input")
    expression = _Expression(pattern, "pattern", _texts(strings))
    matches = [expression.match_all(text) for text in _texts(strings)]
    return build.constant(np.array(matches, np.bool_).reshape(strings.shape))


class _Expression:
    """A regular expression whose matches in the strings of a node have a time limit together.

    Args:
        pattern: The text of an attribute.
        attribute: Its name, for messages.
        texts: The strings of the node.

    Raises:
        InvalidAttributeError: If the pattern is not a regular expression.
        ResourceError: For a pattern that is too long.
    """

    def __init__(self, pattern: str, attribute: str, texts: Iterable[str]) -> None:
        if len(pattern) > _MOST_PATTERN:
            raise ResourceError(
                f"{attribute} has",
                actual=f"{len(pattern):,}",
                detail="characters",
                expected=f"at most {_MOST_PATTERN:,}",
            )
        require_compilable(pattern)
        try:
            library: Any = import_module("regex")
            self._has_timeouts = True
        except ImportError:
            library, self._has_timeouts = re, False
        try:
            self._compiled = library.compile(pattern)
        except (library.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            shown = repr(shorten(pattern, _SHOWN))
            raise InvalidAttributeError(f"{attribute} {shown} is not a regular expression: {reason}") from None
        self._timer = MatchTimer(sum(map(len, texts)), self._compiled)

    def match_all(self, text: str, start: int = 0, stop: int | None = None) -> bool:
        """Return True if the expression matches a text, or a range of it, from the first to the last character."""
        end = len(text) if stop is None else stop
        return self._run(self._compiled.fullmatch, text, start, end) is not None

    def find(self, text: str, start: int) -> tuple[int, int] | None:
        """Return begin and end of the first match from a position; None without one."""
        match = self._run(self._compiled.search, text, start, len(text))
        return None if match is None else match.span()

    def _run(self, search: Callable[..., Any], text: str, start: int, end: int) -> Any:
        if not self._has_timeouts:
            if not is_quick(self._compiled, text):
                message = "a regular expression on long strings needs the package regex, which is not installed"
                raise UnsupportedError(message, code=Code.unsupported, hint=install_hint("onnx"))
            return search(text, start, end)
        return self._timer.run(lambda seconds: search(text, start, end, timeout=seconds), text, lambda: start)


_SHOWN = 200


@onnx_op("Tokenizer", since=1, domain=MICROSOFT)
def tokenizer(
    data: Value, *, mark: bool, mincharnum: int, pad_value: str, separators: Strings, tokenexp: str = ""
) -> Value:
    """The tokens of each string along a new last axis, between separators or as matches of an expression."""
    if bool(separators) == bool(tokenexp):
        raise InvalidAttributeError("separators and tokenexp are both given or both missing", expected="one of them")
    if mincharnum < 1:
        raise InvalidAttributeError("mincharnum is", actual=mincharnum, expected="1 or more")
    strings = _strings(data, "the input")
    if strings.ndim not in (1, 2):
        raise ShapeError("the input has rank", actual=strings.ndim, expected="1 or 2", code=Code.wrong_rank)
    if not strings.size:
        return build.constant(strings)
    split = _splitter(separators, tokenexp, _texts(strings))
    rows = [_collect_texts(token for token in split(text) if len(token) >= mincharnum) for text in _texts(strings)]
    if mark:
        rows = [["\x02", *row, "\x03"] for row in rows]
    width = max(map(len, rows))
    current_limits().require(_ENTRY * width * len(rows))
    texts = (token for row in rows for token in (*row, *[pad_value] * (width - len(row))))
    return _as_strings(texts, (*strings.shape, width))


def _splitter(separators: Strings, tokenexp: str, texts: list[str]) -> Callable[[str], list[str]]:
    """The function that splits a string into tokens."""
    if tuple(separators) == ("",) or tokenexp == ".":
        return list
    if tokenexp:
        expression = _Expression(tokenexp, "tokenexp", texts)
        return lambda text: [text[start:end] for start, end in _longest_matches(expression, text)]
    expressions = [_Expression(separator, "separators", texts) for separator in separators]

    def split(text: str) -> list[str]:
        parts = [text]
        for expression in expressions:
            parts = [token for part in parts for token in _between(part, _longest_matches(expression, part))]
        return [part for part in parts if part]

    return split


def _between(text: str, spans: list[tuple[int, int]]) -> list[str]:
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _longest_matches(expression: _Expression, text: str) -> list[tuple[int, int]]:
    """The spans of matches that are not empty, each the longest at its start."""
    spans: list[tuple[int, int]] = []
    position = 0
    while (span := expression.find(text, position)) is not None:
        start, end = span
        longer = (stop for stop in range(len(text), end, -1) if expression.match_all(text, start, stop))
        end = next(longer, end)
        if end > start:
            spans.append((start, end))
        position = max(end, start + 1)
    return spans


_MODES = {"TF": (False, True), "IDF": (True, False), "TFIDF": (True, True)}
"""For each mode: True if weights count, and True if numbers of occurrences count."""


@onnx_op("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    data: Value,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Ints,
    ngram_indexes: Ints,
    pool_int64s: Ints,
    pool_strings: Strings,
    weights: Floats,
) -> Value:
    """[rows, columns], or [columns] for one row: the numbers of occurrences of the n-grams of a pool.

    Args:
        max_skip_count: The maximum number of items between two items of an n-gram.
    """
    is_weighted, is_counted = chosen("mode", mode, _MODES)
    if bool(pool_int64s) == bool(pool_strings):
        raise InvalidAttributeError(
            "pool_int64s and pool_strings are both given or both missing", expected="one of them"
        )
    if not 1 <= min_gram_length <= max_gram_length or max_skip_count < 0:
        message = f"the lengths of n-grams are {min_gram_length} to {max_gram_length}"
        raise InvalidAttributeError(
            f"{message} with {max_skip_count} skipped items", expected="1 or more, and 0 or more"
        )
    if max_skip_count > _MOST_SKIPPED:
        raise UnsupportedError("max_skip_count is", actual=max_skip_count, expected=f"at most {_MOST_SKIPPED}")
    rank = known_rank(data, "the input")
    if rank not in (1, 2):
        raise ShapeError("the input has rank", actual=rank, expected="1 or 2", code=Code.wrong_rank)
    items, pool = _items(data, pool_int64s, pool_strings)
    items = build.unsqueeze(items, 0) if rank == 1 else items
    grams = _grams(pool, ngram_counts, len(ngram_indexes))
    if weights and len(weights) != len(ngram_indexes):
        raise InvalidAttributeError("weights has", actual=len(weights), detail="elements", expected=len(ngram_indexes))
    counts = []
    for length, table in enumerate(grams, 1):
        is_used = min_gram_length <= length <= max_gram_length
        counts.append(_count_ngrams(items, table, max_skip_count if length > 1 else 0, is_used))
    total = build.concat(counts, 1)
    if not is_counted:
        total = cast(build.greater(total, number(0, total)), ElementType.f32)
    if is_weighted and weights:
        total = build.multiply(total, numbers(weights, total))
    columns = _by_column(total, ngram_indexes)
    return build.squeeze(columns, 0) if rank == 1 else columns


def _items(data: Value, integers: Ints, strings: Strings) -> tuple[Value, Array]:
    """The items and the pool as integers; items outside of a pool of strings are -1."""
    if not strings:
        return as_i64(data), np.array(integers, np.int64)
    words = np.array(sorted(set(strings)), object)
    numbered = np.arange(len(words), dtype=np.int64)
    places = {word: index for index, word in enumerate(words)}
    pool = np.array([places[word] for word in strings], np.int64)
    return look_up(data, words, numbered, np.array([-1], np.int64)), pool


def _grams(pool: Array, starts: Ints, count: int) -> list[Array]:
    """The n-grams of the pool, [n-grams, length] for each length from 1."""
    ends = [*starts[1:], len(pool)]
    tables = []
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % length:
            raise InvalidAttributeError(
                "ngram_counts is", actual=list(starts), expected="starts of n-grams in the pool"
            )
        tables.append(pool[start:end].reshape(-1, length))
    total = sum(map(len, tables))
    if total != count:
        raise InvalidAttributeError(
            "ngram_indexes has", actual=count, detail="elements", expected=total, reason="one for each n-gram"
        )
    return tables


def _count_ngrams(items: Value, table: Array, skips: int, is_used: bool) -> Value:
    """[rows, n-grams]: the number of occurrences of each n-gram of a length, with every distance between items."""
    count, length = table.shape
    rows = build.gather(shape_of(items), ints(0), 0)
    total = build.broadcast(build.constant(np.float32(0)), build.concat([rows, ints(count)], 0))
    if not is_used or not count:
        return total
    size = build.gather(shape_of(items), ints(1), 0)
    for distance in range(1, skips + 2):
        windows = build.maximum(build.subtract(size, ints(distance * (length - 1))), ints(0))
        matches: Value | None = None
        for position in range(length):
            start = ints(distance * position)
            item = build.slice(items, start, build.add(windows, start), ints(1), ints(1))
            equal = build.equal(build.unsqueeze(item, 2), build.constant(table[:, position]))
            matches = equal if matches is None else build.logical_and(matches, equal)
        assert matches is not None
        total = build.add(total, build.reduce_sum(cast(matches, ElementType.f32), ints(1), keep_dims=False))
    return total


def _by_column(total: Value, columns: Ints) -> Value:
    """[rows, columns]: each n-gram in its column; several n-grams of a column are added.

    Raises:
        InvalidAttributeError: For a negative column.
        ResourceError: For a column of a table that is too wide.
    """
    if min(columns) < 0:
        raise InvalidAttributeError("ngram_indexes contains", actual=min(columns), expected="0 or more")
    if max(columns) >= _MOST_COLUMNS:
        raise ResourceError(
            "ngram_indexes contains", actual=f"{max(columns):,}", expected=f"less than {_MOST_COLUMNS:,}"
        )
    padded = build.pad(total, ints(0, 0), ints(0, 1), number(0, total), pad_mode="constant")
    left = list(enumerate(columns))
    result: Value | None = None
    while left:
        table = np.full(max(columns) + 1, len(columns), np.int64)
        repeated = []
        for gram, column in left:
            if table[column] == len(columns):
                table[column] = gram
            else:
                repeated.append((gram, column))
        part = build.gather(padded, build.constant(table), 1)
        result = part if result is None else build.add(result, part)
        left = repeated
    assert result is not None
    return result
