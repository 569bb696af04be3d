"""Strings as begins, ends and characters, joined within the memory of a run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ResourceError
from ir_exec.kernels.limits import MemoryMeter
from ir_exec.types import Array

__all__ = ["STRING_BYTES", "encode_text", "join_strings"]

STRING_BYTES = 136
"""Bytes of a string in a list in addition to its characters: the object, its entry, and two offsets as integers."""

_JOINED_BYTES = 32
"""Bytes of begin, end and length of a joined string, as i32 and while they are computed."""

MOST_CHARACTERS = 2**31 - 1


def encode_text(text: str) -> bytes:
    """Return a string as bytes: the surrogates of `surrogateescape` become the original bytes.

    Raises:
        EvaluationError: IR704 for another surrogate, which is no character.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EvaluationError(
            "a string contains the surrogate",
            actual=f"U+{ord(text[error.start]):04X}",
            expected="characters of Unicode",
            code=Code.bad_value,
        ) from None


def join_strings(strings: Iterable[bytes], shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return `begins` and `ends` (i32, of this shape) and `chars` (u8) of concatenated strings.

    Strings of an iterator are computed one by one, and their total is compared with the memory budget of the run.

    Raises:
        ResourceError: If the strings exceed the budget, or the range of i32.
    """
    meter = MemoryMeter()
    chars, lengths = bytearray(), array("q")
    for text in strings:
        meter.add(len(text) + _JOINED_BYTES)
        chars += text
        lengths.append(len(text))
    if len(chars) > MOST_CHARACTERS:
        raise ResourceError(
            "the strings have", actual=f"{len(chars):,}", detail="bytes", expected=f"at most {MOST_CHARACTERS:,}"
        )
    ends = np.cumsum(np.frombuffer(lengths, np.int64))
    begins = ends - np.frombuffer(lengths, np.int64)
    return (
        begins.astype(np.int32).reshape(shape),
        ends.astype(np.int32).reshape(shape),
        np.frombuffer(chars, np.uint8),
    )
