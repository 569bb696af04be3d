"""Positions of tokens in a text, as byte offsets in UTF-8.

An OpenVINO tokenizer returns only ids. Its vocabulary determines the positions: tokens are searched for in the text one
after the other, first byte by byte, then without case, accents and compatibility characters, which normalization may
remove.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from ir_exec.text.folders.folder import FolderPart, read_part
from ir_exec.text.folders.vocabularies import entries_of
from ir_exec.text.ops.splitting import BytesToChars, chars_of_bytes
from ir_exec.text.tokenizers.charsmap import normalize_text
from ir_exec.types import Array

__all__ = ["Offsets", "batch_offsets", "byte_offsets", "ends_in_common"]

Offsets = list[tuple[int, int] | None]

_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
_SPACE = "\u2581".encode()
_UNKNOWN = frozenset({b"<unk>", b"[UNK]", b"<UNK>"})
"""Entries for text outside the vocabulary; a text may contain the same characters."""


def byte_offsets(part: FolderPart, text: str, ids: Sequence[int], added: tuple[int, int] = (0, 0)) -> Offsets:
    """Return begin and end of each token in the text, in bytes.

    The first token that is not found, and all tokens after it, are None; unknown tokens, and tokens of an unreadable
    vocabulary, are not found. Tokens that normalization inserts, such as a leading space, are empty.

    Args:
        part: The tokenizer.
        added: The numbers of added tokens at both ends; their offsets are empty, at 0 and at the length of the text.
    """
    front, back = added
    entries = entries_of(part)
    data = text.encode("utf-8", "surrogatepass")
    if entries is None:
        return [None] * len(ids)
    is_coded = any(isinstance(node.op, BytesToChars) for node in part.nodes)
    offsets: Offsets = [(0, 0)] * front
    at: int | None = 0
    for token in ids[front : len(ids) - back]:
        span = None if at is None else _find_span(data, at, entries.get(token, b""), is_coded)
        offsets.append(span)
        at = None if span is None else span[1]
    return offsets + [(len(data), len(data))] * back


def ends_in_common(tokens: Sequence[int], empty: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of tokens at both ends that an empty text also has."""
    first = 0
    while first < min(len(tokens), len(empty)) and tokens[first] == empty[first]:
        first += 1
    last = 0
    while last < min(len(tokens), len(empty)) - first and tokens[-1 - last] == empty[-1 - last]:
        last += 1
    return first, last


def batch_offsets(
    path: str, texts: Sequence[str], ids: Array, mask: Array | None, empty: Sequence[int]
) -> list[Offsets] | None:
    """Return the offsets of a batch of texts, None for padding; None for a model without a vocabulary.

    Args:
        path: The model of the tokenizer.
        ids: Its outputs, [texts, tokens].
        mask: Its outputs, [texts, tokens].
        empty: The tokens of an empty text.
    """
    part = read_part("tokenizer", path)
    if entries_of(part) is None:
        return None
    rows = []
    for index, text in enumerate(texts):
        row = ids[index].tolist()
        is_token = [True] * len(row) if mask is None else [bool(is_counted) for is_counted in mask[index]]
        tokens = [token for token, counts in zip(row, is_token, strict=True) if counts]
        places = iter(byte_offsets(part, text, tokens, ends_in_common(tokens, empty)))
        rows.append([next(places) if counts else None for counts in is_token])
    return rows


def _find_span(data: bytes, at: int, entry: bytes, is_coded: bool) -> tuple[int, int] | None:
    """Find an entry of the vocabulary at this position or after whitespace."""
    if entry in _UNKNOWN:
        return None
    spaces = len(data) - at - len(data[at:].lstrip())
    for form in _forms(entry, is_coded):
        for begin in (at, at + spaces):
            if data.startswith(form, begin) and (form or not entry.strip(b" " + _SPACE)):
                return (begin, begin + len(form)) if form else (at, at)
    try:
        expected = _plain(next(_forms(entry, is_coded)).decode().strip().removeprefix("##"))
        remaining = data[at + spaces :].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    skipped = next((position for position, char in enumerate(remaining) if _plain(char)), 0)
    count = _length(remaining[skipped:], expected) if expected else None
    if count is None:
        return None
    begin = at + spaces + len(remaining[:skipped].encode("utf-8", "surrogatepass"))
    return begin, begin + len(remaining[skipped : skipped + count].encode("utf-8", "surrogatepass"))


def _forms(entry: bytes, is_coded: bool) -> Iterator[bytes]:
    """The bytes that an entry may represent, the most likely first."""
    if is_coded:
        codes = _codes()
        with suppress(KeyError, UnicodeDecodeError):
            entry = bytes([codes[char] for char in entry.decode()])
    byte = _BYTE.fullmatch(entry)
    if byte:
        yield bytes([int(byte[1], 16)])
    form = entry.replace(_SPACE, b" ").removesuffix(b"</w>")
    yield form
    # Without the space that normalization adds, and without the prefix of continued words.
    yield form.lstrip(b" ")
    if form.startswith(b"##"):
        yield form[2:]
    yield entry


@lru_cache(maxsize=1)
def _codes() -> dict[str, int]:
    return {char: byte for byte, char in enumerate(chars_of_bytes())}


def _plain(text: str) -> str:
    """Return the text without case, accents and compatibility characters."""
    letters = normalize_text("NFKD", text.lower())
    return "".join([char for char in letters if unicodedata.category(char) != "Mn"]).lower()


def _length(text: str, expected: str) -> int | None:
    """Return the length of the prefix of the text that equals `expected` after `_plain`, including marks."""
    matched = ""
    for count, char in enumerate(text):
        more = _plain(char)
        if matched == expected and more:
            return count
        matched += more
        if not expected.startswith(matched):
            return None
    return len(text) if matched == expected else None
