"""Paths that may be URLs: what files are called, here and elsewhere; what fetches them comes with the first one."""

from __future__ import annotations

import os
import re

__all__ = ["exists", "is_url", "local_path", "name_and_rest", "replaced_suffix", "suffix_of"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: object) -> bool:
    """Whether a path is a URL, `scheme://...`; drive letters are none."""
    return isinstance(path, str) and _URL.match(path) is not None


def exists(path: str) -> bool:
    """Whether there is such a file or folder, here or remotely; False where that cannot be told."""
    if not is_url(path):
        return os.path.exists(path)
    from ir_exec.ir.remote import is_there

    return is_there(path)


def suffix_of(path: str) -> str:
    """The end of a file's name, `.xml`, in lower case, without what follows it in a URL."""
    return os.path.splitext(name_and_rest(path)[0].rstrip("/"))[1].lower()


def replaced_suffix(path: str, suffix: str) -> str:
    """The same path or URL with another end of the file's name."""
    name, rest = name_and_rest(path)
    return os.path.splitext(name)[0] + suffix + rest


def local_path(path: str) -> str:
    """The path of a file with the same content: itself, or where what the URL names was fetched to. Raises OSError."""
    if not is_url(path):
        return path
    from ir_exec.ir.remote import RemoteFile

    remote = RemoteFile.open(path)
    remote.require(0, remote.size)
    return remote.path


def name_and_rest(path: str) -> tuple[str, str]:
    """The name of the file, and what follows it in a URL: the rest of a chain, or a query."""
    if not is_url(path):
        return path, ""
    end = min((place for mark in ("::", "?", "#") if (place := path.find(mark)) > 0), default=len(path))
    return path[:end], path[end:]
