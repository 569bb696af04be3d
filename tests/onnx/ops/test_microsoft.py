"""Operators of the domain com.microsoft give what onnxruntime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.runtime import Node, assert_as_onnxruntime, node

RANDOM = np.random.default_rng(7)


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def q(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def ms(type: str, *inputs: Any, **options: Any) -> Node:
    case = node(type, *inputs, domain="com.microsoft", **options)
    return case._replace(opset=1)


S, Z = np.float32(0.02), np.uint8(120)
COS, SIN = np.cos(f(16, 4)), np.sin(f(16, 4))
WIDE_COS, WIDE_SIN = np.cos(f(16, 8)), np.sin(f(16, 8))

FUSED = [
    ms("Gelu", f(2, 5)),
    ms("FastGelu", f(2, 5)),
    ms("FastGelu", f(2, 5), f(5)),
    ms("BiasGelu", f(2, 5), f(5)),
    ms("QuickGelu", f(2, 5)),
    ms("QuickGelu", f(2, 5), alpha=0.5),
    ms("FusedMatMul", f(2, 3, 4), f(2, 4, 5), alpha=0.5),
    ms("FusedMatMul", f(2, 4, 3), f(2, 5, 4), transA=1, transB=1),
    ms("FusedMatMul", f(4, 2, 3), f(4, 2, 5), transBatchA=1, transBatchB=1, transA=1),
    ms("TransposeMatMul", f(4, 3), f(4, 5), transA=1),
    ms("FusedConv", f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), activation="Relu"),
    ms("FusedConv", f(1, 2, 5, 5), f(3, 2, 3, 3), activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1]),
    ms("FusedGemm", f(2, 3), f(3, 4), f(4), activation="Sigmoid"),
    ms("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)),
    ms("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), epsilon=1e-5),
    ms("SkipSimplifiedLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8)),
    node("SimplifiedLayerNormalization", f(2, 3, 8), f(8), opset=17, axis=-1),
    ms(
        "EmbedLayerNormalization",
        q(2, 4, dtype=np.int32) % 9,
        q(2, 4, dtype=np.int32) % 2,
        f(9, 8),
        f(6, 8),
        f(2, 8),
        f(8),
        f(8),
        np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32),
        outputs=2,
    ),
    ms("Inverse", f(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)),
    ms("ExpandDims", f(2, 3), np.array(1, np.int32), constants=[1]),
    ms("GridSample", f(1, 2, 4, 4), np.tanh(f(1, 3, 3, 2))),
    ms("Unique", np.array([2, 1, 1, 3, 4, 3], np.float32), outputs=3),
    ms(
        "CropAndResize",
        f(2, 3, 6, 7),
        np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0, 1.2, 0.5]], np.float32),
        np.array([1, 0], np.int32),
        np.array([4, 3], np.int32),
        extrapolation_value=0.5,
    ),
    ms(
        "CropAndResize",
        f(2, 3, 6, 7),
        np.array([[0.1, 0.2, 0.8, 0.9]], np.float32),
        np.array([1], np.int32),
        np.array([1, 1], np.int32),
        mode="nearest",
    ),
]

ATTENTION = [
    ms("Attention", f(2, 5, 8), f(8, 24), f(24), num_heads=2),
    ms("Attention", f(2, 5, 8), f(8, 24), f(24), num_heads=2, unidirectional=1),
    ms("Attention", f(2, 5, 8), f(8, 24), f(24), np.array([5, 3], np.int32), num_heads=2),
    ms("Attention", f(2, 5, 8), f(8, 24), f(24), np.array([5, 3, 1, 0], np.int32), num_heads=2),
    ms("Attention", f(2, 5, 8), f(8, 24), f(24), np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32), num_heads=2),
    ms("Attention", f(1, 2, 8), f(8, 24), f(24), None, f(2, 1, 2, 3, 4), num_heads=2, outputs=2),
    ms("Attention", f(1, 2, 8), f(8, 24), f(24), None, f(2, 1, 2, 3, 4), num_heads=2, unidirectional=1, outputs=2),
    ms("Attention", f(2, 5, 8), f(8, 20), f(20), num_heads=2, qkv_hidden_sizes=[8, 8, 4], scale=0.3),
    ms("MultiHeadAttention", f(2, 5, 8), f(2, 6, 8), f(2, 6, 8), num_heads=2),
    ms("MultiHeadAttention", f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), f(24), num_heads=2, unidirectional=1),
    ms("MultiHeadAttention", f(2, 5, 8), f(2, 2, 6, 4), f(2, 2, 6, 4), num_heads=2),
    ms(
        "MultiHeadAttention",
        f(2, 5, 8),
        f(2, 6, 8),
        f(2, 6, 8),
        None,
        np.array([[1] * 6, [1, 1, 1, 1, 0, 0]], np.int32),
        f(2, 2, 5, 6),
        num_heads=2,
    ),
    ms(
        "MultiHeadAttention",
        f(1, 2, 8),
        f(1, 2, 8),
        f(1, 2, 8),
        None,
        None,
        None,
        f(1, 2, 3, 4),
        f(1, 2, 3, 4),
        num_heads=2,
        outputs=3,
    ),
    ms("RotaryEmbedding", f(2, 3, 16), np.array([[0, 1, 2], [4, 5, 6]]), COS, SIN),
    ms("RotaryEmbedding", f(2, 3, 16), np.array([5]), COS, SIN, interleaved=1),
    ms("RotaryEmbedding", f(2, 2, 3, 8), np.array([[0, 1, 2], [4, 5, 6]]), COS, SIN),
    ms("RotaryEmbedding", f(2, 3, 32), np.array([1]), COS, SIN, rotary_embedding_dim=8, num_heads=2),
]


def gqa(batch: int, length: int, past: int, *more: Any, packed: bool = False, **attributes: Any) -> Node:
    heads, kv, size = 4, 2, 16
    if packed:
        qkv = [f(batch, length, (heads + 2 * kv) * size), None, None]
    else:
        qkv = [f(batch, length, heads * size), f(batch, length, kv * size), f(batch, length, kv * size)]
    caches = [f(batch, kv, past, size), f(batch, kv, past, size)]
    lengths = [np.full(batch, past + length - 1, np.int32), np.array(past + length, np.int32)]
    return ms(
        "GroupQueryAttention", *qkv, *caches, *lengths, *more, num_heads=heads, kv_num_heads=kv, outputs=3, **attributes
    )


GROUPS = [
    gqa(1, 5, 0),
    gqa(2, 1, 4),
    gqa(1, 1, 4, WIDE_COS, WIDE_SIN, do_rotary=1),
    gqa(2, 5, 0, WIDE_COS, WIDE_SIN, do_rotary=1, packed=True),
    gqa(1, 5, 0, local_window_size=2),
    gqa(1, 3, 0, softcap=5.0),
    gqa(1, 4, 0, WIDE_COS, WIDE_SIN, do_rotary=1, rotary_interleaved=1, scale=0.2),
    gqa(1, 3, 0, smooth_softmax=1),
    gqa(2, 1, 4, None, None, None, None, f(4)),
    gqa(1, 4, 0, None, None, None, None, f(4), local_window_size=2, softcap=5.0),
]


def dynamic_lstm(dtype: Any, *, per_gate: bool = False, directions: int = 1, **attributes: Any) -> Node:
    """Weights of 7 bits: products of 8 bits saturate in onnxruntime on processors without VNNI."""
    w, r = (RANDOM.integers(0, 64, (directions, size, 12)).astype(dtype) for size in (4, 3))
    scale = (np.abs(f(directions, 12)) + 0.5) / 50 if per_gate else np.full(directions, 0.02, np.float32)
    zero_point = np.full(scale.shape, 32 if dtype is np.uint8 else 0, dtype)
    states = None, f(directions, 2, 3), f(directions, 2, 3), None
    inputs = f(5, 2, 4), w, r, f(directions, 24), *states, scale, zero_point, scale, zero_point
    return ms("DynamicQuantizeLSTM", *inputs, hidden_size=3, outputs=3, constants=[1, 2, 8, 9, 10, 11], **attributes)


QUANTIZED = [
    dynamic_lstm(np.uint8),
    dynamic_lstm(np.int8),
    dynamic_lstm(np.int8, per_gate=True, direction="reverse"),
    dynamic_lstm(np.uint8, directions=2, direction="bidirectional"),
    ms("QLinearAdd", q(2, 4), S, Z, q(4), S, Z, S * 2, Z),
    ms("QLinearMul", q(2, 4, dtype=np.int8), S, np.int8(3), q(4, dtype=np.int8), S, np.int8(0), S, np.int8(-4)),
    ms("QLinearSigmoid", q(2, 4), S, Z, np.float32(1 / 256), np.uint8(0), constants=[1, 2, 3, 4]),
    ms("QLinearLeakyRelu", q(2, 4), S, Z, S, Z, constants=[1, 2, 3, 4], alpha=0.1),
    ms("QLinearConcat", S, Z, q(2, 2), S * 2, Z, q(2, 3), S, np.uint8(9), axis=1),
    ms("QLinearGlobalAveragePool", q(1, 2, 4, 4), S, Z, S, Z),
    ms("QLinearAveragePool", q(1, 2, 4, 4), S, Z, S, Z, kernel_shape=[2, 2]),
    ms("QLinearSoftmax", q(2, 4), S, Z, np.float32(1 / 256), np.uint8(0), constants=[1, 2, 3, 4])._replace(
        attributes={"opset": 13}
    ),
    ms("MatMulIntegerToFloat", q(3, 4), q(4, 5), S, S, Z, Z, f(5)),
    # Small weights: with larger ones onnxruntime saturates sums of two products on some processors.
    ms("MatMulIntegerToFloat", q(3, 4), q(4, 5, dtype=np.int8) // 8, S, np.abs(f(5)), Z, q(5, dtype=np.int8) // 8),
    ms("QGemm", q(3, 4), S, Z, q(4, 5), S, Z, np.arange(5, dtype=np.int32), constants=[1, 2, 4, 5], alpha=0.5),
    ms("QGemm", q(3, 4), S, Z, q(5, 4), S, Z, None, S * 40, Z, constants=[1, 2, 4, 5, 7, 8], transB=1),
    ms("DynamicQuantizeMatMul", f(3, 4), q(4, 5), S, Z, f(5)),
    ms("MatMulNBits", f(3, 32), q(8, 2, 8), f(16), constants=[1, 2], K=32, N=8, bits=4, block_size=16),
    ms("MatMulNBits", f(3, 40), q(8, 3, 8), f(24), q(16), constants=[1, 2, 3], K=40, N=8, bits=4, block_size=16),
    ms("MatMulNBits", f(1, 32), q(8, 2, 16), f(16), constants=[1, 2], K=32, N=8, bits=8, block_size=16),
]


@pytest.mark.parametrize("case", [*FUSED, *ATTENTION, *GROUPS], ids=str)
def test_floats(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("case", QUANTIZED, ids=str)
def test_integers(case: Node) -> None:
    """onnxruntime rounds in look-up tables and with its own arithmetic: by one step at most it differs."""
    last = case.inputs[0]
    integers = case.type.startswith(("QLinear", "QGemm")) and last is not None
    # A state that is rounded the other way is half a percent off.
    floats = 1e-2 if case.type == "DynamicQuantizeLSTM" else 1e-3
    assert_as_onnxruntime(case, rtol=1e-3, atol=1.01 if integers else floats)
