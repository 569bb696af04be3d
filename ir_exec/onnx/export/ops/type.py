"""Lowerings of the folder type."""

from __future__ import annotations

from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow
from ir_exec.onnx.export.registry import Outputs, declare_not_representable, export
from ir_exec.ops.type import Convert, ConvertLike, ConvertPromoteTypes, StringTensorPack, StringTensorUnpack
from ir_exec.types import ElementType
from ir_exec.types.conversion import _NF4_BOUNDARIES

declare_not_representable(
    StringTensorPack, StringTensorUnpack, reason="ONNX has no conversion between strings and bytes"
)

_HALVES = (ElementType.f16, ElementType.bf16)
_F8 = (ElementType.f8e4m3, ElementType.f8e5m2)


def convert_elements(node: ExportNode, value: str, source: ElementType, target: ElementType) -> str:
    """A tensor as another element type, by the rules of `ir_exec.types.conversion`."""
    if source is target:
        return node.emit("Identity", value)
    if is_carried(source, node.opset):
        if source.is_float:
            value = node.decoded(value, source)
            source = ElementType.f32
        elif source.bits < 8:
            source = ElementType.i8 if source.is_signed else ElementType.u8
    elif source.bits < 8 and source.is_integer:
        source = ElementType.i8 if source.is_signed else ElementType.u8
        value = node.cast(value, source)
    if target is ElementType.boolean:
        return node.cast(_calculable(node, value, source), target)
    if target.is_integer:
        return _to_integer(node, value, source, target)
    return _to_float(node, value, source, target)


def _calculable(node: ExportNode, value: str, source: ElementType) -> str:
    return node.cast(value, ElementType.f32) if source.is_float and source.bits < 16 else value


def _to_integer(node: ExportNode, value: str, source: ElementType, target: ElementType) -> str:
    if source.is_float:
        # Through the integer types of the processor's conversions; shorter integers keep the last bits.
        through = ElementType.i32
        if target in (ElementType.i64, ElementType.u32):
            through = ElementType.i64
        if target is ElementType.u64:
            return node.cast(_calculable(node, value, source), target)
        value = node.cast(_calculable(node, value, source), through)
    return narrow(node, value, target) if target.bits < 8 else node.cast(value, target)


def _to_float(node: ExportNode, value: str, source: ElementType, target: ElementType) -> str:
    if target in (ElementType.f32, ElementType.f64):
        return node.cast(value, target)
    value = node.cast(value, ElementType.f32) if source not in _HALVES or target not in _HALVES else value
    if target is ElementType.nf4:
        column = node.emit("Unsqueeze", node.cast(value, ElementType.f64), node.ints([-1]))
        above = node.cast(node.emit("Less", node.constant(_NF4_BOUNDARIES), column), ElementType.i64)
        return node.cast(node.emit("ReduceSum", above, node.ints([-1]), keepdims=0), ElementType.u8)
    if is_carried(target, node.opset):
        node.refuse(f"opset {node.opset} of ONNX has no element type {target}")
    if target in _F8:
        halves = node.cast(value, ElementType.f16)
        return node.emit("Cast", halves, to=node.writer.code(target), saturate=0, kinds=target)
    if source in _HALVES and target in _HALVES:
        value = node.cast(value, ElementType.f32)
    return node.cast(value, target)


@export(Convert)
def convert(node: ExportNode) -> Outputs:
    return convert_elements(node, node.inputs[0], node.kind(), node.op.destination_type)


@export(ConvertLike)
def convert_like(node: ExportNode) -> Outputs:
    if not node.kind(1).is_known:
        node.refuse("the target element type is unknown")
    return convert_elements(node, node.inputs[0], node.kind(), node.kind(1))


@export(ConvertPromoteTypes)
def convert_promote_types(node: ExportNode) -> Outputs:
    return [
        convert_elements(node, name, node.kind(position), node.out_types[position].element_type)
        for position, name in enumerate(node.inputs)
    ]
