"""Exchanged weights of models whose names state no tensor."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.types import Array
from tests.debug.weights.networks import compress, memory_checkpoint
from tests.debug.weights.unnamed import SIZE, draw_blocks, transformer

FORMATS = ("f32", "f16", "int4")
ATTENTION = "model.layers.{}.self_attn.{}_proj.weight"
BRANCH = "model.layers.{}.mlp.{}_proj.weight"

Arrays = dict[str, Array]


def exchange(tensors: Arrays, *pairs: tuple[str, str]) -> Arrays:
    """The tensors, with those of each pair in the place of each other."""
    exchanged = dict(tensors)
    for a, b in pairs:
        exchanged[a], exchanged[b] = tensors[b], tensors[a]
    return exchanged


def account(arrays: Arrays, layers: int, weight_format: str = "f32", *, is_fused: bool = True) -> WeightsDiff:
    """The account of a transformer with these weights, against the undamaged tensors."""
    model = compress(transformer(arrays, layers, is_fused=is_fused), weight_format)
    return diff_weights(model, memory_checkpoint(draw_blocks(layers)))


@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("weight_format", FORMATS)
def test_sound_models_have_no_faults(weight_format: str, layers: int, is_fused: bool) -> None:
    report = account(draw_blocks(layers), layers, weight_format, is_fused=is_fused)
    assert not report.faults
    assert report.explained_bytes == report.bytes


@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize(
    ("template", "first", "second"),
    [
        (ATTENTION, "k", "v"),
        (ATTENTION, "q", "v"),
        (ATTENTION, "q", "k"),
        (BRANCH, "gate", "up"),
    ],
)
def test_exchanged_uses_are_named(template: str, first: str, second: str, weight_format: str, is_fused: bool) -> None:
    pair = template.format(1, first), template.format(1, second)
    report = account(exchange(draw_blocks(2), pair), 2, weight_format, is_fused=is_fused)
    (fault,) = report.faults
    assert fault.category == "swapped"
    assert {*fault.tensors, *fault.actual_tensors} == {*pair}


@pytest.mark.parametrize(("first", "second"), [("k", "v"), ("q", "v")])
def test_value_of_a_single_layer(first: str, second: str) -> None:
    pair = ATTENTION.format(0, first), ATTENTION.format(0, second)
    (fault,) = account(exchange(draw_blocks(1), pair), 1).faults
    assert (fault.category, {*fault.tensors, *fault.actual_tensors}) == ("swapped", {*pair})


@pytest.mark.parametrize(
    "pair",
    [
        (ATTENTION.format(0, "q"), ATTENTION.format(0, "k")),
        (BRANCH.format(0, "gate"), BRANCH.format(0, "up")),
    ],
)
def test_conventions_need_a_layer_that_adheres_to_them(pair: tuple[str, str]) -> None:
    assert not account(exchange(draw_blocks(1), pair), 1).faults


@pytest.mark.parametrize("weight_format", FORMATS)
def test_other_layers_show_the_computation(weight_format: str) -> None:
    pair = ATTENTION.format(1, "o"), BRANCH.format(1, "gate")
    (fault,) = account(exchange(draw_blocks(4), pair), 4, weight_format).faults
    assert (fault.category, {*fault.tensors, *fault.actual_tensors}) == ("swapped", {*pair})


@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize("layers", [2, 4])
@pytest.mark.parametrize("name", ["q", "o"])
def test_one_tensor_of_two_layers(name: str, layers: int, weight_format: str) -> None:
    pair = ATTENTION.format(0, name), ATTENTION.format(1, name)
    (fault,) = account(exchange(draw_blocks(layers), pair), layers, weight_format).faults
    assert (fault.category, {*fault.tensors, *fault.actual_tensors}) == ("swapped", {*pair})


@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize(("layers", "other"), [(2, 1), (4, 2)])
def test_all_weights_of_two_layers(layers: int, other: int, weight_format: str) -> None:
    tensors = draw_blocks(layers)
    pairs = [(name, name.replace(".0.", f".{other}.")) for name in tensors if ".0." in name]
    (fault,) = account(exchange(tensors, *pairs), layers, weight_format).faults
    assert (fault.category, len(fault.tensors)) == ("swapped", 2 * len(pairs))


def test_layers_in_reversed_order_are_no_fault() -> None:
    random = np.random.default_rng(0)
    tensors = {f"up.{level}.weight": random.standard_normal((SIZE, SIZE)).astype(np.float32) for level in range(4)}
    data: build.Value = build.parameter([1, SIZE], name="data")
    for level in reversed(range(4)):
        data = build.relu(build.matmul(data, build.constant(tensors[f"up.{level}.weight"]), transpose_b=True))
    report = diff_weights(build.model(build.result(data, name="output")), memory_checkpoint(tensors))
    assert not report.faults


def test_exchanged_tensors_of_equal_numbers_are_no_fault() -> None:
    tensors = draw_blocks(2)
    tensors[ATTENTION.format(1, "v")] = tensors[ATTENTION.format(1, "k")]
    report = diff_weights(transformer(tensors, 2), memory_checkpoint(tensors))
    assert not report.faults


def test_layers_with_experts_are_exchanged_once() -> None:
    random = np.random.default_rng(1)
    tensors = {
        f"model.layers.{layer}.experts.{expert}.weight": random.standard_normal((SIZE, SIZE)).astype(np.float32)
        for layer in range(4)
        for expert in range(3)
    }
    pair = "model.layers.0.experts.1.weight", "model.layers.1.experts.1.weight"
    arrays = exchange(tensors, pair)
    data: build.Value = build.parameter([1, SIZE], name="data")
    for array in arrays.values():
        data = build.add(data, build.relu(build.matmul(data, build.constant(array), transpose_b=True)))
    model = build.model(build.result(data, name="output"))
    (fault,) = diff_weights(model, memory_checkpoint(tensors)).faults
    assert (fault.category, {*fault.tensors, *fault.actual_tensors}) == ("swapped", {*pair})
    assert not diff_weights(model, memory_checkpoint(arrays)).faults
