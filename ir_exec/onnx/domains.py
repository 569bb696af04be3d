"""The names of the domains of ONNX."""

from __future__ import annotations

__all__ = ["MICROSOFT", "ML", "NEWEST", "STANDARD", "TRAINING", "canonical_domain", "shown_domain"]

STANDARD = ""
ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"
MICROSOFT = "com.microsoft"


NEWEST = 28
"""The newest version of the standard domain that the functions of `ir_exec.onnx.ops` were written for."""


def canonical_domain(domain: str) -> str:
    """The standard domain has two spellings."""
    return STANDARD if domain == "ai.onnx" else domain


def shown_domain(domain: str) -> str:
    """The domain as messages name it."""
    return domain or "ai.onnx"
