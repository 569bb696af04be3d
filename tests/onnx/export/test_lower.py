"""The graph that is written: names, states, functions, constants, metadata, and what ONNX cannot express."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_exec
from ir_exec import build
from ir_exec.errors import UnsupportedError
from ir_exec.extension import (
    FLOAT,
    Array,
    In,
    Op,
    TensorType,
    onnx_lowering,
    register_op,
    unregister_onnx_lowering,
    unregister_op,
)
from ir_exec.onnx.export import registry
from ir_exec.onnx.export.lower import lower_model
from ir_exec.ops.base.registry import registered
from ir_exec.ops.movement.gather import Gather8
from ir_exec.ops.type import StringTensorPack
from tests.build.test_bodies import CASES, Build
from tests.onnx.export.sessions import exported_outputs, node_types, run, session

PORT = '<port id="{}" precision="FP32"><dim>2</dim></port>'

TRIPLED = f"""<net name="g" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
<output>{PORT.format(0)}</output></layer>
<layer id="1" name="y" type="ExportTripled" version="extension"><input>{PORT.format(0)}</input>
<output>{PORT.format(1)}</output></layer>
<layer id="2" name="z" type="Result" version="opset1"><input>{PORT.format(0)}</input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>""".encode()


def make_scaled_model() -> ir_exec.Model:
    x = build.parameter([2, None], "f32", name="x")
    y = build.multiply(x, build.constant(np.float32(2)), name="y")
    return build.model([y, build.relu(y, name="z")], [x])


def unrepresentable_model() -> ir_exec.Model:
    begins, ends = (build.parameter([2], "i32", name=name) for name in ("begins", "ends"))
    symbols = build.parameter([None], "u8", name="symbols")
    packs = [build.string_tensor_pack(begins, ends, symbols, name=f"pack{i}") for i in range(2)]
    return build.model(packs, [begins, ends, symbols])


def test_names_are_kept() -> None:
    exported = lower_model(make_scaled_model())
    assert (exported.inputs, exported.outputs) == (("x",), ("y", "z"))
    assert [node.name for node in exported.proto.graph.node] == ["y", "z"]


def test_open_dims_have_names() -> None:
    (declared,) = lower_model(make_scaled_model()).proto.graph.input
    first, second = declared.type.tensor_type.shape.dim
    assert first.dim_value == 2
    assert second.dim_param


def test_input_as_output() -> None:
    x = build.parameter([2], "f32", name="x")
    array = np.ones(2, np.float32)
    for output in exported_outputs(build.model([x, x], [x]), [array]):
        np.testing.assert_array_equal(output, array)


def test_compositions_are_functions_named_after_the_operator() -> None:
    a, b = (build.parameter([3], "f32", name=name) for name in "ab")
    model = build.model([build.floor_mod(a, b), build.floor_mod(b, a)], [a, b])
    assert not lower_model(model).proto.functions
    exported = lower_model(model, target="onnxruntime")
    assert [(function.domain, function.name) for function in exported.proto.functions] == [("ir_exec", "FloorMod")]
    arrays = [np.array([5, -5, 5.5], np.float32), np.array([3, 3, -2], np.float32)]
    np.testing.assert_array_equal(run(exported, arrays)[0], np.remainder(*arrays))


def test_states_are_inputs_and_outputs() -> None:
    x = build.parameter([2], "f32", name="x")
    before = build.read_value(build.constant(np.full(2, 3, np.float32)), "sum")
    after = build.add(before, x)
    model = build.model([build.relu(after)], [x], sinks=[build.assign(after, "sum")])
    exported = lower_model(model)
    assert exported.states == {"sum": ("past.sum", "present.sum")}
    ones = np.ones(2, np.float32)
    np.testing.assert_array_equal(run(exported, [ones])[1], [4, 4])
    np.testing.assert_array_equal(run(exported, [ones], {"past.sum": ones})[1], [2, 2])
    entries = {entry.key: entry.value for entry in exported.proto.metadata_props}
    assert json.loads(entries["ir_exec.state.sum"])["past"] == "past.sum"


def test_one_error_names_every_layer() -> None:
    with pytest.raises(UnsupportedError) as caught:
        lower_model(unrepresentable_model())
    assert "pack0" in caught.value.message
    assert "pack1" in caught.value.message


def test_partial_model_has_nodes_of_custom_domain() -> None:
    exported = lower_model(unrepresentable_model(), partial=True)
    assert [node.name for node, _ in exported.not_representable] == ["pack0", "pack1"]
    assert {node.domain for node in exported.proto.graph.node} == {"ir_exec.not_representable"}


def test_opsets_out_of_range_and_too_old_ones() -> None:
    for opset in (16, 99):
        with pytest.raises(UnsupportedError):
            lower_model(make_scaled_model(), opset=opset)
    x = build.parameter([2], "i32", name="x")
    with pytest.raises(UnsupportedError):
        lower_model(build.model([build.bitwise_not(x)], [x]), opset=17)


@pytest.mark.parametrize("opset", [17, 19, 21, 23])
def test_opsets(opset: int) -> None:
    exported = lower_model(make_scaled_model(), opset=opset)
    assert [(opset_id.domain, opset_id.version) for opset_id in exported.proto.opset_import] == [("", opset)]
    np.testing.assert_array_equal(run(exported, [np.ones((2, 1), np.float32)])[0], [[2], [2]])


def test_the_registry_refuses_doubles() -> None:
    for cls in (Gather8, StringTensorPack):
        registry.find_lowering(cls)
        with pytest.raises(TypeError):
            registry.export(cls)(lambda node: "")
    with pytest.raises(TypeError):
        registry.declare_not_representable(Gather8, reason="")


def test_every_operator_has_a_lowering_or_a_reason() -> None:
    registry.load_families()
    missing = [
        cls for cls in registered() if registry.find_lowering(cls) is None and cls not in registry.NOT_REPRESENTABLE
    ]
    assert not missing


def test_reading_the_written_model_gives_the_same_function() -> None:
    model = make_scaled_model()
    again = ir_exec.read_model(model.to_onnx().SerializeToString())
    array = np.array([[1, -2], [3, 4]], np.float32)
    expected, actual = (ir_exec.compile_model(network)([array]) for network in (model, again))
    assert [port.name for port in again.outputs] == ["y", "z"]
    np.testing.assert_array_equal(actual["z"], expected["z"])


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", ["2", "?"])
def test_bodies(function: Build, shape: str) -> None:
    x = build.parameter(shape, name="x")
    outputs = function(x)
    model = build.model(outputs if isinstance(outputs, build.Value) else list(outputs))
    exported = lower_model(model)
    for data in (np.array([1, 2], np.float32), np.array([-3, 1], np.float32)):
        if function.__name__ == "until_large" and data[0] < 0:
            continue  # it would never end
        expected = list(ir_exec.compile_model(model)([data]).values())
        for actual, expected_output in zip(run(exported, [data]), expected, strict=True):
            np.testing.assert_allclose(actual, expected_output, rtol=1e-6)
            assert actual.shape == expected_output.shape


def test_an_extension_brings_its_own_lowering() -> None:
    @register_op("ExportTripled", version="extension")
    class ExportTripled(Op):
        inputs = (In("data", types=FLOAT),)

        def infer(self, data: TensorType) -> TensorType:
            return data.without_values()

        def evaluate(self, data: Array) -> Array:
            return np.asarray(data * 3)

    try:
        model = ir_exec.read_model(TRIPLED)
        with pytest.raises(UnsupportedError):
            lower_model(model)
        onnx_lowering(ExportTripled)(lambda node: node.emit("Mul", node.inputs[0], node.constant(np.float32(3))))
        try:
            exported = lower_model(model)
        finally:
            unregister_onnx_lowering(ExportTripled)
        assert node_types(exported) == ["Mul"]
        np.testing.assert_array_equal(run(exported, [np.ones(2, np.float32)])[0], [3, 3])
    finally:
        unregister_op("ExportTripled", version="extension")


def test_the_message_is_whole() -> None:
    proto = make_scaled_model().to_onnx()
    onnx.checker.check_model(proto, full_check=True)
    assert proto.producer_name == "ir_exec"


def test_a_variable_in_a_body_cannot_be_written() -> None:
    x = build.parameter([2], "f32", name="x")

    def body(i: build.Value, value: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        total = build.add(build.read_value(np.zeros(2, np.float32), "total", name="before"), x)
        build.assign(total, "total", name="after")
        return None, [total], []

    (y,) = build.loop(3, None, body, carried=[x])
    with pytest.raises(UnsupportedError) as caught:
        lower_model(build.model(y))
    assert "before" in caught.value.message
    exported = lower_model(build.model(y), partial=True)
    assert exported.states == {}
    assert "ReadValue" in [node.type for node, _ in exported.not_representable]


def test_computed_initial_value_stays_in_graph() -> None:
    x = build.parameter([2], "f32", name="x")
    before = build.read_value(build.multiply(x, x, name="square"), "v")
    after = build.add(before, x)
    exported = lower_model(build.model([build.relu(after)], [x], sinks=[build.assign(after, "v")]))
    (note,) = [json.loads(prop.value) for prop in exported.proto.metadata_props if prop.key == "ir_exec.state.v"]
    assert note["tensor"] in {name for node in exported.proto.graph.node for name in node.output}


def test_state_and_network_outputs_have_different_names() -> None:
    x = build.parameter([2], "f32", name="x")
    after = build.add(build.read_value(np.zeros(2, np.float32), "v"), x)
    result = build.result(build.relu(after), name="present.v")
    exported = lower_model(build.model([result], [x], sinks=[build.assign(after, "v")]))
    assert exported.outputs == ("present.v",)
    assert exported.states["v"][1] != "present.v"


@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize(("dtype", "point"), [(np.uint8, 128), (np.uint8, 3), (np.int8, 0), (np.int8, -7)])
def test_quantizations_come_back(dtype: Any, point: int, axis: int | None, tmp_path: Path) -> None:
    size = 1 if axis is None else 3
    shape = () if axis is None else (3,)
    stored = {
        "s": np.array([0.1, 0.25, 3][:size], np.float32).reshape(shape),
        "z": np.full(shape, point, dtype),
    }
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 3, 200])],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 3, 200])],
        [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    file = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model = ir_exec.read_model(file.SerializeToString())
    model.save(tmp_path / "model.xml")
    exported = lower_model(ir_exec.read_model(tmp_path / "model.xml"))
    assert node_types(exported) == ["QuantizeLinear", "DequantizeLinear"]
    steps = np.arange(-300, 300, dtype=np.float32).reshape(1, 3, 200) * np.float32(0.05)
    (expected,) = session(file.SerializeToString()).run(None, {"x": steps})
    np.testing.assert_array_equal(run(exported, [steps])[0], expected)


@pytest.mark.parametrize(("slope", "operator"), [([0.1], "LeakyRelu"), ([0.1, 0.2] * 4, "PRelu"), ([np.inf], "PRelu")])
def test_prelu_with_one_slope_is_leaky_relu(slope: list[float], operator: str) -> None:
    x = build.parameter([1, 8, 4, 4], name="x")
    model = build.model(build.result(build.prelu(x, build.constant(np.array(slope, np.float32))), name="y"))
    assert operator in {node.op_type for node in lower_model(model).proto.graph.node}
