"""Lowerings of the folder logical."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import aligned_name, narrow, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op, logical
from ir_exec.types import ElementType


def _logical(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        return node.emit(operator, node.inputs[0], aligned_name(node, node.inputs[1]))


_logical(logical.LogicalAnd, "And")
_logical(logical.LogicalOr, "Or")
_logical(logical.LogicalXor, "Xor")
_logical(logical.Xor, "Xor")


@export(logical.LogicalNot)
def logical_not(node: ExportNode) -> Outputs:
    element_type = node.kind()
    if element_type is ElementType.boolean:
        return node.emit("Not", node.inputs[0])
    value = working(node, 0)
    is_zero = node.emit("Equal", value, node.scalar_like(0, value))
    return narrow(node, node.cast_code(is_zero, node.code_of(value)), element_type)
