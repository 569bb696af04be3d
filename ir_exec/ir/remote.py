"""Files by URL, for all protocols of fsspec: s3, gs, hf, http, zip, memory, and chains as `zip://a.xml::s3://b/c.zip`.

Files are fetched in blocks on demand and stored in the user's cache folder, by URL and by the version that the server
reports. Files without a version are stored for the lifetime of the process. `IR_EXEC_REMOTE_CACHE` names another
folder, which may be deleted at any time.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from ir_exec.hints import install_hint
from ir_exec.ir.urls import name_and_rest, suffix_of
from ir_exec.types import Array

__all__ = ["VARIABLE", "RemoteFile", "files_below", "is_there"]

VARIABLE = "IR_EXEC_REMOTE_CACHE"

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
            system, place = _system(url)
            return bool(system.exists(place))
    except OSError:
        return False


def files_below(url: str) -> list[str] | None:
    """The sorted URLs of all files that match a pattern with `*`, or are in a folder, without hidden ones.

    None for anything else.

    Raises:
        OSError: If the folder cannot be read.
    """
    name, rest = name_and_rest(url)
    with _errors(url):
        system, place = _system(url)
        if "*" not in name and not system.isdir(place):
            return None
        found = sorted(system.glob(place) if "*" in name else system.find(place))
        names = [str(system.unstrip_protocol(path)) for path in found if not _is_hidden(path, place)]
        return [name + rest for name in names]


def _is_hidden(path: str, top: str) -> bool:
    return any(part.startswith(".") for part in path[len(top) :].split("/"))


class RemoteFile:
    """A file that is fetched in blocks into a local one of the same size; `stored` is that file, mapped.

    Several processes may fetch the same file: they write equal bytes.

    Attributes:
        version: Reported by the server, or None.
    """

    def __init__(self, url: str, system: Any, place: str, size: int, version: str | None) -> None:
        self.url = url
        self.size = size
        self.version = version
        self._system, self._place = system, place
        folder = _folder() if version is not None else tempfile.mkdtemp(prefix="remote-", dir=_temporary().name)
        key = sha256(f"{url}\0{size}\0{version}".encode("utf-8", "surrogatepass")).hexdigest()[:40]
        # Readers are selected by the end of the name.
        self.path = os.path.join(folder, key + suffix_of(url))
        self._content = _mapped(self.path, size)
        self._has = _mapped(os.path.join(folder, f"{key}.blocks"), -(-size // BLOCK))
        self.stored = self._content.view()
        self.stored.flags.writeable = False

    @classmethod
    def open(cls, url: str) -> RemoteFile:
        """Query the size and the version of a file, without fetching it.

        Raises:
            OSError: If the file does not exist.
        """
        with _errors(url):
            system, place = _system(url)
            facts = system.info(place)
            if facts.get("type") == "directory":
                raise IsADirectoryError(errno.EISDIR, "it is a folder", url)
            versions = {name: str(facts[name]) for name in _VERSIONS if facts.get(name) is not None}
            if facts.get("size") is None:
                # A server that does not report the size sends the whole file at once.
                content = system.cat_file(place)
                opened = cls(url, system, place, len(content), None)
                opened._keep(0, content)
                return opened
            return cls(url, system, place, int(facts["size"]), repr(sorted(versions.items())) if versions else None)

    def require(self, offset: int, size: int) -> None:
        """Fetch the missing bytes in this range.

        Raises:
            OSError: On failure.
        """
        first, last = offset // BLOCK, -(-min(offset + size, self.size) // BLOCK)
        missing = first + np.flatnonzero(self._has[first:last] == 0)
        for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            for part in range(0, len(run), MOST_AT_ONCE):
                blocks = run[part : part + MOST_AT_ONCE]
                self._fetch(int(blocks[0]) * BLOCK, min((int(blocks[-1]) + 1) * BLOCK, self.size))

    def _fetch(self, start: int, stop: int) -> None:
        with _errors(self.url):
            content = self._system.cat_file(self._place, start=start, end=stop)
        if len(content) == self.size:
            start = 0  # a server without ranges sends everything
        elif len(content) != stop - start:
            raise OSError(errno.EIO, f"received {len(content)} bytes, expected {stop - start}", self.url)
        self._keep(start, content)

    def _keep(self, start: int, content: bytes) -> None:
        self._content[start : start + len(content)] = np.frombuffer(content, np.uint8)
        self._has[start // BLOCK : -(-(start + len(content)) // BLOCK)] = 1


def _mapped(path: str, size: int) -> Array:
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
    found: tuple[Any, str]
    try:
        found = url_to_fs(url)
    except ValueError:
        archive, chained, rest = url.partition("::")
        if not chained:
            raise
        # Archives are read from their end, which a server without ranges does not allow: fetch the whole file.
        found = url_to_fs(f"{archive}::simplecache::{rest}")
    return found


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
