"""Lowerings of the folder reduction."""

from __future__ import annotations

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, working, working_type
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op, reduction
from ir_exec.types import ElementType


def _emit_reduction(node: ExportNode, operator: str, value: str, axes: str | list[int]) -> str:
    """Emit a reduction; `axes` are known and not empty, or the name of a tensor."""
    keep = int(node.op.keep_dims)
    if operator == "ReduceSum" or node.opset >= 18:
        axes_input = node.ints(axes) if isinstance(axes, list) else axes
        noop = None if isinstance(axes, list) else 1
        return node.emit(operator, value, axes_input, keepdims=keep, noop_with_empty_axes=noop)
    if not isinstance(axes, list):
        node.refuse("axes known only at run time require opset 18 of ONNX")
    return node.emit(operator, value, axes=axes, keepdims=keep)


def _axes(node: ExportNode) -> str | list[int]:
    """The reduced axes: distinct numbers if known, else a tensor."""
    axes = node.known_ints(1)
    if axes is None:
        return node.flat(node.i64(1))
    rank = node.rank()
    if rank == 0:
        return []
    return sorted({axis + rank if axis < 0 and rank is not None else axis for axis in axes})


def _limit_to_type(node: ExportNode, value: str) -> str:
    """A result of wider integers in the type of the data: 8-bit integers saturate, longer ones wrap."""
    element_type = node.kind()
    if element_type.is_integer and element_type.bits <= 8:
        signed = element_type.is_signed
        low, high = (-(2 ** (element_type.bits - 1)) if signed else 0), 2 ** (element_type.bits - signed) - 1
        least, most = node.scalar_like(low, value), node.scalar_like(high, value)
        value = node.emit("Min", node.emit("Max", value, least), most)
    return narrow(node, value, element_type)


def _wide(node: ExportNode) -> str:
    """The data in the type of its sums."""
    element_type = working_type(node.kind())
    value = working(node, 0)
    if element_type.is_integer:
        return node.cast(value, ElementType.i64)
    return node.cast(value, ElementType.f32) if element_type is ElementType.f16 else value


def _reduction(cls: type[Op], operator: str, alone: str = "Identity") -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        axes = _axes(node)
        value = _wide(node)
        if axes == []:
            return _limit_to_type(node, node.emit(alone, value))
        return _limit_to_type(node, _emit_reduction(node, operator, value, axes))


_reduction(reduction.ReduceSum, "ReduceSum")
_reduction(reduction.ReduceProd, "ReduceProd")
_reduction(reduction.ReduceL1, "ReduceL1", "Abs")


@export(reduction.ReduceMean)
def reduce_mean(node: ExportNode) -> Outputs:
    axes = _axes(node)
    value = _wide(node)
    if axes == []:
        return _limit_to_type(node, node.emit("Identity", value))
    if node.kind().is_float:
        rank = node.rank()
        if node.target == "onnxruntime" and rank == 4 and node.op.keep_dims and axes == [2, 3]:
            # It keeps the layout of convolutions; means of normalizations are along the last axis.
            return _limit_to_type(node, node.emit("GlobalAveragePool", value))
        return _limit_to_type(node, _emit_reduction(node, "ReduceMean", value, axes))
    ones = node.emit("Expand", node.constant(1, ElementType.i64), node.shape_of(value))
    sums, counts = _emit_reduction(node, "ReduceSum", value, axes), _emit_reduction(node, "ReduceSum", ones, axes)
    return _limit_to_type(node, node.emit("Div", sums, counts))


@export(reduction.ReduceL2)
def reduce_l2(node: ExportNode) -> Outputs:
    axes = _axes(node)
    value = _wide(node)
    if node.kind().is_integer:
        value = node.cast(value, ElementType.f64)
    norm = node.emit("Abs", value) if axes == [] else _emit_reduction(node, "ReduceL2", value, axes)
    result = node.cast(norm, ElementType.i64) if node.kind().is_integer else norm
    return narrow(node, result, node.kind())


def _extreme(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        axes = _axes(node)
        value = working(node, 0)
        if axes == []:
            return node.emit("Identity", node.inputs[0])
        if node.kind() is ElementType.u64:
            node.refuse("reductions of u64 differ between onnxruntime and ONNX")
        return narrow(node, _emit_reduction(node, operator, value, axes), node.kind())


_extreme(reduction.ReduceMax, "ReduceMax")
_extreme(reduction.ReduceMin, "ReduceMin")


def _logical(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        axes = _axes(node)
        if axes == []:
            return node.emit("Identity", node.inputs[0])
        reduced = _emit_reduction(node, operator, node.cast(node.inputs[0], ElementType.i32), axes)
        return node.emit("Greater", reduced, node.constant(0, ElementType.i32))


_logical(reduction.ReduceLogicalAnd, "ReduceMin")
_logical(reduction.ReduceLogicalOr, "ReduceMax")
