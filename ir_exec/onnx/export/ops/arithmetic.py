"""Lowerings of the folder arithmetic."""

from __future__ import annotations

import numpy as np

from ir_exec.onnx.export.node import ExportNode
from ir_exec.onnx.export.ops.common import aligned_name, narrow, of_reals, working
from ir_exec.onnx.export.registry import Outputs, export
from ir_exec.ops import Op
from ir_exec.ops.arithmetic import binary, unary
from ir_exec.ops.arithmetic.cumsum import CumSum
from ir_exec.ops.arithmetic.segment_max import SegmentMax
from ir_exec.types import ElementType


def _pair(node: ExportNode) -> tuple[str, str]:
    """Both operands in the working type, for ONNX's broadcasting."""
    return working(node, 0), aligned_name(node, working(node, 1))


def _binary(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        return narrow(node, node.emit(operator, *_pair(node)), node.kind())


_binary(binary.Add, "Add")
_binary(binary.Subtract, "Sub")
_binary(binary.Multiply, "Mul")
_binary(binary.Maximum, "Max")
_binary(binary.Minimum, "Min")


@export(binary.SquaredDifference)
def squared_difference(node: ExportNode) -> Outputs:
    difference = node.emit("Sub", *_pair(node))
    return narrow(node, node.emit("Mul", difference, difference), node.kind())


@export(binary.Divide)
def divide(node: ExportNode) -> Outputs:
    element_type = node.kind()
    a, b = _pair(node)
    quotient = node.emit("Div", a, b)
    if (
        element_type.is_integer
        and element_type.is_signed
        and node.op.m_pythondiv
        and node.op.auto_broadcast == "pdpd"
        and element_type.bits > 8
    ):
        remainder = node.emit("Mod", a, b, fmod=1)
        zero = node.scalar_like(0, a)
        differs = node.emit("Xor", node.emit("Less", remainder, zero), node.emit("Less", b, zero))
        is_between = node.emit("And", differs, node.emit("Not", node.emit("Equal", remainder, zero)))
        lower = node.emit("Sub", quotient, node.scalar_like(1, a))
        quotient = node.emit("Where", is_between, lower, quotient)
    return narrow(node, quotient, element_type)


@export(binary.Mod)
def mod(node: ExportNode) -> Outputs:
    return narrow(node, node.emit("Mod", *_pair(node), fmod=1), node.kind())


@export(binary.FloorMod)
def floor_mod(node: ExportNode) -> Outputs:
    a, b = _pair(node)
    if node.kind().is_integer:
        return narrow(node, node.emit("Mod", a, b), node.kind())
    remainder = node.emit("Mod", a, b, fmod=1)
    zero = node.scalar_like(0, a)
    differs = node.emit("Xor", node.emit("Less", remainder, zero), node.emit("Less", b, zero))
    is_turned = node.emit("And", differs, node.emit("Not", node.emit("Equal", remainder, zero)))
    return narrow(node, node.emit("Where", is_turned, node.emit("Add", remainder, b), remainder), node.kind())


@export(binary.Power)
def power(node: ExportNode) -> Outputs:
    element_type = node.kind()
    a, b = _pair(node)
    exponent = node.known(1)
    if element_type.is_float:
        return narrow(node, node.emit("Pow", a, b), element_type)
    if exponent is not None and exponent.size == 1 and node.dims(1).rank == 0 and 0 < int(exponent.reshape(())) < 16:
        product = a
        for _ in range(int(exponent.reshape(())) - 1):
            product = node.emit("Mul", product, a)
        return narrow(node, product, element_type) if product != a else node.emit("Identity", node.inputs[0])
    return narrow(node, _integer_power(node, a, b), element_type)


def _integer_power(node: ExportNode, a: str, b: str) -> str:
    """Powers of integers by squaring, with wrap-around; only 1 and -1 have negative powers other than 0."""
    base, exponent = node.cast(a, ElementType.i64), node.cast(b, ElementType.i64)
    zero, unit, two = (node.constant(number, ElementType.i64) for number in (0, 1, 2))
    result = node.emit("Expand", unit, node.shape_of(node.emit("Add", base, exponent)))
    left, square = node.emit("Max", exponent, zero), base
    for _ in range(6):
        is_odd = node.emit("Equal", node.emit("Mod", left, two), unit)
        result = node.emit("Where", is_odd, node.emit("Mul", result, square), result)
        left, square = node.emit("Div", left, two), node.emit("Mul", square, square)
    if not node.kind().is_signed:
        return result
    is_unit = node.emit("Equal", node.emit("Abs", base), unit)
    is_odd = node.emit("Equal", node.emit("Mod", exponent, two), unit)
    reciprocal = node.emit("Where", is_unit, node.emit("Where", is_odd, base, unit), zero)
    return node.emit("Where", node.emit("Less", exponent, zero), reciprocal, result)


def _exact(cls: type[Op], operator: str) -> None:
    """A function of integers and of real numbers."""

    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        return narrow(node, node.emit(operator, working(node, 0)), node.kind())


_exact(unary.Abs, "Abs")
_exact(unary.Sign, "Sign")


@export(unary.Negative)
def negative(node: ExportNode) -> Outputs:
    value = working(node, 0)
    if node.kind().is_signed:
        return narrow(node, node.emit("Neg", value), node.kind())
    return narrow(node, node.emit("Sub", node.scalar_like(0, value), value), node.kind())


def _rounding(cls: type[Op], operator: str) -> None:
    @export(cls)
    def lower(node: ExportNode) -> Outputs:
        if node.kind().is_integer:
            return node.emit("Identity", node.inputs[0])
        return narrow(node, node.emit(operator, working(node, 0)), node.kind())


_rounding(unary.Floor, "Floor")
_rounding(unary.Ceiling, "Ceil")


@export(unary.Round)
def round_(node: ExportNode) -> Outputs:
    element_type = node.kind()
    if element_type.is_integer:
        return node.emit("Identity", node.inputs[0])
    value = working(node, 0)
    if node.op.mode == "half_to_even":
        return narrow(node, node.emit("Round", value), element_type)
    if element_type is not ElementType.f64:
        value = node.cast(value, ElementType.f32)
    wide = np.float64 if element_type is ElementType.f64 else np.float32
    almost_half = node.constant(np.nextafter(wide(0.5), wide(0)))
    magnitude = node.emit("Floor", node.emit("Add", node.emit("Abs", value), almost_half))
    is_negative = node.emit("Less", value, node.constant(wide(0)))
    return narrow(node, node.emit("Where", is_negative, node.emit("Neg", magnitude), magnitude), element_type)


_SLOW_FROM = 2**14
"""Elements of functions that onnxruntime computes one by one, with which the interpreter is 20 to 280 times faster."""


def _real(
    cls: type[Op], operator: str, element_type: ElementType = ElementType.f64, slow_from: int | None = None
) -> None:
    @export(cls, slow_from=slow_from)
    def lower(node: ExportNode) -> Outputs:
        return of_reals(node, lambda value: node.emit(operator, value), element_type=element_type)


_real(unary.Sqrt, "Sqrt")
_real(unary.Log, "Log")
_real(unary.Sin, "Sin")
_real(unary.Cos, "Cos")
_real(unary.Tanh, "Tanh")
_real(unary.Tan, "Tan", ElementType.f32, _SLOW_FROM)
_real(unary.Asin, "Asin", ElementType.f32)
_real(unary.Acos, "Acos", ElementType.f32)
_real(unary.Atan, "Atan", ElementType.f32)
_real(unary.Sinh, "Sinh", ElementType.f32, _SLOW_FROM)
_real(unary.Cosh, "Cosh", ElementType.f32, _SLOW_FROM)
_real(unary.Asinh, "Asinh", ElementType.f32, _SLOW_FROM)
_real(unary.Acosh, "Acosh", ElementType.f32, _SLOW_FROM)
_real(unary.Atanh, "Atanh", ElementType.f32, _SLOW_FROM)
_real(unary.Erf, "Erf", ElementType.f32)


@export(unary.ErfInv, slow_from=_SLOW_FROM)
def erf_inv(node: ExportNode) -> Outputs:
    """A rational approximation after Giles, and two steps of Newton's method, in f64."""
    data = node.cast(working(node, 0), ElementType.f64)

    def number(value: float) -> str:
        return node.constant(value, ElementType.f64)

    def horner(at: str, coefficients: list[float]) -> str:
        polynomial = number(coefficients[0])
        for coefficient in coefficients[1:]:
            polynomial = node.emit("Add", node.emit("Mul", polynomial, at), number(coefficient))
        return polynomial

    unit = number(1.0)
    product = node.emit("Mul", node.emit("Sub", unit, data), node.emit("Add", unit, data))
    w = node.emit("Neg", node.emit("Log", product))
    near = horner(node.emit("Sub", w, number(2.5)), _NEAR)
    far = horner(node.emit("Sub", node.emit("Sqrt", w), number(3.0)), _FAR)
    guess = node.emit("Mul", node.emit("Where", node.emit("Less", w, number(5.0)), near, far), data)
    is_end = node.emit("Equal", node.emit("Abs", data), unit)
    endless = node.emit("Mul", data, number(float("inf")))
    return narrow(node, node.emit("Where", is_end, endless, guess), node.kind())


_NEAR = [
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
]
_FAR = [
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
]
"""M. Giles, "Approximating the erfinv function", single precision."""


@export(CumSum)
def cum_sum(node: ExportNode) -> Outputs:
    element_type = node.kind()
    axis = node.i64(1) if node.has(1) else node.constant(0, ElementType.i64)
    if node.has(1) and node.rank(1) != 0:
        axis = node.reshape(axis, [])
    value = node.cast(node.inputs[0], ElementType.i32) if element_type is ElementType.boolean else working(node, 0)
    sums = node.emit("CumSum", value, axis, exclusive=int(node.op.exclusive), reverse=int(node.op.reverse))
    return node.cast(sums, element_type) if element_type is ElementType.boolean else narrow(node, sums, element_type)


@export(SegmentMax, opset=18)
def segment_max(node: ExportNode) -> Outputs:
    element_type = node.kind()
    rank = node.known_rank()
    value, ids = working(node, 0), node.i64(1)
    if node.has(2):
        count = node.reshape(node.i64(2), [1])
    else:
        count = node.emit("Add", node.slice(ids, -1, 2**31, 0), node.ints([1]))
    shape = node.concat([count, node.emit("Shape", value, start=1)]) if rank > 1 else count
    floats = element_type.is_float
    lowest = -np.inf if floats else (-(2 ** (element_type.bits - 1)) if element_type.is_signed else 0)
    start = node.emit("Expand", node.scalar_like(lowest, value), shape)
    column = node.unsqueeze(ids, [1])
    best = node.emit("ScatterND", start, column, value, reduction="max")
    occupied = node.emit(
        "ScatterND",
        node.emit("Expand", node.constant(0, ElementType.i32), shape),
        column,
        node.emit("Expand", node.constant(1, ElementType.i32), node.shape_of(value)),
    )
    least = {ElementType.f64: np.finfo(np.float64).min, ElementType.f16: -65504.0}.get(
        element_type, np.finfo(np.float32).min
    )
    fill = 0 if node.op.fill_mode == "zero" else (float(least) if floats else lowest)
    is_empty = node.emit("Equal", occupied, node.constant(0, ElementType.i32))
    return narrow(node, node.emit("Where", is_empty, node.scalar_like(fill, value), best), element_type)
