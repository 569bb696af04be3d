"""The calls of a plan in place of `evaluate` give equal results, for every case of the conformance tables."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import IRError
from ir_exec.runtime.threads import RunThreads
from ir_exec.types import TensorType
from tests.conformance.case import Case
from tests.conformance.ours import evaluate, operator
from tests.conformance.sample import each_part, part


@pytest.mark.parametrize(("family", "is_sampled"), each_part())
def test_kernels_give_what_evaluate_gives(family: str, is_sampled: bool) -> None:
    for case in part(family, is_sampled):
        _compare(case)


def _compare(case: Case) -> None:
    try:
        layer = operator(case)
        if layer.evaluate_context or not layer.deterministic:
            return
        expected = evaluate(case)
    except IRError:
        return
    constants = [TensorType.of(array) for array in case.inputs]
    for types in (constants, [TensorType(type.element_type, type.shape) for type in constants]):
        outputs = layer.infer(*types)
        if all(output.shape.is_static for output in (outputs if isinstance(outputs, tuple) else (outputs,))):
            with RunThreads(1), np.errstate(all="ignore"):
                result = layer.kernel(*types)(*case.inputs)
            if not layer.may_alias:
                outputs = result if isinstance(result, tuple) else (result,)
                assert not any(np.may_share_memory(output, array) for output in outputs for array in case.inputs), case
            for actual, other in zip(result if isinstance(result, tuple) else (result,), expected, strict=True):
                if case.type == "NonMaxSuppression" and case.opset < 5:
                    # A static number of rows is filled up with -1; `evaluate` alone has no types.
                    assert len(actual) >= len(other)
                    other = np.pad(other, ((0, len(actual) - len(other)), (0, 0)), constant_values=-1)
                assert (actual.dtype, actual.shape) == (other.dtype, other.shape), case
                # NumPy has no NaN of the types that it does not define itself.
                same = actual.dtype.kind == "V" and actual.tobytes() == other.tobytes()
                assert same or np.array_equal(actual, other, equal_nan=actual.dtype.kind == "f"), case
