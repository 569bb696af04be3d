"""Networks of FakeQuantize, and what onnxruntime makes of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ir_exec import Model, build, compile_model
from ir_exec.build import Value
from ir_exec.engines.compiled import EngineModel
from ir_exec.types import Array

RANDOM = np.random.default_rng(0)
PADDED: dict[str, Any] = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
PLAIN: dict[str, Any] = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}


def draw(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def quantize(data: Value, low: float, high: float, levels: int = 256, **options: Any) -> Value:
    """FakeQuantize with equal limits of input and output."""
    limits = [build.constant(np.float32(limit)) for limit in (low, high, low, high)]
    return build.fake_quantize(data, *limits, levels=levels, **options)


def quantize_signed(data: Value, most: float, levels: int = 256) -> Value:
    """FakeQuantize as of signed integers, with 0 as a level."""
    return quantize(data, -most * (128 / 127 if levels == 256 else 1), most, levels)


def integer_weights(shape: tuple[int, ...], *, zero: Array | None = None) -> Value:
    """Integers of 8 bits times a scale for each channel of the first axis."""
    integers = RANDOM.integers(-127, 128, shape) if zero is None else RANDOM.integers(0, 256, shape)
    numbers = build.convert(build.constant(integers.astype(np.int8 if zero is None else np.uint8)), "f32")
    if zero is not None:
        numbers = build.subtract(numbers, build.constant(zero.astype(np.float32)))
    scale = RANDOM.uniform(0.5, 1.5, (shape[0], *[1] * (len(shape) - 1))) / np.sqrt(np.prod(shape[1:])) / 64
    return build.multiply(numbers, build.constant(scale.astype(np.float32)))


def reshape(value: Value, *shape: int) -> Value:
    return build.reshape(value, build.constant(np.array(shape)), special_zero=False)


def channels(*numbers: float) -> Value:
    """A constant for each channel of an image."""
    return build.constant(np.array(numbers, np.float32).reshape(1, -1, 1, 1))


def convolve(data: Value, filters: int, inputs: int, *, size: int = 3, bias: bool = True) -> Value:
    steps = PADDED if size == 3 else PLAIN
    sums = build.convolution(data, integer_weights((filters, inputs, size, size)), **steps)
    return build.add(sums, build.constant(draw(1, filters, 1, 1))) if bias else sums


def model_of(value: Value) -> Model:
    return build.model(build.result(value, name="y"))


def compile_for_engine(model: Model, **options: Any) -> EngineModel:
    compiled = compile_model(model, engine="onnxruntime", options=options)
    assert isinstance(compiled, EngineModel)
    return compiled


def run_optimized(model: Model, inputs: list[Array], path: Path, **options: Any) -> tuple[onnx.ModelProto, Array]:
    """Return the graph that onnxruntime runs, and the output."""
    compiled = compile_for_engine(model, optimized_model_filepath=str(path), **options)
    output = compiled(inputs)["y"]
    assert compiled.partition.on_engine == compiled.partition.layers
    assert not compiled.partition.failures
    return onnx.load(str(path)), output


def operators(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def interpret(model: Model, inputs: list[Array]) -> Array:
    return compile_model(model)(inputs)["y"]


def assert_same_levels(actual: Array, expected: Array, step: float) -> None:
    """Few elements differ, and none by more than a level."""
    levels = np.rint((actual - expected) / np.float32(step))
    np.testing.assert_allclose(actual, expected, atol=step * 1.01, rtol=0)
    assert np.count_nonzero(levels) <= 0.02 * levels.size
