"""Findings of `check_for`, and weights for folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ir_exec import build
from ir_exec.check import Diagnostic
from ir_exec.text.targets import Target, check_for
from ir_exec.types import ElementType

__all__ = ["find_diagnostics", "four_bits", "severities"]

INPUTS = 256
"""Columns of the weights of four bits."""


def find_diagnostics(path: Path | str, target: Target) -> list[Diagnostic]:
    return [diagnostic for report in check_for(path, target) for diagnostic in report.diagnostics]


def severities(path: Path | str, target: Target) -> list[str]:
    """The severity of every finding; each has the code IR811 and a document."""
    diagnostics = find_diagnostics(path, target)
    assert {diagnostic.code for diagnostic in diagnostics} <= {"IR811"}
    assert all(
        diagnostic.source is not None and diagnostic.source.url.startswith("https://") for diagnostic in diagnostics
    )
    return [diagnostic.severity for diagnostic in diagnostics]


def four_bits(
    element_type: str = "i4", group: int | None = 128, zero_point: int | None = None, experts: int | None = None
) -> Callable[[build.Value], build.Value]:
    """A product with weights of four bits, as NNCF stores them.

    group: None for a scale for each channel. experts: weights `[experts, out, in]`, whose products are added.
    """
    unsigned = element_type.startswith("u")

    def project(states: build.Value) -> build.Value:
        wide = build.matmul(states, np.ones((8, INPUTS), np.float32))
        leading = [] if experts is None else [experts]
        shape = [*leading, 8, INPUTS] if group is None else [*leading, 8, INPUTS // group, group]
        dtype = np.uint8 if unsigned else np.int8
        stored = np.zeros(shape, ElementType.nf4.dtype) if element_type == "nf4" else np.ones(shape, dtype)
        weights = build.convert(build.constant(stored, element_type), "f32")
        scale = [*shape[:-1], 1]
        if zero_point is not None:
            points = build.constant(np.full(scale, zero_point, dtype), element_type)
            weights = build.subtract(weights, build.convert(points, "f32"))
        weights = build.multiply(weights, np.full(scale, 1e-3, np.float32))
        if group is not None:
            weights = build.reshape(weights, [*leading, 8, INPUTS], special_zero=False)
        if experts is None:
            return build.matmul(wide, weights, transpose_b=True)
        return build.reduce_sum(build.matmul(build.unsqueeze(wide, [1]), weights, transpose_b=True), [1])

    return project
