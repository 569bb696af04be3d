"""The numbers of compressed weights, against runs of their layers and plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec import build, read_model
from ir_exec.build import Value
from ir_exec.graph.compressed import CompressedWeight, find_weight
from ir_exec.graph.decoding import decode_weight, mask_end_levels, read_steps
from ir_exec.model import Model
from ir_exec.types import Array, ElementType
from tests.graph.test_compressed import FILES, FORMATS, only_weight

RANDOM = np.random.default_rng(0)
KINDS = ["u2", "u4", "i4", "u8", "i8", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f16"]


def codes_of(name: str, *shape: int) -> Value:
    """Random codes; of 8-bit floats none that is no number."""
    element_type = ElementType[name]
    if name == "f16":
        return build.constant(RANDOM.standard_normal(shape).astype(np.float16))
    if element_type.is_integer:
        low = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
        return build.constant(RANDOM.integers(low, low + 2**element_type.bits, shape), name)
    most = 0x60 if element_type.bits == 8 else 2**element_type.bits
    return build.constant(RANDOM.integers(0, most, shape).astype(np.uint8).view(element_type.dtype))


def numbers(*shape: int, name: str = "f16") -> Value:
    return build.constant(RANDOM.uniform(0.01, 0.1, shape).astype(np.float32), name)


def by_row(name: str, real: str) -> Value:
    codes = build.convert(codes_of(name, 16, 32), real)
    return build.multiply(build.subtract(codes, numbers(16, 1, name=real)), numbers(16, 1, name=real))


def by_group(name: str, real: str) -> Value:
    zero = build.convert(codes_of("u4", 16, 4, 1), real)
    codes = build.subtract(build.convert(codes_of(name, 16, 4, 8), real), zero)
    return build.reshape(build.multiply(codes, numbers(16, 4, 1, name=real)), [16, 32], special_zero=False)


def by_scale_of_scales(name: str, real: str) -> Value:
    scales = build.multiply(build.convert(codes_of("f8e4m3", 16, 1), real), numbers(1, 1, name=real))
    return build.transpose(build.multiply(scales, build.convert(codes_of(name, 16, 32), real)), [1, 0])


def by_power_of_two(name: str, real: str) -> Value:
    powers = build.constant(np.exp2(RANDOM.integers(-6, 2, (16, 1))).astype(np.float32), "f8e8m0")
    return build.multiply(build.convert(codes_of(name, 16, 32), real), build.convert(powers, real))


def by_levels(name: str, real: str) -> Value:
    ends = [numbers(1, name=real) if end > 0 else build.constant([-0.1], real) for end in (-1, 1, -1, 1)]
    return build.fake_quantize(build.convert(codes_of(name, 16, 32), real), *ends, levels=16)


def by_codebook(name: str, real: str) -> Value:
    table = build.convert(build.constant(RANDOM.standard_normal(256).astype(np.float16)), real)
    codes = codes_of(name if name.startswith("u") else "u4", 16, 32)
    return build.multiply(build.gather(table, codes, 0), numbers(16, 1, name=real))


LAYOUTS: tuple[Callable[[str, str], Value], ...] = (
    by_row,
    by_group,
    by_scale_of_scales,
    by_power_of_two,
    by_levels,
    by_codebook,
)


def weight_and_run(value: Value) -> tuple[CompressedWeight, Model, Array]:
    """The description of a value, its model, and its numbers in a run without any pass."""
    model = build.model(build.result(build.convert(value, "f32"), name="y"))
    weight = find_weight(model.graph.results[0].values_in[0])
    assert weight is not None
    return weight, model, np.asarray(ir_exec.compile_model(model, optimize=False)([])[0])


def assert_same_bits(actual: Array, expected: Array) -> None:
    assert actual.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("real", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoded_weights_equal_those_of_a_run(layout: Callable[[str, str], Value], name: str, real: str) -> None:
    weight, model, expected = weight_and_run(layout(name, real))
    assert model.weights is not None
    assert_same_bits(decode_weight(weight, model.weights), expected)


UNSIGNED = RANDOM.integers(0, 256, (16, 32)).astype(np.uint8)
ZERO = RANDOM.integers(0, 256, (16, 1)).astype(np.uint8)
WIDE = np.full((16, 1), 2**25 + 1, np.int32)


def test_differences_of_integers_wrap() -> None:
    difference = build.subtract(build.constant(UNSIGNED), build.constant(ZERO))
    weight, model, run = weight_and_run(build.convert(difference, "f32"))
    assert model.weights is not None
    decoded = decode_weight(weight, model.weights)
    expected = [[(int(code) - int(ZERO[row, 0])) % 256 for code in codes] for row, codes in enumerate(UNSIGNED)]
    assert decoded.tolist() == run.tolist() == expected


@pytest.mark.parametrize(
    "value",
    [
        lambda: build.subtract(build.convert(build.constant(UNSIGNED), "i32"), build.constant(WIDE)),
        lambda: build.multiply(build.convert(build.constant(UNSIGNED), "i32"), build.constant(WIDE * 3)),
        lambda: build.multiply(build.convert(build.constant(UNSIGNED), "f64"), np.float64(1.23456789)),
        lambda: build.convert(build.convert(build.constant(UNSIGNED), "i32"), "i8"),
        lambda: build.subtract(
            build.convert(build.constant(UNSIGNED), "f32"),
            build.convert(build.multiply(build.constant(ZERO), np.uint8(3)), "f32"),
        ),
    ],
)
def test_arithmetic_is_in_the_types_of_the_layers(value: Callable[[], Value]) -> None:
    weight, model, expected = weight_and_run(value())
    assert model.weights is not None
    assert_same_bits(decode_weight(weight, model.weights), expected)


@pytest.mark.parametrize("mode", FORMATS)
def test_errors_of_rounding_are_within_half_a_step(mode: str) -> None:
    model, plain = read_model(FILES / f"{mode}.xml"), read_model(FILES / "plain.xml")
    assert model.weights is not None
    weight = only_weight(model)
    steps = read_steps(weight, model.weights)
    assert steps is not None
    error = np.abs(decode_weight(weight, model.weights) - plain.constants["proj/weight"])
    # Numbers beyond the last level are clipped, and mx scales are powers of two.
    share = np.count_nonzero(error > 0.51 * steps) / error.size
    assert share < 0.05


def test_steps_and_ends_of_groups() -> None:
    codes = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    scale = np.array([[[1], [2]], [[-3], [4]]], np.float32)
    value = build.multiply(build.convert(build.constant(codes, "u4"), "f32"), scale)
    weight, model, _ = weight_and_run(build.reshape(value, [2, 8], special_zero=False))
    assert model.weights is not None
    steps = read_steps(weight, model.weights)
    assert steps is not None
    assert steps.tolist() == [[1] * 4 + [2] * 4, [3] * 4 + [4] * 4]
    assert np.argwhere(mask_end_levels(weight, model.weights)).tolist() == [[0, 0], [1, 7]]
