"""Cases with constant filters of kernels of three, as networks run them: with transformed filters."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ir_exec
from tests.cases.convolution.convolution import CASES
from tests.conformance.build import FORMS, Form, build
from tests.conformance.case import Case
from tests.conformance.checks import can_be_asked
from tests.conformance.compare import value_faults
from tests.conformance.numbers import replace_thresholds as with_thresholds
from tests.conformance.oracle import Oracle, Refused
from tests.conformance.ours import evaluate


def _is_transformed(case: Case) -> bool:
    """Return True if the layout is transformed for any numbers of channels and windows."""
    data, filters = case.inputs
    kernel = filters.shape[2 - data.ndim :]
    steps = {step for name in ("strides", "dilations") for step in case.attributes.get(name, ())}
    return filters.dtype == "f4" and len(kernel) > 1 and {*kernel} == {3} and steps <= {1} and data.size > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in CASES if _is_transformed(case)])
def test_values(case: Case, form: Form, oracle: Oracle) -> None:
    case = replace(case, constants={1})
    file = build(case, form)
    compiled = ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))
    with with_thresholds(
        dict.fromkeys(("WINOGRAD_CHANNELS", "MANY_CHANNELS", "LEAST_WINDOWS", "WINOGRAD_PRODUCTS"), 1)
    ):
        outputs = [*compiled(file.inputs).values()]
    plan = compiled.executor.plan([(array.dtype, array.shape) for array in file.inputs])
    assert [type(step.op).__name__ for step in plan.steps] == ["PackedConvolution"]
    answer = oracle.values(build(case), case.oracle) if can_be_asked(case) else evaluate(case)
    assert not isinstance(answer, Refused)
    assert not value_faults(outputs, answer, case.rtol, case.atol, case.summed)
