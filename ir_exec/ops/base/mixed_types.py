"""Inputs that may have another element type than the data they go into, and are converted to it, as in OpenVINO."""

from __future__ import annotations

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError
from ir_exec.types import Array, ElementType, TensorType, convert

__all__ = ["require_convertible", "require_same_values"]


def require_convertible(tensor: TensorType, into: TensorType, name: str, into_name: str) -> None:
    """Raises ElementTypeError IR402 for strings that would become numbers, and numbers that would become strings."""
    kinds = (tensor.element_type, into.element_type)
    if ElementType.string in kinds and kinds[0] is not kinds[1] and all(kind.is_known for kind in kinds):
        message = f"{name} is {kinds[0]}, expected {kinds[1]} as {into_name} is"
        raise ElementTypeError(message, code=Code.element_types_differ, port=name)


def require_same_values(array: Array, kind: ElementType) -> None:
    """Raises EvaluationError IR704 where an element is not the same number in the element type `kind`.

    For operators whose bounds are computed from those of `array`: a conversion that wraps would turn them around.
    """
    own = ElementType.of(array)
    if own is not kind and not np.array_equal(convert(convert(array, kind), own), array):
        raise EvaluationError(f"{kind} does not hold all of these elements of type {own}")
