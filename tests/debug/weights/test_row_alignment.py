"""Weights that consist of rows of several tensors: experts of a mixture that are stacked, split and transposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.types import Array
from tests.debug.weights.networks import compress, memory_checkpoint

RANDOM = np.random.default_rng(2)
EXPERTS, OUTPUTS, INPUTS = 4, 48, 32


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


GATE, UP, DOWN = ([draw(*shape) for _ in range(EXPERTS)] for shape in [(OUTPUTS, INPUTS)] * 2 + [(INPUTS, OUTPUTS)])
PREFIX = "model.layers.0.mlp.experts"
SEPARATE = {
    f"{PREFIX}.{expert}.{name}.weight": array
    for name, arrays in (("gate_proj", GATE), ("up_proj", UP), ("down_proj", DOWN))
    for expert, array in enumerate(arrays)
}
BOTH = np.stack([np.concatenate(pair) for pair in zip(GATE, UP, strict=True)])
INTERLEAVED = np.stack([np.stack(pair, 1).reshape(-1, INPUTS) for pair in zip(GATE, UP, strict=True)])


def turn(array: Array) -> Array:
    return array.swapaxes(-1, -2).copy()


def account(weights: Sequence[Array], tensors: dict[str, Array], weight_format: str) -> WeightsDiff:
    """The account of a model of products with weights [..., outputs, inputs]."""
    outputs = []
    for index, weight in enumerate(weights):
        data = build.parameter([*weight.shape[:-2], 1, weight.shape[-1]], name=f"data_{index}")
        product = build.matmul(data, build.constant(weight, name=f"Constant_{index}"), transpose_b=True)
        outputs.append(build.result(product, name=f"output_{index}"))
    return diff_weights(compress(build.model(outputs), weight_format), memory_checkpoint(tensors))


def stack_tensors(gate_and_up: Array, down: Array) -> dict[str, Array]:
    return {f"{PREFIX}.gate_up_proj": gate_and_up, f"{PREFIX}.down_proj": down}


CASES: dict[str, tuple[list[Array], dict[str, Array]]] = {
    "stacked": ([np.stack(GATE), np.stack(UP), np.stack(DOWN)], SEPARATE),
    "stacked and joined": ([BOTH, np.stack(DOWN)], SEPARATE),
    "stacked and transposed": ([turn(np.stack(GATE)), turn(np.stack(UP)), turn(np.stack(DOWN))], SEPARATE),
    "stacked, joined and transposed": ([turn(BOTH), turn(np.stack(DOWN))], SEPARATE),
    "in one matrix": ([np.concatenate(GATE), np.concatenate(UP), np.concatenate(DOWN)], SEPARATE),
    "split": ([*GATE, *UP, *DOWN], stack_tensors(BOTH, np.stack(DOWN))),
    "split and transposed": ([*GATE, *UP, *DOWN], stack_tensors(turn(BOTH), turn(np.stack(DOWN)))),
    "separated and transposed": (
        [np.stack(GATE), np.stack(UP), np.stack(DOWN)],
        stack_tensors(turn(BOTH), np.stack(DOWN)),
    ),
    "interleaved": ([np.stack(GATE), np.stack(UP), np.stack(DOWN)], stack_tensors(turn(INTERLEAVED), np.stack(DOWN))),
}


@pytest.mark.parametrize("weight_format", ["f32", "int4"])
@pytest.mark.parametrize("name", CASES)
def test_experts(name: str, weight_format: str) -> None:
    weights, tensors = CASES[name]
    report = account(weights, tensors, weight_format)
    assert not report.faults
    assert report.explained_bytes == report.bytes


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("weight_format", ["f32", "int4"])
def test_stacked_experts_in_another_order(weight_format: str, is_transposed: bool) -> None:
    stacked = np.stack([GATE[1], GATE[0], *GATE[2:]])
    weights = [turn(stacked) if is_transposed else stacked, np.stack(UP), np.stack(DOWN)]
    first = account(weights, SEPARATE, weight_format).faults[0]
    assert (first.category, first.path) == ("expert order", "Constant_0")


@pytest.mark.parametrize("weight_format", ["f32", "int4"])
def test_a_value_of_transposed_experts(weight_format: str) -> None:
    changed = turn(BOTH)
    changed[2, 5] = 0
    report = account([changed, np.stack(DOWN)], SEPARATE, weight_format)
    assert [fault.path for fault in report.faults] == ["Constant_0"]


@pytest.mark.parametrize("is_transposed", [False, True])
def test_filters_in_reversed_order(is_transposed: bool) -> None:
    """The filters of a transposed convolution that is written as a convolution."""
    filters = draw(8, 6, 3, 3)
    flipped = filters[:, :, ::-1, ::-1].swapaxes(0, 1) if is_transposed else filters[:, :, ::-1, ::-1]
    data = build.parameter([1, flipped.shape[1], 8, 8], name="data")
    output = build.convolution(
        data, build.constant(flipped.copy()), strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]
    )
    report = diff_weights(build.model(output), memory_checkpoint({"conv.weight": filters}))
    assert not report.faults
    assert report.explained_bytes == report.bytes
