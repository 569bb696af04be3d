"""Operators of com.microsoft that move, look up or recur, and convolutions with many axes, as in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.runtime import Node, assert_as_onnxruntime, node

RANDOM = np.random.default_rng(21)


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def q(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    return node(type, *inputs, domain="com.microsoft", **options)._replace(opset=1)


TOKENS = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [0, 5, 0, 5, 0]])

MOVED = [
    *[ms("Trilu", f(2, 3, 4), np.int64(k), constants=[1], upper=upper) for k in (-1, 0, 2) for upper in (0, 1)],
    ms("Trilu", q(3, 3, dtype=np.int64)),
    ms("Range", np.float32(1), np.array([7], np.float32), np.float32(2)),
    ms("Range", np.int16(9), np.int16(1), np.int16(-3)),
    ms("Range", np.int64(1), np.int64(4)),
    ms("Pad", f(2, 2), np.array([0, 1, 1, -1]), np.array([3], np.float32), constants=[1]),
    ms("Pad", f(2, 3), np.array([[0, 1, 0, 1]]), mode="reflect", constants=[1]),
    ms("GatherND", f(2, 3, 4), np.array([[0, 1], [1, 2]], np.int32)),
    ms("ScaledSiLU", f(3, 4), np.float32(2)),
    ms("ScaledSiLU", f(3, 4).astype(np.float16), alpha=0.5),
    ms("UnfoldTensor", f(2, 7, 3), dim=1, size=3, step=2),
    ms("UnfoldTensor", f(2, 7, 3), size=2),
    ms("MatMulInteger16", q(2, 3, 5, dtype=np.int16) // 8, q(5, 2, dtype=np.int16)),
    ms("MatMulInteger16", q(2, 3, 5, dtype=np.int16), q(2, 5, 4, dtype=np.int16) // 8),
    *[ms("NGramRepeatBlock", TOKENS, f(3, 6), ngram_size=size) for size in (1, 2, 3, 5, 6)],
]


def embed_layer_norm(dtype: Any, *, mask: bool = True, segments: bool = True) -> Node:
    words, positions, parts = q(9, 8, dtype=dtype), q(4, 8, dtype=dtype), q(2, 8, dtype=dtype)
    scales = [np.float32(0.01 * (at + 1)) for at in range(5)]
    zeros = [dtype(at + 3) for at in range(5)]
    ids, parts_of = (RANDOM.integers(0, high, (2, 4)).astype(np.int32) for high in (9, 2))
    inputs = [ids, parts_of, words, positions, parts, q(8, dtype=dtype), q(8, dtype=dtype)]
    inputs += [np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32) if mask else None, *scales, *zeros]
    if not segments:
        inputs[1] = inputs[4] = inputs[10] = inputs[15] = None
    return ms("QEmbedLayerNormalization", *inputs, outputs=2, epsilon=1e-5)


EMBEDDED = [
    embed_layer_norm(np.uint8),
    embed_layer_norm(np.int8, mask=False),
    embed_layer_norm(np.uint8, segments=False),
]


def delta(
    *,
    rule: str = "gated_delta",
    heads: int = 4,
    wide: bool = False,
    starts: list[int] | None = None,
    state: bool = True,
    split: bool = False,
    packed: bool = False,
    gates: list[Any] | None = None,
    **attributes: Any,
) -> Node:
    """GatedDeltaNet of two texts, six tokens together."""
    keys, values, tokens = 4, 3, 6
    lead = (2, 3) if split else (tokens,)
    queries = 2
    q, k, v = f(*lead, queries, keys), f(*lead, queries, keys) / 2, f(*lead, heads, values)
    parts: list[Any] = [q, k, v]
    if packed:
        parts = [np.concatenate([part.reshape(*lead, -1) for part in parts], -1), None, None]
    decay = -np.abs(f(*lead, heads, keys) if wide else f(*lead, heads))
    inputs = [
        *parts,
        None if starts is None else np.array(starts, np.int32),
        decay if "gated" in rule else None,
        np.abs(f(*lead, heads)) / 4 if "delta" in rule else None,
        f(2, heads, values, keys) if state else None,
        *(gates or []),
    ]
    return ms("GatedDeltaNet", *inputs, update_rule=rule, outputs=2, **attributes)


SIGMOID = {"gate_activation": "sigmoid", "beta_activation": "sigmoid", "qk_l2_norm": 1}
DELTA = [
    *[delta(rule=rule) for rule in ("linear", "gated", "delta", "gated_delta")],
    delta(heads=2, split=True, scale=1.0),
    delta(wide=True),
    delta(starts=[0, 2, 6]),
    delta(starts=[0, 5, 6], state=False, wide=True),
    delta(packed=True),
    delta(gates=[f(4), f(4)], gate_activation="softplus", beta_activation="sigmoid", qk_l2_norm=1),
    delta(gates=[f(4), f(4)], gate_activation="qwen"),
    delta(gates=[f(4), f(4)], gate_lower_bound=-2.0, **SIGMOID),
    delta(gates=[f(4), f(4, 4)], wide=True, split=True, gate_activation="kda"),
]


@pytest.mark.parametrize("case", [*MOVED, *EMBEDDED], ids=str)
def test_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=1e-4, dynamic=True)


PATHS = [
    ms("DynamicTimeWarping", costs)
    for costs in (f(3, 4), np.zeros((3, 4), np.float32), f(1, 7, 2), f(1, 1), f(9, 12).round(), f(1, 5), f(5, 1))
]


@pytest.mark.parametrize("case", PATHS, ids=str)
def test_paths_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case)


@pytest.mark.parametrize("case", DELTA, ids=str)
def test_states_as_onnxruntime(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=1e-4)


CONVOLUTIONS = [
    node("Conv", f(2, 4, 3, 4, 3, 4, 3), f(6, 4, 2, 1, 2, 2, 1), f(6)),
    node("Conv", f(1, 4, 3, 4, 3, 4, 3), f(6, 2, 2, 3, 2, 2, 1), group=2, pads=[1, 0, 1, 0, 1, 0, 2, 0, 1, 0]),
    node("Conv", f(1, 1, 4, 5, 3, 4), f(2, 1, 2, 3, 1, 2), strides=[2, 1, 1, 2], dilations=[1, 2, 1, 1]),
    *[
        node("Conv", f(1, 1, 4, 5, 3, 4), f(2, 1, 2, 3, 2, 2), auto_pad=auto_pad, strides=[2, 3, 1, 2])
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ],
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions_with_many_axes(case: Node) -> None:
    assert_as_onnxruntime(case, dynamic=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("ratio", [None, 0.1, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 + 5])
def test_seeded_dropout_matches_onnxruntime(seed: int, ratio: float | None, dtype: Any) -> None:
    share = None if ratio is None else np.float32(ratio)
    data = f(13, 97).astype(dtype)
    assert_as_onnxruntime(
        node("Dropout", data, share, np.array(True), constants=[1, 2], outputs=2, opset=13, seed=seed), dynamic=True
    )
