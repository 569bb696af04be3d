"""Random numbers. ONNX does not define the numbers of a seed."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.attributes import Ints
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import cast, ints, shape_of
from ir_exec.onnx.reading.tensors import element_type_of
from ir_exec.types import ElementType

__all__: list[str] = []


def _seed(seed: float | None) -> int:
    """The seed; 0 means a different seed at every start of the program."""
    return 0 if seed is None else int(np.float32(seed).view(np.uint32)) or 1


def _uniform(
    shape: Value, element_type: ElementType, low: float, high: float, seed: float | None, stream: int = 0
) -> Value:
    computed = element_type if element_type in (ElementType.f32, ElementType.f16, ElementType.f64) else ElementType.f32
    least, most = (build.constant(np.asarray(bound, computed.dtype)) for bound in (low, high))
    samples = build.random_uniform(shape, least, most, output_type=computed, global_seed=_seed(seed), op_seed=stream)
    return cast(samples, element_type)


def _normal(shape: Value, element_type: ElementType, mean: float, scale: float, seed: float | None) -> Value:
    """Normal numbers by Box and Muller, from two uniform numbers each."""
    wide = ElementType.f32
    radius = build.sqrt(
        build.multiply(build.constant(np.float32(-2)), build.log(_uniform(shape, wide, 2.0**-24, 1.0, seed, 1)))
    )
    angle = build.cos(_uniform(shape, wide, 0.0, 2 * np.pi, seed, 2))
    samples = build.multiply(build.multiply(radius, angle), build.constant(np.float32(scale)))
    return cast(build.add(samples, build.constant(np.float32(mean))), element_type)


@onnx_op("RandomUniform", since=1)
def random_uniform(*, dtype: int, high: float, low: float, seed: float | None, shape: Ints) -> Value:
    return _uniform(ints(*shape), element_type_of(dtype), low, high, seed)


@onnx_op("RandomUniformLike", since=1)
def random_uniform_like(data: Value, *, dtype: int | None, high: float, low: float, seed: float | None) -> Value:
    element_type = data.element_type if dtype is None else element_type_of(dtype)
    return _uniform(shape_of(data), element_type, low, high, seed)


@onnx_op("RandomNormal", since=1)
def random_normal(*, dtype: int, mean: float, scale: float, seed: float | None, shape: Ints) -> Value:
    return _normal(ints(*shape), element_type_of(dtype), mean, scale, seed)


@onnx_op("RandomNormalLike", since=1)
def random_normal_like(data: Value, *, dtype: int | None, mean: float, scale: float, seed: float | None) -> Value:
    element_type = data.element_type if dtype is None else element_type_of(dtype)
    return _normal(shape_of(data), element_type, mean, scale, seed)


@onnx_op("Multinomial", since=7)
def multinomial(data: Value, *, dtype: int, sample_size: int, seed: float | None) -> Value:
    """The input has logarithms of probabilities."""
    return build.multinomial(
        data,
        ints(sample_size),
        convert_type=element_type_of(dtype),
        with_replacement=True,
        log_probs=True,
        global_seed=_seed(seed),
    )
