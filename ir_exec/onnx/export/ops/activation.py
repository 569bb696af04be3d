"""Lowerings of the folder activation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import narrow, of_reals, rounded_to, working, working_type
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op
from ir_exec.ops.activation import functions as of
from ir_exec.ops.activation import gates
from ir_exec.ops.activation.softmax import LogSoftmax, SoftMax1, SoftMax8
from ir_exec.types import ElementType


@export(of.Identity)
def identity(node: ExportNode) -> Outputs:
    return node.emit("Identity", node.inputs[0])


def _real(cls: type[Op], operator: str, element_type: ElementType = ElementType.f32, **attributes: Any) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        return of_reals(node, lambda value: node.emit(operator, value, **attributes), element_type=element_type)


_real(of.Exp, "Exp", ElementType.f64)
_real(of.Sigmoid, "Sigmoid", ElementType.f64)
_real(gates.HSigmoid, "HardSigmoid", alpha=1 / 6, beta=0.5)
_real(gates.HSwish, "HardSwish")
_real(of.SoftSign, "Softsign")


@export(of.SoftPlus)
def soft_plus(node: ExportNode) -> Outputs:
    """max(x, 0) + log1p(e) for e = exp(-|x|), of vectorized kernels for onnxruntime, whose Softplus is not."""

    def emit_formula(value: str) -> str:
        if node.target != "onnxruntime":
            return node.emit("Softplus", value)
        unit, half = node.scalar_like(1, value), node.scalar_like(0.5, value)
        # With smaller differences the series is exact in f32; f16 has no smaller normal number.
        small = node.scalar_like(1e-30 if node.kind() is ElementType.f64 else 2.0**-14, value)
        e = node.emit("Exp", node.emit("Neg", node.emit("Abs", value)))
        grown = node.emit("Add", e, unit)
        # The factor corrects the rounding of 1 + e. Where the sum is 1, the first terms of the series are larger.
        factor = node.emit("Div", e, node.emit("Max", node.emit("Sub", grown, unit), small))
        corrected = node.emit("Mul", node.emit("Log", grown), factor)
        series = node.emit("Mul", e, node.emit("Sub", unit, node.emit("Mul", e, half)))
        log1p = node.emit("Max", corrected, series)
        return node.emit("Add", node.emit("Max", value, node.scalar_like(0, value)), log1p)

    return of_reals(node, emit_formula)


@export(of.ReLU)
def relu(node: ExportNode) -> Outputs:
    if not node.kind().is_signed:
        return node.emit("Identity", node.inputs[0])
    value = working(node, 0)
    if node.kind().is_float:
        return narrow(node, node.emit("Relu", value), node.kind())
    return narrow(node, node.emit("Max", value, node.scalar_like(0, value)), node.kind())


@export(of.Clamp)
def clamp(node: ExportNode) -> Outputs:
    value = working(node, 0)
    low, high = node.op._limits(node.kind())
    limits = [node.scalar_like(low, value), node.scalar_like(high, value)]
    if node.kind().is_integer:
        clipped = node.emit("Min", node.emit("Max", value, limits[0]), limits[1])
    else:
        clipped = node.emit("Clip", value, *limits)
    return narrow(node, clipped, node.kind())


@export(of.PReLU)
def prelu(node: ExportNode) -> Outputs:
    element_type, slope_type = node.kind(), node.kind(1)
    rank = node.rank()
    is_real = element_type.is_integer and slope_type.is_float
    wide = ElementType.f64 if is_real else working_type(element_type)
    value = node.cast(working(node, 0), wide)
    slope = node.cast(working(node, 1), wide)
    shape = node.dims(1)
    if shape.rank == 1 and rank is not None and rank > 1 and (shape[0] & node.dims()[1]) is not None:
        slope = node.unsqueeze(slope, range(1, rank - 1))
    elif rank is not None and shape.rank is not None and shape.rank > rank:
        slope = node.squeeze(slope, range(shape.rank - rank))
    if element_type.is_float:
        slopes = node.known(1)
        if slopes is not None and slopes.size and np.isfinite(slopes.astype(np.float64)).all():
            if (slopes == slopes.flat[0]).all():
                return narrow(node, node.emit("LeakyRelu", value, alpha=float(slopes.flat[0])), element_type)
            if node.target == "onnxruntime":
                # Its PRelu is not vectorized.
                zero = node.scalar_like(0, value)
                below = node.emit("Mul", node.emit("Min", value, zero), slope)
                return narrow(node, node.emit("Add", node.emit("Max", value, zero), below), element_type)
        return narrow(node, node.emit("PRelu", value, slope), element_type)
    bent = node.emit("Mul", value, slope)
    result = node.emit("Where", node.emit("Less", value, node.scalar_like(0, value)), bent, value)
    return rounded_to(node, result, wide, element_type) if is_real else narrow(node, result, element_type)


@export(of.HardSigmoid)
def hard_sigmoid(node: ExportNode) -> Outputs:
    alpha, beta = node.known(1), node.known(2)
    if alpha is not None and beta is not None:
        factor, offset = float(alpha.astype(np.float64)), float(beta.astype(np.float64))
        return of_reals(
            node, lambda value: node.emit("HardSigmoid", value, alpha=factor, beta=offset), element_type=ElementType.f32
        )

    def emit_formula(value: str) -> str:
        code = node.code_of(value)
        factor, offset = (node.cast_code(working(node, position), code) for position in (1, 2))
        line = node.emit("Add", node.emit("Mul", value, factor), offset)
        return node.emit("Clip", line, node.scalar_like(0, value), node.scalar_like(1, value))

    return of_reals(node, emit_formula)


@export(gates.Swish)
def swish(node: ExportNode) -> Outputs:
    def emit_formula(value: str) -> str:
        scaled = value
        beta = node.known(1) if node.has(1) else np.float32(1)
        if beta is None:
            scaled = node.emit("Mul", value, working(node, 1))
        elif float(np.asarray(beta, np.float64)) != 1:
            scaled = node.emit("Mul", value, node.scalar_like(float(np.asarray(beta, np.float64)), value))
        return node.emit("Mul", value, node.emit("Sigmoid", scaled))

    return of_reals(node, emit_formula)


@export(gates.Mish)
def mish(node: ExportNode) -> Outputs:
    def emit_formula(value: str) -> str:
        """Return x * n / (n + 2) for n = e**x * (e**x + 2), which equals x * tanh(softplus(x))."""
        two = node.scalar_like(2, value)
        # Above, the quotient is 1 in f64 too.
        grown = node.emit("Exp", node.emit("Min", value, node.scalar_like(20, value)))
        n = node.emit("Mul", grown, node.emit("Add", grown, two))
        return node.emit("Mul", value, node.emit("Div", n, node.emit("Add", n, two)))

    if node.target == "onnxruntime":
        # Its Mish is not vectorized.
        return of_reals(node, emit_formula)
    if node.opset >= 18:
        return of_reals(node, lambda value: node.emit("Mish", value))
    return of_reals(node, lambda value: node.emit("Mul", value, node.emit("Tanh", node.emit("Softplus", value))))


@export(of.Elu)
def elu(node: ExportNode) -> Outputs:
    alpha = node.op.alpha
    if not math.isfinite(alpha):
        node.refuse(f"alpha is {alpha}")
    return of_reals(node, lambda value: node.emit("Elu", value, alpha=alpha), element_type=ElementType.f32)


@export(of.Selu)
def selu(node: ExportNode) -> Outputs:
    alpha, scale = node.known(1), node.known(2)
    if alpha is not None and scale is not None:
        numbers: dict[str, Any] = {
            name: float(array.astype(np.float64).reshape(())) for name, array in (("alpha", alpha), ("gamma", scale))
        }
        return of_reals(node, lambda value: node.emit("Selu", value, **numbers))

    def emit_formula(value: str) -> str:
        curve, factor = (node.reshape(working(node, position), []) for position in (1, 2))
        zero = node.scalar_like(0, value)
        grown = node.emit("Sub", node.emit("Exp", node.emit("Min", value, zero)), node.scalar_like(1, value))
        below = node.emit("Mul", grown, curve)
        return node.emit("Mul", factor, node.emit("Where", node.emit("Greater", value, zero), value, below))

    return of_reals(node, emit_formula)


@export(gates.Gelu2, gates.Gelu7, inline=True)
def gelu(node: ExportNode) -> Outputs:
    is_tanh = getattr(node.op, "approximation_mode", "erf") == "tanh"

    def emit_formula(value: str) -> str:
        if node.target == "onnxruntime" and not is_tanh and node.kind() is ElementType.f32:
            # The optimizer fuses the bias before this node into it.
            return node.emit("Gelu", value, domain="com.microsoft")
        if node.opset >= 20:
            return node.emit("Gelu", value, approximate="tanh" if is_tanh else None)
        unit, half = node.scalar_like(1, value), node.scalar_like(0.5, value)
        if not is_tanh:
            odds = node.emit("Erf", node.emit("Div", value, node.scalar_like(math.sqrt(2), value)))
            return node.emit("Mul", node.emit("Mul", value, node.emit("Add", odds, unit)), half)
        cube = node.emit("Pow", value, node.scalar_like(3, value))
        inner = node.emit("Add", value, node.emit("Mul", cube, node.scalar_like(0.044715, value)))
        odds = node.emit("Tanh", node.emit("Mul", inner, node.scalar_like(math.sqrt(2 / math.pi), value)))
        return node.emit("Mul", node.emit("Mul", value, half), node.emit("Add", odds, unit))

    return of_reals(node, emit_formula)


def _along_axis(node: ExportNode, operator: str) -> str:
    def emit_formula(value: str) -> str:
        if node.rank() == 0:
            return node.reshape(node.emit(operator, node.reshape(value, [1]), axis=0), [])
        if node.target == "onnxruntime" and operator == "Softmax" and _is_inner_large(node):
            # Its Softmax along other axes than the last transposes on one thread.
            axes = node.constant(np.array([node.op.axis], np.int64), ElementType.i64)
            centered = node.emit("Sub", value, node.emit("ReduceMax", value, axes))
            grown = node.emit("Exp", centered)
            return node.emit("Div", grown, node.emit("ReduceSum", grown, axes))
        return node.emit(operator, value, axis=node.op.axis)

    return of_reals(node, emit_formula)


_MANY = 2**14
"""Elements of a Softmax with which four kernels take less time than one that transposes."""


def _is_inner_large(node: ExportNode) -> bool:
    """Return True if the axis is not the last one, and there are many elements for each element along it."""
    shape, rank = node.dims(), node.rank()
    if not rank or node.op.axis % rank == rank - 1:
        return False
    inner = math.prod([dim.lo for dim in (shape.dims or ())[node.op.axis % rank + 1 :]])
    return inner > 1 and shape.size.lo >= _MANY


@export(SoftMax1, SoftMax8)
def softmax(node: ExportNode) -> Outputs:
    return _along_axis(node, "Softmax")


@export(LogSoftmax)
def log_softmax(node: ExportNode) -> Outputs:
    return _along_axis(node, "LogSoftmax")
