"""Operators that split strings, and operators that represent bytes as characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Literal

import numpy as np

from ir_exec.kernels.limits import MemoryMeter, current_limits
from ir_exec.kernels.matching import MatchTimer, find_spans
from ir_exec.kernels.strings import join_strings
from ir_exec.ops.base.attributes import AttributeValueError
from ir_exec.text.ops.base import (
    BOOLEAN,
    RAGGED_STRINGS,
    STRINGS,
    GrowingVector,
    TextOp,
    bytes_of,
    ragged_type,
    require_vector,
    rows_of,
    strings_of,
    strings_type,
    text_op,
    vector,
)
from ir_exec.text.tokenizers.patterns import compile_pattern
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["BytesToChars", "CharsToBytes", "RegexSplit", "SpecialTokensSplit", "chars_of_bytes"]

Piece = tuple[int, int, bool]
"""Begin and end of a substring in bytes, and True if later operators leave it unchanged."""


class Splitting(TextOp):
    """Base class of operators that split ragged strings; substrings remain in their row and share the characters."""

    outputs = (*RAGGED_STRINGS, "skips")
    varies_outputs = True

    def split(
        self,
        rows: list[tuple[int, int]],
        begins: Array,
        strings: list[bytes],
        skips: list[bool] | None,
        pieces: Callable[[bytes], Iterator[Piece]],
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return the begins and ends of the new rows, of the substrings, and the skips."""
        starts = begins.ravel().tolist()
        meter = MemoryMeter()
        row_begins, row_ends, substrings = GrowingVector(meter), GrowingVector(meter), _Substrings(meter)
        for first, last in rows:
            row_begins.append(len(substrings))
            for index in range(first, last):
                at, text = starts[index], strings[index]
                if skips is not None and skips[index]:
                    substrings.append((at, at + len(text), True))
                    continue
                remaining = ((at + begin, at + end, skip) for begin, end, skip in pieces(text))
                # A list of all substrings of a long text would take far more memory than the vectors.
                while len(text) > _PIECES_AT_ONCE and (some := list(islice(remaining, _PIECES_AT_ONCE))):
                    substrings.extend(some)
                substrings.extend(remaining)
            row_ends.append(len(substrings))
        return (row_begins.array(), row_ends.array(), *substrings.arrays())


_PIECES_AT_ONCE = 2**12


class _Substrings:
    """Substrings in growing vectors."""

    def __init__(self, meter: MemoryMeter) -> None:
        self._begins, self._ends = GrowingVector(meter), GrowingVector(meter)
        self._skips = bytearray()
        self._pending: list[Piece] = []

    def __len__(self) -> int:
        return len(self._skips) + len(self._pending)

    def append(self, piece: Piece) -> None:
        self.extend((piece,))

    def extend(self, pieces: Iterable[Piece]) -> None:
        self._pending.extend(pieces)
        if len(self._pending) >= _PIECES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._begins.extend([begin for begin, _, _ in self._pending])
        self._ends.extend([end for _, end, _ in self._pending])
        self._skips += bytes([skip for _, _, skip in self._pending])
        self._pending.clear()

    def arrays(self) -> tuple[Array, Array, Array]:
        self._flush()
        return self._begins.array(), self._ends.array(), np.frombuffer(self._skips, bool)


@text_op("RegexSplit")
class RegexSplit(Splitting):
    """Splitting of every string at the matches of `pattern`.

    As in OpenVINO, an empty match ends the search, and an empty text is one empty row. One of several adjacent matches
    is merged and the others are substrings, as in Hugging Face's tokenizers; OpenVINO loses or repeats them.
    Source: openvino_tokenizers, regex_split.cpp.

    Inputs:
        pattern: u8, a PCRE2 pattern.
        skip_begins: Strings that are not split (9 inputs, of old releases).
        skip_ends: Strings that are not split (9 inputs, of old releases).
        skip_chars: Strings that are not split (9 inputs, of old releases).

    Attributes:
        behaviour: The treatment of a match: `remove`, `isolate` (a substring), `contiguous` (adjacent matches are one
            substring), `mergedwithprevious`, `mergedwithnext`.
        invert: Exchange matches and the text between them.
        max_splits: The maximum number of substrings, of which the last contains the rest; -1 for no limit.

    Outputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        begins: Ragged strings.
        ends: Ragged strings.
        chars: Ragged strings.
        skips: Booleans, true for strings that are not split (7 inputs, with a sixth output).
    """

    generations = (
        (*RAGGED_STRINGS, "pattern"),
        (*RAGGED_STRINGS, "skips", "pattern"),
        (*RAGGED_STRINGS, "pattern", "skip_begins", "skip_ends", "skip_chars"),
    )

    behaviour: Literal["remove", "isolate", "contiguous", "mergedwithprevious", "mergedwithnext"] = "remove"
    invert: bool = False
    max_splits: int = -1

    def check_attributes(self) -> None:
        if self.max_splits != -1 and self.max_splits <= 0:
            raise AttributeValueError("attribute max_splits is", actual=self.max_splits, expected="-1, or 1 or more")

    def infer_inputs(self, *, ragged_begins: TensorType, chars: TensorType, **others: TensorType | None) -> Any:
        require_vector(chars, "chars")
        require_vector(others["pattern"], "pattern")
        rows = ragged_begins.shape
        if rows.rank == 1:
            # An empty text is one row.
            rows = rows if rows[0].is_static and rows[0].size == 1 else Shape([Dim.any()])
        unknown = Shape([Dim.any()])
        outputs = (*ragged_type(rows, ElementType.i32)[:2], *strings_type(unknown)[:2], chars.without_values())
        return outputs if others["skips"] is None else (*outputs, TensorType(BOOLEAN, unknown))

    def evaluate_inputs(
        self, *, ragged_begins: Array, ragged_ends: Array, begins: Array, ends: Array, chars: Array, **others: Any
    ) -> Any:
        skips = others["skips"]
        if not chars.size:
            outputs = (vector([0]), vector([0]), begins, ends, chars)
            return outputs if skips is None else (*outputs, skips)
        rows = rows_of(ragged_begins, ragged_ends, begins.size)
        strings = strings_of(begins, ends, chars)
        unsplit = _strings_or_none(others)
        search = compile_pattern(self._pattern(bytes_of(others["pattern"])))
        timer = MatchTimer(sum(map(len, strings)), search)

        def pieces(text: bytes) -> Iterator[Piece]:
            if text in unsplit:
                return iter([(0, len(text), False)])
            return self._pieces(text, search, timer)

        flags = None if skips is None else skips.ravel().tolist()
        parts = self.split(rows, begins, strings, flags, pieces)
        shape = ragged_begins.shape
        outputs = (parts[0].reshape(shape), parts[1].reshape(shape), parts[2], parts[3], chars)
        return outputs if skips is None else (*outputs, parts[4])

    def _pattern(self, pattern: bytes) -> bytes:
        if self.behaviour == "contiguous" and not pattern.endswith(b"+"):
            return b"(" + pattern + b")+"
        return pattern

    def _pieces(self, text: bytes, search: Any, timer: MatchTimer) -> Iterator[Piece]:
        """The substrings of a string, with begin and end in bytes."""
        parts: Iterator[Part] = (
            (begin, end, is_match != self.invert) for begin, end, is_match in _parts(text, search, timer)
        )
        if self.behaviour == "mergedwithprevious":
            parts = _merged_with_previous(parts)
        elif self.behaviour == "mergedwithnext":
            parts = _merged_with_next(parts)
        elif self.behaviour == "remove":
            parts = (part for part in parts if not part[2])
        for count, (begin, end, _) in enumerate(parts):
            # As in OpenVINO, text after the last allowed split is also returned as substrings.
            yield begin, len(text) if count == self.max_splits else end, False


Part = tuple[int, int, bool]
"""Begin and end of a part of a string in bytes, and True for a match."""


def _parts(text: bytes, search: Any, timer: MatchTimer) -> Iterator[Part]:
    """The matches in a string and the text between them."""
    at = 0
    if search is not None:
        string = text.decode("utf-8", "surrogateescape")
        ascii_only = len(string) == len(text)
        position = 0
        spans = iter(find_spans(search, string, timer))
        for first, last in zip(spans, spans, strict=True):
            if ascii_only:
                begin, end = first, last
            else:
                begin = at + len(string[position:first].encode("utf-8", "surrogateescape"))
                end = begin + len(string[first:last].encode("utf-8", "surrogateescape"))
            if begin != at:
                yield at, begin, False
            yield begin, end, True
            at, position = end, last
    if at < len(text):
        yield at, len(text), False


def _merged_with_previous(parts: Iterator[Part]) -> Iterator[Part]:
    """Merge each match with the text before it, unless this is also a match."""
    waiting: Part | None = None
    for part in parts:
        if part[2] and waiting is not None and not waiting[2]:
            yield waiting[0], part[1], True
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = part
    if waiting is not None:
        yield waiting


def _merged_with_next(parts: Iterator[Part]) -> Iterator[Part]:
    """Merge each match with the text after it, unless this is also a match."""
    waiting: Part | None = None
    for part in parts:
        if waiting is not None and not part[2]:
            yield waiting[0], part[1], False
            waiting = None
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if part[2]:
            waiting = part
        else:
            yield part
    if waiting is not None:
        yield waiting


def _strings_or_none(others: dict[str, Any]) -> frozenset[bytes]:
    if others["skip_begins"] is None:
        return frozenset()
    return frozenset(strings_of(others["skip_begins"], others["skip_ends"], others["skip_chars"], "skip_begins"))


@text_op("SpecialTokensSplit")
class SpecialTokensSplit(Splitting):
    """Splitting of every string at special tokens, which later operators leave unchanged.

    The sixth output, `skips`, is true for tokens.

    Source: openvino_tokenizers, special_tokens_split.cpp.

    Inputs:
        pattern: u8, a PCRE2 pattern; in a match with a group, the group is the token, and the rest is dropped (for
            tokens that absorb adjacent spaces).

    Outputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        begins: Ragged strings.
        ends: Ragged strings.
        chars: Ragged strings.
        skips: Booleans, true for strings that are not split.
    """

    generations = ((*RAGGED_STRINGS, "pattern"), (*RAGGED_STRINGS, "skips", "pattern"))

    def infer_inputs(self, *, ragged_begins: TensorType, chars: TensorType, **others: TensorType | None) -> Any:
        require_vector(chars, "chars")
        require_vector(others["pattern"], "pattern")
        unknown = Shape([Dim.any()])
        places = strings_type(unknown)[:2]
        rows = ragged_type(ragged_begins.shape, ElementType.i32)[:2]
        return (*rows, *places, chars.without_values(), TensorType(BOOLEAN, unknown))

    def evaluate_inputs(
        self,
        *,
        ragged_begins: Array,
        ragged_ends: Array,
        begins: Array,
        ends: Array,
        chars: Array,
        pattern: Array,
        skips: Array | None,
    ) -> Any:
        rows = rows_of(ragged_begins, ragged_ends, begins.size)
        search = compile_pattern(bytes_of(pattern))
        flags = None if skips is None else skips.ravel().tolist()
        strings = strings_of(begins, ends, chars)
        timer = MatchTimer(sum(map(len, strings)), search)
        parts = self.split(rows, begins, strings, flags, lambda text: _tokens(text, search, timer))
        shape = ragged_begins.shape
        return parts[0].reshape(shape), parts[1].reshape(shape), parts[2], parts[3], chars, parts[4]


def _tokens(text: bytes, search: Any, timer: MatchTimer) -> Iterator[Piece]:
    """The special tokens in a string and the text between them."""
    at = 0
    if search is not None:
        string = text.decode("utf-8", "surrogateescape")
        position = 0
        spans = iter(find_spans(search, string, timer, with_groups=True))
        for start, end, token_start, token_end in zip(spans, spans, spans, spans, strict=True):
            begin = at + len(string[position:start].encode("utf-8", "surrogateescape"))
            if at < begin:
                yield at, begin, False
            first = begin + len(string[start:token_start].encode("utf-8", "surrogateescape"))
            yield first, first + len(string[token_start:token_end].encode("utf-8", "surrogateescape")), True
            at = begin + len(string[start:end].encode("utf-8", "surrogateescape"))
            position = end
    if at < len(text):
        yield at, len(text), False


@cache
def chars_of_bytes() -> list[str]:
    """Return the character for each byte in byte-level vocabularies; printable Latin-1 characters are unchanged."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


@text_op("BytesToChars")
class BytesToChars(TextOp):
    """Replacement of every byte of a string by its character in byte-level vocabularies (GPT-2).

    Source: openvino_tokenizers, bytes_to_chars.cpp; the table of GPT-2's byte encoder.

    Outputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.
        begins: Ragged strings.
        ends: Ragged strings.
        chars: Ragged strings.
        skips: Booleans, true for strings that remain unchanged (with a sixth output).
    """

    generations = (RAGGED_STRINGS, (*RAGGED_STRINGS, "skips"))
    outputs = (*RAGGED_STRINGS, "skips")
    varies_outputs = True

    def infer_inputs(
        self,
        *,
        ragged_begins: TensorType,
        ragged_ends: TensorType,
        begins: TensorType,
        ends: TensorType,
        chars: TensorType,
        skips: TensorType | None,
    ) -> Any:
        require_vector(chars, "chars")
        rows = (ragged_begins.without_values(), ragged_ends.without_values())
        outputs = (*rows, *strings_type(begins.shape))
        return outputs if skips is None else (*outputs, skips.without_values())

    def evaluate_inputs(
        self,
        *,
        ragged_begins: Array,
        ragged_ends: Array,
        begins: Array,
        ends: Array,
        chars: Array,
        skips: Array | None,
    ) -> Any:
        table = dict(enumerate(chars_of_bytes()))
        strings = strings_of(begins, ends, chars)
        flags = [False] * len(strings) if skips is None else skips.ravel().tolist()
        changed = (text if keep else _as_chars(table, text) for text, keep in zip(strings, flags, strict=True))
        outputs = (ragged_begins, ragged_ends, *join_strings(changed, begins.shape))
        return outputs if skips is None else (*outputs, skips)


def _as_chars(table: dict[int, str], text: bytes) -> bytes:
    current_limits().require(_BYTES_PER_CHAR * len(text))
    return text.decode("latin-1").translate(table).encode()


_BYTES_PER_CHAR = 8
"""Bytes that the conversion between bytes and characters takes for each of them."""


@text_op("CharsToBytes")
class CharsToBytes(TextOp):
    """The inverse of BytesToChars; the strings of each row are concatenated.

    Source: openvino_tokenizers, chars_to_bytes.cpp.

    Inputs:
        ragged_begins: Ragged strings.
        ragged_ends: Ragged strings.

    Outputs:
        begins: Ragged strings.
        ends: Ragged strings.
        chars: Ragged strings.
        outputs: Strings, one for each row. Characters that do not represent a byte are unchanged; OpenVINO writes a
            byte 0 or reads outside of its table.
    """

    generations = (RAGGED_STRINGS,)
    outputs = STRINGS

    def infer_inputs(self, *, ragged_begins: TensorType, chars: TensorType, **others: TensorType) -> Any:
        require_vector(chars, "chars")
        return strings_type(ragged_begins.shape)

    def evaluate_inputs(
        self, *, ragged_begins: Array, ragged_ends: Array, begins: Array, ends: Array, chars: Array
    ) -> Any:
        table = {char: byte for byte, char in enumerate(chars_of_bytes())}
        strings = strings_of(begins, ends, chars)
        rows = rows_of(ragged_begins, ragged_ends, len(strings))
        return join_strings((_as_bytes(table, strings[first:last]) for first, last in rows), ragged_begins.shape)


def _as_bytes(table: dict[str, int], strings: list[bytes]) -> bytes:
    """The bytes of concatenated strings."""
    current_limits().require((_BYTES_PER_CHAR + 2) * sum(map(len, strings)))
    text = b"".join(strings).decode("utf-8", "surrogateescape")
    encoded = bytearray()
    for start in range(0, len(text), _PIECES_AT_ONCE):
        # A list of all characters would take far more memory than the text.
        encoded += b"".join([_as_byte(table, char) for char in text[start : start + _PIECES_AT_ONCE]])
    return bytes(encoded)


def _as_byte(table: dict[str, int], char: str) -> bytes:
    byte = table.get(char)
    return char.encode("utf-8", "surrogateescape") if byte is None else bytes([byte])
