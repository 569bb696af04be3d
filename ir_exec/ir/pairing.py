"""The digest of a .bin in the rt_info of its .xml, to recognize a .bin that was not written with the .xml.

    <rt_info>
        <weights_digest>
            <size value="1024"/>
            <sample value="..."/>
            <complete value="..."/>
            <document value="..."/>
        </weights_digest>
    </rt_info>

`sample` is the digest of blocks at fixed positions, which every reader verifies; `complete` is that of all bytes.
`document` is the digest of the .xml itself with zeros in its place. Other tools keep unknown entries of rt_info when
they write a model with other weights; the .xml then differs from `document`, and the entry is ignored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import BinaryIO, NamedTuple, TypeAlias

from ir_exec.ir.document import RtInfo

__all__ = ["ENTRY", "WeightsDigest", "compute_digest", "digest_in", "is_sealed", "seal", "without_digest"]

ENTRY = "weights_digest"
"""The name of the entry in the rt_info of a model."""

_BLOCK = 4096
_BLOCKS = 64
"""Number of blocks of the sample: smaller files are read completely."""

_CHUNK = 2**17
_DIGEST_BYTES = 32
_BLANK = "0" * 2 * _DIGEST_BYTES
_SEAL = re.compile(rb'<document value="([0-9a-f]{64})"\s*/>')

ReadBytes: TypeAlias = Callable[[int, int], bytes | memoryview]
"""A function that returns the bytes at an offset, of a size."""


class WeightsDigest(NamedTuple):
    """The size of a .bin, the digest of its sample, and the digest of all of its bytes."""

    size: int
    sample: str
    complete: str

    def is_sample_of(self, size: int, read: ReadBytes) -> bool:
        """Return True if the size and the sample of weights are equal to these."""
        return size == self.size and compute_sample(size, read) == self.sample

    def is_digest_of(self, size: int, read: ReadBytes) -> bool:
        """Return True if the size and all bytes of weights are equal to these."""
        return size == self.size and _compute_complete(size, read) == self.complete

    def entry(self) -> RtInfo:
        """Return the entry of rt_info, with a blank digest of the document."""
        values = {"size": str(self.size), "sample": self.sample, "complete": self.complete, "document": _BLANK}
        children = tuple([RtInfo(name=name, attributes={"value": text}) for name, text in values.items()])
        return RtInfo(name=ENTRY, children=children)


def compute_digest(file: BinaryIO, size: int) -> WeightsDigest:
    """Return the digest of a file that is open for reading."""

    def read(offset: int, count: int) -> bytes:
        file.seek(offset)
        return file.read(count)

    return WeightsDigest(size, compute_sample(size, read), _compute_complete(size, read))


def compute_sample(size: int, read: ReadBytes) -> str:
    """Return the digest of blocks at fixed positions, among them the first and the last one."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    if size <= _BLOCK * _BLOCKS:
        digest.update(read(0, size))
    else:
        for index in range(_BLOCKS):
            digest.update(read((size - _BLOCK) * index // (_BLOCKS - 1), _BLOCK))
    return digest.hexdigest()


def _compute_complete(size: int, read: ReadBytes) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for start in range(0, size, _CHUNK):
        digest.update(read(start, min(_CHUNK, size - start)))
    return digest.hexdigest()


def seal(raw: bytes) -> bytes:
    """Return the text of an .xml with the digest of the document in its entry; unchanged without an entry."""
    match = _find_seal(raw)
    if match is None:
        return raw
    start, end = match.span(1)
    blank = raw[:start] + _BLANK.encode() + raw[end:]
    digest = hashlib.blake2b(blank, digest_size=_DIGEST_BYTES).hexdigest()
    return raw[:start] + digest.encode() + raw[end:]


def is_sealed(raw: bytes) -> bool:
    """Return True if the text of an .xml has the digest of the document."""
    return _find_seal(raw) is not None and seal(raw) == raw


def digest_in(rt_info: RtInfo, raw: bytes) -> WeightsDigest | None:
    """Return the digest in the rt_info of a document; None if there is none, or if another tool wrote the file."""
    entry = next((child for child in rt_info.children if child.name == ENTRY), None)
    if entry is None or not is_sealed(raw):
        return None
    size, sample, complete = (entry.value(name) for name in ("size", "sample", "complete"))
    if not (size and sample and complete and size.isascii() and size.isdigit() and len(size) <= 19):
        return None
    return WeightsDigest(int(size), sample, complete)


def without_digest(rt_info: RtInfo) -> RtInfo:
    """Return rt_info without the entry."""
    children = tuple([child for child in rt_info.children if child.name != ENTRY])
    if len(children) == len(rt_info.children):
        return rt_info
    return rt_info.model_copy(update={"children": children})


def _find_seal(raw: bytes) -> re.Match[bytes] | None:
    start = raw.rfind(b"<document value=")
    return None if start < 0 else _SEAL.match(raw, start)
