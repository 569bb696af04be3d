"""The element types of kernels and of their results."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from ir_exec.onnx.export.kernel_types import kernel_type, result_type


@pytest.mark.parametrize(
    ("operator", "position", "expected"),
    [
        ("Equal", 0, TensorProto.BOOL),
        ("MaxPool", 0, None),
        ("MaxPool", 1, TensorProto.INT64),
        ("MatMulInteger", 0, TensorProto.INT32),
        ("NonZero", 0, TensorProto.INT64),
        ("NonZero", 1, None),
        ("SplitToSequence", 0, None),
        ("StringNormalizer", 0, TensorProto.STRING),
        ("TopK", 0, None),
        ("TopK", 1, TensorProto.INT64),
        ("Unknown", 0, None),
    ],
)
def test_results_with_a_type_of_their_own(operator: str, position: int, expected: int | None) -> None:
    assert result_type(operator, position) == expected


@pytest.mark.parametrize(
    ("operator", "input_type", "expected"),
    [
        ("Add", TensorProto.INT8, TensorProto.INT32),
        ("Add", TensorProto.FLOAT, TensorProto.FLOAT),
        ("Slice", TensorProto.BFLOAT16, TensorProto.BFLOAT16),
        ("Relu", TensorProto.UINT16, TensorProto.INT32),
        ("Cast", TensorProto.INT4, TensorProto.INT4),
    ],
)
def test_types_without_kernel_are_computed_wider(operator: str, input_type: int, expected: int) -> None:
    assert kernel_type(operator, input_type) == expected
