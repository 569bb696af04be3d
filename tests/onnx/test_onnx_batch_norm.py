"""BatchNormalization of every version: of rank 1, by given statistics and by those of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from ir_exec import compile_model
from tests.onnx.runtime import assert_as_onnxruntime, model_of_node, node

RANDOM = np.random.default_rng(8)


def _f(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def _parameters(*shape: int) -> list[Any]:
    return [_f(*shape), _f(*shape), _f(*shape), np.abs(_f(*shape)) + 0.1]


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_data_of_rank_1_is_a_single_channel_batch(opset: int) -> None:
    assert_as_onnxruntime(node("BatchNormalization", _f(5), *_parameters(1), opset=opset))


@pytest.mark.parametrize("shape", [(1, 5, 12), (2, 3, 4, 4), (3, 2)])
@pytest.mark.parametrize(("opset", "outputs"), [(7, 5), (9, 5), (14, 1), (14, 3), (15, 3)])
def test_training(opset: int, outputs: int, shape: tuple[int, ...]) -> None:
    mode = {"training_mode": 1} if opset >= 14 else {}
    inputs = [_f(*shape), *_parameters(shape[1])]
    case = node("BatchNormalization", *inputs, opset=opset, outputs=outputs, momentum=0.7, **mode)
    assert_as_onnxruntime(case)


def test_training_of_short_floats() -> None:
    inputs = [_f(2, 3, 4, dtype=np.float16), *_parameters(3)]
    assert_as_onnxruntime(node("BatchNormalization", *inputs, opset=15, outputs=3, training_mode=1))


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("is_test", [0, 1])
def test_first_versions(opset: int, is_test: int) -> None:
    inputs = [_f(2, 3, 4), *_parameters(3)]
    further = {"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {}
    proto = model_of_node(node("BatchNormalization", *inputs, opset=opset, is_test=is_test, **further), dynamic=False)
    feed = {f"x{position}": array for position, array in enumerate(inputs)}
    data, scale, bias, mean, variance = (input.astype(np.float64) for input in inputs)
    if not is_test:
        mean, variance = data.mean((0, 2)), data.var((0, 2))
    columns = [statistic[:, None] for statistic in (scale, bias, mean, variance)]
    expected = (data - columns[2]) / np.sqrt(columns[3] + 1e-5) * columns[0] + columns[1]
    assert np.allclose(compile_model(proto.SerializeToString())(feed)[0], expected, atol=1e-5)
    if opset == 6 and is_test:
        assert np.allclose(ReferenceEvaluator(proto).run(None, feed)[0], expected, atol=1e-5)


def test_statistics_of_every_element() -> None:
    """Specified by the text of version 9: statistics of data that is flattened."""
    inputs = [_f(2, 3, 4), *_parameters(3, 4)]
    proto = model_of_node(node("BatchNormalization", *inputs, opset=7, spatial=0), dynamic=False)
    outputs = compile_model(proto.SerializeToString())({f"x{position}": array for position, array in enumerate(inputs)})
    data, scale, bias, mean, variance = inputs
    assert np.allclose(outputs[0], (data - mean) / np.sqrt(variance + 1e-5) * scale + bias, atol=1e-5)
