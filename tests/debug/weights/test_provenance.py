"""Checkpoints of another model, and weights that come from no tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from ir_exec import build
from ir_exec.debug import diff_weights
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.types import Array
from tests.debug.weights.networks import SIZE, compress, decoder, draw_tensors, memory_checkpoint
from tests.helpers.facts import mentions

TENSORS = draw_tensors()
RANDOM = np.random.default_rng(11)
FORMATS = ("f32", "f16", "int8", "int4")


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def account(checkpoint: Mapping[str, Array], weight_format: str = "f32") -> WeightsDiff:
    return diff_weights(compress(decoder(TENSORS), weight_format), memory_checkpoint(checkpoint))


OTHER_CHECKPOINTS: dict[str, dict[str, Array]] = {
    "empty": {},
    "other values": draw_tensors(1),
    "other values and names": {f"blocks.{index}.w": array for index, array in enumerate(draw_tensors(1).values())},
    "other sizes": {name: draw(*(size + 8 for size in array.shape)) for name, array in TENSORS.items()},
    "only norms match": {name: array if "norm" in name else draw(*array.shape) for name, array in TENSORS.items()},
    "only a third matches": {
        name: array if index % 3 == 0 and array.ndim > 1 else draw(*array.shape)
        for index, (name, array) in enumerate(TENSORS.items())
    },
    "ones": {name: np.ones_like(array) for name, array in TENSORS.items()},
}


@pytest.mark.parametrize("weight_format", FORMATS)
@pytest.mark.parametrize("name", OTHER_CHECKPOINTS)
def test_another_checkpoint_is_the_first_fault(name: str, weight_format: str) -> None:
    report = account(OTHER_CHECKPOINTS[name], weight_format)
    assert report.faults[0].category == "other checkpoint"
    assert [fault.category for fault in report.faults].count("other checkpoint") == 1


@pytest.mark.parametrize("weight_format", FORMATS)
def test_weights_from_no_tensor_are_faults(weight_format: str) -> None:
    """A head that was drawn in place of being read, as of a checkpoint without it."""
    report = account({name: array for name, array in TENSORS.items() if name != "lm_head.weight"}, weight_format)
    assert [(fault.category, fault.path) for fault in report.faults] == [
        ("other values", next(weight.path for weight in report.weights if "lm_head" in weight.path))
    ]


def test_a_model_without_weights() -> None:
    data = build.parameter([1, 8], name="data")
    (fault,) = diff_weights(build.model(build.relu(data)), memory_checkpoint(TENSORS)).faults
    assert fault.category == "other checkpoint"


def test_a_model_and_a_checkpoint_without_numbers_agree() -> None:
    data = build.parameter([1, 8], name="data")
    assert diff_weights(build.model(build.relu(data)), memory_checkpoint({})).agrees


@pytest.mark.parametrize("is_same", [False, True])
def test_a_model_with_biases_only(is_same: bool) -> None:
    bias, other = draw(24), draw(24)
    model = build.model(build.add(build.parameter([1, 24], name="data"), build.constant(bias, name="b")))
    report = diff_weights(model, memory_checkpoint({"norm.bias": bias if is_same else other}))
    assert [fault.category for fault in report.faults] == [] if is_same else ["other checkpoint"]


def test_one_of_two_shards() -> None:
    """A part of a checkpoint explains a part of the model; the others are faults, not agreement."""
    large = [name for name in TENSORS if "layers.1" in name or "lm_head" in name]
    report = account({name: array for name, array in TENSORS.items() if name not in large})
    assert not report.agrees


POSITION = np.arange(64, dtype=np.float32)[:, None] / np.float32(100) ** (np.arange(0, SIZE, 2) / np.float32(SIZE))
BASIS = 2 * np.pi * np.outer(np.arange(SIZE), np.arange(SIZE)) / SIZE
TABLES: dict[str, Array] = {
    "sines of positions": np.concatenate([np.sin(POSITION), np.cos(POSITION)], axis=1),
    "interleaved sines": np.stack([np.sin(POSITION), np.cos(POSITION)], axis=-1).reshape(64, SIZE),
    "Fourier basis": np.cos(BASIS),
    "windowed Fourier basis": np.sin(BASIS) * np.hanning(SIZE)[:, None],
    "mel filters": np.maximum(0, 1 - np.abs(np.arange(64)[:, None] - 2 * np.arange(SIZE))),
    "equal rows": np.tile(draw(1, SIZE), (64, 1)),
    "line": np.linspace(-1, 1, 64 * SIZE).reshape(64, SIZE),
    "mask": np.triu(np.full((SIZE, SIZE), -1e4)),
}


@pytest.mark.parametrize("name", TABLES)
def test_computed_tables_are_no_faults(name: str) -> None:
    weight = draw(SIZE, SIZE)
    hidden = build.matmul(build.parameter([1, SIZE], name="data"), build.constant(weight, name="w"), transpose_b=True)
    table = build.constant(TABLES[name].astype(np.float32), name="table")
    model = build.model(build.matmul(hidden, table, transpose_b=True))
    report = diff_weights(model, memory_checkpoint({"w.weight": weight}))
    assert not report.faults
    assert report.explained_bytes == report.bytes == weight.nbytes
    drawn = build.model(build.matmul(hidden, build.constant(draw(64, SIZE), name="drawn"), transpose_b=True))
    assert not diff_weights(drawn, memory_checkpoint({"w.weight": weight})).agrees


def test_single_faults_are_no_other_checkpoint() -> None:
    """Weights with a sign or zeros in place of their values are those of the checkpoint."""
    arrays = {name: -array if array.ndim > 1 else array for name, array in TENSORS.items()}
    arrays["lm_head.weight"] = np.zeros_like(arrays["lm_head.weight"])
    report = diff_weights(decoder(arrays), memory_checkpoint(TENSORS))
    assert "other checkpoint" not in {fault.category for fault in report.faults}
    assert not report.agrees


def test_integers_of_a_checkpoint_are_no_tensors() -> None:
    checkpoint = replace(memory_checkpoint({}), not_compared=("tokens",))
    report = diff_weights(decoder(TENSORS), checkpoint)
    assert report.faults[0].category == "other checkpoint"


def test_an_adapter_is_no_checkpoint() -> None:
    """The fault is not that of a model of other sizes."""
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    factors = {f"{module}.lora_A.weight": draw(4, SIZE), f"{module}.lora_B.weight": draw(SIZE, 4)}
    first, *others = account(factors).faults
    assert first.category == "other checkpoint"
    assert first.message == mentions("--adapter")
    assert {fault.category for fault in others} == {"adapter"}
