"""Mends wrong declarations of ports, where nothing else is wrong with a file."""

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
"""How often a file is checked anew: a declaration that is right now may show that another one is wrong."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A file before and after; equal where it was not touched. `reason` says why a file with errors was not."""

    before: bytes
    after: bytes
    reason: str | None = None

    @property
    def has_changed(self) -> bool:
        return self.after != self.before


def fix(path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None) -> Fix:
    """The file with declared dims and precisions as they should be, every other byte as it was.

    A file with other errors is left as it is, and so is one that would have errors afterwards. Nothing is written.
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
    """The errors that no repair mends."""
    mended = {(repair.code, repair.location) for repair in repairs}
    return [error for error in errors if (error.code, error.location) not in mended]


def _edit(repair: Repair) -> PortEdit:
    port, type = repair.port, repair.type
    precision = type.element_type.precision if type.element_type.is_known else None
    return PortEdit(repair.location.layer_id or "", port, precision, _dims(port.dims, type.shape))


def _dims(declared: tuple[int, ...], shape: Shape) -> tuple[int, ...] | None:
    """What the port should declare: a dim that could be stays, unless the rank is another one."""
    if shape.dims is None:
        return None
    keeps = len(declared) == len(shape.dims)
    return tuple(
        declared[axis] if keeps and _may_be(declared[axis], dim) else dim.size if dim.is_static else -1
        for axis, dim in enumerate(shape.dims)
    )


def _may_be(declared: int, dim: Dim) -> bool:
    return declared == -1 or (declared >= 0 and declared in dim)
