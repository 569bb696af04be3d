"""Types and values that pass between a layer and the graphs inside it."""

from __future__ import annotations

from typing import TypeVar

from ir_exec.errors import ShapeError
from ir_exec.ops.base.bodies import RunningBody, Ties, TypedBody
from ir_exec.types import Array, Dim, ElementType, TensorType

__all__ = ["AnyValue", "arguments", "branch", "by_position", "either", "known_truth", "require_one_element"]

AnyBody = TypeVar("AnyBody", TypedBody, RunningBody)

AnyValue = TypeVar("AnyValue", TensorType, Array)


def branch(bodies: tuple[AnyBody, ...], condition: bool) -> AnyBody:
    return bodies[0 if condition else 1]


def arguments(ties: Ties, values: list[AnyValue]) -> list[AnyValue]:
    """The values of a body's Parameters where each is fed by an input as it is."""
    fed = {tie.parameter: values[tie.position] for tie in ties.inputs if tie.position is not None}
    return [fed[parameter] for parameter in range(ties.parameters)]


def by_position(found: dict[int, TensorType]) -> tuple[TensorType, ...]:
    return tuple(found.get(position, TensorType.unknown()) for position in range(max(found, default=-1) + 1))


def require_one_element(tensor: TensorType, name: str) -> None:
    if tensor.rank is not None and tensor.shape.size & Dim(1) is None:
        raise ShapeError(f"{name} has shape {tensor.shape}, expected one element", code="IR502", port=name)


def known_truth(condition: TensorType) -> bool | None:
    value = condition.value
    return None if value is None or not value.size else bool(value.ravel()[0])


def either(one: TensorType, other: TensorType) -> TensorType:
    """The type of a value that is of either type."""
    kind = one.element_type if one.element_type is other.element_type else ElementType.dynamic
    return TensorType(kind, one.shape | other.shape)
