"""The reader of an .xml together with its .bin, which may be replaced at the same time."""

from __future__ import annotations

import os
from typing import NamedTuple, TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import IRError, Location, ReportFault, WeightsError
from ir_exec.ir.allocator import return_freed_memory
from ir_exec.ir.document import Document, Layer
from ir_exec.ir.markup import Markup
from ir_exec.ir.packing import CURRENT_ORDER, BitOrder
from ir_exec.ir.pairing import ENTRY, WeightsDigest
from ir_exec.ir.paths import exists
from ir_exec.ir.reader import read_document
from ir_exec.ir.storage import lock_folder
from ir_exec.ir.urls import is_url
from ir_exec.ir.weights import Weights, default_weights_path

__all__ = ["ModelFiles", "Source", "WeightsSource", "differing_weights", "opened_weights", "read_files"]

Source: TypeAlias = str | os.PathLike[str] | bytes
WeightsSource: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview


class ModelFiles(NamedTuple):
    """The content of an .xml and its .bin.

    Attributes:
        older: The elements and the path of an IR of versions 2 to 7, which is not read.
        digest: The digest of the .bin in the .xml, for weights from the .bin next to it.
        may_differ: True if the .bin may not belong to the .xml: its digest differs, or the .xml was replaced meanwhile.
    """

    document: Document | None = None
    weights: Weights | None = None
    older: tuple[Markup, str | None] | None = None
    digest: WeightsDigest | None = None
    may_differ: bool = False


MANY_LAYERS = 4096
"""Minimum number of layers of a file whose elements take so much memory that it is returned to the system."""


def read_files(source: Source, weights: WeightsSource | None, report: ReportFault) -> ModelFiles:
    """Read an .xml, and open the given weights or the .bin next to it; faults are reported.

    If the .bin may not belong to the .xml, both are read again while no other process replaces them.
    """
    faults: list[IRError] = []
    files = _read_files(source, weights, faults.append)
    if files.may_differ:
        path = files.document.path if files.document is not None else None
        with lock_folder(os.path.dirname(os.path.realpath(path or os.curdir)), is_required=False):
            faults.clear()
            files = _read_files(source, weights, faults.append)
    for fault in faults:
        report(fault)
    return files


def _read_files(source: Source, weights: WeightsSource | None, report: ReportFault) -> ModelFiles:
    older: list[tuple[Markup, str | None]] = []
    digests: list[WeightsDigest] = []
    before = _stamp(source)
    document = read_document(
        source, report=report, on_older=lambda *elements: older.append(elements), on_digest=digests.append
    )
    if older or document is None:
        return ModelFiles(older=older[0] if older else None)
    if len(document.layers) >= MANY_LAYERS:
        return_freed_memory()
    digest = digests[0] if digests and weights is None else None
    try:
        opened = _open_weights(document, weights, report)
        is_partner = opened is None or digest is None or _has_digest(opened, digest)
    except IRError as error:
        report(error)
        return ModelFiles(document, may_differ=digest is not None)
    if opened is not None and digest is not None and not is_partner:
        if _is_cut_off(document, opened, digest):
            # The constants past the end are reported with their layers.
            return ModelFiles(document, opened, may_differ=True)
        report(differing_weights(opened, digest))
        return ModelFiles(document, may_differ=True)
    if opened is not None and opened.path is not None and not is_url(opened.path):
        opened.written = digest
    may_differ = weights is None and ((opened is None and digest is not None) or _stamp(source) != before)
    return ModelFiles(document, opened, digest=digest, may_differ=may_differ)


def _has_digest(weights: Weights, digest: WeightsDigest) -> bool:
    """Return True if the size and a sample of weights are those of the digest; of remote files, only the size."""
    if weights.path is None or is_url(weights.path):
        return weights.path is None or weights.file_size == digest.size
    return digest.is_sample_of(weights.file_size, weights.slice)


def _is_cut_off(document: Document, weights: Weights, digest: WeightsDigest) -> bool:
    """Return True for a .bin that is shorter than the written one, if constants extend past its end."""
    size = weights.file_size
    return size < digest.size and any(_end(layer) > size for layer in document.all_layers() if layer.is_constant)


def _end(layer: Layer) -> int:
    """Return the end of the bytes of a constant; 0 for attributes that are no numbers."""
    texts = [layer.data.get(name, "") for name in ("offset", "size")]
    return sum(map(int, texts)) if all(text.isascii() and text.isdigit() and len(text) < 20 for text in texts) else 0


def differing_weights(weights: Weights, digest: WeightsDigest) -> WeightsError:
    """Return the error IR212 for a .bin that was not written with its .xml."""
    size = weights.file_size
    is_size = size != digest.size
    hint = (
        "write the model again, or restore the .bin; if the .bin was changed on purpose, delete the entry "
        f"<{ENTRY}> from the rt_info of the .xml"
    )
    return WeightsError(
        f"the .bin was not written with this .xml: {'it has' if is_size else 'its digest differs'}",
        actual=f"{size:,}" if is_size else None,
        detail="bytes",
        expected=f"{digest.size:,}" if is_size else None,
        code=Code.weights_digest,
        hint=hint,
        location=Location(path=weights.path),
    )


def _stamp(source: Source) -> tuple[int, int, int] | None:
    """Return inode, size and modification time of a local file."""
    try:
        status = os.stat(source) if isinstance(source, (str, os.PathLike)) else None
    except Exception:
        # A path may be an object of any class, and its `__fspath__` may raise anything.
        return None
    return None if status is None else (status.st_ino, status.st_size, status.st_mtime_ns)


def _open_weights(document: Document, weights: WeightsSource | None, report: ReportFault) -> Weights | None:
    """Open the given weights of a document, or the .bin next to the .xml; None if a fault was reported."""
    has_constants = any(layer.is_constant for layer in document.all_layers())
    return opened_weights(document.path, weights, report, order=BitOrder.of(document), are_needed=has_constants)


def opened_weights(
    path: str | None,
    weights: WeightsSource | None,
    report: ReportFault,
    *,
    order: BitOrder = CURRENT_ORDER,
    are_needed: bool = True,
) -> Weights | None:
    """Open the weights of the .xml at a path.

    Args:
        are_needed: True if a .bin next to it must exist.
    """
    if weights is not None and not isinstance(weights, (str, os.PathLike, bytes, bytearray, memoryview)):
        report(
            WeightsError(
                "weights are of type",
                actual=type(weights).__name__,
                expected="a path or bytes",
                code=Code.weights_missing,
            )
        )
        return None
    if isinstance(weights, (bytes, bytearray, memoryview)):
        return Weights.of_bytes(weights, order=order)
    if weights is None and path is None:
        return None
    weights_path = default_weights_path(path or "") if weights is None else os.fspath(weights)
    if weights is None and not are_needed:
        return Weights.of_bytes(b"") if not exists(weights_path) else Weights.open(weights_path, order=order)
    try:
        return Weights.open(weights_path, order=order)
    except WeightsError as error:
        report(error.located(Location(path=weights_path)))
        return None
