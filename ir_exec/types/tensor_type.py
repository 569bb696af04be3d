"""The type of a value: element type, shape, and what is known of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ir_exec.types.element_type import Array, ElementType
from ir_exec.types.shape import Shape

__all__ = ["Bounds", "TensorType"]


Bounds: TypeAlias = tuple[Array, Array]


class TensorType:
    """Element type and shape of a value, with bounds of its elements where they are known; immutable.

    Bounds are two arrays of the value's own shape and type; every element of the value lies between them. An integer
    bound at the very end of its type's range means "not bounded". Where both are equal the value is known.
    `source` gives the bounds, or None, when a rule asks and not before: so a constant is decoded when it is needed.
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
        """The type of which nothing is known."""
        return _UNKNOWN

    @staticmethod
    def of(array: Array) -> TensorType:
        """The type of an array, its value known."""
        return TensorType(ElementType.of(array), Shape(array.shape)).with_bounds(array, array)

    @property
    def rank(self) -> int | None:
        return self.shape.rank

    @property
    def bounds(self) -> Bounds | None:
        """Lower and upper bound of every element, or None where nothing is known."""
        return None if self.source is None else self.source()

    @property
    def value(self) -> Array | None:
        """The value itself where it is known."""
        bounds = self.bounds
        if bounds is None:
            return None
        lower, upper = bounds
        return lower if lower is upper or np.array_equal(lower, upper) else None

    def without_values(self) -> TensorType:
        """The same element type and shape, nothing known of the elements."""
        return self if self.source is None else TensorType(self.element_type, self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        """The same element type with another shape, nothing known of the elements."""
        return TensorType(self.element_type, shape)

    def with_bounds(self, lower: Array, upper: Array) -> TensorType:
        """The same type with every element between these two arrays."""
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
