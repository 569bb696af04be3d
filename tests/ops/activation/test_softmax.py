"""SoftMax and LogSoftmax: errors, and what shapes they take."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.activation.softmax import LogSoftmax, SoftMax1, SoftMax8
from ir_exec.ops.normalization import MVN1
from tests.helpers.facts import fault_with
from tests.helpers.values import make_type


@pytest.mark.parametrize("operator", [SoftMax8(axis=2), LogSoftmax(axis=2), SoftMax1(axis=2)])
def test_out_of_range_axis_is_an_error(operator: SoftMax8) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(make_type("?,3"))
    fault = fault_with("axis", actual=2, expected="-2 to 1")
    assert (error.value.code, error.value) == ("IR503", fault)


def test_softmax_1_has_no_negative_axis() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        SoftMax1.parse({"axis": "-1"}, raise_error)
    assert error.value.code == "IR302"


@pytest.mark.parametrize("text", ["...", "?,3", "2..5,1", "4"])
def test_output_has_the_type_of_the_input(text: str) -> None:
    assert SoftMax8(axis=-1).infer(make_type(text)) == make_type(text)
    assert LogSoftmax(axis=-1).infer(make_type(text)) == make_type(text)
    assert MVN1(eps=1e-9, normalize_variance=True).infer(make_type(text)) == make_type(text)


def test_log_softmax_does_not_lose_small_probabilities() -> None:
    result = LogSoftmax(axis=0).evaluate(np.array([0, 1000], np.float32))
    assert result.tolist() == [-1000, 0]
