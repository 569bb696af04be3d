"""The allocator of the C library. It is one for the whole process, so only the command line sets it."""

from __future__ import annotations

import ctypes
import os

from ir_exec.runtime.memory import default_budget

__all__ = ["keep_freed_memory"]

_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4

_VARIABLES = ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
"""The user has chosen settings where one of these is set."""


def keep_freed_memory() -> None:
    """Let glibc use the memory of freed tensors again instead of giving it back to the system; elsewhere do nothing.

    glibc takes every tensor of more than 128 KiB from the system and gives it back when it is freed; the system fills
    the next one with zeros, page by page, which takes many layers longer than their work. With these settings tensors
    come from the heap, and a sixteenth of the machine's memory, at most 1 GiB, stays there when they are freed.
    """
    if any(name in os.environ for name in _VARIABLES):
        return
    libc = ctypes.CDLL(None) if os.name == "posix" else None
    mallopt = getattr(libc, "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, min(2**30, default_budget() // 16))
