"""Rows of the operator tables that do not come out in ONNX, by the operator's class, with the reason.

REFUSED: what the reason of a refusal holds. WRONG: what the id of a row holds that ONNX's engines compute otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REFUSED", "WRONG"]

REFUSED: Mapping[str, tuple[str, ...]] = {}

WRONG: Mapping[str, tuple[str, ...]] = {
    # onnxruntime reads places that are not numbers as outside of the image: zeros, not NaN.
    "GridSample": ("nan",),
}
