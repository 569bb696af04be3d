"""Models and compiled models that are pickled and copied, also into other processes."""

from __future__ import annotations

import copy
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.helpers.facts import coded, naming
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText
from tests.ir import test_version_10
from tests.runtime import tripled as tripled  # registers an operator
from tests.runtime.test_state import network

SAMPLES = Path(__file__).parents[2] / "samples"


def pickle_copy(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


WAYS = pytest.mark.parametrize("way", [pickle_copy, copy.copy, copy.deepcopy])


def named_inputs(name: str) -> dict[str, Array]:
    with np.load(SAMPLES / f"{name}.inputs.npz") as stored:
        return dict(stored)


def assert_same(actual: ir_exec.Results, expected: ir_exec.Results) -> None:
    assert [*actual] == [*expected]
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name])


@WAYS
@pytest.mark.parametrize("name", ["bert", "gnn_step", "gather_elements"])
def test_unpickled_model_runs_as_before(name: str, way: Callable[[Any], Any]) -> None:
    model = ir_exec.read_model(SAMPLES / f"{name}.xml")
    compiled = ir_exec.compile_model(model, threads=1)
    inputs = named_inputs(name)
    expected = compiled(inputs)
    assert_same(way(compiled)(inputs), expected)
    assert_same(ir_exec.compile_model(way(model))(inputs), expected)
    assert_same(way(expected), expected)


@WAYS
def test_shapes_go_along_and_copies_are_reshaped_apart(way: Callable[[Any], Any]) -> None:
    model = ir_exec.read_model(SAMPLES / "bert.xml")
    model.reshape({"input_ids": "1..8,16", "attention_mask": "1..8,16"})
    compiled = ir_exec.compile_model(model)
    other = way(model)
    assert other.inputs == model.inputs
    assert other.outputs == model.outputs
    other.reshape({"input_ids": "2,4", "attention_mask": "2,4"})
    assert (str(model.outputs[0].shape), str(other.outputs[0].shape)) == ("[1..8,16,32]", "[2,4,32]")
    model.reshape({"input_ids": "3,3", "attention_mask": "3,3"})
    assert str(way(compiled).outputs[0].shape) == "[1..8,16,32]"


def test_weights_are_pickled_by_path_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "bert.xml"
    for suffix in (".xml", ".bin"):
        shutil.copyfile(SAMPLES / f"bert{suffix}", path.with_suffix(suffix))
    model = ir_exec.read_model(path)
    data = pickle.dumps(model)
    expected = ir_exec.compile_model(model)(named_inputs("bert"))
    weights = path.with_suffix(".bin").read_bytes()
    assert weights not in data
    assert_same(ir_exec.compile_model(pickle.loads(data))(named_inputs("bert")), expected)
    path.with_suffix(".bin").unlink()
    path.with_suffix(".bin").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    with pytest.raises(ir_exec.WeightsError, check=coded("IR200")) as error:
        pickle.loads(data)
    assert error.value.location.path == str(path.with_suffix(".bin"))
    path.with_suffix(".bin").unlink()
    with pytest.raises(ir_exec.WeightsError, check=coded("IR201")):
        pickle.loads(data)


@WAYS
def test_weights_without_a_file_go_by_value(way: Callable[[Any], Any]) -> None:
    text = NetworkText()
    text.result(text.op("Add", text.parameter("2"), text.const(np.array([1, 2], np.float32))))
    file = text.file()
    compiled = way(ir_exec.compile_model(file.xml, weights=file.weights))
    assert compiled([np.zeros(2, np.float32)])[0].tolist() == [1, 2]


@WAYS
@pytest.mark.parametrize("from_file", [False, True])
def test_weights_added_by_reading_are_pickled(way: Callable[[Any], Any], from_file: bool, tmp_path: Path) -> None:
    weights: bytes | Path = b"\0" * 4
    if from_file:
        (tmp_path / "image.bin").write_bytes(b"\0" * 4)
        weights = tmp_path / "image.bin"
    model = ir_exec.read_model(test_version_10.network("f32", "f32", test_version_10.PRE_PROCESS), weights=weights)
    again = way(model)
    assert (model.weights.size, again.weights.size) == (16, 16)
    image = np.full(test_version_10.DIMS, 10, np.float32)
    assert ir_exec.compile_model(again)([image])["converted"][0, :, 0, 0].tolist() == [8.5, 7.5, 6.5]


def test_settings_go_along() -> None:
    compiled = ir_exec.compile_model(SAMPLES / "bert.xml", max_memory=1000)
    with pytest.raises(ir_exec.ResourceError, match=naming("1,000")):
        pickle_copy(compiled)(named_inputs("bert"))


@WAYS
def test_variables_start_anew(way: Callable[[Any], Any]) -> None:
    compiled = ir_exec.compile_model(network())
    x = np.ones(2, np.float32)
    first = compiled([x])["sum"].tolist()
    second = compiled([x])["sum"].tolist()
    assert first != second
    assert way(compiled)([x])["sum"].tolist() == first
    assert compiled([x])["sum"].tolist() not in (first, second)


@pytest.mark.broad
def test_deep_networks_can_be_pickled() -> None:
    text = NetworkText()
    value = text.parameter("2")
    for _ in range(3000):
        value = text.op("Negative", value)
    text.result(value)
    assert pickle_copy(ir_exec.compile_model(text.file().xml))([np.ones(2, np.float32)])[0].tolist() == [1, 1]


def test_process_pools_take_compiled_models_and_operators_of_users() -> None:
    dims = (1, 2)
    ends = [(0, 0, 1, 0), (1, 1, 2, 0)]
    custom = layer(1, "Tripled", opset="extension", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)])
    extended = ir_exec.compile_model(net([parameter(0, dims=dims), custom, result(2, dims=dims)], ends))
    bert = ir_exec.compile_model(SAMPLES / "bert.xml", threads=1)
    row, inputs = np.array([[1, 2]], np.float32), named_inputs("bert")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        answers = [pool.submit(extended, [row]), pool.submit(bert, inputs)]
        assert answers[0].result()[0].tolist() == [[3, 6]]
        assert_same(answers[1].result(), bert(inputs))
