"""SoftMax, LogSoftmax and MVN: errors and what shapes they take."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.activation.softmax import LogSoftmax, SoftMax1, SoftMax8
from ir_exec.ops.normalization import MVN1, MVN6
from ir_exec.types import ElementType, Shape, TensorType


def kind(text: str) -> TensorType:
    return TensorType(ElementType.f32, Shape.parse(text))


@pytest.mark.parametrize("operator", [SoftMax8(axis=2), LogSoftmax(axis=2), SoftMax1(axis=2)])
def test_an_axis_out_of_range_is_an_error(operator: SoftMax8) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(kind("?,3"))
    message = "axis 2 is out of range for rank 2 (allowed: -2 to 1)"
    assert (error.value.code, error.value.message) == ("IR503", message)


def test_softmax_1_has_no_negative_axis() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        SoftMax1.parse({"axis": "-1"}, raise_error)
    assert error.value.code == "IR302"


@pytest.mark.parametrize("text", ["...", "?,3", "2..5,1", "4"])
def test_the_output_has_the_type_of_the_input(text: str) -> None:
    assert SoftMax8(axis=-1).infer(kind(text)) == kind(text)
    assert LogSoftmax(axis=-1).infer(kind(text)) == kind(text)
    assert MVN1(eps=1e-9, normalize_variance=True).infer(kind(text)) == kind(text)


def test_log_softmax_does_not_lose_small_probabilities() -> None:
    found = LogSoftmax(axis=0).evaluate(np.array([0, 1000], np.float32))
    assert found.tolist() == [-1000, 0]


def mvn6(axes: TensorType, data: str = "2,3") -> TensorType:
    return MVN6(eps=1e-9, normalize_variance=True, eps_mode="inside_sqrt").infer(kind(data), axes)


@pytest.mark.parametrize(
    ("axes", "code", "message"),
    [
        (TensorType.of(np.array(1)), "IR501", "axes has rank 0 ([]), expected 1"),
        (TensorType.of(np.array([0, 1, 0])), "IR505", "axes has 3 elements, data [2,3] has 2 axes"),
        (TensorType.of(np.array([2])), "IR503", "axis 2 is out of range for rank 2 (allowed: -2 to 1)"),
    ],
)
def test_axes_that_do_not_fit(axes: TensorType, code: str, message: str) -> None:
    with pytest.raises(ShapeError) as error:
        mvn6(axes)
    assert (error.value.code, error.value.message) == (code, message)


def test_axes_that_only_the_run_knows() -> None:
    assert mvn6(TensorType(ElementType.i64, Shape.unknown())) == kind("2,3")
    operator = MVN6(eps=1e-9, normalize_variance=True, eps_mode="inside_sqrt")
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((2, 3), np.float32), np.array([-3]))
    assert (error.value.code, error.value.location.port) == ("IR701", "axes")


def test_reduction_axes_out_of_range() -> None:
    with pytest.raises(ShapeError) as error:
        MVN1(eps=1e-9, normalize_variance=True, reduction_axes=(2,)).infer(kind("2,3"))
    assert error.value.code == "IR503"


def test_only_two_modes_of_eps() -> None:
    attributes = {"eps": "1e-9", "normalize_variance": "true", "eps_mode": "beside_sqrt"}
    with pytest.raises(InvalidAttributeError) as error:
        MVN6.parse(attributes, raise_error)
    assert error.value.code == "IR302"


def test_a_large_mean_does_not_spoil_the_variance() -> None:
    data = (np.array([[-1, 1]]) + 4096).astype(np.float32)
    found = MVN6(eps=0.0, normalize_variance=True, eps_mode="inside_sqrt").evaluate(data, np.array([1]))
    assert found.tolist() == [[-1, 1]]
