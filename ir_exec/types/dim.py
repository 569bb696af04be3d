"""Dims: intervals of the possible sizes of an axis."""

from __future__ import annotations

from functools import cache, total_ordering

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.types.traced_size import TracedSize

__all__ = ["UNBOUNDED", "Dim", "OpenShapeError"]

UNBOUNDED = 2**63 - 1
"""The upper bound of unbounded dims, at which arithmetic saturates."""


class OpenShapeError(ShapeError, ValueError):
    """An error for a dynamic dim used as a number, or for the dims of an unknown rank.

    In the `infer` of an operator it is a fault of the operator, since `infer` must accept dynamic dims. It is not a
    TypeError: NumPy replaces the message of TypeErrors, and passes other errors on.
    """

    default_code = Code.input_array_shape


def _times(a: int, b: int) -> int:
    return min(a * b, UNBOUNDED)


@total_ordering
class Dim:
    """All sizes from `lo` to `hi`, inclusive; immutable.

    Arithmetic is interval arithmetic that saturates at UNBOUNDED: the result contains every size that a pair of sizes
    can give. A static dim is used like an integer: `Dim(3) == 3`, `range(Dim(3))`, `np.zeros([Dim(3)])`.
    """

    __slots__ = ("hi", "lo")

    lo: int
    hi: int

    def __init__(self, lo: int, hi: int | None = None) -> None:
        hi = lo if hi is None else hi
        # All sizes beyond UNBOUNDED are equal: a lower bound may be larger than an upper bound clipped to it.
        self.lo = lo if lo < UNBOUNDED else UNBOUNDED
        self.hi = hi if hi < UNBOUNDED else UNBOUNDED
        if not 0 <= self.lo <= self.hi:
            raise ValueError(f"invalid dim from {lo} to {hi}")

    @staticmethod
    def any() -> Dim:
        """The unknown dim, written `?`."""
        return _ANY

    @staticmethod
    def of(size: int | tuple[int, int] | Dim | None) -> Dim:
        """A dim from a size, from a pair (lo, hi), or from None or -1 for a dynamic one."""
        if type(size) is int and size >= 0:
            return _static(size)
        if isinstance(size, Dim):
            return size
        if isinstance(size, TracedSize):
            return Dim(size)
        if size is None or size == -1:
            return _ANY
        return Dim(*size) if isinstance(size, tuple) else _static(int(size))

    @property
    def is_static(self) -> bool:
        """Return True if the dim is one size."""
        return self.lo == self.hi

    @property
    def is_bounded(self) -> bool:
        """Return True if the dim has an upper bound."""
        return self.hi < UNBOUNDED

    @property
    def size(self) -> int:
        """The size of a static dim.

        Raises:
            OpenShapeError: For a dynamic one.
        """
        if self.lo != self.hi:
            raise OpenShapeError(
                "the dim is", actual=self, expected="a static size", reason=": choose a size, or reshape the model"
            )
        return self.lo

    def __index__(self) -> int:
        return self.size

    def __lt__(self, other: Dim | int) -> bool:
        """Compare sizes.

        Raises:
            OpenShapeError: If a dim is dynamic.
        """
        return self.size < Dim.of(other).size if isinstance(other, Dim) else self.size < other

    def __contains__(self, size: int) -> bool:
        return self.lo <= size <= self.hi

    def __and__(self, other: Dim) -> Dim | None:
        """The sizes that both dims allow, None if there are none."""
        if self.lo == other.lo and self.hi == other.hi:
            return self
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        return Dim(lo, hi) if lo <= hi else None

    def __or__(self, other: Dim) -> Dim:
        """The smallest interval that contains both."""
        return Dim(min(self.lo, other.lo), max(self.hi, other.hi))

    def __add__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        return Dim(self.lo + other.lo, self.hi + other.hi)

    __radd__ = __add__

    def __sub__(self, other: Dim | int) -> Dim:
        """The difference, at least 0; an unbounded dim remains unbounded."""
        other = Dim.of(other)
        hi = self.hi - other.lo if self.is_bounded else UNBOUNDED
        return Dim(max(self.lo - other.hi, 0), max(hi, 0))

    def __mul__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        return Dim(_times(self.lo, other.lo), _times(self.hi, other.hi))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Dim:
        """The quotient rounded down, for a positive divisor."""
        return Dim(self.lo // divisor, self.hi // divisor if self.is_bounded else UNBOUNDED)

    def ceil_div(self, divisor: int) -> Dim:
        """The quotient rounded up, for a positive divisor."""
        return Dim(-(-self.lo // divisor), -(-self.hi // divisor) if self.is_bounded else UNBOUNDED)

    def broadcast(self, other: Dim) -> Dim | None:
        """The dim of two axes broadcast together as in NumPy, None if they never broadcast."""
        if self is other or self.lo == self.hi == 1:
            return other
        if other.lo == other.hi == 1:
            return self
        result = self & other
        if 1 in self:
            result = other if result is None else result | other
        if 1 in other:
            result = self if result is None else result | self
        return result

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self.lo == other.lo and self.hi == other.hi
        if isinstance(other, int):
            return self.lo == self.hi == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.lo) if self.lo == self.hi else hash((self.lo, self.hi))

    def __str__(self) -> str:
        """The notation of the `shape` attribute in files: `3`, `?`, `1..10`, `2..`, `..10`."""
        if self.lo == self.hi:
            return str(self.lo)
        if self.lo == 0 and not self.is_bounded:
            return "?"
        return f"{self.lo or ''}..{self.hi if self.is_bounded else ''}"

    def __repr__(self) -> str:
        return f"Dim({self})"


_ANY = Dim(0, UNBOUNDED)


@cache
def _static(size: int) -> Dim:
    return Dim(size)
