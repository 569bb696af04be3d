"""Files by URL, for all protocols of fsspec: s3, gs, hf, http, zip, memory, and chains as `zip://a.xml::s3://b/c.zip`.

Files are fetched in blocks on demand and stored in the user's cache folder, by URL and by the version that the server
reports. Files without a version are stored for the lifetime of the process. `IR_EXEC_REMOTE_CACHE` names another
folder, which may be deleted at any time.

A server is not trusted: a file without a length, or packed more than a hundred times, may have 1 GiB
(`IR_EXEC_REMOTE_LIMIT` sets another number of bytes), a file with a length has this length, and a request ends if it
is slower than 16 KiB per second after a minute. Files by HTTP are written to the disk as they arrive.
"""

from __future__ import annotations

import errno
import http
import mmap
import os
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from ir_exec.hints import install_hint
from ir_exec.ir.urls import is_url, name_and_rest, suffix_of
from ir_exec.types import Array

__all__ = ["VARIABLE", "RemoteFile", "fetch", "files_below", "is_there"]

VARIABLE = "IR_EXEC_REMOTE_CACHE"
LIMIT_VARIABLE = "IR_EXEC_REMOTE_LIMIT"

Result = TypeVar("Result")

MOST_UNDECLARED = 2**30
"""Maximum bytes of a file without a length."""

MOST_PACKED = 100
"""Maximum ratio of the sizes of an unpacked and a packed member of an archive beyond `MOST_UNDECLARED`."""

MOST_BYTES = 2**48
"""Maximum bytes of any file: far above the size of any model."""

SECONDS = 60.0
"""Seconds for an answer of a server, in addition to the time for its content."""

LEAST_SPEED = 2**14
"""Minimum bytes per second of a content."""

BLOCK = 2**18
"""Bytes of a block. The latency of a request is about the transfer time of a block on a fast line."""

MOST_AT_ONCE = 64
"""Maximum number of blocks per request, to limit memory and the loss by a broken connection."""

_VERSIONS = (
    *("ETag", "etag", "versionId", "version_id", "generation", "blob_id", "sha256", "md5Hash", "content_md5"),
    *("LastModified", "last_modified", "Last-Modified", "updated", "mtime", "modified", "created", "CRC"),
)
"""The names in fsspec's file systems of properties that change with a file."""


def is_there(url: str) -> bool:
    """Return True if the file or folder exists; False if this cannot be determined."""
    try:
        with _errors(url):
            system, path = _system(url)
            return bool(_in_time(SECONDS, lambda: system.exists(path)))
    except OSError:
        return False


def fetch(url: str) -> str:
    """Return the local path of a file that is fetched as a whole."""
    remote = RemoteFile.open(url)
    remote.require(0, remote.size)
    return remote.path


def files_below(url: str) -> list[str] | None:
    """The sorted URLs of all files that match a pattern with `*`, or are in a folder, without hidden ones.

    None for anything else.

    Raises:
        OSError: If the folder cannot be read.
    """
    name, suffix = name_and_rest(url)
    with _errors(url):
        system, folder = _system(url)
        if "*" not in name and not _in_time(SECONDS, lambda: system.isdir(folder)):
            return None
        find = system.glob if "*" in name else system.find
        files = sorted(_in_time(_FIND_SECONDS, lambda: find(folder)))
        names = [str(system.unstrip_protocol(path)) for path in files if not _is_hidden(path, folder)]
        return [name + suffix for name in names]


def _is_hidden(path: str, top: str) -> bool:
    return any(part.startswith(".") for part in path[len(top) :].split("/"))


_FIND_SECONDS = 600.0
"""Seconds for listing a folder with all its files."""


class RemoteFile:
    """A file that is fetched in blocks into a local one of the same size; `stored` is that file, mapped.

    Several processes may fetch the same file: they write equal bytes.

    Attributes:
        version: Reported by the server, or None.
    """

    def __init__(self, url: str, system: Any, path: str, size: int, version: str | None) -> None:
        self.url = url
        self.size = size
        self.version = version
        self._system, self._place = system, path
        folder = _folder() if version is not None else tempfile.mkdtemp(prefix="remote-", dir=_temporary().name)
        key = sha256(f"{url}\0{size}\0{version}".encode("utf-8", "surrogatepass")).hexdigest()[:40]
        # Readers are selected by the end of the name.
        self.path = os.path.join(folder, key + suffix_of(url))
        self._content = _map_file(self.path, size)
        self._has = _map_file(os.path.join(folder, f"{key}.blocks"), -(-size // BLOCK))
        self.stored = self._content.view()
        self.stored.flags.writeable = False

    @classmethod
    def open(cls, url: str, *, most_bytes: int | None = None) -> RemoteFile:
        """Query the size and the version of a file, without fetching it, unless the server does not report the size.

        Args:
            most_bytes: Maximum bytes of a file without a length; the default is that of the module.

        Raises:
            OSError: If the file does not exist, or is larger than permitted.
        """
        with _errors(url):
            system, path = _system(url)
            facts = _in_time(SECONDS, lambda: system.info(path))
            if facts.get("type") == "directory":
                raise IsADirectoryError(errno.EISDIR, "it is a folder", url)
            versions = {name: str(facts[name]) for name in _VERSIONS if facts.get(name) is not None}
            undeclared = _most_undeclared()
            if facts.get("size") is None:
                # A server that does not report the size sends the whole file at once.
                most = undeclared if most_bytes is None else min(most_bytes, undeclared)
                return cls._of_stream(url, system, path, most)
            size = _checked_size(facts, undeclared)
            return cls(url, system, path, size, repr(sorted(versions.items())) if versions else None)

    @classmethod
    def _of_stream(cls, url: str, system: Any, path: str, most_bytes: int) -> RemoteFile:
        with tempfile.TemporaryFile(dir=_temporary().name) as stored:
            with _open(system, path) as file:
                for chunk in _chunks(file, url, most_bytes):
                    stored.write(chunk)
            opened = cls(url, system, path, stored.tell(), None)
            stored.seek(0)
            for start in range(0, opened.size, BLOCK):
                opened._keep(start, stored.read(BLOCK))
        return opened

    def require(self, offset: int, size: int) -> None:
        """Fetch the missing bytes in this range.

        Raises:
            OSError: On failure.
        """
        first, last = offset // BLOCK, -(-min(offset + size, self.size) // BLOCK)
        missing = first + np.flatnonzero(self._has[first:last] == 0)
        if len(missing):
            _require_disk(os.path.dirname(self.path), len(missing) * BLOCK)
        for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            for part in range(0, len(run), MOST_AT_ONCE):
                blocks = run[part : part + MOST_AT_ONCE]
                self._fetch(int(blocks[0]) * BLOCK, min((int(blocks[-1]) + 1) * BLOCK, self.size))

    def _fetch(self, start: int, stop: int) -> None:
        if _is_http(self._system):
            with _errors(self.url):
                self._stream(start, stop)
            return
        with _errors(self.url):
            seconds = SECONDS + (stop - start) / LEAST_SPEED
            content = _in_time(seconds, lambda: self._system.cat_file(self._place, start=start, end=stop))
        if len(content) == self.size:
            start = 0  # a server without ranges sends everything
        elif len(content) != stop - start:
            raise OSError(errno.EIO, f"received {len(content)} bytes, expected {stop - start}", self.url)
        self._keep(start, content)

    def _stream(self, start: int, stop: int) -> None:
        """Write a range to the disk while it arrives; a server without ranges sends everything."""
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        with _open(self._system, self._place, headers=headers) as file:
            if file.r.status != http.HTTPStatus.PARTIAL_CONTENT:
                start, stop = 0, self.size
            at, pending = start, bytearray()
            for chunk in _chunks(file, self.url, stop - start):
                pending += chunk
                # Blocks are marked only when they are complete.
                complete = len(pending) if at + len(pending) == stop else len(pending) // BLOCK * BLOCK
                self._keep(at, bytes(pending[:complete]))
                at += complete
                del pending[:complete]
        if at != stop:
            raise OSError(
                errno.EIO, f"received {at + len(pending) - start:,} bytes, expected {stop - start:,}", self.url
            )

    def _keep(self, start: int, content: bytes) -> None:
        self._content[start : start + len(content)] = np.frombuffer(content, np.uint8)
        self._has[start // BLOCK : -(-(start + len(content)) // BLOCK)] = 1


def _in_time(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of a call in another thread, which is abandoned if it takes longer.

    Raises:
        TimeoutError: If it does.
    """
    answers: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        result, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there is an error or a result


def _is_http(system: Any) -> bool:
    protocols = (system.protocol,) if isinstance(system.protocol, str) else system.protocol
    return "http" in protocols


@contextmanager
def _open(system: Any, path: str, **options: Any) -> Iterator[Any]:
    """A file that is read from its start; options: of a request by HTTP, whose response is in `r`."""
    if _is_http(system):
        # Without blocks the response is read while it arrives; the size only avoids another request.
        options |= {"block_size": 0, "size": 1}
    file = _in_time(SECONDS, lambda: system.open(path, "rb", **options))
    try:
        yield file
    finally:
        file.close()


def _chunks(file: Any, url: str, most_bytes: int) -> Iterator[bytes]:
    """The content of a file while it arrives.

    Raises:
        OSError: For more than `most_bytes`, and for a slow server.
    """
    start, received = monotonic(), 0
    while chunk := _in_time(SECONDS, lambda: file.read(BLOCK)):
        received += len(chunk)
        if received > most_bytes:
            raise OSError(errno.EFBIG, f"received more than {most_bytes:,} bytes", url)
        if monotonic() - start > SECONDS + received / LEAST_SPEED:
            raise TimeoutError
        yield chunk


def _most_undeclared() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "")
    return int(text) if text.isdecimal() and len(text) < 19 else MOST_UNDECLARED


def _checked_size(facts: dict[str, Any], undeclared: int) -> int:
    """The size of a file as the server declares it.

    Raises:
        OSError: If it is not possible or not permitted.
    """
    size = int(facts["size"])
    if not 0 <= size <= MOST_BYTES:
        raise OSError(errno.EFBIG, f"the server declares {size:,} bytes, expected at most {MOST_BYTES:,}")
    packed = facts.get("compress_size")
    if isinstance(packed, int) and size > max(undeclared, MOST_PACKED * packed):
        raise OSError(
            errno.EFBIG, f"the file has {size:,} bytes, packed into {packed:,}, expected at most {undeclared:,}"
        )
    return size


def _require_disk(folder: str, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise OSError(errno.ENOSPC, f"the file takes {size:,} bytes, but {folder} has {free:,}")


def _map_file(path: str, size: int) -> Array:
    """A file of this size, created with zeros if missing, as bytes to read and write."""
    if size == 0:
        with open(path, "ab"):
            return np.empty(0, np.uint8)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        if os.fstat(descriptor).st_size != size:
            os.ftruncate(descriptor, size)
        return np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
    finally:
        os.close(descriptor)


def _folder() -> str:
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        if sys.platform == "win32":
            above = os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()
        elif sys.platform == "darwin":
            above = os.path.expanduser("~/Library/Caches")
        else:
            above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        chosen = os.path.join(above, "ir_exec", "remote")
    os.makedirs(chosen, mode=0o700, exist_ok=True)
    return chosen


@lru_cache(maxsize=1)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ir-exec-remote-", ignore_cleanup_errors=True)


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise OSError(f"URLs require fsspec, which is not installed: {install_hint('remote')}") from None
    resolved: tuple[Any, str]
    try:
        resolved = url_to_fs(url)
    except ValueError:
        archive, chained, inner = url.partition("::")
        if not chained:
            raise
        # Archives are read from their end, which a server without ranges does not allow: fetch the whole file.
        resolved = url_to_fs(f"{archive}::file://{fetch(inner) if is_url(inner) else inner}")
    return resolved


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Convert the exceptions of any file system to OSError with a reason."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
    except TimeoutError:
        raise TimeoutError(errno.ETIMEDOUT, "no response in time", url) from None
    except OSError:
        raise
    except ImportError as error:
        raise OSError(f"this kind of URL requires another package: {error}") from None
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}"[:300]) from None
