"""Weights that exporters compute from several tensors: gates of recurrent layers, normalizations, scaled biases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.types import Array
from tests.debug.weights.networks import memory_checkpoint

RANDOM = np.random.default_rng(21)
HIDDEN, INPUTS = 12, 20


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def account(constants: Sequence[Array], tensors: dict[str, Array]) -> WeightsDiff:
    """The account of a model that adds constants to data of their shapes."""
    outputs = [
        build.result(build.add(build.parameter(array.shape, name=f"data_{index}"), build.constant(array)))
        for index, array in enumerate(constants)
    ]
    return diff_weights(build.model(outputs), memory_checkpoint(tensors))


def recurrent(gates: int, *, has_reverse: bool = False) -> dict[str, Array]:
    """The tensors of a recurrent layer of PyTorch."""
    tensors: dict[str, Array] = {}
    for suffix in ("", "_reverse") if has_reverse else ("",):
        tensors[f"rnn.weight_ih_l0{suffix}"] = draw(gates * HIDDEN, INPUTS)
        tensors[f"rnn.weight_hh_l0{suffix}"] = draw(gates * HIDDEN, HIDDEN)
        tensors[f"rnn.bias_ih_l0{suffix}"] = draw(gates * HIDDEN)
        tensors[f"rnn.bias_hh_l0{suffix}"] = draw(gates * HIDDEN)
    return tensors


PYTORCH = {"lstm": "ifgo", "gru": "rzn", "rnn": "h"}
OTHERS = {
    ("lstm", "openvino"): "figo",
    ("lstm", "onnx"): "iofg",
    ("gru", "openvino"): "zrn",
    ("gru", "onnx"): "zrn",
    ("rnn", "openvino"): "h",
    ("rnn", "onnx"): "h",
}
"""The order of gates in each format, by the letters of PyTorch."""


def reorder(array: Array, layer: str, target: str) -> Array:
    rows = {letter: array[k * HIDDEN : (k + 1) * HIDDEN] for k, letter in enumerate(PYTORCH[layer])}
    return np.concatenate([rows[letter] for letter in OTHERS[layer, target]])


def bias_of(inputs: Array, hidden: Array, layer: str, target: str) -> Array:
    inputs, hidden = reorder(inputs, layer, target), reorder(hidden, layer, target)
    if target == "onnx":
        return np.concatenate([inputs, hidden])
    if layer != "gru":
        return inputs + hidden
    return np.concatenate([inputs[: 2 * HIDDEN] + hidden[: 2 * HIDDEN], inputs[2 * HIDDEN :], hidden[2 * HIDDEN :]])


@pytest.mark.parametrize("has_reverse", [False, True])
@pytest.mark.parametrize(("layer", "target"), OTHERS)
def test_recurrent_layers(layer: str, target: str, has_reverse: bool) -> None:
    tensors = recurrent(len(PYTORCH[layer]), has_reverse=has_reverse)
    names = ["l0", "l0_reverse"] if has_reverse else ["l0"]
    constants = [
        np.stack([reorder(tensors[f"rnn.{word}_{name}"], layer, target) for name in names])
        for word in ("weight_ih", "weight_hh")
    ]
    biases = [bias_of(tensors[f"rnn.bias_ih_{name}"], tensors[f"rnn.bias_hh_{name}"], layer, target) for name in names]
    report = account([*constants, np.stack(biases)], tensors)
    assert not report.faults
    assert report.explained_bytes == report.bytes
    assert all(tensor.status == "used" for tensor in report.tensors)


def test_gates_in_no_usual_order_are_a_fault() -> None:
    tensors = recurrent(4)
    weight = tensors["rnn.weight_hh_l0"].reshape(4, HIDDEN, HIDDEN)[[3, 2, 1, 0]].reshape(1, 4 * HIDDEN, HIDDEN)
    report = account([weight], tensors)
    assert "permuted rows" in {fault.category for fault in report.faults}


@pytest.mark.parametrize(
    "names",
    [
        ("weight_orig", "weight_u", "weight_v"),
        *[tuple(f"parametrizations.weight.{n}" for n in ("original", "0._u", "0._v"))],
    ],
)
def test_spectral_norm(names: tuple[str, ...]) -> None:
    weight = draw(16, 24)
    left, values, right = np.linalg.svd(weight.astype(np.float64))
    tensors = dict(zip((f"l.{name}" for name in names), (weight, left[:, 0], right[0]), strict=True))
    report = account([(weight / values[0]).astype(np.float32)], tensors)
    assert not report.faults
    assert report.explained_bytes == report.bytes


def normalization(size: int) -> tuple[dict[str, Array], Array, Array]:
    """The tensors of a batch normalization, its scale and its shift."""
    tensors = {
        "bn.weight": RANDOM.random(size) + 0.5,
        "bn.bias": draw(size),
        "bn.running_mean": draw(size),
        "bn.running_var": RANDOM.random(size) + 0.5,
    }
    scale = tensors["bn.weight"] / np.sqrt(tensors["bn.running_var"] + 1e-5)
    return tensors, scale, tensors["bn.bias"] - tensors["bn.running_mean"] * scale


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("is_split", [False, True])
def test_normalization_after_a_transposed_convolution(is_split: bool, groups: int) -> None:
    """Filters are [inputs, outputs of a group, ...], in OpenVINO with an axis of groups before them."""
    filters = draw(8, 6 // groups, 3, 3)
    tensors, scale, shift = normalization(6)
    folded = np.zeros_like(filters)
    for i in range(8):
        for o in range(6 // groups):
            folded[i, o] = filters[i, o] * scale[i // (8 // groups) * (6 // groups) + o]
    bias = draw(6)
    if is_split:
        folded = folded.reshape(groups, 8 // groups, 6 // groups, 3, 3)
    constants = [folded, (bias * scale + shift).astype(np.float32).reshape(1, 6, 1, 1)]
    named = {"conv.weight": filters, "conv.bias": bias, **tensors}
    report = account(constants, named)
    assert not report.faults
    assert report.explained_bytes == report.bytes
    folded.reshape(-1)[5] += 3
    assert not account(constants, named).agrees


def test_biases_that_a_later_layer_scales() -> None:
    """OpenVINO applies a product to the bias before it: (W x + b) * g is W x * g + b * g."""
    weight, bias, scale = draw(INPUTS, INPUTS), draw(INPUTS), draw(INPUTS)
    tensors = {"layer.weight": weight, "layer.bias": bias, "gamma": scale}
    report = account([weight, scale.reshape(1, 1, -1), (bias * scale).reshape(1, 1, -1)], tensors)
    assert not report.faults
    assert all(tensor.status == "used" for tensor in report.tensors)


def test_axes_that_are_permuted_and_joined() -> None:
    """A bilinear layer as a matrix [inputs, outputs * inputs]."""
    weight = draw(6, 10, 14)
    report = account([weight.transpose(1, 0, 2).reshape(10, -1).copy()], {"layer.weight": weight})
    assert not report.faults
    assert report.explained_bytes == report.bytes
