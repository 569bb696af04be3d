"""Types and values that pass between a layer and its bodies, the graphs inside it."""

from __future__ import annotations

from typing import TypeVar

from ir_exec.types import Array, ElementType, TensorType

__all__ = ["AnyValue", "by_position", "either", "known_truth"]

AnyValue = TypeVar("AnyValue", TensorType, Array)
"""Inference and a run pass values to bodies in the same way: here types, there arrays."""


def by_position(found: dict[int, TensorType]) -> tuple[TensorType, ...]:
    """The types of the layer's outputs from a dict by position; unknown where no body gives the output."""
    return tuple(found.get(position, TensorType.unknown()) for position in range(max(found, default=-1) + 1))


def known_truth(condition: TensorType) -> bool | None:
    """The value of a condition, None where it is not known."""
    value = condition.value
    return None if value is None or not value.size else bool(value.ravel()[0])


def either(one: TensorType, other: TensorType) -> TensorType:
    """The narrowest type that values of both types fit."""
    kind = one.element_type if one.element_type is other.element_type else ElementType.dynamic
    return TensorType(kind, one.shape | other.shape)
