"""What the tests of element-wise operators share."""

from __future__ import annotations

import numpy as np

from ir_exec.errors import IRError, raise_error
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op, resolve
from ir_exec.types import Array, Bounds, ElementType, Shape, TensorType

__all__ = ["array", "attribute_error", "bounds_of", "evaluate", "make"]


def array(element_type: str, *values: float) -> Array:
    return np.array(values, ElementType[element_type].dtype)


def make(type: str, opset: int = 1, **attributes: str) -> Op:
    """An operator; a double underscore in the name of an attribute stands for a dot."""
    texts = {name.replace("__", "."): text for name, text in attributes.items()}
    operator = resolve(type, f"opset{opset}").parse(texts, raise_error)
    assert operator is not None
    return operator


def attribute_error(type: str, opset: int = 1, **attributes: str) -> IRError:
    """The one fault of these attributes."""
    faults: list[IRError] = []
    assert resolve(type, f"opset{opset}").parse(attributes, faults.append) is None
    (fault,) = faults
    return fault


def evaluate(operator: Op, *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        result: Array = operator.evaluate(*arrays)
    return result


def bounds_of(operator: Op, *inputs: Bounds) -> Bounds | None:
    """The bounds of the output, as inference computes them from bounds of the inputs."""
    types = [TensorType(ElementType.of(lower), Shape(lower.shape)).with_bounds(lower, upper) for lower, upper in inputs]
    with np.errstate(all="ignore"):
        (output,) = with_known_values(operator, types, [operator.infer(*types)])
        return output.bounds
