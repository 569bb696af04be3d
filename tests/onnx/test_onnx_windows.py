"""The paddings of windows: `auto_pad` in every spelling, and how the padding of ConvTranspose is split."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from ir_exec import InvalidAttributeError, compile_model
from tests.onnx.runtime import Node, assert_as_onnxruntime, model_of_node, node

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.normal(size=(1, 2, 4, 5)).astype(np.float32)
FILTERS = RANDOM.normal(size=(2, 2, 3, 3)).astype(np.float32)
BYTES = RANDOM.integers(0, 9, (1, 2, 4, 5)).astype(np.uint8)


def run(case: Node) -> Any:
    feed = {f"x{position}": array for position, array in enumerate(case.inputs) if array is not None}
    return compile_model(model_of_node(case, dynamic=False).SerializeToString())(feed)[0]


EMPTY = [
    node("Conv", IMAGE, FILTERS, pads=[1, 1, 1, 1]),
    node("ConvInteger", BYTES, BYTES[:, :, :3, :3], opset=10, pads=[1, 0, 1, 2]),
    node("ConvTranspose", IMAGE, FILTERS, pads=[1, 0, 0, 1]),
    node("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 0, 1]),
    node("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 0, 1], ceil_mode=1, count_include_pad=1),
    node("MaxPool", IMAGE, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    node("LpPool", IMAGE, opset=18, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
]


@pytest.mark.parametrize("case", EMPTY, ids=str)
def test_an_empty_auto_pad_is_not_set(case: Node) -> None:
    empty = case._replace(attributes={**case.attributes, "auto_pad": ""})
    assert np.array_equal(run(empty), run(case))
    assert_as_onnxruntime(case)


@pytest.mark.parametrize("case", EMPTY, ids=str)
def test_an_unknown_auto_pad_is_refused(case: Node) -> None:
    with pytest.raises(InvalidAttributeError):
        run(case._replace(attributes={**case.attributes, "auto_pad": "SAME"}))


def _transposed_convolutions() -> list[Node]:
    nodes = []
    for way, kernel, stride, dilation in product(("SAME_UPPER", "SAME_LOWER"), (1, 2, 3, 4), (1, 2, 3, 4), (1, 2)):
        filters = RANDOM.normal(size=(2, 1, kernel, 1)).astype(np.float32)
        attributes = {"auto_pad": way, "strides": [stride, 1], "dilations": [dilation, 1]}
        nodes.append(node("ConvTranspose", IMAGE, filters, opset=11, **attributes))
        if kernel < stride:
            further = RANDOM.normal(size=(2, 1, kernel, 1)).astype(np.float32)
            shape = {"output_shape": [4 * stride + 1, 5]}
            nodes.append(node("ConvTranspose", IMAGE, further, opset=11, **attributes, **shape))
    return nodes


@pytest.mark.parametrize("case", _transposed_convolutions(), ids=str)
def test_same_padding_splits_remainder(case: Node) -> None:
    feed = {f"x{position}": array for position, array in enumerate(case.inputs) if array is not None}
    # onnxruntime does not follow the text: its output has fewer elements where the kernel is less than the stride.
    (expected,) = ReferenceEvaluator(model_of_node(case, dynamic=False)).run(None, feed)
    output = run(case)
    assert output.shape == expected.shape
    assert np.allclose(output, expected, atol=1e-5)


def test_bias_applies_to_same_padding() -> None:
    case = node(
        "ConvTranspose", IMAGE, FILTERS[:, :1, :1, :1], np.float32([2.0]), auto_pad="SAME_UPPER", strides=[3, 3]
    )
    output = run(case)
    assert output.shape == (1, 1, 12, 15)
    assert set(output[0, 0, 0].tolist()) == {2.0}
