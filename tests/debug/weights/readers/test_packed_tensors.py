"""Checkpoints of GPTQ, AWQ and FP8, whose files are packed here bit by bit, and decoded by plain loops."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ir_exec.debug import diff_weights
from ir_exec.debug.weights.checkpoint_files import open_checkpoint
from ir_exec.types import Array, ElementType, convert
from tests.debug.weights.networks import compress, network, save_safetensors

RANDOM = np.random.default_rng(4)
INPUTS, OUTPUTS, GROUP = 64, 32, 16
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def pack(codes: list[int], bits: int) -> list[int]:
    """The 32-bit integers with a stream of codes, the lowest bits first."""
    stream = sum(code << (bits * position) for position, code in enumerate(codes))
    words = [(stream >> (32 * position)) & 0xFFFFFFFF for position in range(-(-len(codes) * bits // 32))]
    return [word - 2**32 if word >= 2**31 else word for word in words]


def pack_awq(codes: list[int]) -> list[int]:
    return [word for start in range(0, len(codes), 8) for word in pack([codes[start + k] for k in AWQ_ORDER], 4)]


def draw_codes(bits: int) -> tuple[Array, Array, Array]:
    """Codes [inputs, outputs], zero points and scales [groups, outputs]."""
    groups = INPUTS // GROUP
    codes = RANDOM.integers(0, 2**bits, (INPUTS, OUTPUTS))
    zeros = RANDOM.integers(1, 2**bits, (groups, OUTPUTS))
    return codes, zeros, (RANDOM.random((groups, OUTPUTS)) * 0.1 + 0.01).astype(np.float16)


def expand(codes: Array, zeros: Array, scales: Array, groups: list[int]) -> Array:
    """The matrix [outputs, inputs]."""
    matrix = np.zeros((OUTPUTS, INPUTS), np.float32)
    for n in range(OUTPUTS):
        for k in range(INPUTS):
            matrix[n, k] = (int(codes[k, n]) - int(zeros[groups[k], n])) * np.float32(scales[groups[k], n])
    return matrix


def gptq(folder: Path, bits: int, *, is_second: bool, has_order: bool) -> Array:
    codes, zeros, scales = draw_codes(bits)
    groups = [k // GROUP for k in range(INPUTS)]
    if has_order:
        groups = [int(group) for group in RANDOM.permutation(groups)]
    stored = zeros if is_second else zeros - 1
    tensors = {
        "layer.qweight": np.array([pack(codes[:, n].tolist(), bits) for n in range(OUTPUTS)], np.int32).T,
        "layer.qzeros": np.array([pack(row.tolist(), bits) for row in stored], np.int32),
        "layer.scales": scales,
    }
    if has_order:
        tensors["layer.g_idx"] = np.array(groups, np.int32)
    if is_second:
        quantization = {"quant_method": "gptq", "checkpoint_format": "gptq_v2"}
        (folder / "config.json").write_text(json.dumps({"quantization_config": quantization}))
    save(folder, tensors)
    return expand(codes, zeros, scales, groups)


def awq(folder: Path) -> Array:
    codes, zeros, scales = draw_codes(4)
    tensors = {
        "layer.qweight": np.array([pack_awq(row.tolist()) for row in codes], np.int32),
        "layer.qzeros": np.array([pack_awq(row.tolist()) for row in zeros], np.int32),
        "layer.scales": scales,
    }
    save(folder, tensors)
    return expand(codes, zeros, scales, [k // GROUP for k in range(INPUTS)])


def fp8(folder: Path, rows: int, columns: int, *, name: str = "weight_scale_inv", shape: str = "blocks") -> Array:
    """A matrix [200, 150] of FP8 with a scale for each block."""
    codes = RANDOM.standard_normal((200, 150)).astype(np.float32)
    stored = convert(codes, ElementType.f8e4m3)
    scales = (RANDOM.random((-(-200 // rows), -(-150 // columns))) + 0.5).astype(np.float32)
    flat = {"blocks": scales.shape, "vector": (scales.size,), "scalar": ()}
    tensors = {"layer.weight": stored.view(np.uint8), f"layer.{name}": scales.reshape(flat[shape])}
    save_safetensors(folder / "model.safetensors", tensors, {"layer.weight": "F8_E4M3"})
    numbers = convert(stored, ElementType.f32)
    matrix = np.zeros(codes.shape, np.float32)
    for n in range(200):
        for k in range(150):
            matrix[n, k] = numbers[n, k] * scales[n // rows, k // columns]
    return matrix


def save(folder: Path, tensors: dict[str, Array]) -> None:
    save_safetensors(folder / "model.safetensors", {**tensors, "layer.bias": np.ones(OUTPUTS, np.float32)})


CASES: dict[str, Callable[[Path], Array]] = {
    **{
        f"gptq {bits} bits": lambda folder, bits=bits: gptq(folder, bits, is_second=False, has_order=False)
        for bits in (2, 3, 4, 8)
    },
    "gptq of version 2": lambda folder: gptq(folder, 4, is_second=True, has_order=False),
    "gptq with groups in another order": lambda folder: gptq(folder, 4, is_second=False, has_order=True),
    "awq": awq,
    "fp8 in blocks of 128": lambda folder: fp8(folder, 128, 128),
    "fp8 by rows": lambda folder: fp8(folder, 1, 150, name="weight_scale"),
    "fp8 by rows, a vector": lambda folder: fp8(folder, 1, 150, name="weight_scale", shape="vector"),
    "fp8 with one scale": lambda folder: fp8(folder, 200, 150, name="weight_scale", shape="scalar"),
}


@pytest.mark.parametrize("name", CASES)
def test_decoded_weights(name: str, tmp_path: Path) -> None:
    expected = CASES[name](tmp_path)
    tensor = open_checkpoint(tmp_path).tensors["layer.weight"]
    assert tensor.shape == expected.shape
    np.testing.assert_array_equal(tensor.read(0, len(expected)), expected)
    np.testing.assert_array_equal(tensor.read(5, 19), expected[5:19])
    positions = RANDOM.integers(0, expected.size, 40)
    np.testing.assert_array_equal(tensor.gather(positions), expected.reshape(-1)[positions])
    assert 0 < tensor.size < expected.nbytes


@pytest.mark.parametrize("weight_format", ["f32", "f16"])
@pytest.mark.parametrize("name", CASES)
def test_account(name: str, weight_format: str, tmp_path: Path) -> None:
    matrix = CASES[name](tmp_path)
    model = compress(network(matrix, name="layer.weight"), weight_format)
    report = diff_weights(model, tmp_path)
    assert not report.faults
    assert report.explained_bytes == report.bytes
    changed = matrix.copy()
    changed[3] = 0
    (fault,) = diff_weights(compress(network(changed, name="layer.weight"), weight_format), tmp_path).faults
    assert (fault.category, fault.tensors) == ("rows", ("layer.weight",))


@pytest.mark.parametrize("bits", [4, 8])
def test_codes_of_the_model_are_those_of_the_checkpoint(bits: int, tmp_path: Path) -> None:
    matrix = gptq(tmp_path, bits, is_second=False, has_order=False)
    report = diff_weights(compress(network(matrix, name="layer.weight"), f"int{bits}"), tmp_path)
    assert not report.faults
    assert report.explained_bytes == report.bytes


WRONG: dict[str, dict[str, Array]] = {
    "groups that do not exist": {"layer.g_idx": np.full(INPUTS, 9, np.int32)},
    "negative groups": {"layer.g_idx": np.full(INPUTS, -1, np.int32)},
    "groups of other inputs": {"layer.g_idx": np.zeros(INPUTS - 1, np.int32)},
    "scales of other outputs": {"layer.scales": np.ones((4, OUTPUTS - 1), np.float16)},
    "no scales": {"layer.scales": np.ones((0, OUTPUTS), np.float16)},
    "zero points of other groups": {"layer.qzeros": np.zeros((3, OUTPUTS // 8), np.int32)},
    "a vector of codes": {"layer.qweight": np.zeros(OUTPUTS, np.int32)},
}


@pytest.mark.parametrize("name", WRONG)
def test_parts_that_do_not_fit_are_not_decoded(name: str, tmp_path: Path) -> None:
    gptq(tmp_path, 4, is_second=False, has_order=True)
    stored = open_checkpoint(tmp_path)
    assert "layer.weight" in stored.tensors
    tensors = {
        "layer.qweight": np.zeros((INPUTS // 8, OUTPUTS), np.int32),
        "layer.qzeros": np.zeros((INPUTS // GROUP, OUTPUTS // 8), np.int32),
        "layer.scales": np.ones((INPUTS // GROUP, OUTPUTS), np.float16),
        **WRONG[name],
    }
    save(tmp_path, tensors)
    assert {*open_checkpoint(tmp_path).tensors} == {*tensors, "layer.bias"}
