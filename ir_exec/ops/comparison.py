"""Comparisons of two tensors, and the tests of floats for NaN and infinity. All outputs are boolean.

NaN is not equal to any value, including itself, and neither less nor greater.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ir_exec.kernels.elementwise import Function
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.elementwise import Binary, binary
from ir_exec.types import BOOLEAN, STRING, Array, Bounds, ElementType, TensorType

__all__ = ["Equal", "Greater", "GreaterEqual", "IsFinite", "IsInf", "IsNaN", "Less", "LessEqual", "NotEqual"]

COMPARABLE = CALCULABLE | BOOLEAN | STRING


class ElementComparison(Binary):
    """The base of comparisons: a boolean for every pair of elements."""

    steps = "operands"

    inputs = (In("a", types=COMPARABLE), In("b", types=COMPARABLE, like="a"))
    inplace_inputs = ()

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(ElementType.boolean, super().infer(a, b).shape)

    def evaluate(self, a: Array, b: Array) -> Array:  # type: ignore[override]  # the result does not fit into an input
        return np.asarray(type(self).function(a, self.align(a, b)), np.bool_)

    def plain_function(self, a: TensorType, b: TensorType) -> Function:
        return type(self).function


def _comparison(type_name: str, function: Function, sign: str, page: str) -> type[Op]:
    return binary(
        type_name,
        function,
        f"output = a {sign} b.",
        page=f"comparison/{page}",
        base=ElementComparison,
        types=COMPARABLE,
        is_monotone=True,
    )


Greater = _comparison("Greater", np.greater, ">", "greater-1")

GreaterEqual = _comparison("GreaterEqual", np.greater_equal, "≥", "greater-equal-1")

Less = _comparison("Less", np.less, "<", "less-1")

LessEqual = _comparison("LessEqual", np.less_equal, "≤", "lessequal-1")


@op("Equal", since=1)
class Equal(ElementComparison):
    """output = a equals b.

    Specification: comparison/equal-1.

    Inputs:
        a: Any element type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: Boolean, the shape that a and b broadcast to.
    """

    function: ClassVar[Function] = np.equal

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds:
        """True where both are known and equal, false where their intervals do not overlap."""
        b = (self.align(a[0], b[0]), self.align(a[0], b[1]))
        must_be = (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])
        may_be = (a[0] <= b[1]) & (b[0] <= a[1])
        return np.asarray(must_be), np.asarray(may_be)


@op("NotEqual", since=1)
class NotEqual(Equal):
    """output = a differs from b.

    Specification: comparison/notequal-1.

    Inputs:
        a: Any element type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: Boolean, the shape that a and b broadcast to.
    """

    function = np.not_equal

    def evaluate_bounds(self, a: Bounds, b: Bounds) -> Bounds:
        must_be_equal, may_be_equal = super().evaluate_bounds(a, b)
        return ~may_be_equal, ~must_be_equal


class _Test(Op):
    """A boolean for every element of a tensor of floats."""

    inputs = (In("data", types=CALCULABLE_FLOAT),)
    is_elementwise = True

    def infer(self, data: TensorType) -> TensorType:
        return TensorType(ElementType.boolean, data.shape)


@op("IsNaN", since=10)
class IsNaN(_Test):
    """output = data is NaN.

    Specification: comparison/isnan-10.

    Inputs:
        data: Any shape, any float type.

    Outputs:
        output: Boolean, the shape of data.
    """

    def evaluate(self, data: Array) -> Array:
        return np.asarray(np.isnan(data))


@op("IsFinite", since=10)
class IsFinite(_Test):
    """output = data is neither infinite nor NaN.

    Specification: comparison/isfinite-10.

    Inputs:
        data: Any shape, any float type.

    Outputs:
        output: Boolean, the shape of data.
    """

    def evaluate(self, data: Array) -> Array:
        return np.asarray(np.isfinite(data))


@op("IsInf", since=10)
class IsInf(_Test):
    """output = data is -inf (with `detect_negative`) or +inf (with `detect_positive`); both count by default.

    Specification: comparison/isinf-10.

    Inputs:
        data: Any shape, any float type.

    Outputs:
        output: Boolean, the shape of data.
    """

    detect_negative: Bool = True
    detect_positive: Bool = True

    def evaluate(self, data: Array) -> Array:
        is_infinite = np.asarray(np.isinf(data))
        if not self.detect_negative:
            is_infinite &= data > 0
        if not self.detect_positive:
            is_infinite &= data < 0
        return is_infinite
