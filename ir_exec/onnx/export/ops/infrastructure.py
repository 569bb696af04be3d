"""Lowerings of the folder infrastructure; the graph itself handles Parameter, Const and Result."""

from __future__ import annotations

from ir_exec.errors import UnsupportedError
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.infrastructure.values import Assign, Assign3, Const, Parameter, ReadValue, ReadValue3, Result


@export(Parameter, Const, Result)
def port(node: ExportNode) -> Outputs:
    return node.emit("Identity", *node.inputs)


@export(ReadValue, ReadValue3, inline=True)
def read_value(node: ExportNode) -> Outputs:
    _check_place(node)
    past = node.lowerer.past(node)
    return node.emit("Identity", past)


@export(Assign, Assign3, inline=True)
def assign(node: ExportNode) -> Outputs:
    _check_place(node)
    node.lowerer.present(node)
    return node.emit("Identity", node.inputs[0])


def _check_place(node: ExportNode) -> None:
    """Raise UnsupportedError for a variable in a body: an input of the graph has one value for all iterations."""
    if node.lowerer.depth > 1:
        reason = "it is in a body, but an input and an output of the graph cannot change between iterations"
        raise UnsupportedError(reason)
