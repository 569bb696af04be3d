"""The digest of a .bin in the rt_info of its .xml, to recognize a .bin that was not written with the .xml.

    <rt_info>
        <weights_digest>
            <size value="1024"/>
            <sample value="..."/>
            <chunks value="..."/>
            <document value="..."/>
        </weights_digest>
    </rt_info>

`sample` is the digest of blocks at fixed positions, which every reader verifies. `chunks` is that of all bytes: the
sha256 of the sha256 of each chunk, computed by several threads. Files of earlier versions have `complete` instead, the
BLAKE2b of all bytes.
`document` is the digest of the .xml itself with zeros in its place. Other tools keep unknown entries of rt_info when
they write a model with other weights; the .xml then differs from `document`, and the entry is ignored.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self, TypeAlias

from ir_exec.ir.document import RtInfo

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["CHUNK", "ENTRY", "DigestBuilder", "WeightsDigest", "digest_in", "is_sealed", "seal", "without_digest"]

ENTRY = "weights_digest"
"""The name of the entry in the rt_info of a model."""

_BLOCK = 4096
_BLOCKS = 64
"""Number of blocks of the sample: smaller files are read completely."""

CHUNK = 2**22
"""Bytes of a chunk: part of the format of files."""

_READ_BYTES = 2**17
_HASHING_THREADS = 2
_DIGEST_BYTES = 32
_BLANK = "0" * 2 * _DIGEST_BYTES
_SEAL = re.compile(rb'<document value="([0-9a-f]{64})"\s*/>')

ReadBytes: TypeAlias = Callable[[int, int], bytes | memoryview]
"""A function that returns the bytes at an offset, of a size."""


class WeightsDigest(NamedTuple):
    """The digest of a .bin.

    Attributes:
        size: The number of bytes.
        sample: The digest of the sample.
        chunks: The digest of the digests of all chunks; None in files of earlier versions.
        complete: The digest of all bytes in files of earlier versions, else None.
    """

    size: int
    sample: str
    chunks: str | None = None
    complete: str | None = None

    def is_sample_of(self, size: int, read: ReadBytes) -> bool:
        """Return True if the size and the sample of weights are equal to these."""
        return size == self.size and compute_sample(size, read) == self.sample

    def is_digest_of(self, size: int, read: ReadBytes) -> bool:
        """Return True if the size and all bytes of weights are equal to these; `read` is called by several threads."""
        if size != self.size:
            return False
        if self.chunks is None:
            return _compute_complete(size, read) == self.complete
        with _ChunkHasher(read) as hasher:
            return hasher.finish(size) == self.chunks

    def entry(self) -> RtInfo:
        """Return the entry of rt_info, with a blank digest of the document."""
        texts = {"size": str(self.size), "sample": self.sample, "chunks": self.chunks, "complete": self.complete}
        values = {name: text for name, text in texts.items() if text is not None} | {"document": _BLANK}
        children = tuple([RtInfo(name=name, attributes={"value": text}) for name, text in values.items()])
        return RtInfo(name=ENTRY, children=children)


class DigestBuilder:
    """The digest of a file, computed while it is written: its pages are still in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hasher = _ChunkHasher(self._map)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_class: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._hasher.__exit__(error_class, error, trace)

    def extend(self, size: int) -> None:
        """Hash the complete chunks of the first `size` bytes, which are final."""
        if size - self._hasher.end >= CHUNK:
            self._file.flush()
            self._hasher.extend(size)

    def finish(self, size: int) -> WeightsDigest:
        """Return the digest of the complete file, with its position at the end."""
        self._file.flush()
        sample = compute_sample(size, self._read)
        self._file.seek(size)
        return WeightsDigest(size, sample, self._hasher.finish(size))

    def _read(self, offset: int, count: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(count)

    def _map(self, offset: int, count: int) -> memoryview:
        return memoryview(mmap.mmap(self._file.fileno(), count, offset=offset, access=mmap.ACCESS_READ))


class _ChunkHasher:
    """A hasher of chunks on threads of its own, which start with the second chunk.

    Attributes:
        end: The end of the chunks that are hashed or queued.
    """

    def __init__(self, read: ReadBytes) -> None:
        self.end = 0
        self._read = read
        self._digests: list[Future[bytes]] = []
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_class: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def extend(self, size: int) -> None:
        """Hash the complete chunks of the first `size` bytes."""
        while size - self.end >= CHUNK:
            self._submit(CHUNK)

    def finish(self, size: int) -> str:
        """Return the digest of `size` bytes."""
        if size <= CHUNK and not self._digests:
            return hashlib.sha256(self._hash(0, size)).hexdigest()
        self.extend(size)
        if size > self.end:
            self._submit(size - self.end)
        return hashlib.sha256(b"".join([digest.result() for digest in self._digests])).hexdigest()

    def _submit(self, count: int) -> None:
        if self._threads is None:
            from concurrent.futures import ThreadPoolExecutor  # not needed for reading a model

            self._threads = ThreadPoolExecutor(_HASHING_THREADS, "ir-exec-digest")
        self._digests.append(self._threads.submit(self._hash, self.end, count))
        self.end += count

    def _hash(self, offset: int, count: int) -> bytes:
        return hashlib.sha256(self._read(offset, count)).digest()


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
    for start in range(0, size, _READ_BYTES):
        digest.update(read(start, min(_READ_BYTES, size - start)))
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
    size, sample, chunks, complete = (entry.value(name) for name in ("size", "sample", "chunks", "complete"))
    if not (size and sample and (chunks or complete) and size.isascii() and size.isdigit() and len(size) <= 19):
        return None
    return WeightsDigest(int(size), sample, chunks or None, complete or None)


def without_digest(rt_info: RtInfo) -> RtInfo:
    """Return rt_info without the entry."""
    children = tuple([child for child in rt_info.children if child.name != ENTRY])
    if len(children) == len(rt_info.children):
        return rt_info
    return rt_info.model_copy(update={"children": children})


def _find_seal(raw: bytes) -> re.Match[bytes] | None:
    start = raw.rfind(b"<document value=")
    return None if start < 0 else _SEAL.match(raw, start)
