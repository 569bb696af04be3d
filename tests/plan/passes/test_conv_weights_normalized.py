"""Filters that hold the scale of the normalization after them, without any other change of a network."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array

RANDOM = np.random.default_rng(0)
EPSILON = 1e-3


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape, np.float32)


def vectors(channels: int) -> list[Array]:
    """Gamma, beta, mean and variance."""
    return [*floats(3, channels), RANDOM.uniform(0.5, 2, channels).astype(np.float32)]


def batch_norm(value: Value, constants: list[Array]) -> Value:
    return build.batch_norm_inference(value, *map(build.constant, constants), epsilon=EPSILON)


def steps(axes: int) -> dict[str, list[int]]:
    return {
        name: [value] * axes for name, value in (("strides", 1), ("dilations", 1), ("pads_begin", 1), ("pads_end", 1))
    }


def convolve(data: Value, filters: Array, **attributes: Any) -> Value:
    return build.convolution(data, build.constant(filters), **steps(filters.ndim - 2) | attributes)


def both(model: ir_exec.Model, *inputs: Array, threads: int | None = None) -> tuple[Array, Array, list[str]]:
    """The outputs of a rewritten and of a plain run, and the types of the steps of the former."""
    compiled = ir_exec.compile_model(model, threads=threads)
    actual = np.array(compiled(list(inputs))[0])
    plan = compiled.executor.plan([(array.dtype, array.shape) for array in inputs])
    plain = ir_exec.compile_model(model, optimize=False)(list(inputs))[0]
    return actual, plain, [type(step.op).__name__ for step in plan.steps]


def assert_folded(model: ir_exec.Model, *inputs: Array) -> None:
    actual, plain, types = both(model, *inputs)
    assert types == ["PackedConvolution"]
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


@pytest.mark.parametrize(
    ("image", "filters"),
    [
        ((1, 3, 9, 8), (5, 3, 3, 3)),
        ((2, 3, 9, 8), (5, 3, 1, 1)),
        ((1, 48, 28, 30), (40, 48, 3, 3)),  # by Winograd's algorithm
        ((2, 3, 20), (4, 3, 5)),
        ((1, 2, 4, 5, 6), (3, 2, 3, 3, 3)),
    ],
)
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_convolutions(image: tuple[int, ...], filters: tuple[int, ...], *, is_dynamic: bool) -> None:
    data = build.parameter([-1 if is_dynamic else size for size in image], "f32")
    assert_folded(build.model(batch_norm(convolve(data, floats(*filters)), vectors(filters[0]))), floats(*image))


@pytest.mark.parametrize("filters", [(6, 1, 1, 3, 3), (2, 4, 3, 3, 3), (3, 1, 2, 1, 1)])
def test_groups(filters: tuple[int, ...]) -> None:
    data = build.parameter([1, 6, 7, 8], "f32")
    value = build.group_convolution(data, build.constant(floats(*filters)), **steps(2))
    assert_folded(build.model(batch_norm(value, vectors(filters[0] * filters[1]))), floats(1, 6, 7, 8))


@pytest.mark.parametrize("shape", [(1, 5, 1, 1), (5, 1, 1)])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_bias_between_them(shape: tuple[int, ...], *, is_first: bool) -> None:
    value, bias = convolve(build.parameter([1, 3, 9, 8], "f32"), floats(5, 3, 3, 3)), build.constant(floats(*shape))
    value = build.add(bias, value) if is_first else build.add(value, bias)
    assert_folded(build.model(batch_norm(value, vectors(5))), floats(1, 3, 9, 8))


def test_filters_of_f16() -> None:
    filters = build.convert(build.constant(floats(5, 3, 3, 3).astype(np.float16)), "f32")
    value = build.convolution(build.parameter([1, 3, 9, 8], "f32"), filters, **steps(2))
    assert_folded(build.model(batch_norm(value, vectors(5))), floats(1, 3, 9, 8))


def test_the_first_version_of_the_operator() -> None:
    value = convolve(build.parameter([1, 3, 9, 8], "f32"), floats(5, 3, 3, 3))
    gamma, beta, mean, variance = map(build.constant, vectors(5))
    norm = build.op("BatchNormInference", gamma, beta, value, mean, variance, opset=1, epsilon=EPSILON)
    assert_folded(build.model(norm), floats(1, 3, 9, 8))


def test_one_after_the_other() -> None:
    value = batch_norm(convolve(build.parameter([1, 3, 9, 8], "f32"), floats(4, 3, 3, 3)), vectors(4))
    model = build.model(batch_norm(convolve(build.relu(value), floats(5, 4, 1, 1)), vectors(5)))
    actual, plain, types = both(model, floats(1, 3, 9, 8))
    assert types == ["PackedConvolution", "ReLU", "PackedConvolution"]
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def of_two_readers(value: Value) -> list[Value]:
    return [batch_norm(value, vectors(5)), build.relu(value)]


def of_an_output(value: Value) -> list[Value]:
    return [batch_norm(value, vectors(5)), value]


def with_a_bias_of_elements(value: Value) -> list[Value]:
    return [batch_norm(build.add(value, build.constant(floats(5, 9, 8))), vectors(5))]


def with_a_bias_of_columns(value: Value) -> list[Value]:
    return [batch_norm(build.add(value, build.constant(floats(8))), vectors(5))]


def added_to_itself(value: Value) -> list[Value]:
    return [batch_norm(build.add(value, value), vectors(5))]


def with_a_huge_scale(value: Value) -> list[Value]:
    return [batch_norm(value, [np.full(5, 1e30, np.float32), *vectors(5)[1:]])]


def with_another_between(value: Value) -> list[Value]:
    return [batch_norm(build.relu(value), vectors(5))]


@pytest.mark.parametrize(
    "outputs",
    [
        of_two_readers,
        of_an_output,
        with_a_bias_of_elements,
        with_a_bias_of_columns,
        added_to_itself,
        with_a_huge_scale,
        with_another_between,
    ],
)
def test_unmatched_convolutions_are_unchanged(outputs: Any) -> None:
    value = convolve(build.parameter([1, 3, 9, 8], "f32"), floats(5, 3, 3, 3))
    actual, plain, types = both(build.model(outputs(value)), floats(1, 3, 9, 8))
    assert "PackedConvolution" not in types
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def test_filters_that_two_convolutions_read_stay() -> None:
    data, filters = build.parameter([1, 3, 9, 8], "f32"), build.constant(floats(5, 3, 3, 3))
    first, other = (build.convolution(value, filters, **steps(2)) for value in (data, build.relu(data)))
    actual, plain, types = both(build.model(build.add(batch_norm(first, vectors(5)), other)), floats(1, 3, 9, 8))
    assert "PackedConvolution" not in types
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def test_unknown_vectors_stay() -> None:
    value, gamma = convolve(build.parameter([1, 3, 9, 8], "f32"), floats(5, 3, 3, 3)), build.parameter([5], "f32")
    norm = build.batch_norm_inference(value, gamma, *map(build.constant, vectors(5)[1:]), epsilon=EPSILON)
    actual, plain, types = both(build.model(norm), floats(1, 3, 9, 8), vectors(5)[0])
    assert types == ["Convolution", "BatchNormInference5"]
    assert_array_equal(actual, plain)


def two_layers() -> ir_exec.Model:
    return build.model(batch_norm(convolve(build.parameter([1, 3, 9, 8], "f32"), floats(5, 3, 3, 3)), vectors(5)))


def test_an_observer_sees_both_layers_of_the_file() -> None:
    model, data = two_layers(), floats(1, 3, 9, 8)
    compiled = ir_exec.compile_model(model)
    plain = ir_exec.compile_model(model, optimize=False)([data])[0]
    folded = np.array(compiled([data])[0])
    seen: list[str] = []
    observed = compiled([data], observe=lambda node, *_: seen.append(node.type))
    assert [type_ for type_ in seen if type_ not in ("Const", "Parameter", "Result")] == [
        "Convolution",
        "BatchNormInference",
    ]
    assert_array_equal(observed[0], plain)
    assert_array_equal(compiled([data])[0], folded)


def test_a_copy_gives_the_same() -> None:
    compiled, data = ir_exec.compile_model(two_layers()), floats(1, 3, 9, 8)
    assert_array_equal(pickle.loads(pickle.dumps(compiled))([data])[0], compiled([data])[0])


def test_results_do_not_depend_on_the_threads() -> None:
    data = build.parameter([2, 16, 120, 110], "f32")
    model = build.model(batch_norm(convolve(data, floats(24, 16, 3, 3)), vectors(24)))
    image = floats(2, 16, 120, 110)
    assert_array_equal(*[both(model, image, threads=threads)[0] for threads in (1, 3)])


@pytest.mark.parametrize("weight_mode", ["expand", "keep"])
def test_files(tmp_path: Path, weight_mode: Any) -> None:
    two_layers().save(tmp_path / "net.xml")
    data = floats(1, 3, 9, 8)
    plain = ir_exec.compile_model(tmp_path / "net.xml", optimize=False)([data])[0]
    actual = ir_exec.compile_model(tmp_path / "net.xml", weight_mode=weight_mode)([data])[0]
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())
