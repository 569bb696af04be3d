"""Integers that record how they are computed and compared, so an inference need not be repeated for other sizes.

An inference with traced sizes takes the same branches for all sizes for which the recorded comparisons have the same
results, and its results are then the recorded expressions. A use that cannot be recorded, such as the conversion to an
ordinary integer, is a TypeError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

__all__ = ["SizeTrace", "TracedSize", "integer_array"]

LONGEST_EXPRESSION = 2**10
"""Maximum length of an expression: those of inferences that add up many sizes may grow without limit."""

_Operand: TypeAlias = "tuple[int, str, bool]"
"""A value, its expression, and True if it is never negative."""


class SizeTrace:
    """The comparisons of an inference, as expressions that are true for the traced sizes, in their order."""

    def __init__(self) -> None:
        self.guards: dict[str, None] = {}

    def require(self, condition: str) -> None:
        self.guards[condition] = None


class TracedSize:
    """An integer with the expression that computes it.

    Args:
        code: A Python expression.
        is_natural: The integer is never negative.
    """

    __slots__ = ("_is_natural", "_trace", "code", "value")
    __hash__ = None  # type: ignore[assignment]  # equality is recorded, but not that of hashes
    # NumPy's scalars then leave arithmetic to this class.
    __array_ufunc__ = None

    def __init__(self, trace: SizeTrace, value: int, code: str, *, is_natural: bool) -> None:
        self._trace = trace
        self.value = value
        self.code = code
        self._is_natural = is_natural

    def _operand(self, other: object) -> _Operand:
        if isinstance(other, TracedSize):
            return other.value, other.code, other._is_natural
        if isinstance(other, (int, np.integer, np.bool_)):
            number = int(other)
            return number, f"({number})" if number < 0 else str(number), number >= 0
        raise TypeError(f"a traced size meets {type(other).__name__}")

    def _combine(self, symbol: str, left: _Operand, right: _Operand) -> TracedSize:
        is_natural = left[2] and right[2] and symbol != "-"
        code = f"({left[1]} {symbol} {right[1]})"
        if len(code) > LONGEST_EXPRESSION:
            raise TypeError("the expression is too long")
        return TracedSize(self._trace, _ARITHMETIC[symbol](left[0], right[0]), code, is_natural=is_natural)

    def _divide(self, symbol: str, left: _Operand, right: _Operand) -> TracedSize:
        if not right[1].isdecimal():
            self._trace.require(f"{right[1]} != 0")
        return self._combine(symbol, left, right)

    def _compare(self, symbol: str, other: object) -> bool:
        value, code, _ = self._operand(other)
        result = _COMPARISONS[symbol](self.value, value)
        if code != self.code and not self._is_certain(symbol, other):
            condition = f"{self.code} {symbol} {code}"
            self._trace.require(condition if result else f"not {condition}")
        return result

    def _is_certain(self, symbol: str, other: object) -> bool:
        """Return True if the comparison has this result for all natural numbers."""
        if not self._is_natural or isinstance(other, TracedSize):
            return False
        number = int(other)  # type: ignore[call-overload]  # `_operand` accepts integers only
        return number < 0 or (number == 0 and symbol in ("<", ">="))

    def __add__(self, other: object) -> TracedSize:
        return self if _is_number(other, 0) else self._combine("+", self._operand(self), self._operand(other))

    def __radd__(self, other: object) -> TracedSize:
        return self if _is_number(other, 0) else self._combine("+", self._operand(other), self._operand(self))

    def __sub__(self, other: object) -> TracedSize:
        return self._combine("-", self._operand(self), self._operand(other))

    def __rsub__(self, other: object) -> TracedSize:
        return self._combine("-", self._operand(other), self._operand(self))

    def __mul__(self, other: object) -> TracedSize:
        return self if _is_number(other, 1) else self._combine("*", self._operand(self), self._operand(other))

    def __rmul__(self, other: object) -> TracedSize:
        return self if _is_number(other, 1) else self._combine("*", self._operand(other), self._operand(self))

    def __floordiv__(self, other: object) -> TracedSize:
        return self._divide("//", self._operand(self), self._operand(other))

    def __rfloordiv__(self, other: object) -> TracedSize:
        return self._divide("//", self._operand(other), self._operand(self))

    def __mod__(self, other: object) -> TracedSize:
        return self._divide("%", self._operand(self), self._operand(other))

    def __rmod__(self, other: object) -> TracedSize:
        return self._divide("%", self._operand(other), self._operand(self))

    def __neg__(self) -> TracedSize:
        return self._combine("-", (0, "0", True), self._operand(self))

    def __pos__(self) -> TracedSize:
        return self

    def __eq__(self, other: object) -> bool:
        return self._compare("==", other)

    def __ne__(self, other: object) -> bool:
        return self._compare("!=", other)

    def __lt__(self, other: object) -> bool:
        return self._compare("<", other)

    def __le__(self, other: object) -> bool:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> bool:
        return self._compare(">", other)

    def __ge__(self, other: object) -> bool:
        return self._compare(">=", other)

    def __bool__(self) -> bool:
        return self._compare("!=", 0)

    def __repr__(self) -> str:
        return str(self.value)


def integer_array(numbers: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """An array of integers; of objects if any of them is traced."""
    if not any(isinstance(number, TracedSize) for number in numbers):
        return np.array(numbers, dtype)
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return array


def _is_number(operand: object, number: int) -> bool:
    return isinstance(operand, int) and operand == number


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
