"""in0, in1, ... and out0, out1, ... where names of inputs and outputs are taken; outputs that are not there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.check.what_if import join_shapes
from ir_exec.codes import Code
from ir_exec.debug import compare, trace

A = np.array([1, 2], np.float32)
B = np.array([10, 20], np.float32)


def difference(first: str = "a", second: str = "b") -> ir_exec.Model:
    left, other = build.parameter([-1], "f32", name=first), build.parameter([-1], "f32", name=second)
    return build.model([build.subtract(left, other, name="minus"), build.add(left, other, name="plus")], [left, other])


def test_inputs_and_outputs_by_number() -> None:
    model = difference()
    compiled = ir_exec.compile_model(model)
    result = compiled({"in1": B, "in0": A})
    assert result["out0"].tolist() == [-9, -18]
    assert result["out1"].tolist() == [11, 22]
    assert compiled({"a": A, "in1": B})["minus"].tolist() == [-9, -18]
    assert model.input("in1").name == "b"
    assert model.output("out1").name == "plus"
    assert [str(port.shape) for port in model.reshape({"in0": [2]}).inputs] == ["[2]", "[?]"]
    assert compare(model, model, {"in0": A, "in1": B}).equal
    assert compare(model, model, shapes={"in0": [2], "in1": [2]}).equal


def test_a_name_comes_before_a_number() -> None:
    model = difference("in1", "in0")
    result = ir_exec.compile_model(model)({"in0": A, "in1": B})
    assert result["minus"].tolist() == [9, 18]


@pytest.mark.parametrize("name", ["in2", "in", "out0", "in-1", "in00x", "inn"])
def test_names_of_no_inputs(name: str) -> None:
    with pytest.raises(ir_exec.EvaluationError) as caught:
        ir_exec.compile_model(difference())({name: A, "b": B})
    assert caught.value.code == Code.unknown_input
    assert "a, b" in caught.value.message


def test_requested_shapes() -> None:
    model = difference()
    report = ir_exec.check_model(model, shapes=join_shapes(["in0[3],in1[4]"]))
    assert not report.ok
    assert ir_exec.check_model(model, shapes=join_shapes(["in0[3],in1[3]"])).ok
    assert [str(port.shape) for port in build.Editor(model).reshape({"in1": [7]}).model().inputs] == ["[?]", "[7]"]


@pytest.mark.parametrize("key", ["nope", "mins", 2, -3, "out2"])
def test_missing_outputs_are_reported(key: str | int) -> None:
    result = ir_exec.compile_model(difference())([A, B])
    with pytest.raises(KeyError) as caught:
        result[key]
    error = caught.value
    assert isinstance(error, ir_exec.EvaluationError)
    assert isinstance(error, IndexError)
    assert error.code == Code.unknown_input
    assert "minus, plus" in str(error)
    assert (error.hint is not None and "minus" in error.hint) == (key == "mins")
    assert key not in result
    assert result.get(key) is None
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_traces_take_numbers(tmp_path: object) -> None:
    values = trace(difference(), {"in0": A, "in1": B}, output=f"{tmp_path}/values")
    assert values["plus"].tolist() == [11, 22]
