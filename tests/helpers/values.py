"""Arrays and tensor types in few words."""

from __future__ import annotations

from math import prod

import numpy as np

from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["array", "array_of", "between", "constant", "floats", "ints", "iota", "make_type", "scalar", "uniform"]


def array(element_type: str, *values: float) -> Array:
    """A vector of these values."""
    return np.array(values, ElementType[element_type].dtype)


def ints(*values: object, element_type: str = "i64") -> Array:
    """A vector of integers, or of rows of integers."""
    return np.array(values, ElementType[element_type].dtype)


def floats(*values: object) -> Array:
    """A vector of f32, or of rows of f32."""
    return np.array(values, np.float32)


def scalar(value: float, element_type: str = "i64") -> Array:
    """A value of shape []."""
    return np.array(value).astype(ElementType[element_type].dtype)


def array_of(values: object, element_type: str) -> Array:
    """An array of these values, converted as NumPy does."""
    return np.asarray(values).astype(ElementType[element_type].dtype)


def iota(*shape: int, element_type: str = "f32", start: int = 0) -> Array:
    """Every element the next number, from `start` on."""
    return np.arange(start, start + prod(shape)).reshape(shape).astype(ElementType[element_type].dtype)


def uniform(shape: tuple[int, ...], low: float, high: float, seed: int = 0, element_type: str = "f32") -> Array:
    """Random numbers from low to high, the same for every call with this seed."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(ElementType[element_type].dtype)


def make_type(shape: str, element_type: ElementType | str = "f32") -> TensorType:
    """The type of a tensor of which no values are known; the shape as an IR file spells it."""
    resolved = ElementType[element_type] if isinstance(element_type, str) else element_type
    return TensorType(resolved, Shape.parse(shape))


def constant(value: object, element_type: str = "i64") -> TensorType:
    """The type of a tensor whose values are known."""
    return TensorType.of(np.array(value, ElementType[element_type].dtype))


def between(least: object, most: object, element_type: str = "i64") -> TensorType:
    """The type of a tensor of which bounds are known."""
    lower, upper = (np.array(bound, ElementType[element_type].dtype) for bound in (least, most))
    return TensorType.of(lower).with_bounds(lower, upper)
