"""Tensor types: element type, shape, and bounds of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.types.element_type import Array, ElementType
from ir_exec.types.shape import Shape

__all__ = ["Bounds", "TensorType"]


Bounds: TypeAlias = tuple[Array, Array]


class TensorType:
    """Element type and shape of a value, with bounds of its elements where they are known; immutable.

    Bounds are two arrays of the value's shape and type, between which every element lies. An integer bound at the end
    of its type's range means "not bounded". Where both bounds are equal the value is known.
    `source` gives the bounds, or None; it is called on demand, so that constants are decoded only when needed.
    Types compare by element type and shape alone.
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
        return _UNKNOWN

    @staticmethod
    def of(array: Array) -> TensorType:
        """The type of an array, with the array as its known value."""
        return TensorType(ElementType.of(array), Shape(array.shape)).with_bounds(array, array)

    @property
    def rank(self) -> int | None:
        """The number of dims, None where it is unknown."""
        dims = self.shape.dims
        return None if dims is None else len(dims)

    @property
    def bounds(self) -> Bounds | None:
        """Lower and upper bounds of the elements, None where they are unknown."""
        return None if self.source is None else self.source()

    @property
    def value(self) -> Array | None:
        """The value where it is known, else None."""
        bounds = self.bounds
        if bounds is None:
            return None
        lower, upper = bounds
        # Not `np.array_equal`: both have the same shape.
        return lower if lower is upper or (lower == upper).all() else None

    def without_values(self) -> TensorType:
        """The same element type and shape without bounds."""
        return self if self.source is None else TensorType(self.element_type, self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        """The same element type with another shape and without bounds."""
        return TensorType(self.element_type, shape)

    def with_bounds(self, lower: Array, upper: Array) -> TensorType:
        """The same type, every element between those of the arrays `lower` and `upper`."""
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


_UNKNOWN = TensorType(ElementType.dynamic, Shape.unknown())
