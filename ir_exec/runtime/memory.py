"""How much memory a run may take."""

from __future__ import annotations

import os

__all__ = ["default_budget"]

FALLBACK = 64 * 2**30
"""For systems that do not tell how much memory they have."""


def default_budget() -> int:
    """The memory of the machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return FALLBACK
