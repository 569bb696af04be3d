"""What a kernel says about why it was taken."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KernelChoice"]


class KernelChoice(NamedTuple):
    """reason: why it was taken. alternatives: the others, and why not these."""

    reason: str
    alternatives: tuple[str, ...]
