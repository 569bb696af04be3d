"""Lowerings of the folder bitwise."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import aligned_name, narrow, working, working_type
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op, bitwise
from ir_exec.types import ElementType

_UNSIGNED = {8: ElementType.u8, 16: ElementType.u16, 32: ElementType.u32, 64: ElementType.u64}


def _bitwise(cls: type[Op], word: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        operator = word if node.kind() is ElementType.boolean else f"Bitwise{word}"
        _require_opset(node)
        values = [working(node, 0)]
        if word != "Not":
            values.append(aligned_name(node, working(node, 1)))
        return narrow(node, node.emit(operator, *values), node.kind())


def _require_opset(node: ExportNode) -> None:
    if node.opset < 18 and node.kind() is not ElementType.boolean:
        node.refuse("it requires opset 18 of ONNX")


_bitwise(bitwise.BitwiseAnd, "And")
_bitwise(bitwise.BitwiseOr, "Or")
_bitwise(bitwise.BitwiseXor, "Xor")
_bitwise(bitwise.BitwiseNot, "Not")


def _shift_bits(node: ExportNode, value: str, direction: str) -> str:
    """The bits of a signed or unsigned tensor, shifted as unsigned bits."""
    own = node.code_of(value)
    unsigned = _UNSIGNED[working_type(node.kind()).bits]
    count = aligned_name(node, working(node, 1))
    moved = node.emit("BitShift", node.cast(value, unsigned), node.cast(count, unsigned), direction=direction)
    return node.cast_code(moved, own)


@export(bitwise.BitwiseLeftShift)
def left_shift(node: ExportNode) -> Outputs:
    return narrow(node, _shift_bits(node, working(node, 0), "LEFT"), node.kind())


@export(bitwise.BitwiseRightShift)
def right_shift(node: ExportNode) -> Outputs:
    value = working(node, 0)
    if not node.kind().is_signed:
        return narrow(node, _shift_bits(node, value, "RIGHT"), node.kind())
    # -1 - x inverts all bits.
    minus_one = node.scalar_like(-1, value)
    is_negative = node.emit("Less", value, node.scalar_like(0, value))
    moved = _shift_bits(node, node.emit("Where", is_negative, node.emit("Sub", minus_one, value), value), "RIGHT")
    is_negative = node.emit("Expand", is_negative, node.shape_of(moved))
    return narrow(node, node.emit("Where", is_negative, node.emit("Sub", minus_one, moved), moved), node.kind())
