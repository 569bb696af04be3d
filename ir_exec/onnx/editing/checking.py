"""Refusal of edits that make an ONNX model invalid."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ir_exec.check import Diagnostic
from ir_exec.check.check import run_check
from ir_exec.codes import Code
from ir_exec.errors import GraphError, ReportFault
from ir_exec.model import Loaded
from ir_exec.onnx.editing.lowered_types import infer_by_lowering
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.types import infer_declarations
from ir_exec.onnx.reading.files import read_message

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

__all__ = ["check_edit", "find_errors", "infer_types"]

_NOT_OF_EDITS = {str(code) for code in (Code.unsupported, Code.operator_not_implemented, Code.internal_error)}
"""Errors of ir_exec, not of the file: ONNX may have an operator that IR cannot express."""


def find_errors(source: OnnxSource, proto: ModelProto) -> list[Diagnostic]:
    """Return the errors that `check` finds in a file of a message, which may be an edited one."""

    def read(report: ReportFault) -> Loaded | None:
        readable = source.readable_proto(proto)
        model = read_message(readable, source.folder, source.path, report=report)
        return None if model is None else Loaded.of(model)

    checked = run_check(source.path or b"", read=read)
    if checked.loaded is not None:
        checked.loaded.graph.take_apart()
    return [finding for finding in checked.report.errors if finding.code not in _NOT_OF_EDITS]


def check_edit(source: OnnxSource, proto: ModelProto) -> bool:
    """Return True if an edited message has no errors, False if it has errors of its source.

    Raises:
        GraphError: With the first error that the message has, but not its source.
    """
    after = find_errors(source, proto)
    if not after:
        return True
    before = Counter(finding.code for finding in find_errors(source, source.proto))
    for finding in after:
        before[finding.code] -= 1
        if before[finding.code] < 0:
            raise GraphError(
                f"the edit makes the model invalid: {finding.message}",
                code=next(code for code in Code if code == finding.code),
                hint=finding.hint,
                location=finding.location,
            )
    return False


def infer_types(source: OnnxSource, proto: ModelProto) -> dict[str, TypeProto]:
    """Return the types of values by name, as inferred by ONNX for a valid model, by IR otherwise and in bodies."""
    types = infer_by_lowering(source, proto)
    return types if find_errors(source, proto) else types | infer_declarations(proto)
