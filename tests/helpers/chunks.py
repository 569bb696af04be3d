"""Work in small chunks: the one place where tests make kernels split small tensors like large ones.

Which way a kernel takes is forced by calling that way, or by sizes for which it is chosen; `tests.conformance.numbers`
goes through all thresholds together.
"""

from __future__ import annotations

from typing import Final

import pytest

from ir_exec.kernels.attention import attention_for
from ir_exec.tuning import thresholds

__all__ = ["in_chunks"]

_SIZES: Final = {
    *(
        "CHUNK_ELEMENTS",
        "INTERMEDIATE_ELEMENTS",
        "WINDOW_ELEMENTS",
        "WORKING_ELEMENTS",
        "SPLIT_ELEMENTS",
        "LEAST_WINDOWS",
    ),
    *("FEW_LINES", "BOXES_AT_ONCE", "CHUNK_NANOSECONDS", "SHARED_NANOSECONDS", "SHARED_PRODUCT_NANOSECONDS"),
}
"""Thresholds that set only the size of a chunk, or the minimum work that threads share."""


def in_chunks(patch: pytest.MonkeyPatch, size: str, number: int) -> None:
    """Change a threshold that determines how work is split."""
    assert size in _SIZES, f"{size} chooses between ways: call the way itself"
    patch.setattr(thresholds, size, number)
    # It remembers how work was split.
    patch.setattr("ir_exec.ops.sequence.attention.attention_for", attention_for.__wrapped__)
