"""Operators that ONNX deprecated, or had as experimental ones, mean what their last version meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import defs, helper, numpy_helper

from ir_exec import IRError, check_model, compile_model
from ir_exec.onnx.lowering.registry import ML, STANDARD
from ir_exec.onnx.reading.functions import deprecation
from tests.helpers.facts import mentions
from tests.onnx.runtime import Node, assert_as_onnxruntime, node

IMAGE = np.random.default_rng(1).normal(size=(2, 2, 3, 4)).astype(np.float32)


def model_of_node(type: str, opset: int, *inputs: Any, **attributes: Any) -> onnx.ModelProto:
    """A model of one node whose inputs are initializers, but for the first."""
    arrays = [np.asarray(input) for input in inputs]
    names = [f"x{position}" for position in range(len(arrays))]
    graph = helper.make_graph(
        [helper.make_node(type, names, ["y"], **attributes)],
        "g",
        [
            helper.make_tensor_value_info("x0", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for array in arrays[:1]
        ],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(array, name) for array, name in zip(arrays[1:], names[1:], strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(proto: onnx.ModelProto, *inputs: Any) -> Any:
    return compile_model(proto.SerializeToString())(list(inputs))[0]


def findings(proto: onnx.ModelProto) -> list[tuple[str, str, str | None]]:
    report = check_model(proto.SerializeToString())
    return [
        (finding.severity, finding.code, finding.hint) for finding in report.diagnostics if finding.severity != "info"
    ]


@pytest.mark.parametrize("opset", [10, 11, 13, 17, 22])
def test_upsample_after_its_deprecation(opset: int) -> None:
    scales = np.array([1, 1, 2, 3], np.float32)
    proto = model_of_node("Upsample", opset, IMAGE, scales)
    assert np.array_equal(run(proto, IMAGE), IMAGE.repeat(2, 2).repeat(3, 3))
    assert findings(proto) == [("warning", "IR125", "use Resize")]


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_scatter_after_its_deprecation(opset: int) -> None:
    data, indices = np.zeros((3, 3), np.float32), np.array([[1, 0, 2], [0, 2, 1]])
    updates = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    proto = model_of_node("Scatter", opset, data, indices, updates)
    assert run(proto, data).tolist() == [[4, 2, 0], [1, 0, 6], [0, 5, 3]]
    assert findings(proto) == [("warning", "IR125", "use ScatterElements")]


def test_deprecated_version_with_current_successor() -> None:
    proto = model_of_node(
        "GroupNormalization", 18, IMAGE, np.ones(2, np.float32), np.zeros(2, np.float32), num_groups=2
    )
    mean, deviation = IMAGE.mean((2, 3), keepdims=True), np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-5)
    assert np.allclose(run(proto, IMAGE), (IMAGE - mean) / deviation, atol=1e-5)
    assert findings(proto) == [("warning", "IR125", mentions("GroupNormalization", 21))]


def test_future_deprecation_is_no_warning() -> None:
    assert not findings(model_of_node("Upsample", 9, IMAGE, np.array([1, 1, 2, 3], np.float32)))


@pytest.mark.parametrize(
    "schema",
    [schema for schema in defs.get_all_schemas_with_history() if schema.deprecated and schema.domain in (STANDARD, ML)],
    ids=lambda schema: f"{schema.name}-{schema.since_version}",
)
def test_deprecations_of_onnx_are_known_with_replacement(schema: Any) -> None:
    for opset in (schema.since_version, schema.since_version + 1):
        warning = deprecation(schema.domain, schema.name, opset)
        assert warning is not None
        assert (warning.code, warning.severity) == ("IR125", "warning")
        assert warning.hint is not None


EXPERIMENTAL = [
    node("Affine", IMAGE, opset=7, alpha=2.0, beta=-0.5),
    node("Affine", IMAGE, opset=1),
    node("Scale", IMAGE, opset=7, scale=3.0),
    node("Scale", IMAGE, opset=7),
    node("ParametricSoftplus", IMAGE, opset=7, alpha=2.0, beta=0.5),
    node("ScaledTanh", IMAGE, opset=7, alpha=2.0, beta=0.5),
    node("ThresholdedRelu", IMAGE, opset=7),
    node("ThresholdedRelu", IMAGE, opset=9, alpha=0.25),
    node("ImageScaler", IMAGE, opset=7, bias=[1.0, -2.0], scale=2.0),
    node("ImageScaler", IMAGE, opset=7, bias=[1.0, -2.0]),
    node("Crop", IMAGE, opset=7, border=[1, 0, 2, 1]),
    node("Crop", IMAGE, opset=7, border=[1, 1, 0, 0], scale=[1, 3]),
    node("DynamicSlice", IMAGE, np.array([0, 1]), np.array([1, 9]), np.array([1, 3]), opset=7),
    node("DynamicSlice", IMAGE, np.array([0, 1], np.int32), np.array([1, 9], np.int32), opset=7),
    *[
        node("MeanVarianceNormalization", IMAGE, opset=7, across_channels=across, normalize_variance=normalizes)
        for across in (0, 1)
        for normalizes in (0, 1)
    ],
]


@pytest.mark.parametrize("case", EXPERIMENTAL, ids=str)
def test_experimental_operators_are_those_of_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, dynamic=True)


def test_experimental_operators_are_warned_of() -> None:
    assert findings(model_of_node("ImageScaler", 7, IMAGE, bias=[1.0, 2.0])) == [
        ("warning", "IR125", mentions("Mul", "Add"))
    ]
    assert findings(model_of_node("ThresholdedRelu", 7, IMAGE)) == [
        ("warning", "IR125", mentions("ThresholdedRelu", 10))
    ]
    assert not findings(model_of_node("ThresholdedRelu", 10, IMAGE))


@pytest.mark.parametrize(
    ("data", "attributes", "expected"),
    [
        ([], {"shape": [2, 3], "value": 1.5}, np.full((2, 3), 1.5, np.float32)),
        ([IMAGE], {"extra_shape": [2], "value": 3.0, "dtype": 7}, np.full((2, 2, 3, 4, 2), 3, np.int64)),
        ([np.array([2, 1])], {"input_as_shape": 1, "extra_shape": [3]}, np.zeros((2, 1, 3), np.float32)),
        ([np.array([2, 1], np.int32)], {"input_as_shape": 1, "dtype": 9, "value": 1.0}, np.ones((2, 1), bool)),
    ],
)
def test_constant_fill(data: list[Any], attributes: dict[str, Any], expected: Any) -> None:
    output = run(model_of_node("ConstantFill", 7, *data, **attributes), *data)
    assert output.dtype == expected.dtype
    assert np.array_equal(output, expected)


def test_given_tensor_fill() -> None:
    values = [float(number) for number in range(6)]
    assert run(model_of_node("GivenTensorFill", 7, shape=[3, 2], values=values)).tolist() == [[0, 1], [2, 3], [4, 5]]
    data = np.zeros((1, 2), np.float16)
    output = run(model_of_node("GivenTensorFill", 7, data, extra_shape=[3], values=values), data)
    assert output.dtype == np.float16
    assert output.tolist() == [[[0, 1, 2], [3, 4, 5]]]


@pytest.mark.parametrize(
    ("type", "attributes"),
    [
        ("Crop", {"border": [1, 2]}),
        ("Crop", {"scale": [1]}),
        ("ImageScaler", {"bias": [1.0, 2.0, 3.0]}),
        ("ScaledTanh", {"alpha": 1.0}),
        ("ConstantFill", {"shape": [2]}),
        ("GivenTensorFill", {"values": [1.0]}),
    ],
)
def test_what_no_experimental_operator_takes(type: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(IRError):
        run(model_of_node(type, 7, IMAGE, **attributes), IMAGE)


def test_a_function_of_aten_is_named() -> None:
    report = check_model(model_of_node("ATen", 9, IMAGE, operator="embedding_bag", mode=1).SerializeToString())
    (diagnostic,) = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "IR126"]
    assert "embedding_bag" in diagnostic.message


def test_fully_connected_layers_of_caffe2() -> None:
    random = np.random.default_rng(2)
    data, weights = (random.normal(size=shape).astype(np.float32) for shape in ((2, 3, 4), (5, 3, 4)))
    bias = np.arange(5, dtype=np.float32)
    expected = data.reshape(2, 12) @ weights.reshape(5, 12).T + bias
    assert np.allclose(run(model_of_node("FC", 1, data, weights, bias), data), expected, atol=1e-5)
    flat = run(model_of_node("FC", 1, data, weights.reshape(15, 4)[:5], bias, axis=2, axis_w=1), data)
    assert np.allclose(flat, data @ weights.reshape(15, 4)[:5].T + bias, atol=1e-5)


@pytest.mark.parametrize("drops", [0, 1])
def test_steps_of_a_gru_of_caffe2(drops: int) -> None:
    random = np.random.default_rng(3)
    hidden, gates = (random.normal(size=(1, 2, size)).astype(np.float32) for size in (3, 9))
    lengths, step = np.array([4, 1], np.int32), np.array([2], np.int32)
    share, fresh = 1 / (1 + np.exp(-gates[..., 3:6])), np.tanh(gates[..., 6:])
    expected = share * hidden + (1 - share) * fresh
    expected[:, 1] = 0 if drops else hidden[:, 1]
    output = run(model_of_node("GRUUnit", 1, hidden, gates, lengths, step, drop_states=drops), hidden)
    assert np.allclose(output, expected, atol=1e-6)


@pytest.mark.parametrize("size", [3, 5])
def test_lrn_alpha_and_beta_are_floats_for_narrow_types(size: int) -> None:
    data = np.arange(1, 9, dtype=np.float16).reshape(1, 8, 1, 1)
    assert_as_onnxruntime(node("LRN", data, opset=13, size=size, alpha=0.3, beta=0.7), dynamic=True)
