"""Operators whose kernels in onnxruntime are slow: composed of faster ones, or interpreted if tensors are large."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build, compile_model
from ir_exec.engines.compiled import EngineModel
from ir_exec.types import Array

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

NUMBERS = [0.0, 1e-20, 1e-6, 1e-3, 0.5, 1.0, 5.0, 10.0, 16.0, 17.0, 19.9, 20.1, 50.0, 80.0, 100.0, 1e30]
EXTREMES = np.array([*NUMBERS, *(-number for number in NUMBERS), math.inf, -math.inf, math.nan])


def run(model: Model, *arrays: Array) -> Array:
    """Return the output of a model that runs on the engine alone."""
    compiled = compile_model(model, engine="onnxruntime")
    assert isinstance(compiled, EngineModel)
    assert compiled.partition.on_engine == compiled.partition.layers
    output = compiled(list(arrays))[0]
    assert compiled.partition.failures == ()
    return output


def model_of(function: Callable[[object], object], array: Array) -> Model:
    x = build.parameter(list(array.shape), array.dtype.name.replace("float", "f"), name="x")
    return build.model(build.result(function(x), name="y"))  # type: ignore[arg-type]  # functions of build


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def mish(x: float) -> float:
    return x * math.tanh(softplus(x))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 2e-3), (np.float32, 3e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize(
    ("function", "formula"), [(build.softplus, softplus), (build.mish, mish)], ids=["SoftPlus", "Mish"]
)
def test_functions_of_exponentials(
    function: Callable[[object], object], formula: Callable[[float], float], dtype: type, tolerance: float
) -> None:
    with np.errstate(over="ignore"):
        values = EXTREMES.astype(dtype)
    if formula is mish:
        values = values[~np.isinf(values)]
    expected = np.array([formula(value) for value in values.astype(np.float64).tolist()])
    smallest = float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(run(model_of(function, values), values), expected, rtol=tolerance, atol=smallest)


def test_prelu_with_slopes_of_channels() -> None:
    values = np.tile(EXTREMES.astype(np.float32), (2, 3, 1))
    slopes = np.array([0.25, -2.0, 0.0], np.float32)
    actual = run(model_of(lambda x: build.prelu(x, slopes), values), values)  # type: ignore[arg-type]
    for batch, channel, position in np.ndindex(*values.shape):
        value = values[batch, channel, position]
        with np.errstate(invalid="ignore"):
            expected = value if value >= 0 or np.isnan(value) else value * slopes[channel]
        np.testing.assert_array_equal(actual[batch, channel, position], expected)


@pytest.mark.parametrize("slope", [0.01, -2.0, 0.0])
def test_prelu_with_one_slope(slope: float) -> None:
    values = np.tile(EXTREMES.astype(np.float32), (2, 3, 1))
    slopes = np.full(3, slope, np.float32)
    actual = run(model_of(lambda x: build.prelu(x, slopes), values), values)  # type: ignore[arg-type]
    with np.errstate(invalid="ignore"):
        expected = np.where((values >= 0) | np.isnan(values), values, values * np.float32(slope))
    np.testing.assert_array_equal(actual, expected)


def test_prelu_with_one_slope_is_fused_into_the_convolution(tmp_path: Path) -> None:
    x = build.parameter([1, 16, 8, 8], name="x")
    filters = np.random.default_rng(0).normal(size=(16, 16, 3, 3)).astype(np.float32)
    y = build.convolution(x, filters, strides=[1, 1], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1])
    model = build.model(build.result(build.prelu(y, np.array([0.1], np.float32)), name="y"))
    path = tmp_path / "optimized.onnx"
    compile_model(model, engine="onnxruntime", options={"optimized_model_filepath": str(path)})
    operators = [node.op_type for node in onnx.load(path).graph.node]
    assert "Conv" in operators or "FusedConv" in operators
    assert not {"LeakyRelu", "PRelu"} & {*operators}


@pytest.mark.parametrize("axis", [1, -3])
def test_softmax_along_channels(axis: int) -> None:
    values = np.random.default_rng(0).normal(0, 20, (2, 5, 64, 64)).astype(np.float32)
    values[0, :2, 0, 0] = -np.inf
    actual = run(model_of(lambda x: build.softmax(x, axis=axis), values), values)  # type: ignore[arg-type]
    wide = values.astype(np.float64)
    for batch, row, column in np.ndindex(2, 64, 64):
        column_values = wide[batch, :, row, column]
        exponentials = [math.exp(value - column_values.max()) for value in column_values.tolist()]
        expected = np.array(exponentials) / sum(exponentials)
        np.testing.assert_allclose(actual[batch, :, row, column], expected, rtol=1e-5, atol=1e-12)


def parts_of(size: int | None) -> list[bool]:
    """Return the parts of a model with Tan of this many elements between other layers, True for the engine."""
    x = build.parameter([size], name="x")
    before = build.exp(build.negative(build.abs(build.add(x, 1.0))))
    after = build.exp(build.negative(build.abs(build.tan(before))))
    compiled = compile_model(build.model(build.result(after, name="y")), engine="onnxruntime")
    assert isinstance(compiled, EngineModel)
    values = np.linspace(0, 1, size or 5, dtype=np.float32)
    expected = [math.exp(-math.tan(math.exp(-(value + 1)))) for value in values.tolist()]
    np.testing.assert_allclose(compiled([values])["y"], expected, rtol=1e-5)
    return [part.engine for part in compiled.partition.parts]


def test_only_large_tensors_leave_the_engine() -> None:
    assert parts_of(16) == [True]
    assert parts_of(None) == [True]
    assert parts_of(2**16) == [True, False, True]
