"""The allocator of the C library."""

from __future__ import annotations

import os

__all__ = ["return_freed_memory"]


def return_freed_memory() -> None:
    """Make glibc return freed memory to the system; no effect on other systems.

    The elements of a large XML file are freed when it was read, but glibc keeps their memory if anything allocated
    later is still alive. Measured with 20,000 layers: 9.5 kB a layer stay without this call, 3.5 kB with it; the call
    takes 4 % of the time for reading.
    """
    if os.name != "posix":
        return
    import ctypes  # not needed for small files

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
