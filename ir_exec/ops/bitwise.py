"""Bitwise operators. They operate on the bits of integers, and are logical operators for booleans."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.kernels.elementwise import Function, apply_elementwise
from ir_exec.kernels.precision import CALCULABLE
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.elementwise import Binary, Unary, binary
from ir_exec.ops.base.shapes import known_faults
from ir_exec.types import BOOLEAN, INTEGER, Array, ElementType, TensorType

__all__ = ["BitwiseAnd", "BitwiseLeftShift", "BitwiseNot", "BitwiseOr", "BitwiseRightShift", "BitwiseXor"]

BITS = CALCULABLE & INTEGER


def _bitwise(
    type_name: str,
    function: Function,
    word: str,
    page: str,
    *,
    neutral: float,
    absorbing: float | None = None,
    is_idempotent: bool = False,
) -> type[Op]:
    return binary(
        type_name,
        function,
        f"output = a {word} b, bit by bit; of booleans the logical operator.",
        page=f"bitwise/{page}",
        since=13,
        types=BITS | BOOLEAN,
        neutral=neutral,
        absorbing=absorbing,
        is_idempotent=is_idempotent,
    )


BitwiseAnd = _bitwise(
    "BitwiseAnd", np.bitwise_and, "and", "bitwise-and-13", neutral=-1, absorbing=0, is_idempotent=True
)

BitwiseOr = _bitwise("BitwiseOr", np.bitwise_or, "or", "bitwise-or-13", neutral=0, absorbing=-1, is_idempotent=True)

BitwiseXor = _bitwise("BitwiseXor", np.bitwise_xor, "exclusive or", "bitwise-xor-13", neutral=0)


@op("BitwiseNot", since=13)
class BitwiseNot(Unary):
    """output = data with every bit inverted; of booleans the logical operator.

    Specification: bitwise/bitwise-not-13.

    Inputs:
        data: Any shape, any integer type or boolean.

    Outputs:
        output: Like data.
    """

    inputs = (In("data", types=BITS | BOOLEAN),)

    def evaluate(self, data: Array) -> Array:
        return apply_elementwise(np.invert, data)


class _Shift(Binary):
    """The base of the shifts.

    Inputs:
        a: Any integer type.
        b: The element type of a, a shape that broadcasts with the shape of a.

    Outputs:
        output: The type of a, the shape that a and b broadcast to.

    Raises:
        IRError: IR704 for a shift by a negative number of bits or by the width of the type or more, which the
            specification leaves to the hardware; and the errors of Binary.
    """

    inputs = (In("a", types=BITS), In("b", types=BITS, like="a"))
    neutral = 0

    def evaluate(self, a: Array, b: Array, *, out: Array | None = None) -> Array:
        if a.size:
            _require_shifts(b)
        return super().evaluate(a, b, out=out)

    def check_values(self, *types: TensorType) -> list[IRError]:
        a, b = types
        return [] if a.shape.size == 0 else known_faults(_require_shifts, b)


def _require_shifts(b: Array) -> None:
    """Raise EvaluationError IR704 for a shift by a negative number of bits, or by the width of the type or more."""
    element_type = ElementType.of(b)
    is_outside = (b < 0) | (b >= element_type.bits)
    if is_outside.any():
        count = int(b[is_outside].flat[0])
        raise EvaluationError(
            "a shift by",
            actual=count,
            detail="bits",
            expected=f"0 to {element_type.bits - 1}",
            reason=f" for {element_type}",
            code=Code.bad_value,
            port="b",
        )


@op("BitwiseLeftShift", since=15)
class BitwiseLeftShift(_Shift):
    """output = a · 2^b: the bits of a shifted to the left by b; bits shifted out are lost.

    Specification: bitwise/bitwise-left-shift-15.
    """

    function = np.left_shift


@op("BitwiseRightShift", since=15)
class BitwiseRightShift(_Shift):
    """output = a / 2^b, rounded down: the bits of a shifted to the right by b.

    Specification: bitwise/bitwise-right-shift-15.
    """

    function = np.right_shift
