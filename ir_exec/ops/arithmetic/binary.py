"""Arithmetic of pairs of elements: sums, products, quotients, remainders, powers, extremes.

The specification leaves division by zero undefined. Floats follow IEEE 754; for integers it is an error, where
OpenVINO's CPU plugin gives an arbitrary number and its reference kernels raise or crash.
"""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.elementwise import Function, apply_elementwise, floor_remainder, truncated_remainder
from ir_exec.ops.base import op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.dims import HUGE
from ir_exec.ops.base.elementwise import Binary, binary, is_own_type
from ir_exec.ops.base.inputs import Divisor, PowerBase
from ir_exec.ops.base.shapes import known_faults
from ir_exec.ops.base.variants import Kernel, KernelRequest, variant
from ir_exec.tuning import thresholds
from ir_exec.types import Array, Bounds, ElementType, TensorType

__all__ = [
    "Add",
    "Divide",
    "FloorMod",
    "Maximum",
    "Minimum",
    "Mod",
    "Multiply",
    "Power",
    "SquaredDifference",
    "Subtract",
]

Add = binary(
    "Add",
    np.add,
    "output = a + b; integers wrap.",
    page="arithmetic/add-1",
    is_increasing=True,
    is_arithmetic=True,
    neutral=0,
    term_inputs=("a", "b"),
)

Subtract = binary(
    "Subtract",
    np.subtract,
    "output = a - b; integers wrap.",
    page="arithmetic/subtract-1",
    is_monotone=True,
    is_arithmetic=True,
    neutral=0,
    term_inputs=("a", "b"),
    subtracted_inputs=("b",),
)

Multiply = binary(
    "Multiply",
    np.multiply,
    "output = a · b; integers wrap.",
    page="arithmetic/multiply-1",
    is_monotone=True,
    is_arithmetic=True,
    neutral=1,
    absorbing=0,
)


def _squared_difference(a: Array, b: Array) -> Array:
    difference = np.subtract(a, b)
    return np.multiply(difference, difference)


SquaredDifference = binary(
    "SquaredDifference",
    _squared_difference,
    "output = (a - b)²; integers wrap.",
    page="arithmetic/squared-difference-1",
)

Maximum = binary(
    "Maximum",
    np.maximum,
    "output = the greater of a and b; NaN where either is.",
    page="arithmetic/maximum-1",
    is_increasing=True,
    is_idempotent=True,
)

Minimum = binary(
    "Minimum",
    np.minimum,
    "output = the lesser of a and b; NaN where either is.",
    page="arithmetic/minimum-1",
    is_increasing=True,
    is_idempotent=True,
)


@op("Divide", since=1)
class Divide(Binary):
    """output = a / b; the quotient of integers is rounded towards zero.

    Specification: arithmetic/divide-1, by which quotients of integers are rounded down with `m_pythondiv`, the default.
    OpenVINO does so while it infers shapes, and in a run with `pdpd`, except for 8 bits; elsewhere its CPU plugin
    rounds towards zero for any value of the attribute. This class follows OpenVINO.

    Inputs:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for an integer divided by zero, and those of Binary.
    """

    inputs = (Binary.inputs[0], Binary.inputs[1]._replace(domain=Divisor()))
    monotone = ("a",)
    saturates = True
    neutral = 1

    m_pythondiv: Bool = True

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        # The plugin leaves `pdpd` to the reference kernels, except for 8 bits, which they do not support.
        rounds_down = self.m_pythondiv and self.auto_broadcast == "pdpd" and a.dtype.itemsize > 1
        return self._divide(a, b, rounds_down, out)

    def _divide(self, a: Array, b: Array, rounds_down: bool, out: Array | None = None) -> Array:
        if a.size:
            _require_no_zero(b)
        of_integers = np.floor_divide if rounds_down else _quotient_towards_zero
        return apply_elementwise(of_integers if _is_integer(a) else np.divide, a, self.align(a, b), out=out)

    def plain_function(self, a: TensorType, b: TensorType) -> Function | None:
        return np.divide if a.element_type.is_float else None

    def check_values(self, *types: TensorType) -> list[IRError]:
        return _zero_divisors(*types)

    def evaluate_known(self, *arrays: Array) -> Array:
        a, b = arrays
        return self._divide(a, b, self.m_pythondiv)

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds | None:
        """Return quotients of the bounds if the sign of b is known, else None."""
        if not _is_integer(a[0]):
            return None
        limits = np.iinfo(a[0].dtype)
        keeps_sign = (b[0] > 0) | (b[1] < 0)
        divisors = [np.where(keeps_sign, bound, 1).astype(bound.dtype) for bound in b]
        quotients = [self.evaluate_known(dividend, divisor) for dividend in a for divisor in divisors]
        is_open = ((a[0] == limits.min) & (limits.min < 0)) | (a[1] == limits.max)
        is_known = np.broadcast_to(self.align(a[0], keeps_sign) & ~is_open, quotients[0].shape)
        lower = np.where(is_known, np.minimum.reduce(quotients), limits.min)
        upper = np.where(is_known, np.maximum.reduce(quotients), limits.max)
        # The quotient of positive numbers is never negative, even without bounds; a quotient by 0 is an error.
        is_positive = (a[0] >= 0) & self.align(a[0], b[0] >= 0)
        lower = np.where(is_positive, np.maximum(lower, 0), lower)
        return lower.astype(limits.dtype), upper.astype(limits.dtype)


def _are_whole_scalars(op: Divide, request: KernelRequest) -> bool:
    return all(type.rank == 0 and type.element_type.is_integer and is_own_type(type) for type in request.types)


@variant(
    "Divide",
    name="whole_scalars",
    applies=_are_whole_scalars,
    cost=0.2,
    why="Two whole numbers, as in loops that compute indices: positive ones are divided by one NumPy call.",
)
def _whole_scalars(op: Divide, request: KernelRequest) -> Kernel:
    dtype = request.types[0].element_type.dtype

    def divide(a: Array, b: Array, *, out: Array | None = None) -> Array:
        if a.item() >= 0 and b.item() > 0:
            quotient: Array = np.floor_divide(a, b, out=np.empty((), dtype) if out is None else out)
            return quotient
        return op.evaluate(a, b, out=out)

    return divide


def _quotient_towards_zero(a: Array, b: Array) -> Array:
    quotient: Array = (a - np.fmod(a, b)) // b
    return quotient


class _Remainder(Binary):
    """The base of Mod and FloorMod.

    Raises:
        IRError: IR704 for an integer divided by zero, and those of Binary.
    """

    steps = "multiples"

    inputs = Divide.inputs
    is_discontinuous = True

    def of_singles(self, a: Array, b: Array, out: Array | None) -> Array:
        """Apply `function` to arrays of f32."""
        raise NotImplementedError

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        if a.size:
            _require_no_zero(b)
        if a.dtype == np.float32:
            return self.of_singles(a, self.align(a, b), out)
        return super().evaluate(a, b, out=out)

    def plain_function(self, a: TensorType, b: TensorType) -> Function | None:
        """The function for integers too if no known divisor is 0, and for f32 only if there are few elements."""
        divisors = b.value
        is_whole = a.element_type.is_integer
        is_exact = (divisors is not None and bool(np.all(divisors != 0))) if is_whole else self._are_few(a, b)
        return type(self).function if is_exact else None

    def _are_few(self, a: TensorType, b: TensorType) -> bool:
        return a.element_type is not ElementType.f32 or self.infer(a, b).shape.size.hi <= thresholds.CALL_ELEMENTS

    def check_values(self, *types: TensorType) -> list[IRError]:
        return _zero_divisors(*types)


@op("Mod", since=1)
class Mod(_Remainder):
    """output = a - b · trunc(a / b): the remainder with the sign of a, as in C.

    Specification: arithmetic/mod-1.

    Inputs:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: The type of a, the shape that a and b broadcast to.
    """

    function = np.fmod

    def of_singles(self, a: Array, b: Array, out: Array | None) -> Array:
        return truncated_remainder(a, b, out)

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds | None:
        """The remainder is between 0 and a, and less than |b|; it is a itself where |a| is less than |b|."""
        if not _is_integer(a[0]):
            return None
        largest = self.align(a[0], _largest_magnitude(b) - 1)
        least_divisor = self.align(a[0], b[0].astype(np.float64))
        is_itself = (-least_divisor < a[0]) & (a[1] < least_divisor)
        lower = np.where(is_itself, a[0], np.where(a[0] < 0, np.maximum(a[0], -largest), 0))
        upper = np.where(is_itself, a[1], np.where(a[1] > 0, np.minimum(a[1], largest), 0))
        return _with_exact_elements(self, (a, b), (lower, upper))


@op("FloorMod", since=1)
class FloorMod(_Remainder):
    """output = a - b · floor(a / b): the remainder with the sign of b, as in Python.

    Specification: arithmetic/floormod-1.

    Inputs:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: The type of a, the shape that a and b broadcast to.
    """

    function = np.remainder

    def of_singles(self, a: Array, b: Array, out: Array | None) -> Array:
        return floor_remainder(a, b, out)

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds | None:
        """The remainder is between 0 and b; it is a itself if a is between 0 and b."""
        if not _is_integer(a[0]):
            return None
        b_lower, b_upper = (self.align(a[0], bound.astype(np.float64)) for bound in b)
        is_itself = (a[0] >= 0) & (a[1] < b_lower)
        lower = np.where(is_itself, a[0], np.minimum(b_lower + 1, 0))
        upper = np.where(is_itself, a[1], np.maximum(b_upper - 1, 0))
        return _with_exact_elements(self, (a, b), (lower, upper))


def _with_exact_elements(operator: Binary, inputs: tuple[Bounds, Bounds], bounds: tuple[Array, Array]) -> Bounds:
    """Convert the bounds from f64 to the dtype of the inputs; exact if the inputs are known."""
    (a_lower, a_upper), (b_lower, b_upper) = inputs
    limits = np.iinfo(a_lower.dtype)
    exact = operator.evaluate(a_lower, np.where(b_lower == 0, 1, b_lower).astype(b_lower.dtype))
    is_exact = (a_lower == a_upper) & operator.align(a_lower, (b_lower == b_upper) & (b_lower != 0))
    lower, upper = (np.broadcast_to(bound, exact.shape) for bound in bounds)
    # f64 cannot represent the end of a 64-bit range: bounds at or beyond it are set as integers.
    lower = np.where(lower <= limits.min, limits.min, np.where(lower >= HUGE, 0, lower).astype(limits.dtype))
    upper = np.where(upper >= HUGE, limits.max, np.where(upper <= limits.min, 0, upper).astype(limits.dtype))
    return np.where(is_exact, exact, lower).astype(limits.dtype), np.where(is_exact, exact, upper).astype(limits.dtype)


def _largest_magnitude(bounds: Bounds) -> Array:
    """The largest magnitude within the bounds, as f64: no integer type overflows there."""
    lower, upper = (bound.astype(np.float64) for bound in bounds)
    magnitude: Array = np.maximum(-lower, upper)
    return magnitude


def _is_integer(array: Array) -> bool:
    return ElementType.of(array).is_integer


def _zero_divisors(a: TensorType, b: TensorType) -> list[IRError]:
    """IR704 for integers divided by a known zero, if there are any."""
    return [] if a.shape.size == 0 else known_faults(_require_no_zero, b)


def _require_no_zero(b: Array) -> None:
    """Raise EvaluationError IR704 where an integer is divided by zero."""
    if _is_integer(b) and (b == 0).any():
        raise EvaluationError("an integer is divided by zero", code=Code.bad_value, port="b")


@op("Power", since=1)
class Power(Binary):
    """output = a to the power of b; 1 where b is 0.

    Integers wrap, and their negative powers are rounded towards zero: only those of 1 and -1 are not 0. A negative
    float to the power of a fraction is NaN.

    Specification: arithmetic/power-1. OpenVINO computes integers in floats, and its overflows are undefined.

    Inputs:
        a: Any numeric type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for the integer 0 to a negative power, and those of Binary.
    """

    inputs = (Binary.inputs[0]._replace(domain=PowerBase()), Binary.inputs[1])
    neutral = 1

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        if _is_integer(a):
            return apply_elementwise(_integer_power, a, self.align(a, b), out=out)
        if b.size == 1 and b.ndim <= a.ndim:
            exponent = float(b.reshape(()))
            return apply_elementwise(lambda base: _float_power(base, exponent), a, out=out if out is a else None)
        return apply_elementwise(np.power, a, self.align(a, b), out=out)

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds | None:
        """Return bounds for bases of at least 1 and exponents of at least 0, where powers rise with both; else None."""
        if not _is_integer(a[0]):
            return None
        limits = np.iinfo(a[0].dtype)
        is_increasing = (a[0] >= 1) & self.align(a[0], b[0] >= 0)
        powers = []
        for base, exponent in zip(a, b, strict=True):
            exponent = self.align(base, exponent)
            size = np.power(base.astype(np.float64), exponent)
            power = np.power(base, np.maximum(exponent, 0))
            powers.append(np.where(size < HUGE, power, limits.max))
        lower, upper = np.where(is_increasing, powers[0], limits.min), np.where(is_increasing, powers[1], limits.max)
        return lower.astype(limits.dtype), upper.astype(limits.dtype)


def _float_power(base: Array, exponent: float) -> Array:
    if exponent == 3:
        return base * base * base
    if not exponent.is_integer() or -1 <= exponent <= 2:
        # NumPy's operator has special cases for squares, roots and reciprocals, and is many times faster for them.
        return base**exponent
    # For negative bases NumPy takes 50 ns each, for others 1 to 2.
    power: Array = np.abs(base) ** exponent
    return np.copysign(power, base) if exponent % 2 else power


def _integer_power(base: Array, exponent: Array) -> Array:
    power: Array = np.power(base, np.maximum(exponent, 0))
    is_negative = exponent < 0
    if not is_negative.any():
        return power
    if ((base == 0) & is_negative).any():
        raise EvaluationError("the integer 0 is raised to a negative power", code=Code.bad_value, port="b")
    # Only 1 and -1 have whole reciprocals; the powers of -1 alternate.
    reciprocal = np.where(np.abs(base) == 1, np.power(base, exponent & 1), 0)
    return np.where(is_negative, reciprocal, power)
