"""Shapes: tuples of dims, or an unknown rank. Tensor types, with bounds of the elements. Limits of NumPy's arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, overload

from ir_exec.errors import ResourceError
from ir_exec.types.dim import UNBOUNDED, Dim, OpenShapeError
from ir_exec.types.element_type import Array, ElementType

__all__ = ["MOST_AXES", "Bounds", "Shape", "TensorType", "require_array_size"]

MOST_AXES = 64
"""Maximum axes of an array."""

_MOST_BYTES = 2**63 - 1
"""Maximum bytes of an array; dims of 0 count as 1, for empty arrays too."""


def require_array_size(sizes: Iterable[int], itemsize: int = 1) -> None:
    """Raise ResourceError for a shape that no array can have.

    Args:
        sizes: The static dims.
        itemsize: Bytes of an element.
    """
    dims = [int(size) for size in sizes]
    if len(dims) > MOST_AXES:
        raise ResourceError("a tensor has", actual=len(dims), detail="axes", expected=f"at most {MOST_AXES}")
    if math.prod([max(dim, 1) for dim in dims]) * max(itemsize, 1) > _MOST_BYTES:
        raise ResourceError(f"a tensor of shape {dims} is larger than the maximum, 2**63 - 1 bytes")


_DIM = re.compile(r"(?P<size>-?\d+)|(?P<any>\?)|(?P<lo>\d*)\s*\.\.\s*(?P<hi>\d*)")


class Shape:
    """The dims of a tensor, outermost first; `dims` is None if the rank is unknown. Immutable.

    `Shape([1, None, (2, 8)])` has the dims 1, ? and 2..8; `Shape(None)` has an unknown rank; `Shape([])` is the shape
    of a scalar. Shapes compare with each other and with sequences of dims: `shape == [1, None, (2, 8)]`. A static shape
    is accepted by NumPy: `np.zeros(shape)`.
    """

    __slots__ = ("dims",)

    dims: tuple[Dim, ...] | None

    def __init__(self, dims: Sequence[int | tuple[int, int] | Dim | None] | None = None) -> None:
        self.dims = None if dims is None else tuple([dim if type(dim) is Dim else Dim.of(dim) for dim in dims])

    @staticmethod
    def unknown() -> Shape:
        """The shape of unknown rank, written `[...]`."""
        return _UNKNOWN

    @staticmethod
    def of_rank(rank: int) -> Shape:
        """The shape of this rank with dynamic dims."""
        return Shape([Dim.any()] * rank)

    @staticmethod
    def parse(text: str) -> Shape:
        """Read the grammar of the `shape` attribute: `1..10,?,..5,3..,-1`, brackets and spaces are allowed; `...`.

        Raises:
            ValueError: For anything else, and for dims below -1 or beyond 2**63 - 1.
        """
        return _parse(text)

    @property
    def rank(self) -> int | None:
        """The number of dims, None if it is unknown."""
        return None if self.dims is None else len(self.dims)

    @property
    def is_static(self) -> bool:
        """Return True if the rank and all dims are static."""
        if self.dims is None:
            return False
        for dim in self.dims:  # noqa: SIM110  # `all` is three times slower, and called for every port of a model
            if dim.lo != dim.hi:
                return False
        return True

    @property
    def static(self) -> tuple[int, ...]:
        """The sizes of a static shape.

        Raises:
            OpenShapeError: For a dynamic one.
        """
        dims = self._known_dims()
        sizes = tuple([dim.lo for dim in dims if dim.lo == dim.hi])
        if len(sizes) < len(dims):
            raise OpenShapeError(
                "the shape is", actual=self, expected="static sizes", reason=": choose sizes, or reshape the model"
            )
        return sizes

    @property
    def size(self) -> Dim:
        """The number of elements."""
        if self.dims is None:
            return Dim.any()
        lo = hi = 1
        for dim in self.dims:
            lo, hi = lo * dim.lo, hi * dim.hi
        return Dim(lo, hi)

    def __and__(self, other: Shape) -> Shape | None:
        """The dims that both shapes allow, None if there are none."""
        if self.dims is None:
            return other
        if other.dims is None:
            return self
        if len(self.dims) != len(other.dims):
            return None
        met = []
        for mine, theirs in zip(self.dims, other.dims, strict=True):
            dim = mine & theirs
            if dim is None:
                return None
            met.append(dim)
        return Shape(met)

    def __or__(self, other: Shape) -> Shape:
        """The smallest shape that contains both."""
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return _UNKNOWN
        return Shape([mine | theirs for mine, theirs in zip(self.dims, other.dims, strict=True)])

    def __len__(self) -> int:
        return len(self._known_dims())

    def __bool__(self) -> bool:
        return True  # True for a scalar too, which has no dims: `if shape` tests for None

    def __iter__(self) -> Iterator[Dim]:
        return iter(self._known_dims())

    @overload
    def __getitem__(self, index: int) -> Dim: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Dim, ...]: ...
    def __getitem__(self, index: int | slice) -> Dim | tuple[Dim, ...]:
        return self._known_dims()[index]

    def __index__(self) -> int:
        # NumPy treats a shape that it cannot iterate over as an integer, and shows the error of this attempt.
        self._known_dims()
        raise TypeError("a shape is not an integer")

    def _known_dims(self) -> tuple[Dim, ...]:
        if self.dims is None:
            raise OpenShapeError(
                "the rank is",
                actual="unknown",
                expected="a static shape",
                reason=": choose a shape, or reshape the model",
            )
        return self.dims

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self.dims == other.dims
        if isinstance(other, (tuple, list)):
            try:
                return self.dims is not None and self.dims == Shape(other).dims
            except (TypeError, ValueError):
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        return "[...]" if self.dims is None else "[" + ",".join(map(str, self.dims)) + "]"

    def __repr__(self) -> str:
        return f"Shape({self})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Shape, (self.dims,)


@lru_cache(maxsize=2**12)
def _parse(text: str) -> Shape:
    # Models have few different shapes, each at many constants.
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if text == "...":
        return _UNKNOWN
    if not text:
        return Shape([])
    return Shape([_parse_dim(part.strip()) for part in text.split(",")])


def _parse_dim(text: str) -> Dim:
    if text.isdecimal() and text.isascii() and len(text) < 19:
        return Dim.of(int(text))
    match = _DIM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a dim")
    if match["any"]:
        return Dim.any()
    lo = int(match["size"] or match["lo"] or 0)
    hi = lo if match["size"] else int(match["hi"] or UNBOUNDED)
    if lo == -1:
        return Dim.any()
    if not 0 <= lo <= hi <= UNBOUNDED:
        raise ValueError(f"{text!r} is not a dim, expected a size from 0 to {UNBOUNDED}")
    return Dim(lo, hi)


_UNKNOWN = Shape(None)


Bounds: TypeAlias = tuple[Array, Array]


class TensorType:
    """Element type and shape of a value, with bounds of its elements if they are known; immutable.

    Bounds are two arrays of the value's shape and type, that enclose every element. An integer bound at the end
    of its type's range means "not bounded". If both bounds are equal the value is known. `source` returns the bounds,
    or None; it is called on demand, so constants are decoded only if needed. Types compare by element type and shape
    only.
    """

    __slots__ = ("element_type", "shape", "source")

    def __init__(
        self, element_type: ElementType, shape: Shape, source: Callable[[], Bounds | None] | None = None
    ) -> None:
        self.element_type = element_type
        self.shape = shape
        self.source = source

    @staticmethod
    def unknown() -> TensorType:
        """The type with unknown element type and shape."""
        return _UNKNOWN_TYPE

    @staticmethod
    def of(array: Array) -> TensorType:
        """The type of an array, with the array as its known value."""
        return TensorType(ElementType.of(array), Shape(array.shape)).with_bounds(array, array)

    @property
    def rank(self) -> int | None:
        """The number of dims, None if it is unknown."""
        dims = self.shape.dims
        return None if dims is None else len(dims)

    @property
    def bounds(self) -> Bounds | None:
        """Lower and upper bounds of the elements, None if they are unknown."""
        return None if self.source is None else self.source()

    @property
    def value(self) -> Array | None:
        """The value if it is known, else None."""
        bounds = self.bounds
        if bounds is None:
            return None
        lower, upper = bounds
        # Not `np.array_equal`: both have the same shape.
        return lower if lower is upper or (lower == upper).all() else None

    def without_values(self) -> TensorType:
        """Return the type without bounds."""
        return self if self.source is None else TensorType(self.element_type, self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        """Return the type with another shape and without bounds."""
        return TensorType(self.element_type, shape)

    def with_bounds(self, lower: Array, upper: Array) -> TensorType:
        """Return the type with every element between those of the arrays `lower` and `upper`."""
        return TensorType(self.element_type, self.shape, lambda: (lower, upper))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorType):
            return NotImplemented
        return self.element_type is other.element_type and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.element_type, self.shape))

    def __str__(self) -> str:
        return f"{self.element_type}{self.shape}"

    def __repr__(self) -> str:
        return f"TensorType({self})"


_UNKNOWN_TYPE = TensorType(ElementType.dynamic, Shape.unknown())
