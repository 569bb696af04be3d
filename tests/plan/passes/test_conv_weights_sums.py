"""Convolutions, scales and normalizations of one input whose sum is one convolution, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array
from tests.conformance.networks import COPIES, arrays
from tests.plan.passes.test_conv_weights_normalized import assert_folded, batch_norm, both, floats, steps, vectors

IMAGE = (2, 6, 9, 8)


def convolve(data: Value, *filters: int, pads: int = 0, **attributes: Any) -> Value:
    """By filters of this shape: three axes and more before the spatial ones are groups."""
    convolution = build.group_convolution if len(filters) == 5 else build.convolution
    attributes = steps(2) | {"pads_begin": [pads] * 2, "pads_end": [pads] * 2} | attributes
    return convolution(data, build.constant(floats(*filters)), **attributes)


def by_channel(value: Value, channels: int = 6) -> Value:
    return build.multiply(value, build.constant(floats(1, channels, 1, 1)))


def add_bias(value: Value, channels: int = 6) -> Value:
    return build.add(build.constant(floats(channels, 1, 1)), value)


def two_sizes(x: Value) -> Value:
    return build.add(convolve(x, 5, 6, 3, 3, pads=1), convolve(x, 5, 6, 1, 1))


def the_wide_one_last(x: Value) -> Value:
    return build.subtract(convolve(x, 5, 6, 1, 1), convolve(x, 5, 6, 3, 3, pads=1))


def with_strides(x: Value) -> Value:
    steps = {"strides": [2, 1]}
    return build.add(convolve(x, 4, 6, 5, 5, pads=2, **steps), convolve(x, 4, 6, 3, 3, pads=1, **steps))


def of_uneven_padding(x: Value) -> Value:
    wide = convolve(x, 4, 6, 3, 2, pads_begin=[2, 0], pads_end=[1, 1])
    return build.add(wide, convolve(x, 4, 6, 1, 1, pads_begin=[0, 0], pads_end=[1, 0]))


def of_many_branches(x: Value) -> Value:
    value = add_bias(convolve(x, 6, 6, 1, 1))
    for _ in range(3):
        value = build.add(value, add_bias(convolve(x, 6, 6, 3, 3, pads=1)))
    return build.add(value, add_bias(by_channel(x)))


def of_channels(x: Value) -> Value:
    return build.add(add_bias(convolve(x, 6, 1, 1, 3, 3, pads=1)), build.add(by_channel(x), convolve(x, 6, 1, 1, 1, 1)))


def of_groups(x: Value) -> Value:
    return build.add(build.add(convolve(x, 2, 3, 3, 3, 3, pads=1), x), convolve(x, 2, 3, 3, 1, 1))


def the_input_as_it_is(x: Value) -> Value:
    return build.add(x, convolve(x, 6, 1, 1, 3, 3, pads=1))


def that_is_read_twice_within(x: Value) -> Value:
    norm = batch_norm(x, vectors(6))
    mixed = build.subtract(build.add(convolve(x, 6, 1, 1, 3, 3, pads=1), norm), norm)
    return build.add(x, by_channel(mixed))


def of_normalizations(x: Value) -> Value:
    branches = [batch_norm(convolve(x, 6, 6, size, size, pads=size // 2), vectors(6)) for size in (1, 3)]
    return build.add(build.add(*branches), batch_norm(x, vectors(6)))


def taken_from_numbers(x: Value) -> Value:
    numbers = build.constant(floats(1, 6, 1, 1))
    return build.subtract(numbers, build.add(convolve(x, 6, 6, 1, 1), build.multiply(build.constant(floats(1, 1)), x)))


def by_winograd(x: Value) -> Value:
    return build.add(convolve(x, 40, 48, 3, 3, pads=1), convolve(x, 40, 48, 1, 1))


SUMS = [
    two_sizes,
    the_wide_one_last,
    with_strides,
    of_uneven_padding,
    of_many_branches,
    of_channels,
    of_groups,
    the_input_as_it_is,
    that_is_read_twice_within,
    of_normalizations,
    taken_from_numbers,
]


@pytest.mark.parametrize("network", SUMS)
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_sums(network: Callable[[Value], Value], *, is_dynamic: bool) -> None:
    data = build.parameter([-1, 6, -1, -1] if is_dynamic else list(IMAGE), "f32")
    assert_folded(build.model(network(data)), floats(*IMAGE))


def test_transformed_filters() -> None:
    assert_folded(build.model(by_winograd(build.parameter([1, 48, 28, 30], "f32"))), floats(1, 48, 28, 30))


def test_one_and_three_axes() -> None:
    for axes in (1, 3):
        x = build.parameter([1, 4, *[7] * axes], "f32")
        ones, pads = [1] * axes, {"pads_begin": [0] * axes, "pads_end": [0] * axes}
        wide = build.convolution(x, build.constant(floats(4, 4, *[3] * axes)), **steps(axes))
        narrow = build.convolution(x, build.constant(floats(4, 4, *ones)), **steps(axes) | pads)
        assert_folded(build.model(build.add(build.add(wide, narrow), x)), floats(1, 4, *[7] * axes))


def test_sum_is_placed_at_its_last_layer() -> None:
    x = build.parameter(list(IMAGE), "f32")
    first = build.relu(of_many_branches(x))
    model = build.model(build.add(build.relu(of_channels(first)), first))
    actual, plain, types = both(model, floats(*IMAGE))
    assert types == ["PackedConvolution", "ReLU", "PackedConvolution", "ReLU", "Add"]
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def of_other_strides(x: Value) -> Value:
    return build.add(convolve(x, 6, 6, 9, 8, strides=[2, 2]), convolve(x, 6, 6, 9, 8))


def of_other_places(x: Value) -> Value:
    first = convolve(x, 6, 6, 3, 3, pads_begin=[2, 1], pads_end=[0, 1])
    return build.add(first, convolve(x, 6, 6, 3, 3, pads=1))


def beyond_the_widest(x: Value) -> Value:
    first = convolve(x, 6, 6, 3, 3, pads_begin=[0, 1], pads_end=[2, 1])
    return build.add(first, convolve(x, 6, 6, 1, 1, pads_begin=[1, 0], pads_end=[-1, 0]))


def of_other_dilations(x: Value) -> Value:
    return build.add(convolve(x, 6, 6, 3, 3, pads=2, dilations=[2, 2]), convolve(x, 6, 6, 3, 3, pads=1))


def of_an_image_and_a_window(x: Value) -> Value:
    return build.add(convolve(x, 6, 6, 9, 8), convolve(x, 6, 6, 1, 1))


def padded_by_rule(x: Value) -> Value:
    return build.add(convolve(x, 6, 6, 3, 3, auto_pad="same_upper"), convolve(x, 6, 6, 1, 1))


def of_two_inputs(x: Value) -> Value:
    return build.add(convolve(build.relu(x), 6, 6, 1, 1), convolve(x, 6, 6, 1, 1))


def of_groups_and_all(x: Value) -> Value:
    return build.add(convolve(x, 6, 1, 1, 1, 1), convolve(x, 6, 6, 1, 1))


def one_channel_for_all(x: Value) -> Value:
    return build.add(convolve(x, 1, 6, 1, 1), convolve(x, 6, 6, 1, 1))


def one_channel_and_a_vector(x: Value) -> Value:
    return batch_norm(by_channel(convolve(x, 1, 6, 1, 1)), vectors(6))


def with_all_inputs_as_they_are(x: Value) -> Value:
    return build.add(convolve(x, 1, 6, 1, 1), x)


def with_numbers_for_places(x: Value) -> Value:
    return build.add(build.multiply(convolve(x, 6, 6, 1, 1), build.constant(floats(9, 8))), convolve(x, 6, 6, 1, 1))


def with_a_huge_number(x: Value) -> Value:
    huge = build.constant(np.full((1, 6, 1, 1), 1e30, np.float32))
    return build.add(build.multiply(convolve(x, 6, 6, 1, 1), huge), convolve(x, 6, 6, 1, 1))


def with_no_number(x: Value) -> Value:
    nothing = build.constant(np.full((1, 6, 1, 1), np.nan, np.float32))
    return build.add(build.multiply(convolve(x, 6, 6, 1, 1), nothing), convolve(x, 6, 6, 1, 1))


def with_a_shift_alone(x: Value) -> Value:
    return add_bias(add_bias(convolve(x, 6, 6, 1, 1)))


@pytest.mark.parametrize(
    "network",
    [
        of_other_strides,
        of_other_places,
        beyond_the_widest,
        of_other_dilations,
        of_an_image_and_a_window,
        padded_by_rule,
        of_two_inputs,
        of_groups_and_all,
        one_channel_for_all,
        one_channel_and_a_vector,
        with_all_inputs_as_they_are,
        with_numbers_for_places,
        with_a_huge_number,
        with_no_number,
        with_a_shift_alone,
    ],
)
def test_no_match(network: Callable[[Value], Value]) -> None:
    actual, plain, types = both(build.model(network(build.parameter(list(IMAGE), "f32"))), floats(*IMAGE))
    assert "PackedConvolution" not in types
    assert_allclose(actual, plain, atol=3e-6 * abs(np.nan_to_num(plain)).max())


def test_parts_with_other_readers_stay() -> None:
    x = build.parameter(list(IMAGE), "f32")
    part = convolve(x, 6, 6, 1, 1)
    for other in (build.relu(part), part):
        actual, plain, types = both(build.model([build.add(part, convolve(x, 6, 6, 1, 1)), other]), floats(*IMAGE))
        assert "PackedConvolution" not in types
        assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def test_filters_read_by_sum_and_another_layer_stay() -> None:
    x, filters = build.parameter(list(IMAGE), "f32"), build.constant(floats(6, 6, 1, 1))
    pads = {"pads_begin": [0, 0], "pads_end": [0, 0]}
    first = build.convolution(x, filters, **steps(2) | pads)
    model = build.model([build.add(first, convolve(x, 6, 6, 1, 1)), build.relu(filters)])
    actual, plain, types = both(model, floats(*IMAGE))
    assert "PackedConvolution" not in types
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def test_long_chains_end() -> None:
    """Twenty sums of a value with itself are a million summands, a thousand factors a recursion too deep."""
    x = build.parameter(list(IMAGE), "f32")
    for step in (
        lambda value: build.add(value, build.multiply(value, build.constant(np.float32([[0.5]])))),
        by_channel,
    ):
        value = build.add(convolve(x, 6, 6, 1, 1), x)
        for _ in range(20 if step is not by_channel else 1000):
            value = step(value)
        actual, plain, _ = both(build.model(build.tanh(value)), floats(*IMAGE))
        assert_allclose(actual, plain, atol=3e-6)


def test_an_observer_sees_all_layers_of_the_file() -> None:
    x, data = build.parameter(list(IMAGE), "f32"), floats(*IMAGE)
    model = build.model(of_many_branches(x))
    compiled = ir_exec.compile_model(model)
    summed = np.array(compiled([data])[0])
    seen: list[str] = []
    observed = compiled([data], observe=lambda node, *_: seen.append(node.type))
    assert seen.count("Convolution") == 4
    assert_array_equal(observed[0], ir_exec.compile_model(model, optimize=False)([data])[0])
    assert_array_equal(compiled([data])[0], summed)


def test_infinities_and_nan_stay_in_place() -> None:
    data = floats(*IMAGE)
    data[0, 1, 2, 3], data[1, 2, 3, 4] = np.inf, np.nan
    for network in (two_sizes, of_many_branches, of_channels):
        actual, plain, types = both(build.model(network(build.parameter(list(IMAGE), "f32"))), data)
        assert types == ["PackedConvolution"]
        assert_array_equal(np.isfinite(actual), np.isfinite(plain))


@pytest.mark.parametrize("weight_mode", ["expand", "keep"])
def test_files(tmp_path: Path, weight_mode: Any) -> None:
    ir_exec.build.model(of_many_branches(build.parameter(list(IMAGE), "f32"))).save(tmp_path / "net.xml")
    data = floats(*IMAGE)
    plain = ir_exec.compile_model(tmp_path / "net.xml", optimize=False)([data])[0]
    actual = ir_exec.compile_model(tmp_path / "net.xml", weight_mode=weight_mode)([data])[0]
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


def test_results_do_not_depend_on_the_threads() -> None:
    shape = (2, 16, 120, 110)
    x = build.parameter(list(shape), "f32")
    model = build.model(build.add(convolve(x, 24, 16, 3, 3, pads=1), convolve(x, 24, 16, 1, 1)))
    data: Array = floats(*shape)
    assert_array_equal(*[both(model, data, threads=threads)[0] for threads in (1, 3)])


def test_exported_network_is_a_chain_of_convolutions() -> None:
    path = COPIES / "branches.xml"
    actual, plain, types = both(ir_exec.read_model(path), *(arrays(path, "inputs") or []))
    packed, other = "PackedConvolution", ["PackedConvolution", "ReLU"]
    assert types[:14] == [*other * 4, packed, "Gelu7", *other * 2]
    assert not {"Convolution", "GroupConvolution"} & {*types}
    assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())


@pytest.mark.broad
def test_any_part_may_be_an_output() -> None:
    path = COPIES / "branches.xml"
    images = arrays(path, "inputs") or []
    for name in [node.name for node in ir_exec.read_model(path).graph.nodes if node.type in ("Convolution", "Add")]:
        actual = ir_exec.compile_model(path, outputs=[name])(images)[0]
        plain = ir_exec.compile_model(path, outputs=[name], optimize=False)(images)[0]
        assert_allclose(actual, plain, atol=3e-6 * abs(plain).max())
