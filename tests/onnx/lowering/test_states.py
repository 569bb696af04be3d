"""Pairs of inputs and outputs of ONNX files that become the states of a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import ir_exec
from ir_exec import build
from ir_exec.cli import main
from ir_exec.errors import GraphError, UnsupportedError
from ir_exec.onnx.lowering.states import NOTE, Pair, make_states, named_pairs, noted_pairs
from ir_exec.types import Array


def summing(initial: Array | None = None) -> ir_exec.Model:
    """A running sum of its input."""
    x = build.parameter([2], "f32", name="x")
    before = build.read_value(initial, "sum", shape=[2], element_type="f32")
    after = build.add(before, x)
    return build.model([build.relu(after, name="y")], [x], sinks=[build.assign(after, "sum")])


def cache_model() -> ir_exec.Model:
    """A cache that begins with as many empty rows as the input has, and grows by the input along axis 1."""
    x = build.parameter([-1, 1, 3], "f32", name="x")
    size = build.gather(build.shape_of(x), build.constant(np.array([0])), build.constant(np.int64(0)))
    shape = build.concat([size, build.constant(np.array([0, 3]))], axis=0)
    empty = build.broadcast(build.constant(np.float32(0)), shape)
    before = build.read_value(empty, "cache", shape=[-1, -1, 3], element_type="f32")
    after = build.concat([before, x], axis=1)
    total = build.reduce_sum(after, build.constant(np.array([1])), name="y")
    return build.model([total], [x], sinks=[build.assign(after, "cache")])


def back(model: ir_exec.Model, folder: Path) -> ir_exec.Model:
    """The model read from its ONNX file."""
    path = folder / "model.onnx"
    ir_exec.onnx.write_model(model, path)
    return ir_exec.read_model(path)


def two_runs(model: ir_exec.Model, arrays: list[Array]) -> list[Array]:
    compiled = ir_exec.compile_model(model)
    return [compiled({"x": array})[0] for array in arrays]


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (summing(), [(2,), (2,), (2,)]),
        (summing(np.array([3, -9], np.float32)), [(2,), (2,), (2,)]),
        (cache_model(), [(2, 1, 3), (2, 1, 3), (2, 1, 3)]),
    ],
    ids=["zeros", "default", "computed"],
)
def test_a_network_with_states_comes_back_from_onnx(
    model: ir_exec.Model, shapes: list[tuple[int, ...]], tmp_path: Path
) -> None:
    read = back(model, tmp_path)
    assert [input.name for input in read.inputs] == ["x"]
    assert [output.name for output in read.outputs] == [output.name for output in model.outputs]
    assert sorted(node.type for node in read.graph.nodes if node.type in ("ReadValue", "Assign")) == [
        "Assign",
        "ReadValue",
    ]
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    for actual, expected in zip(two_runs(read, arrays), two_runs(model, arrays), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_a_language_model_with_caches_comes_back(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "networks" / "llama_stateful.xml"
    model = ir_exec.read_model(path)
    read = back(model, tmp_path)
    inputs = dict(np.load(path.with_suffix(".inputs.npz")))
    assert [input.name for input in read.inputs] == [input.name for input in model.inputs]
    own, other = ir_exec.compile_model(model), ir_exec.compile_model(read)
    tokens, mask, places, beams = (inputs[f"in{index}"] for index in range(4))
    longer = np.concatenate([mask, np.ones_like(mask)], axis=1)
    for arrays in ([tokens, mask, places, beams], [tokens, longer, places + places.shape[1], beams]):
        np.testing.assert_allclose(other(arrays)[0], own(arrays)[0], rtol=1e-4, atol=1e-4)


def test_a_second_export_has_the_same_states(tmp_path: Path) -> None:
    read = back(cache_model(), tmp_path)
    proto = read.to_onnx()
    assert [port.name for port in proto.graph.input] == ["x", "past.cache"]
    assert [port.name for port in proto.graph.output][1:] == ["present.cache"]
    assert noted_pairs(proto)[0][:3] == ("cache", "past.cache", "present.cache")


def test_note_about_missing_values_is_ignored() -> None:
    proto = summing().to_onnx()
    for text in ("{", "[]", json.dumps({"past": "no", "present": "present.sum"}), json.dumps({"past": 3})):
        for entry in proto.metadata_props:
            if entry.key.startswith(NOTE):
                entry.value = text
        assert noted_pairs(proto) == []


@pytest.mark.parametrize("make", [summing, cache_model])
def test_compare_gives_the_written_file_its_initial_states(make: Callable[[], ir_exec.Model], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = make()
    model.save(tmp_path / "m.xml")
    ir_exec.onnx.write_model(model, tmp_path / "m.onnx")
    arguments = ["compare", str(tmp_path / "m.xml"), "--with", str(tmp_path / "m.onnx"), "--format", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output


def decoder(batch: str | int = "batch", present: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """A cache as other exporters write it."""
    nodes = [
        helper.make_node("Concat", ["past_key_values.0.key", "x"], ["grown"], axis=1),
        helper.make_node("Cast", ["grown"], ["present.0.key"], to=present),
        helper.make_node("ReduceSum", ["grown", "axes"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 1, 3]),
        helper.make_tensor_value_info("past_key_values.0.key", TensorProto.FLOAT, [batch, "past", 3]),
    ]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("present.0.key", present, [batch, "total", 3]),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, [axes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convert_file(proto: onnx.ModelProto, folder: Path, *options: str) -> tuple[int, str, Path]:
    onnx.save(proto, folder / "in.onnx")
    out = folder / "out.xml"
    result = CliRunner().invoke(main, ["convert", str(folder / "in.onnx"), "-o", str(out), *options])
    return result.exit_code, result.output, out


@pytest.mark.parametrize("options", [["--stateful"], ["--state", "past_key_values.0.key=present.0.key"]])
@pytest.mark.parametrize("batch", ["batch", 2])
def test_the_pairs_of_another_exporter_become_states(batch: str | int, options: list[str], tmp_path: Path) -> None:
    code, output, out = convert_file(decoder(batch), tmp_path, *options)
    assert code == 0, output
    assert "states: " in output
    model = ir_exec.read_model(out)
    assert [input.name for input in model.inputs] == ["x"]
    assert [output.name for output in model.outputs] == ["y"]
    array = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    first, second = two_runs(model, [array, array])
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(second, 2 * array)


def test_without_the_option_the_pairs_stay(tmp_path: Path) -> None:
    code, _, out = convert_file(decoder(), tmp_path)
    assert code == 0
    assert len(ir_exec.read_model(out).inputs) == 2


def test_pair_of_other_types_is_no_state(tmp_path: Path) -> None:
    proto = decoder(present=TensorProto.FLOAT16)
    assert named_pairs(proto) == []
    assert convert_file(proto, tmp_path, "--stateful")[0] == 2
    with pytest.raises(UnsupportedError):
        make_states(proto, [Pair("a", "past_key_values.0.key", "present.0.key")])


@pytest.mark.parametrize("pair", [("no", "present.0.key"), ("x", "no")])
def test_pair_names_values_of_the_graph(pair: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(GraphError):
        make_states(decoder(), [Pair("a", *pair)])
    assert convert_file(decoder(), tmp_path, "--state", "=".join(pair))[0] == 1


def test_a_state_has_its_input_alone() -> None:
    with pytest.raises(GraphError):
        make_states(decoder(), [Pair(id, "past_key_values.0.key", "present.0.key") for id in "ab"])


@pytest.mark.parametrize(
    "options", [["--state", "a"], ["--state", "a=b", "-o", "out.onnx"], ["--stateful", "-o", "out.onnx"]]
)
def test_options_that_cannot_be_used(options: list[str], tmp_path: Path) -> None:
    assert convert_file(decoder(), tmp_path, *options)[0] == 2
