"""Paths that may be URLs: the parts of their names."""

from __future__ import annotations

import os
import re

__all__ = ["is_url", "name_and_rest", "replaced_suffix", "suffix_of"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: object) -> bool:
    """Return True if a path is a URL, `scheme://...`; drive letters are not."""
    return isinstance(path, str) and _URL.match(path) is not None


def suffix_of(path: str) -> str:
    """The suffix of a file's name, such as `.xml`, in lower case, without the rest of a URL."""
    return os.path.splitext(name_and_rest(path)[0].rstrip("/"))[1].lower()


def replaced_suffix(path: str, suffix: str) -> str:
    """Return the path or URL with another suffix of the file's name."""
    name, ending = name_and_rest(path)
    return os.path.splitext(name)[0] + suffix + ending


def name_and_rest(path: str) -> tuple[str, str]:
    """The name of the file, and the rest of a URL after it: a chain or a query."""
    if not is_url(path):
        return path, ""
    end = min((position for mark in ("::", "?", "#") if (position := path.find(mark)) > 0), default=len(path))
    return path[:end], path[end:]
