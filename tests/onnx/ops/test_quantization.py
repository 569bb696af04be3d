"""Quantized models: exact in ir_exec, and read as intended by OpenVINO."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from ir_exec import compile_model, read_model
from ir_exec.types import Array

RANDOM = np.random.default_rng(8)

SCRIPT = """
import json, sys
sys.modules["openvino_telemetry"] = None
import numpy as np
import openvino

core = openvino.Core()
options = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
outputs = {}
with np.load(sys.argv[2]) as inputs:
    for name, path in json.loads(sys.argv[1]).items():
        (outputs[name],) = core.compile_model(core.read_model(path), "CPU", options)([inputs[name]]).values()
np.savez(sys.argv[3], **outputs)
"""


def node(operator: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def q(data: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return node("QuantizeLinear", f"{data} s z", output, **attributes)


def d(data: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return node("DequantizeLinear", f"{data} s z", output, **attributes)


CONV = node("Conv", "x w", "h", pads=[1, 1, 1, 1])
GROUPS = node("Conv", "x v", "h", pads=[1, 1, 1, 1], group=8)
LAST = [node("Reshape", "k rows", "l"), node("Transpose", "l", "y", perm=[0, 2, 1])]


def transpose_node(data: str, output: str) -> onnx.NodeProto:
    return node("Transpose", data, output, perm=[0, 2, 3, 1])


LAYOUTS = {
    "after both": [CONV, q("h", "i"), d("i", "j"), transpose_node("j", "k"), *LAST],
    "between": [CONV, q("h", "i"), transpose_node("i", "j"), d("j", "k"), *LAST],
    "groups": [GROUPS, q("h", "i"), transpose_node("i", "j"), d("j", "k"), *LAST],
    "reshaped between": [
        CONV,
        q("h", "i"),
        transpose_node("i", "i2"),
        node("Reshape", "i2 rows", "j"),
        d("j", "l"),
        LAST[1],
    ],
    "axes between": [
        CONV,
        q("h", "i"),
        node("Unsqueeze", "i one", "i2"),
        node("Squeeze", "i2 one", "i3"),
        transpose_node("i3", "j"),
        d("j", "k"),
        *LAST,
    ],
}
POINTS = [(np.uint8, 128), (np.uint8, 0), (np.uint8, 77), (np.int8, 0), (np.int8, -5)]


def model(
    nodes: Sequence[onnx.NodeProto], scale: Array, zero: Array, shape: Sequence[int] = (1, 8, 6, 5)
) -> onnx.ModelProto:
    stored = {
        "s": scale,
        "z": zero,
        "w": RANDOM.standard_normal((8, 8, 3, 3)).astype(np.float32) / 4,
        "v": RANDOM.standard_normal((8, 1, 3, 3)).astype(np.float32) / 2,
        "rows": np.array([1, 6, -1]),
        "one": np.array([1]),
    }
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in stored.items() if name in used],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def by_onnxruntime(proto: onnx.ModelProto, data: Array) -> Array:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    output: Array = session.run(None, {"x": data})[0]
    return output


def test_openvino_reads_layouts_around_quantization(tmp_path: Path) -> None:
    """A difference of one level is a tie; with layouts that follow a convolution of floats OpenVINO differs by many."""
    paths, arrays, expected, scales = {}, {}, {}, {}
    for dtype, point in POINTS:
        for layout, nodes in LAYOUTS.items():
            name = f"{layout} {np.dtype(dtype)} {point}"
            proto = model(nodes, np.array(0.05, np.float32), np.array(point, dtype))
            arrays[name] = (RANDOM.standard_normal((1, 8, 6, 5)) * 2).astype(np.float32)
            expected[name] = by_onnxruntime(proto, arrays[name])
            paths[name] = str(tmp_path / f"{len(paths)}.xml")
            scales[name] = 0.05
            read_model(proto.SerializeToString()).save(paths[name])
    np.savez(tmp_path / "in.npz", **arrays)
    command = [sys.executable, "-c", SCRIPT, json.dumps(paths), str(tmp_path / "in.npz"), str(tmp_path / "out.npz")]
    subprocess.run(command, check=True, timeout=240)
    with np.load(tmp_path / "out.npz") as outputs:
        wrong = {name: float(np.abs(outputs[name] - expected[name]).max()) for name in paths}
    assert not {name: error for name, error in wrong.items() if error > 1.01 * scales[name]}


@pytest.mark.parametrize("axis", [None, 1, 3])
@pytest.mark.parametrize(("dtype", "point"), POINTS)
def test_ties_and_limits_match_onnxruntime(dtype: Any, point: int, axis: int | None) -> None:
    """FakeQuantize alone rounds other ties: the result is equal to the bit."""
    size = 1 if axis is None else (2, 3)[axis == 3]
    scale = np.array([0.1, 0.25, 3.0][:size], np.float32)
    zero = np.full(size, point, dtype)
    if axis is None:
        scale, zero = scale.reshape(()), zero.reshape(())
    attributes = {} if axis is None else {"axis": axis}
    proto = model([q("x", "i", **attributes), d("i", "y", **attributes)], scale, zero, (1, 2, 700, 3))
    steps = np.arange(-700, 700).reshape(1, 2, 700, 1) * np.float32(0.5)
    data = (steps * np.float32([0.1, 0.25, 3.0])).astype(np.float32)
    data[0, 0, :4, 0] = [np.inf, -np.inf, 3e38, -0.0]
    (output,) = compile_model(proto.SerializeToString())({"x": data}).values()
    np.testing.assert_array_equal(output, by_onnxruntime(proto, data))


def test_zero_points_that_differ() -> None:
    scale, zero = np.array([0.1, 0.25, 3.0], np.float32), np.array([0, 7, 255], np.uint8)
    proto = model([q("x", "i", axis=3), d("i", "y", axis=3)], scale, zero, (1, 2, 70, 3))
    data = (RANDOM.standard_normal((1, 2, 70, 3)) * 9).astype(np.float32)
    (output,) = compile_model(proto.SerializeToString())({"x": data}).values()
    np.testing.assert_array_equal(output, by_onnxruntime(proto, data))


def layers(nodes: Sequence[onnx.NodeProto], scale: float = 0.1, **others: Any) -> list[str]:
    proto = model(nodes, np.array(scale, np.float32), np.array(3, np.uint8), (1, 2, 6, 5))
    for name, array in others.items():
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return [node.type for node in read_model(proto.SerializeToString()).graph.nodes]


def test_only_equal_scales_and_zero_points_are_one_quantization() -> None:
    assert "FakeQuantize" in layers([q("x", "i"), d("i", "y")])
    assert "FakeQuantize" in layers([q("x", "i"), node("DequantizeLinear", "i s2 z2", "y")],
        s2=np.array([0.1], np.float32), z2=np.array([3], np.uint8))  # fmt: skip
    other = [q("x", "i"), node("DequantizeLinear", "i s2 z", "y")]
    assert "FakeQuantize" not in layers(other, s2=np.array(0.2, np.float32))
    other = [q("x", "i"), node("DequantizeLinear", "i s z2", "y")]
    assert "FakeQuantize" not in layers(other, z2=np.array(4, np.uint8))
