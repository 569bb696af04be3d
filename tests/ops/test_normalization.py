"""Normalizations of images: errors, shapes, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops import Op, resolve
from ir_exec.ops.normalization import (
    GRN,
    LRN,
    MVN1,
    MVN6,
    BatchNormInference1,
    BatchNormInference5,
    GroupNormalization,
    NormalizeL2,
)
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import inference_error
from tests.helpers.values import constant, make_type


@pytest.mark.parametrize("wrong", ["gamma", "beta", "data", "mean", "variance"])
@pytest.mark.parametrize("operator", [BatchNormInference1, BatchNormInference5])
def test_one_element_type_for_all_of_batch_norm(operator: type[Op], wrong: str) -> None:
    names = [input.name for input in operator.inputs]
    types = [make_type("2,3,4" if name == "data" else "3", "f16" if name == wrong else "f32") for name in names]
    errors: list[IRError] = []
    assert not operator(epsilon=0.0).check_inputs(types, errors.append)
    ports = {error.location.port for error in errors}
    assert ports == ({wrong} if wrong != names[0] else {*names[1:]})


def test_the_channels_of_batch_norm() -> None:
    five, version_1 = BatchNormInference5(epsilon=0.0), BatchNormInference1(epsilon=0.0)
    data, vector, unknown = make_type("2,?,4"), make_type("3"), make_type("...")
    assert five.infer(data, unknown, vector, unknown, make_type("?")) == make_type("2,3,4")
    assert version_1.infer(vector, unknown, data, unknown, unknown) == make_type("2,3,4")
    assert five.infer(unknown, vector, vector, vector, vector) == unknown
    fault = fault_with("data", "variance", actual="3 and 4", expected="equal dims")
    assert inference_error(five, data, vector, vector, vector, make_type("4")) == ("IR502", fault)
    fault = fault_with("data", "[3]", actual=1, expected="2 or more")
    assert inference_error(five, vector, vector, vector, vector, vector) == ("IR501", fault)
    assert inference_error(version_1, make_type("3,1"), vector, data, vector, vector)[0] == "IR501"


def test_epsilon_is_not_negative() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        BatchNormInference5.parse({"epsilon": "-0.5"}, raise_error)
    assert error.value.code == "IR302"


def test_groups_of_channels() -> None:
    operator = GroupNormalization(num_groups=3, epsilon=1e-5)
    vector = make_type("4")
    fault = fault_with(actual=4, expected=mentions(3))
    assert inference_error(operator, make_type("2,?,5"), vector, make_type("?")) == ("IR502", fault)
    assert inference_error(operator, make_type("2,0,5"), make_type("0"), make_type("0"))[0] == "IR502"
    assert inference_error(operator, make_type("4"), vector, vector)[0] == "IR501"
    fault = fault_with("data", "bias", actual="6 and 4", expected="equal dims")
    assert inference_error(operator, make_type("1,6"), make_type("..."), vector) == ("IR502", fault)
    assert operator.infer(make_type("..."), make_type("6"), make_type("?")) == make_type("...")
    with pytest.raises(InvalidAttributeError) as error:
        GroupNormalization.parse({"num_groups": "0", "epsilon": "1"}, raise_error)
    assert error.value.code == "IR302"


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    size=st.integers(1, 6),
    which=st.integers(0, 7),
    seed=st.integers(0, 9),
)
@settings(max_examples=50)
def test_lrn_divides_by_neighborhood(shape: list[int], size: int, which: int, seed: int) -> None:
    data = np.random.default_rng(seed).uniform(-2, 2, shape)
    axes = [axis for axis in range(len(shape)) if which >> axis & 1]
    operator = LRN(alpha=0.5, beta=0.75, bias=1.5, size=size)
    result = operator.evaluate(data, np.array(axes, np.int64))
    reach = (size - 1) // 2
    for index in np.ndindex(*shape):
        window = tuple(
            slice(max(i - reach, 0), i + reach + 1) if axis in axes else slice(i, i + 1) for axis, i in enumerate(index)
        )
        total = np.sum(data[window] ** 2)
        assert np.isclose(result[index], data[index] / (1.5 + 0.5 / size ** len(axes) * total) ** 0.75)


def test_a_region_larger_than_the_data_costs_nothing_more() -> None:
    operator = LRN(alpha=0.0, beta=1.0, bias=2.0, size=2**62)
    assert operator.evaluate(np.ones((2, 3)), np.array([1])).tolist() == [[0.5] * 3] * 2


@pytest.mark.parametrize("operator", [LRN(alpha=1.0, beta=1.0, bias=1.0, size=3), NormalizeL2(eps=1.0, eps_mode="add")])
def test_axes(operator: Any) -> None:
    data = make_type("2,?")
    fault = fault_with("axis", actual=2, expected="-2 to 1")
    assert inference_error(operator, data, constant([2])) == ("IR503", fault)
    assert inference_error(operator, data, make_type("1,1", "i64"))[0] == "IR501"
    assert operator.infer(data, make_type("...", "i64")) == data
    assert operator.infer(make_type("..."), constant([7])) == make_type("...")
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((2, 3), np.float32), np.array([-3]))
    assert (error.value.code, error.value.location.port) == ("IR701", "axes")


def test_an_axis_may_be_a_scalar_for_one_only() -> None:
    assert NormalizeL2(eps=1.0, eps_mode="max").infer(make_type("2,3"), constant(1)) == make_type("2,3")
    assert inference_error(LRN(alpha=1.0, beta=1.0, bias=1.0, size=3), make_type("2,3"), constant(1))[0] == "IR501"


def test_grn_has_channels() -> None:
    assert inference_error(GRN(bias=1.0), make_type("3")) == (
        "IR501",
        fault_with("data", "[3]", actual=1, expected="2 or 3 or 4"),
    )
    assert inference_error(GRN(bias=1.0), make_type("1,1,1,1,1"))[0] == "IR501"
    assert GRN(bias=1.0).infer(make_type("...")) == make_type("...")


@pytest.mark.parametrize(
    ("type", "opset", "attributes"),
    [
        ("NormalizeL2", 1, {"eps": "1", "eps_mode": "mul"}),
        ("LRN", 1, {"alpha": "1", "beta": "1", "bias": "1", "size": "0"}),
        ("GRN", 1, {"bias": "small"}),
    ],
)
def test_attributes_that_cannot_be(type: str, opset: int, attributes: dict[str, str]) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        resolve(type, f"opset{opset}").parse(attributes, raise_error)
    assert error.value.code == "IR302"


def mvn6(axes: TensorType, data: str = "2,3") -> TensorType:
    return MVN6(eps=1e-9, normalize_variance=True, eps_mode="inside_sqrt").infer(make_type(data), axes)


@pytest.mark.parametrize(
    ("axes", "code", "fault"),
    [
        (TensorType.of(np.array(1)), "IR501", fault_with("[]", actual=0, expected=1)),
        (TensorType.of(np.array([0, 1, 0])), "IR505", fault_with(3, "data", "[2,3]", 2)),
        (TensorType.of(np.array([2])), "IR503", fault_with("axis", actual=2, expected="-2 to 1")),
    ],
)
def test_axes_that_do_not_fit(axes: TensorType, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        mvn6(axes)
    assert (error.value.code, error.value) == (code, fault)


def test_axes_that_only_the_run_knows() -> None:
    assert mvn6(TensorType(ElementType.i64, Shape.unknown())) == make_type("2,3")
    operator = MVN6(eps=1e-9, normalize_variance=True, eps_mode="inside_sqrt")
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((2, 3), np.float32), np.array([-3]))
    assert (error.value.code, error.value.location.port) == ("IR701", "axes")


def test_reduction_axes_out_of_range() -> None:
    with pytest.raises(ShapeError) as error:
        MVN1(eps=1e-9, normalize_variance=True, reduction_axes=(2,)).infer(make_type("2,3"))
    assert error.value.code == "IR503"


def test_only_two_modes_of_eps() -> None:
    attributes = {"eps": "1e-9", "normalize_variance": "true", "eps_mode": "beside_sqrt"}
    with pytest.raises(InvalidAttributeError) as error:
        MVN6.parse(attributes, raise_error)
    assert error.value.code == "IR302"


def test_a_large_mean_does_not_spoil_the_variance() -> None:
    data = (np.array([[-1, 1]]) + 4096).astype(np.float32)
    result = MVN6(eps=0.0, normalize_variance=True, eps_mode="inside_sqrt").evaluate(data, np.array([1]))
    assert result.tolist() == [[-1, 1]]
