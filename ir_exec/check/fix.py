"""Repairs of wrong port declarations, with a list of the errors that remain."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ir_exec.check.check import run_check
from ir_exec.check.declarations import fits, readers_of_values, source_of
from ir_exec.check.findings import Diagnostic, Repair
from ir_exec.check.settle import is_declared_as_stored
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import Graph
from ir_exec.infer import infer_types, inferred_or_declared
from ir_exec.ir import Port, Weights, default_weights_path
from ir_exec.ir.edit import PortEdit, with_ports
from ir_exec.ir.files import read_files
from ir_exec.ir.markup import load
from ir_exec.ir.pairing import is_sealed, seal
from ir_exec.model import load as load_model
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["Fix", "fix"]

_ROUNDS = 8
"""Maximum number of times a file is checked again: a repaired declaration may show that another one is wrong."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A file before and after the repair; both are equal for an unchanged file.

    Attributes:
        left: The errors of the file after the repair.
        reason: The reason for remaining errors; None without errors.
    """

    before: bytes
    after: bytes
    left: tuple[Diagnostic, ...] = ()
    reason: str | None = None

    @property
    def has_changed(self) -> bool:
        return self.after != self.before


def fix(path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None, declare: bool = False) -> Fix:
    """Correct the declared dims and precisions of a file, without writing it; all other bytes are unchanged.

    If the file has the digest of its .bin, the digest of the document in this entry is updated. Other errors remain.
    The file is unchanged if the repair does not reduce the number of errors.

    Args:
        path: The .xml.
        weights: The .bin, if it is not next to the .xml.
        declare: Assume that all attributes and edges are correct, and declare the types inferred from them. Use it
            after an attribute was edited, because all layers below declare the old types. By default only ports whose
            neighbors agree with the inferred type are corrected.

    Raises:
        IRError: If the path cannot be read, and IR212 for a .bin that was not written with the .xml.
    """
    name, raw = load(path)
    if weights is None:
        _require_own_weights(path)
    beside = default_weights_path(name or "")
    used = weights if weights is not None else beside if os.path.exists(beside) else None
    errors = run_check(raw, used).report.errors
    if not errors:
        return Fix(raw, raw)
    text, reason = _repair(raw, used, declare=declare)
    if is_sealed(raw):
        text = seal(text)
    left = run_check(text, used).report.errors
    if len(left) < len(errors):
        return Fix(raw, text, left, reason or (f"it has other errors: {_codes(left)}" if left else None))
    if text != raw:
        reason = f"repaired errors would be replaced by others: {_codes(left)}"
    return Fix(raw, raw, errors, reason or f"it has other errors: {_codes(errors)}")


def _require_own_weights(path: str | os.PathLike[str]) -> None:
    """Raise WeightsError (IR212) for a .bin that was not written with the .xml: repairs would follow its values."""
    faults: list[IRError] = []
    read_files(path, None, faults.append)
    for fault in faults:
        if fault.code == Code.weights_digest:
            raise fault


def _codes(errors: tuple[Diagnostic, ...]) -> str:
    return ", ".join(sorted({error.code for error in errors}))


def _repair(raw: bytes, weights: str | os.PathLike[str] | None, *, declare: bool) -> tuple[bytes, str | None]:
    """The text with all possible repairs, and the reason if some are impossible."""
    text = raw
    try:
        if declare:
            text = with_ports(text, _declared_again(text, weights))
        for _ in range(_ROUNDS):
            report, repairs, _ = run_check(text, weights)
            faults = {(error.code, error.location) for error in report.errors}
            edits = [_edit(repair) for repair in repairs if (repair.code, repair.location) in faults]
            mended = with_ports(text, edits)
            if mended == text:
                return text, None
            text = mended
    except IRError as error:
        return text, error.message
    return raw, "its declarations contradict each other in several ways"


def _declared_again(text: bytes, weights: str | os.PathLike[str] | None) -> list[PortEdit]:
    """Edits of all ports that contradict the inferred types, or the other ends of their edges."""
    faults: list[IRError] = []
    loaded = load_model(text, weights, report=faults.append)
    return [] if loaded is None else list(_edits_of(loaded.graph, loaded.weights))


def _edits_of(graph: Graph, weights: Weights | None) -> Iterator[PortEdit]:
    types = infer_types(graph, weights=weights, settle=inferred_or_declared)
    for value, readers in readers_of_values(graph).items():
        type = types[value.number]
        if is_declared_as_stored(value, readers, type, types):
            continue
        ends = [source_of(value), *readers]
        agree = len({end.port.dims for end in ends}) == 1
        for end in ends:
            if not fits(end.declared, type) or not agree:
                yield _declared_as(end.node.id, end.port, type, keeps=agree)
    for node in graph.nodes:
        for body in node.bodies:
            yield from _edits_of(body.graph, weights)


def _edit(repair: Repair) -> PortEdit:
    return _declared_as(repair.location.layer_id or "", repair.port, repair.type, keeps=True)


def _declared_as(layer_id: str, port: Port, type: TensorType, *, keeps: bool) -> PortEdit:
    precision = type.element_type.precision if type.element_type.is_known else None
    return PortEdit(layer_id, port, precision, _dims(port.dims, type.shape, keeps=keeps))


def _dims(declared: tuple[int, ...], shape: Shape, *, keeps: bool) -> tuple[int, ...] | None:
    """The dims that the port should declare.

    Args:
        keeps: Keep possible dims if the rank is correct.
    """
    if shape.dims is None:
        return None
    keeps = keeps and len(declared) == len(shape.dims)
    return tuple(
        declared[axis] if keeps and _may_be(declared[axis], dim) else dim.size if dim.is_static else -1
        for axis, dim in enumerate(shape.dims)
    )


def _may_be(declared: int, dim: Dim) -> bool:
    return declared == -1 or (declared >= 0 and declared in dim)
