"""Convolutions of integers come back as ConvInteger, with onnxruntime's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_exec
from ir_exec import build
from ir_exec.onnx.export.lower import lower_model
from ir_exec.rewrite import simplified
from ir_exec.types import Array
from tests.onnx.export.sessions import node_types, run, session

RANDOM = np.random.default_rng(0)


def integers(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


def proto(inputs: dict[str, Array], constants: dict[str, Array], **attributes: object) -> onnx.ModelProto:
    """A ConvInteger of x, w, and the zero points u and v if they are given."""
    names = [name if name in inputs or name in constants else "" for name in "xwuv"]
    while not names[-1]:
        names.pop()
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(
        [helper.make_node("ConvInteger", names, ["y"], **attributes)],
        "g",
        declared,
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [None] * 4)],
        stored,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


POINTS: dict[str, dict[str, Array]] = {
    "none": {},
    "data": {"u": np.array(120, np.uint8)},
    "both": {"u": np.array(7, np.uint8), "v": np.array(130, np.uint8)},
}


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("stored", ["nothing", "filters", "all"])
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("group", [1, 2])
def test_a_file_comes_back(group: int, points: str, stored: str, simplify: bool, tmp_path: Path) -> None:
    x, w = integers(np.uint8, 2, 4, 5, 6), integers(np.uint8, 6, 4 // group, 3, 2)
    everything = {"x": x, "w": w, **POINTS[points]}
    constants = {"nothing": "", "filters": "w", "all": "wuv"}[stored]
    inputs = {name: array for name, array in everything.items() if name not in constants}
    file = proto(
        inputs,
        {name: array for name, array in everything.items() if name in constants},
        group=group,
        pads=[1, 0, 0, 1],
        strides=[2, 1],
    )
    model = ir_exec.read_model(file.SerializeToString())
    (simplified(model) if simplify else model).save(tmp_path / "model.xml")
    back = ir_exec.read_model(tmp_path / "model.xml").to_onnx()
    assert "ConvInteger" in [message.op_type for message in back.graph.node]
    expected, actual = (session(message.SerializeToString()).run(None, inputs)[0] for message in (file, back))
    assert actual.dtype == np.int32
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("least", "most"), [(0, 255), (-128, 127), (-200, 55), (-255, 255)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_constants_of_nine_bits(dtype: Any, least: int, most: int) -> None:
    """Sums beyond the range in which f32 is exact, and signed data, for which onnxruntime has no kernel."""
    x = build.parameter([1, 64, 4, 4], np.dtype(dtype).name.replace("uint", "u").replace("int", "i"), name="x")
    w = RANDOM.integers(least, most + 1, (5, 64, 3, 3)).astype(np.int32)
    wide = build.subtract(build.convert(x, "i32"), build.constant(np.int32(-3 if dtype is np.int8 else 250)))
    plain = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    exported = lower_model(build.model(build.convolution(wide, build.constant(w), **plain), [x]))
    assert "Conv" not in node_types(exported)
    data = integers(dtype, 1, 64, 4, 4)
    (actual,) = run(exported, [data])
    padded = np.pad(data.astype(np.int64) - (-3 if dtype is np.int8 else 250), ((0, 0), (0, 0), (1, 1), (1, 1)))
    np.testing.assert_array_equal(actual, convolve(padded, w.astype(np.int64), 1))


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("stored", ["", "v", "wv"])
def test_a_zero_point_for_each_channel(stored: str, group: int) -> None:
    """onnxruntime refuses the file itself."""
    x, w, v = integers(np.uint8, 1, 4, 5, 5), integers(np.uint8, 6, 4 // group, 2, 2), integers(np.uint8, 6)
    everything = {"x": x, "w": w, "u": np.array(9, np.uint8), "v": v}
    inputs = {name: array for name, array in everything.items() if name not in ("u", *stored)}
    constants = {name: array for name, array in everything.items() if name in ("u", *stored)}
    file = proto(inputs, constants, group=group)
    exported = lower_model(ir_exec.read_model(file.SerializeToString()))
    assert "Conv" not in node_types(exported)
    (actual,) = run(exported, [inputs[name] for name in exported.inputs])
    expected = convolve(x.astype(np.int64) - 9, w.astype(np.int64) - v.reshape(-1, 1, 1, 1), group)
    np.testing.assert_array_equal(actual, expected)


def convolve(x: Array, w: Array, group: int) -> Array:
    """A convolution without padding, by loops over the taps."""
    outputs, channels, height, width = w.shape
    rows, columns = x.shape[2] - height + 1, x.shape[3] - width + 1
    result = np.zeros((len(x), outputs, rows, columns), np.int64)
    for output in range(outputs):
        first = output // (outputs // group) * channels
        for row in range(height):
            for column in range(width):
                window = x[:, first : first + channels, row : row + rows, column : column + columns]
                result[:, output] += np.einsum("nchw,c->nhw", window, w[output, :, row, column])
    return result
