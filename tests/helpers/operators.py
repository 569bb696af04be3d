"""Operators made, run, and held against what is inferred for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.errors import IRError, ShapeError, raise_error
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op, resolve
from ir_exec.types import Array, Bounds, ElementType, Shape, TensorType

__all__ = [
    "assert_holds",
    "attribute_error",
    "bounds_of",
    "error_facts",
    "evaluate",
    "infer_types",
    "inference_error",
    "make",
    "outputs",
    "run",
    "run_all",
]


def make(type_name: str, opset: int = 1, **attributes: object) -> Op:
    """An operator; a double underscore in the name of an attribute stands for a dot."""
    texts = {name.replace("__", "."): str(value) for name, value in attributes.items()}
    operator = resolve(type_name, f"opset{opset}").parse(texts, raise_error)
    assert operator is not None
    return operator


def attribute_error(type: str, opset: int = 1, **attributes: str) -> IRError:
    """The one fault of these attributes."""
    faults: list[IRError] = []
    assert resolve(type, f"opset{opset}").parse(attributes, faults.append) is None
    (fault,) = faults
    return fault


def inference_error(operator: Any, *types: TensorType) -> tuple[str, IRError]:
    """The code of the error that inference raises for these types, and the error."""
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    return error.value.code, error.value


def evaluate(operator: Op, *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        result: Array = operator.evaluate(*arrays)
    return result


def run(operator: Op, *inputs: Array) -> Array:
    """Infer, evaluate, and hold the result against the inferred type."""
    inputs = tuple(np.asarray(array) for array in inputs)
    types = [TensorType.of(array) for array in inputs]
    assert operator.check_inputs(types, raise_error)
    inferred = operator.infer(*types)
    for array in inputs:
        array.flags.writeable = False
    output: Array = operator.evaluate(*inputs)
    assert isinstance(output, np.ndarray)
    assert TensorType.of(output) == inferred
    return output


def run_all(operator: Op, *inputs: Array) -> tuple[Array, ...]:
    """Infer, evaluate, and hold several outputs against the inferred types, which may leave dims open."""
    types = operator.infer(*(TensorType.of(array) for array in inputs))
    with np.errstate(all="ignore"):
        outputs = operator.evaluate(*inputs)
    types, outputs = (types, outputs) if isinstance(outputs, tuple) else ((types,), (outputs,))
    for type_, array in zip(types, outputs, strict=True):
        assert type_.element_type.dtype == array.dtype
        assert type_.shape & Shape(array.shape) is not None
    return tuple(outputs)


def error_facts(errors: list[IRError]) -> list[tuple[str, str, str | None]]:
    return [(error.code, error.severity, error.location.port) for error in errors]


def bounds_of(operator: Op, *inputs: Bounds) -> Bounds | None:
    """The bounds of the output, as inference computes them from bounds of the inputs."""
    types = [TensorType(ElementType.of(lower), Shape(lower.shape)).with_bounds(lower, upper) for lower, upper in inputs]
    with np.errstate(all="ignore"):
        (output,) = with_known_values(operator, types, [operator.infer(*types)])
        return output.bounds


def outputs(operator: Op, *inputs: Array) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        result: Any = operator.evaluate(*inputs)
    return result if isinstance(result, tuple) else (result,)


def infer_types(operator: Op, *types: TensorType) -> tuple[TensorType, ...]:
    result: Any = operator.infer(*types)
    return result if isinstance(result, tuple) else (result,)


def assert_holds(operator: Op, types: list[TensorType], arrays: list[Array]) -> None:
    """Assert that the inferred types hold the outputs of these arrays."""
    inferred_types, real = infer_types(operator, *types), outputs(operator, *arrays)
    inferred_types += inferred_types[-1:] * (len(real) - len(inferred_types))
    for type_, array in zip(inferred_types, real, strict=True):
        assert type_.element_type is TensorType.of(array).element_type
        assert type_.shape & Shape(array.shape) == Shape(array.shape), f"{type_} leaves out {list(array.shape)}"
