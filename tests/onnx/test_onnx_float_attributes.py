"""Float attributes of operators of integers: computed in floats, and cut off at the end, as ONNX's reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from ir_exec import compile_model
from tests.onnx.runtime import Node, model_of_node, node

KINDS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32)


def _around_zero(dtype: Any) -> Any:
    return np.arange(0 if np.dtype(dtype).kind == "u" else -9, 12).astype(dtype)


def _cases() -> list[Node]:
    nodes = []
    for dtype in KINDS:
        for lambd, bias in ((0.5, 0.0), (1.5, 0.5), (3.0, 1.5), (2.5, -1.25), (-2.0, 10.0), (-0.5, -0.5)):
            nodes.append(node("Shrink", _around_zero(dtype), opset=9, lambd=lambd, bias=bias))
    a, b, c = (np.random.default_rng(seed).integers(0, 9, (3, 3)) for seed in range(3))
    for version, dtype in ((9, np.int32), (11, np.int64), (13, np.uint32), (13, np.uint64)):
        for alpha, beta in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.25), (0.5, 0.75), (1.5, 0.0)):
            inputs = [matrix.astype(dtype) for matrix in (a, b, c)]
            nodes.append(node("Gemm", *inputs, opset=version, alpha=alpha, beta=beta))
    for type in ("Elu", "Celu", "Selu", "ThresholdedRelu", "HardSigmoid"):
        nodes += [node(type, _around_zero(np.int32), opset=17, alpha=alpha) for alpha in (0.5, 2.5)]
    for dtype in (np.int32, np.int64, np.float32):
        data = _around_zero(dtype).reshape(1, -1)
        for threshold in (-0.5, 0.5, 3.0):
            nodes.append(node("Binarizer", data, opset=1, domain="ai.onnx.ml", threshold=threshold))
    return nodes


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_as_the_reference(case: Node) -> None:
    proto = model_of_node(case, dynamic=False)
    feed = {f"x{position}": array for position, array in enumerate(case.inputs) if array is not None}
    (expected,) = ReferenceEvaluator(proto).run(None, feed)
    output = compile_model(proto.SerializeToString())(feed)[0]
    assert output.dtype == expected.dtype
    np.testing.assert_allclose(output, expected, rtol=1e-3)


def test_the_first_rule_of_shrink_wins() -> None:
    """Between lambd and -lambd both hold: x < -lambd comes first in the text."""
    proto = model_of_node(node("Shrink", np.float32([-10, 0, 10]), opset=9, lambd=-20.0, bias=3.0), dynamic=False)
    assert compile_model(proto.SerializeToString())([np.float32([-10, 0, 10])])[0].tolist() == [-7, 3, 13]


def test_values_removed_by_beta_are_not_read() -> None:
    case = node("Gemm", np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), np.float32([np.nan, 1]), beta=0.0)
    proto = model_of_node(case, dynamic=False)
    output = compile_model(proto.SerializeToString())([array for array in case.inputs if array is not None])[0]
    assert output.tolist() == [[1, 0], [0, 1]]
