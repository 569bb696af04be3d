"""Inputs and outputs of an ONNX file in the output of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir_exec.onnx.reading.listing import type_text
from ir_exec.report.tables import Table, table

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["ends_of_proto"]


def ends_of_proto(title: str, proto: ModelProto) -> Table:
    """Return a table of the inputs and outputs of an ONNX model."""
    ends = table(title, end="left", name="left", type="left")
    initialized = {tensor.name for tensor in proto.graph.initializer}
    inputs = [declared for declared in proto.graph.input if declared.name not in initialized]
    for end, declarations in (("input", inputs), ("output", proto.graph.output)):
        for declared in declarations:
            ends.add_row(end, declared.name, type_text(declared.type))
    return ends
