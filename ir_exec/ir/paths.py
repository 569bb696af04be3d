"""Local and remote files by path or URL. The module that fetches files is imported on first use."""

from __future__ import annotations

import os

from ir_exec.ir.urls import is_url

__all__ = ["exists", "local_path"]


def exists(path: str) -> bool:
    """Return True if the local or remote file or folder exists; False if this cannot be determined."""
    if not is_url(path):
        return os.path.exists(path)
    from ir_exec.ir.remote import is_there

    return is_there(path)


def local_path(path: str) -> str:
    """Return the local path of a file, to which a URL is fetched if necessary.

    Raises:
        OSError: If the file cannot be read.
    """
    if not is_url(path):
        return path
    from ir_exec.ir.remote import fetch

    return fetch(path)
