"""Regular files: a pipe or a device may never end, and may block even when it is opened."""

from __future__ import annotations

import os
import stat
from io import BufferedReader

__all__ = ["open_regular"]


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading.

    Raises:
        OSError: For anything else.
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise OSError(f"the path is {what}")
    return open(path, "rb")
