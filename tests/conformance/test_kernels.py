"""What a plan calls instead of `evaluate` gives the same, for every case of the conformance tables."""

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
        wanted = evaluate(case)
    except IRError:
        return
    known = [TensorType.of(array) for array in case.inputs]
    for types in (known, [TensorType(type.element_type, type.shape) for type in known]):
        outputs = layer.infer(*types)
        if all(output.shape.is_static for output in (outputs if isinstance(outputs, tuple) else (outputs,))):
            with RunThreads(1), np.errstate(all="ignore"):
                found = layer.kernel(*types)(*case.inputs)
            if not layer.may_alias:
                outputs = found if isinstance(found, tuple) else (found,)
                assert not any(np.may_share_memory(output, array) for output in outputs for array in case.inputs), case
            for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
                if case.type == "NonMaxSuppression" and case.opset < 5:
                    # A static number of rows is filled up with -1; `evaluate` alone knows no types.
                    assert len(one) >= len(other)
                    other = np.pad(other, ((0, len(one) - len(other)), (0, 0)), constant_values=-1)
                assert (one.dtype, one.shape) == (other.dtype, other.shape), case
                # NumPy knows no NaN of the types that it does not have itself.
                same = one.dtype.kind == "V" and one.tobytes() == other.tobytes()
                assert same or np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), case
