"""Work in small pieces: the one place where tests make kernels cut small tensors as they cut large ones.

Which way a kernel takes is forced by calling that way, or by sizes for which it is chosen; `tests.conformance.numbers`
goes through all thresholds together.
"""

from __future__ import annotations

from typing import Final

import pytest

from ir_exec.tuning import thresholds

__all__ = ["in_pieces"]

_SIZES: Final = {
    *("CHUNK_ELEMENTS", "INTERMEDIATE_ELEMENTS", "WINDOW_ELEMENTS", "HELD_ELEMENTS", "SPLIT_ELEMENTS", "LEAST_WINDOWS"),
    *("FEW_LINES", "BOXES_AT_ONCE", "PIECE_NANOSECONDS", "SHARED_NANOSECONDS", "SHARED_PRODUCT_NANOSECONDS"),
}
"""What says how large a piece is, or from which work on threads share it, and no more."""


def in_pieces(patch: pytest.MonkeyPatch, size: str, number: int) -> None:
    """Let a threshold that says how work is cut be another number."""
    assert size in _SIZES, f"{size} chooses between ways: call the way itself"
    patch.setattr(thresholds, size, number)
