"""Normalization of SentencePiece: character maps and whitespace.

A precompiled map is a trie in a double array (darts-clone), followed by the replacement texts. It is converted to a
dictionary once.

Source: sentencepiece, normalizer.cc; darts-clone, the layout of its units.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from ir_exec.kernels.limits import MemoryMeter, check_time, current_limits
from ir_exec.types import Array

__all__ = ["CharsMap", "Form", "Normalizer", "fold_case", "normalize_text", "without_faults"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_LARGEST_MAP = 2**24
"""Maximum bytes of a map: the maps of SentencePiece have less than a megabyte."""


def without_faults(text: bytes) -> str:
    """Decode a text, with U+FFFD in place of each byte that is not UTF-8.

    Raises:
        ResourceError: If the changes of the text exceed the memory budget of the run.
    """
    current_limits().require(_BYTES_PER_BYTE * len(text))
    string = text.decode("utf-8", "surrogateescape")
    return string if string.isascii() else _FAULTS.sub("\ufffd", string)


_FAULTS = re.compile("[\udc80-\udcff]")

_BYTES_PER_BYTE = 12
"""Bytes that a change takes for each byte of a text: three texts with up to four bytes per character."""

_FOLDED_AT_ONCE = 2**14


def normalize_text(form: Form, text: str) -> str:
    """Return a Unicode normal form of a text, in linear time.

    Python's function takes quadratic time for many combining marks after each other, unless they are in the canonical
    order. Texts with marks in another order are equivalent, and have the same normal forms.
    """
    if len(text) <= LONG_MARKS or text.isascii():
        return unicodedata.normalize(form, text)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    edges = np.flatnonzero(np.diff(_is_mark()[codes], prepend=False, append=False))
    parts, at = [], 0
    for start, end in edges.reshape(-1, 2)[np.diff(edges)[::2] > LONG_MARKS].tolist():
        check_time()
        marks = "".join([unicodedata.normalize("NFD", mark) for mark in text[start:end]])
        parts += [text[at:start], "".join(sorted(marks, key=unicodedata.combining))]
        at = end
    return unicodedata.normalize(form, "".join([*parts, text[at:]]))


@cache
def _is_mark() -> Array:
    """True for combining marks that are reordered, by code, bool, [1114112]."""
    return np.array([unicodedata.combining(chr(code)) > 0 for code in range(0x110000)])


LONG_MARKS = 1000
"""Maximum combining marks after each other that are left to Python's function."""


def fold_case(text: str) -> str:
    """Apply Unicode's simple case folding, which maps each character to one character: `ß` is unchanged."""
    if text.isascii():
        return text.lower()
    # A list of all characters would take far more memory than the text.
    starts = range(0, len(text), _FOLDED_AT_ONCE)
    return "".join(["".join(map(_folded_character, text[start : start + _FOLDED_AT_ONCE])) for start in starts])


@lru_cache(maxsize=2**14)
def _folded_character(char: str) -> str:
    for changed in (char.casefold(), char.lower()):
        if len(changed) == 1:
            return changed
    return char


class Normalizer(NamedTuple):
    """The normalization of SentencePiece: `replace` for characters, then three rules for spaces."""

    replace: Callable[[str], str]
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool

    def normalized(self, text: bytes) -> bytes:
        """Return the normalized text."""
        if not text:
            return text
        string = self.replace(without_faults(text))
        if self.remove_extra_whitespaces:
            string = _SPACES.sub(" ", string).strip(" ")
            if not string:
                return b""
        if self.add_dummy_prefix:
            string = " " + string
        if self.escape_whitespaces:
            string = string.replace(" ", "\u2581")
            # As in SentencePiece, U+2581 in the text is treated as a space.
            string = string.rstrip("\u2581") if self.remove_extra_whitespaces else string
        return string.encode("utf-8", "surrogatepass")


_SPACES = re.compile("  +")


class CharsMap:
    """A precompiled character map: the longest entry at each position of a text is replaced.

    Raises:
        ValueError: For bytes that are not a valid map.
    """

    def __init__(self, blob: Array) -> None:
        entries = read_entries(blob)
        self.read_entries = entries
        self._lengths: dict[str, list[int]] = {}
        for key in sorted(entries, key=len, reverse=True):
            lengths = self._lengths.setdefault(key[0], [])
            if len(key) not in lengths:
                lengths.append(len(key))

    def replaced(self, text: str) -> str:
        """Return the text with all entries replaced, from left to right.

        Raises:
            ResourceError: If the result exceeds the memory budget of the run.
        """
        out, meter = io.StringIO(newline=""), MemoryMeter()
        at = 0
        while at < len(text):
            for length in self._lengths.get(text[at], ()):
                replacement = self.read_entries.get(text[at : at + length])
                if replacement is not None:
                    meter.add(4 * len(replacement) + 1)
                    out.write(replacement)
                    at += length
                    break
            else:
                out.write(text[at])
                at += 1
        return out.getvalue()


def read_entries(blob: Array) -> dict[str, str]:
    """The texts of a map and their replacements."""
    if blob.size == 0:
        return {}
    if blob.size > _LARGEST_MAP:
        raise ValueError(f"the character map has {blob.size} bytes, expected at most {_LARGEST_MAP}")
    size = int(blob[:4].view("<u4")[0]) if blob.size >= 4 else -1
    if not 0 <= size <= blob.size - 4 or size % 4:
        raise ValueError("the character map does not begin with the size of its trie")
    texts = blob[4 + size :].tobytes()
    entries = {}
    for key, offset in _find_entries(np.frombuffer(blob[4 : 4 + size].tobytes(), "<u4")):
        end = texts.find(b"\0", offset)
        if offset > len(texts) or end < 0:
            raise ValueError(f"an entry of the character map is at byte {offset}, expected less than {len(texts)}")
        try:
            entries[key.decode()] = texts[offset:end].decode("utf-8", "replace")
        except UnicodeDecodeError:
            continue
    return entries


def _find_entries(units: Array) -> list[tuple[bytes, int]]:
    """All keys of a double array with their values, sorted by the length of the keys."""
    entries: list[tuple[bytes, int]] = []
    if not units.size:
        return entries
    keys, nodes = [b""], np.array([_offset(units[:1])[0]], np.int64)
    labels = np.arange(1, 256)
    while keys and len(keys) <= units.size:
        children = nodes[:, None] ^ labels
        inside = children < units.size
        values = np.where(inside, units[np.where(inside, children, 0)], 0)
        matches = inside & ((values & 0x800000FF) == labels)
        rows, columns = np.nonzero(matches)
        values, children = values[rows, columns], children[rows, columns]
        keys = [keys[row] + bytes([column + 1]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]
        nodes = children ^ _offset(values)
        leaves = ((values >> 8) & 1) == 1
        ends = np.flatnonzero(leaves & (nodes < units.size)).tolist()
        entries += [(keys[index], int(units[nodes[index]] & 0x7FFFFFFF)) for index in ends]
        if keys and len(keys[0]) > 64:
            raise ValueError("the character map has keys of more than 64 bytes, expected shorter keys")
    return entries


def _offset(units: Array) -> Array:
    return ((units >> 10) << ((units & 0x200) >> 6)).astype(np.int64)
