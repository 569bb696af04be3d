"""Repairs wrong declarations of ports in files that have no other errors."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ir_exec.check.check import run_check
from ir_exec.check.diagnostic import Diagnostic
from ir_exec.check.findings import Repair
from ir_exec.errors import IRError
from ir_exec.ir import default_weights_path
from ir_exec.ir.edit import PortEdit, with_ports
from ir_exec.ir.markup import load
from ir_exec.types import Dim, Shape

__all__ = ["Fix", "fix"]

_ROUNDS = 8
"""How many times a file is checked again: a repaired declaration may reveal that another one is wrong."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A file before and after, equal where it was left alone. reason: why a file with errors was left alone."""

    before: bytes
    after: bytes
    reason: str | None = None

    @property
    def has_changed(self) -> bool:
        return self.after != self.before


def fix(path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None) -> Fix:
    """The file with its declared dims and precisions corrected and every other byte unchanged.

    A file with other errors, or with errors after the repair, is left alone. Nothing is written.
    Raises IRError where the path cannot be read.
    """
    name, raw = load(path)
    beside = default_weights_path(name or "")
    used = weights if weights is not None else beside if os.path.exists(beside) else None
    text = raw
    for _ in range(_ROUNDS):
        report, repairs = run_check(text, used)
        if not report.errors:
            return Fix(raw, text)
        others = _others(report.errors, repairs)
        if others:
            return Fix(raw, raw, f"it has other errors: {', '.join(sorted({one.code for one in others}))}")
        try:
            mended = with_ports(text, [_edit(repair) for repair in repairs])
        except IRError as error:
            return Fix(raw, raw, error.message)
        if mended == text:
            break
        text = mended
    return Fix(raw, raw, "its declarations contradict each other in more than one way")


def _others(errors: tuple[Diagnostic, ...], repairs: list[Repair]) -> list[Diagnostic]:
    """The errors for which there is no repair."""
    mended = {(repair.code, repair.location) for repair in repairs}
    return [error for error in errors if (error.code, error.location) not in mended]


def _edit(repair: Repair) -> PortEdit:
    port, type = repair.port, repair.type
    precision = type.element_type.precision if type.element_type.is_known else None
    return PortEdit(repair.location.layer_id or "", port, precision, _dims(port.dims, type.shape))


def _dims(declared: tuple[int, ...], shape: Shape) -> tuple[int, ...] | None:
    """The dims that the port should declare; possible ones stay as they are, if the rank is right."""
    if shape.dims is None:
        return None
    keeps = len(declared) == len(shape.dims)
    return tuple(
        declared[axis] if keeps and _may_be(declared[axis], dim) else dim.size if dim.is_static else -1
        for axis, dim in enumerate(shape.dims)
    )


def _may_be(declared: int, dim: Dim) -> bool:
    return declared == -1 or (declared >= 0 and declared in dim)
