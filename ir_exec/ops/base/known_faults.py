"""What a run would say of inputs that are known before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir_exec.errors import EvaluationError, IRError
from ir_exec.types import UNBOUNDED, Array, TensorType

__all__ = ["known_faults", "largest_dim"]


def known_faults(check: Callable[..., object], *inputs: TensorType | None, **settings: Any) -> list[IRError]:
    """The EvaluationError that `check` raises for the values of these inputs; none where one of them is not known.

    check: takes their arrays, and `settings` by name.
    """
    values: list[Array] = []
    for tensor in inputs:
        value = None if tensor is None else tensor.value
        if value is None:
            return []
        values.append(value)
    try:
        check(*values, **settings)
    except EvaluationError as error:
        return [error]
    return []


def largest_dim(tensor: TensorType, axis: int) -> int:
    """The largest size that an axis may have: what lies beyond it is wrong whatever its size is."""
    return UNBOUNDED if tensor.shape.dims is None else tensor.shape[axis].hi
