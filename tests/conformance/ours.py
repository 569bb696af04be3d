"""A case run by ir_exec: straight through its operator's class, and through the public API from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir_exec.errors import raise_error
from ir_exec.ops import Op, resolve
from ir_exec.ops.base.variants import KernelRequest
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import Array, ElementType, TensorType
from tests.conformance.build import Form, parameter_shape
from tests.conformance.case import Case

__all__ = ["evaluate", "infer", "operator", "requests"]


def operator(case: Case) -> Op:
    """The operator of the case's layer; raises what the reader of a file would report."""
    parsed = resolve(case.type, f"opset{case.opset}").parse(case.attribute_texts(), raise_error)
    assert parsed is not None, "attributes were refused without a report"
    return parsed


def infer(case: Case, form: Form = "static") -> tuple[TensorType, ...]:
    """The types of the outputs; constants are known, Parameters have the types of the form."""
    layer = operator(case)
    types = [_input_type(case, position, form) for position in range(len(case.inputs))]
    assert layer.check_inputs(types, raise_error)
    inferred = _several(layer.infer(*types))
    # The last type stands for all further outputs where an operator does not declare their number.
    return inferred + inferred[-1:] * (case.outputs - len(inferred))


def evaluate(case: Case, inputs: Sequence[Array] | None = None) -> tuple[Array, ...]:
    """The outputs for these inputs, those of the case if none are given, as in a run on one thread."""
    with RunThreads(1), np.errstate(all="ignore"):
        return _several(operator(case).evaluate(*(case.inputs if inputs is None else inputs)))


def requests(case: Case) -> Iterator[KernelRequest]:
    """Requests for kernels of the case: with and without the values of its inputs, with all outputs read and
    with the first one alone."""
    layer = operator(case)
    constants = [TensorType.of(array) for array in case.inputs]
    for types in (constants, [TensorType(type.element_type, type.shape) for type in constants]):
        outputs = _several(layer.infer(*types))
        if all(output.shape.is_static for output in outputs):
            yield KernelRequest(types)
            if len(outputs) > 1:
                yield KernelRequest(types, frozenset(map(layer.output_name, range(1, len(outputs)))))


def _input_type(case: Case, position: int, form: Form) -> TensorType:
    array = case.inputs[position]
    if position not in case.constants:
        return TensorType(ElementType.of(array), parameter_shape(array, form))
    return TensorType.of(array)


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
