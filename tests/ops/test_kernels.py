"""What a plan calls instead of `evaluate` gives the same, for every case of the conformance tables."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import tests.cases
from ir_exec.errors import IRError
from ir_exec.types import TensorType
from tests.conformance.case import Case
from tests.conformance.ours import evaluate, operator

FAMILIES = [module.name for module in iter_modules(tests.cases.__path__)]


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_give_what_evaluate_gives(family: str) -> None:
    for case in import_module(f"tests.cases.{family}").CASES:
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
            with np.errstate(all="ignore"):
                found = layer.kernel(*types)(*case.inputs)
            for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape), case
                # NumPy knows no NaN of the types that it does not have itself.
                same = one.dtype.kind == "V" and one.tobytes() == other.tobytes()
                assert same or np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), case
