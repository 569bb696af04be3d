"""Rows of the operator tables that do not come out in ONNX, by the operator's class, with the reason.

REFUSED: what the reason of a refusal holds. WRONG: what the id of a row holds that ONNX's engines compute otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NOT_READ_BY_OPENVINO", "NOT_WRITTEN_AGAIN", "REFUSED", "WRONG"]

REFUSED: Mapping[str, tuple[str, ...]] = {}

WRONG: Mapping[str, tuple[str, ...]] = {
    # onnxruntime reads places that are not numbers as outside of the image: zeros, not NaN.
    "GridSample": ("nan",),
}

NOT_WRITTEN_AGAIN: frozenset[str] = frozenset()
"""Cases of the official suite that onnxruntime runs, and that are not written again."""

NOT_READ_BY_OPENVINO: Mapping[str, str] = {}
"""Networks whose ONNX file OpenVINO does not run, with the reason."""
