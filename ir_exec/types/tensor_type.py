"""The type of a value: element type, shape, and what is known of its elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ir_exec.types.element_type import Array, ElementType
from ir_exec.types.shape import Shape

__all__ = ["TensorType"]


@dataclass(frozen=True, slots=True, init=False)
class TensorType:
    """Element type and shape of a value, with bounds of its elements where they are known.

    `lower` and `upper` are arrays of the value's own shape and type; every element of the value lies between them.
    An integer bound at the very end of its type's range means "not bounded". Where both are equal the value is known.
    A constant is known through `source`, which decodes it when a rule asks, and not before.
    Types compare by element type and shape alone.
    """

    element_type: ElementType
    shape: Shape
    lower: Array | None = field(compare=False, repr=False)
    upper: Array | None = field(compare=False, repr=False)
    source: Callable[[], Array] | None = field(compare=False, repr=False)

    def __init__(
        self,
        element_type: ElementType,
        shape: Shape,
        lower: Array | None = None,
        upper: Array | None = None,
        source: Callable[[], Array] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "element_type", element_type)
        put(self, "shape", shape)
        put(self, "lower", lower)
        put(self, "upper", upper)
        put(self, "source", source)

    @staticmethod
    def unknown() -> TensorType:
        """The type of which nothing is known."""
        return _UNKNOWN

    @staticmethod
    def of(array: Array) -> TensorType:
        """The type of an array, its value known."""
        return TensorType(ElementType.of(array), Shape(array.shape), array, array)

    @property
    def rank(self) -> int | None:
        return self.shape.rank

    @property
    def bounds(self) -> tuple[Array, Array] | None:
        """Lower and upper bound of every element, or None where nothing is known."""
        if self.lower is not None and self.upper is not None:
            return self.lower, self.upper
        if self.source is None:
            return None
        value = self.source()
        return value, value

    @property
    def value(self) -> Array | None:
        """The value itself where it is known."""
        bounds = self.bounds
        if bounds is None:
            return None
        lower, upper = bounds
        return lower if lower is upper or np.array_equal(lower, upper) else None

    @property
    def has_value(self) -> bool:
        """Whether `value` is known; decodes nothing."""
        return self.source is not None or (self.lower is not None and self.value is not None)

    def without_values(self) -> TensorType:
        return TensorType(self.element_type, self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        """The same element type with another shape, nothing known of the elements."""
        return TensorType(self.element_type, shape)

    def with_bounds(self, lower: Array, upper: Array) -> TensorType:
        return replace(self, lower=lower, upper=upper)

    def __str__(self) -> str:
        return f"{self.element_type}{self.shape}"


_UNKNOWN = TensorType(ElementType.dynamic, Shape.unknown())
