"""Lowerings of the folder infrastructure; Parameter, Const and Result are the graph's own."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops.infrastructure.values import Assign, Assign3, Const, Parameter, ReadValue, ReadValue3, Result


@export(Parameter, Const, Result)
def port(node: ExportNode) -> Outputs:
    return node.emit("Identity", *node.inputs)


@export(ReadValue, ReadValue3, inline=True)
def read_value(node: ExportNode) -> Outputs:
    past = node.lowerer.past(node)
    return node.emit("Identity", past)


@export(Assign, Assign3, inline=True)
def assign(node: ExportNode) -> Outputs:
    node.lowerer.present(node)
    return node.emit("Identity", node.inputs[0])
