"""Normalization by the root mean square as one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ir_exec
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText, Output
from tests.plan.passes.helpers import of_network, of_text

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(2, 3, 8)).astype(np.float32)
WEIGHT = RANDOM.normal(size=8).astype(np.float32)


@pytest.mark.parametrize("name", ["llama_int4_asym", "llama_stateful"])
def test_rms_norm_is_matched_in_real_networks(name: str) -> None:
    both = of_network(name)
    normalized = [step for step in both.fused if step.made_by == "fuse_rms_norm"]
    assert [step.op.type_name for step in normalized] == ["RMSNorm"] * 5
    assert {len(step.members) for step in normalized} == {7}
    both.assert_close()


def scalar(net: NetworkText, value: float, dtype: type = np.float32) -> Output:
    return net.const(np.array([value], dtype))


def mean_of(net: NetworkText, squares: Output, axis: int = -1) -> Output:
    axes = net.const(np.array([axis], np.int64))
    return net.op("Add", net.op("ReduceMean", squares, axes, keep_dims="true"), scalar(net, 1e-3))


def square_by_power(net: NetworkText, x: Output) -> Output:
    return net.op("Power", x, scalar(net, 2))


def multiply_by_itself(net: NetworkText, x: Output) -> Output:
    return net.op("Multiply", x, x)


def by_reciprocal(net: NetworkText, x: Output, mean: Output) -> Output:
    return net.op("Multiply", x, net.op("Divide", scalar(net, 1), net.op("Sqrt", mean)))


def by_quotient(net: NetworkText, x: Output, mean: Output) -> Output:
    return net.op("Divide", x, net.op("Sqrt", mean))


def by_power(net: NetworkText, x: Output, mean: Output) -> Output:
    return net.op("Multiply", net.op("Power", mean, scalar(net, -0.5)), x)


def by_two_powers(net: NetworkText, x: Output, mean: Output) -> Output:
    root = net.op("Power", mean, scalar(net, 0.5))
    return net.op("Multiply", x, net.op("Power", root, scalar(net, -1)))


Written = Callable[[NetworkText, Output, Output], Output]


@pytest.mark.parametrize("square", [square_by_power, multiply_by_itself])
@pytest.mark.parametrize("divide", [by_reciprocal, by_quotient, by_power, by_two_powers])
@pytest.mark.parametrize("weight", [None, WEIGHT, WEIGHT.reshape(1, 1, 8)])
@pytest.mark.parametrize("shape", ["2,3,8", "?,?,8"])
def test_every_way_to_write_it(
    square: Callable[[NetworkText, Output], Output], divide: Written, weight: Array | None, shape: str
) -> None:
    net = NetworkText()
    x = net.parameter(shape)
    value = divide(net, x, mean_of(net, square(net, x)))
    if weight is not None:
        value = net.op("Multiply", net.const(weight), value)
    net.result(value)
    both = of_text(net, X)
    assert both.types == ["RMSNorm"]
    wide = X.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-3) * (1 if weight is None else weight)
    np.testing.assert_allclose(both.rewritten[0], expected, rtol=1e-5)
    both.assert_close()


def test_non_vector_weight_stays_a_layer() -> None:
    net = NetworkText()
    x = net.parameter("2,3,8")
    value = by_power(net, x, mean_of(net, square_by_power(net, x)))
    net.result(net.op("Multiply", value, net.const(np.ones((3, 1), np.float32))))
    both = of_text(net, X)
    assert [len(step.members) for step in both.fused] == [5]
    both.assert_close()


def another_axis(net: NetworkText, x: Output) -> Output:
    return by_power(net, x, mean_of(net, square_by_power(net, x), axis=1))


def another_power(net: NetworkText, x: Output) -> Output:
    return by_power(net, x, mean_of(net, net.op("Power", x, scalar(net, 4))))


def another_root(net: NetworkText, x: Output) -> Output:
    mean = mean_of(net, square_by_power(net, x))
    return net.op("Multiply", x, net.op("Power", mean, scalar(net, -0.25)))


def another_data(net: NetworkText, x: Output) -> Output:
    return by_power(net, net.op("Exp", x), mean_of(net, square_by_power(net, x)))


def mean_read_twice(net: NetworkText, x: Output) -> Output:
    mean = mean_of(net, square_by_power(net, x))
    net.result(mean)
    return by_power(net, x, mean)


def higher_rank(net: NetworkText, x: Output) -> Output:
    axes = net.const(np.array([-1], np.int64))
    mean = net.op("ReduceMean", square_by_power(net, x), axes, keep_dims="true")
    return by_power(net, x, net.op("Add", mean, net.const(np.ones((1, 1, 1, 1), np.float32))))


def multiplied_by_itself(net: NetworkText, x: Output) -> Output:
    inverse = net.op("Power", mean_of(net, square_by_power(net, x)), scalar(net, -0.5))
    return net.op("Multiply", inverse, inverse)


@pytest.mark.parametrize(
    "written",
    [another_axis, another_power, another_root, another_data, mean_read_twice, higher_rank, multiplied_by_itself],
)
def test_other_normalizations_are_unchanged(written: Callable[[NetworkText, Output], Output]) -> None:
    net = NetworkText()
    net.result(written(net, net.parameter("2,3,8")))
    both = of_text(net, X)
    assert both.fused == []
    both.assert_close()


def test_later_weight_is_matched() -> None:
    """The fused layer is placed at its last layer, after all of its inputs."""
    net = NetworkText()
    x, other = net.parameter("2,3,8"), net.parameter("8")
    value = by_power(net, x, mean_of(net, square_by_power(net, x)))
    net.result(net.op("Multiply", value, net.op("Exp", net.op("Negative", other))))
    both = of_text(net, X, WEIGHT)
    assert [len(step.members) for step in both.fused] == [6]
    both.assert_close()


def large(shape: tuple[int, ...], dtype: type) -> tuple[ir_exec.Model, Array]:
    net = NetworkText()
    x = net.parameter(",".join(map(str, shape)), "f64" if dtype is np.float64 else "f32")
    axes = net.const(np.array([-1], np.int64))
    mean = net.op("ReduceMean", net.op("Multiply", x, x), axes, keep_dims="true")
    net.result(net.op("Divide", x, net.op("Sqrt", net.op("Add", mean, scalar(net, 1e-3, dtype)))))
    file = net.file()
    return ir_exec.read_model(file.xml, weights=file.weights), RANDOM.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", [(700, 501), (2, 90_001)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_do_not_depend_on_the_threads(shape: tuple[int, ...], dtype: type) -> None:
    model, data = large(shape, dtype)
    alone = ir_exec.compile_model(model, threads=1)([data])[0]
    shared = ir_exec.compile_model(model, threads=3)([data])[0]
    np.testing.assert_array_equal(alone, shared)
    plain = ir_exec.compile_model(model, optimize=False)([data])[0]
    np.testing.assert_allclose(alone, plain, rtol=1e-5 if dtype is np.float32 else 1e-12)


def test_memory_equals_that_of_the_steps() -> None:
    model, data = large((700, 501), np.float32)
    compiled, plain = ir_exec.compile_model(model), ir_exec.compile_model(model, optimize=False)
    assert compiled.memory_plan().peak == data.nbytes
    assert plain.memory_plan().peak > data.nbytes
    assert ir_exec.compile_model(model, max_memory=data.nbytes + 4096)([data])[0].shape == data.shape
    with pytest.raises(ir_exec.ResourceError):
        ir_exec.compile_model(model, max_memory=data.nbytes - 1)([data])
