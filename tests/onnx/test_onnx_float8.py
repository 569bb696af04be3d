"""Floats of 8 bits are rounded once, with any type in between."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ir_exec import compile_model

KINDS = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
}

LARGEST = {
    TensorProto.FLOAT8E4M3FN: 448.0,
    TensorProto.FLOAT8E5M2: 57344.0,
    TensorProto.FLOAT8E4M3FNUZ: 240.0,
    TensorProto.FLOAT8E5M2FNUZ: 57344.0,
}


def _values(data_type: int, dtype: Any) -> Any:
    """All values of the type, the middles between them, and their neighbors."""
    codes = np.arange(256, dtype=np.uint8).view(KINDS[data_type]).astype(np.float64)
    exact = np.unique(codes[np.isfinite(codes)])
    values = np.concatenate([exact, (exact[1:] + exact[:-1]) / 2]).astype(dtype)
    for _ in range(2):
        values = np.concatenate([values, np.nextafter(values, dtype(np.inf)), np.nextafter(values, dtype(-np.inf))])
    return np.unique(np.concatenate([values, np.array([0.7813114, 1.0313, 6e4, -6e4], dtype)]))


def _nearest(values: Any, data_type: int, saturate: bool) -> Any:
    """By ml_dtypes, which rounds f16 and f32 once, and f64 by way of f32."""
    bounded = np.clip(values, -LARGEST[data_type], LARGEST[data_type]) if saturate else values
    if bounded.dtype == np.float64:
        bounded = _to_odd(bounded)
    with np.errstate(over="ignore"):
        return bounded.astype(KINDS[data_type]).astype(np.float32)


def _to_odd(values: Any) -> Any:
    """f64 as f32 whose last bit is set where it is not exact: rounding that again is rounding once."""
    short = values.astype(np.float32)
    away = np.abs(short.astype(np.float64)) > np.abs(values)
    bits = short.view(np.uint32) - away.astype(np.uint32)
    return (bits | (bits.view(np.float32).astype(np.float64) != values)).astype(np.uint32).view(np.float32)


def _model(body: list[Any], dtype: Any, initializers: list[Any] | None = None) -> onnx.ModelProto:
    graph = helper.make_graph(
        body,
        "g",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [None])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])],
        initializers or [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _same(actual: Any, expected: Any) -> None:
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("data_type", KINDS)
def test_cast(data_type: int, saturate: int, dtype: Any) -> None:
    values = _values(data_type, dtype)
    body = [
        helper.make_node("Cast", ["x"], ["h"], to=data_type, saturate=saturate),
        helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT),
    ]
    output = compile_model(_model(body, dtype).SerializeToString())([values])[0]
    _same(output, _nearest(values, data_type, bool(saturate)))


@pytest.mark.parametrize("data_type", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
def test_quantize_linear(data_type: int) -> None:
    values = _values(data_type, np.float32)
    zero = helper.make_tensor("zero", data_type, [], [0.0])
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.25])
    body = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["h"]),
        helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT),
    ]
    output = compile_model(_model(body, np.float32, [scale, zero]).SerializeToString())([values / 4])[0]
    _same(output, _nearest(values, data_type, True))


def test_infinities_and_nan() -> None:
    values = np.array([np.inf, -np.inf, np.nan], np.float32)
    for saturate, expected in ((1, [448, -448, np.nan]), (0, [np.nan, np.nan, np.nan])):
        body = [
            helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT8E4M3FN, saturate=saturate),
            helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT),
        ]
        _same(compile_model(_model(body, np.float32).SerializeToString())([values])[0], expected)
