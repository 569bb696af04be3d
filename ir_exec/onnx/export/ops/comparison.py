"""Lowerings of the folder comparison."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import aligned_name, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op, comparison
from ir_exec.types import ElementType


def _emit_comparison(node: ExportNode, operator: str) -> str:
    return node.emit(operator, working(node, 0), aligned_name(node, working(node, 1)))


def _comparison(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        if node.kind() is ElementType.string and operator != "Equal":
            node.refuse("ONNX has no order of strings")
        return _emit_comparison(node, operator)


_comparison(comparison.Equal, "Equal")
_comparison(comparison.Greater, "Greater")
_comparison(comparison.GreaterEqual, "GreaterOrEqual")
_comparison(comparison.Less, "Less")
_comparison(comparison.LessEqual, "LessOrEqual")


@export(comparison.NotEqual)
def not_equal(node: ExportNode) -> Outputs:
    return node.emit("Not", _emit_comparison(node, "Equal"))


def _widen_for_test(node: ExportNode) -> str:
    """The data in a type that IsNaN and IsInf support; f64 keeps finite numbers finite."""
    value = working(node, 0)
    return value if node.kind() is ElementType.f64 else node.cast(value, ElementType.f32)


@export(comparison.IsNaN)
def is_nan(node: ExportNode) -> Outputs:
    return node.emit("IsNaN", _widen_for_test(node))


@export(comparison.IsInf)
def is_inf(node: ExportNode) -> Outputs:
    op = node.op
    return node.emit(
        "IsInf", _widen_for_test(node), detect_negative=int(op.detect_negative), detect_positive=int(op.detect_positive)
    )


@export(comparison.IsFinite)
def is_finite(node: ExportNode) -> Outputs:
    value = _widen_for_test(node)
    return node.emit("Not", node.emit("Or", node.emit("IsNaN", value), node.emit("IsInf", value)))
