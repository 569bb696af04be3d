"""Operators of each version, with odd shapes, types and attributes, give what onnxruntime gives.

Every row runs with declared dims and with open ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.runtime import Node, assert_as_onnxruntime, node

RANDOM = np.random.default_rng(3)


def f(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def i(*values: int, dtype: Any = np.int64) -> Any:
    return np.array(values, dtype)


N = node
A = f(2, 3, 4)

MOVEMENT = [
    *[N("Gather", A, i(0, -1), opset=v, axis=-2) for v in (7, 11, 13)],
    N("Gather", A, np.int64(1), axis=1),
    N("Gather", A, np.zeros((0,), np.int64)),
    *[N("GatherElements", A, RANDOM.integers(-3, 3, (2, 2, 4)), opset=v, axis=-2) for v in (11, 13)],
    *[N("GatherElements", A, RANDOM.integers(-3, 3, (1, 4, 3)), opset=13, axis=axis) for axis in (1, -2)],
    *[N("GatherND", A, RANDOM.integers(-2, 2, (3, 2)), opset=v) for v in (11, 12, 13)],
    N("GatherND", A, RANDOM.integers(0, 3, (2, 5, 1)), opset=12, batch_dims=1),
    N("Scatter", f(3, 4), RANDOM.integers(0, 3, (2, 2)), f(2, 2), opset=9),
    *[N("ScatterElements", f(3, 4), i(1, 2).reshape(1, 2), f(1, 2), opset=v, axis=-1) for v in (11, 13, 16)],
    N("ScatterElements", f(3, 4), i(1, 1).reshape(1, 2), f(1, 2), opset=16, axis=1, reduction="add"),
    N("ScatterElements", f(3, 4), i(1, 1).reshape(1, 2), f(1, 2), opset=18, axis=1, reduction="max"),
    *[N("ScatterND", A, i(0, 1, 1, 2).reshape(2, 2), f(2, 4), opset=v) for v in (11, 13, 16)],
    N("ScatterND", A, i(0, 1, 0, 1).reshape(2, 2), f(2, 4), opset=18, reduction="mul"),
    N("Slice", A, opset=9, starts=[0, -2], ends=[1, 99], axes=[0, -1]),
    N("Slice", A, i(-1), i(-99), i(1), i(-2), opset=10),
    N("Slice", A, i(3), i(0), opset=13),
    N("Concat", A, f(2, 1, 4), opset=11, axis=-2),
    N("Transpose", A, opset=13),
    N("Transpose", A, opset=13, perm=[1, 2, 0]),
    N("Reshape", A, i(0, -1), opset=5),
    N("Reshape", np.zeros((0, 3), np.float32), i(3, 0), opset=14, allowzero=1),
    *[N("Flatten", A, opset=v, axis=2) for v in (7, 9, 13)],
    N("Flatten", A, opset=13, axis=-1),
    N("Flatten", A, opset=13, axis=0),
    N("Flatten", np.zeros((0, 3), np.float32), opset=13),
    N("Squeeze", f(1, 3, 1), opset=11, axes=[0, -1]),
    N("Squeeze", f(1, 3, 1), i(-1), opset=13),
    N("Unsqueeze", A, opset=11, axes=[0, 4]),
    N("Unsqueeze", A, i(-1, 0), opset=13),
    N("Expand", f(3, 1), i(2, 1, 4), opset=8),
    N("Tile", f(2, 3), i(2, 1), opset=6),
    N("Split", f(5, 2), opset=11, split=[2, 3], outputs=2),
    N("Split", f(5, 2), i(1, 4), opset=13, outputs=2),
    N("Split", f(5, 2), opset=18, num_outputs=2, outputs=2),
    N("Pad", A, opset=10, pads=[0, 1, 0, 0, 0, 2], value=1.5),
    N("Pad", A, i(0, 1, -1, 0, 0, 2), np.float32(2), opset=11),
    N("Pad", A, i(0, 1, 1, 0, 1, 2), opset=11, mode="reflect"),
    N("Pad", A, i(1, 2), None, i(-1), opset=18, mode="edge"),
    N("Pad", A, i(1, 2), None, i(-1), opset=19, mode="wrap"),
    N("Pad", A, i(0, -1, 3, 0, 4, -2), opset=19, mode="wrap"),
    N("DepthToSpace", f(1, 8, 2, 3), opset=11, blocksize=2, mode="CRD"),
    N("SpaceToDepth", f(1, 2, 4, 6), opset=13, blocksize=2),
    N("ReverseSequence", f(4, 3), i(1, 2, 4), opset=10),
    N("Compress", A, np.array([0, 1, 1], bool), opset=11, axis=-2),
    N("Compress", A, np.array([0, 1, 1, 0, 1], bool), opset=9),
    N("Trilu", A, np.int64(-1), opset=14, upper=0),
    N("OneHot", i(1, -1, 7), np.int64(4), i(0, 5), opset=11, axis=0),
    N("NonZero", np.array([[1, 0], [0, 2]], np.float32), opset=13),
    N("Where", np.array([True, False]), f(3, 2), f(1), opset=9),
]

ARITHMETIC = [
    *[N("Add", A, f(3, 4), opset=v) for v in (7, 13, 14)],
    N("Div", i(7, -7, 8), i(2, 2, -3), opset=14),
    N("Mod", i(7, -7, 8), i(3, 3, -3), opset=13),
    N("Mod", f(4) * 5, f(4), opset=13, fmod=1),
    N("Pow", f(3) ** 2, i(2), opset=13),
    N("Pow", i(2, 3, 4), np.float32(2), opset=13),
    N("Max", A, f(4), f(3, 1), opset=13),
    N("Mean", A, f(2, 3, 4), opset=13),
    N("Sum", A, opset=8),
    N("Clip", A, opset=6, min=-0.5, max=0.5),
    N("Clip", A, None, np.float32(0.2), opset=11),
    N("Clip", i(1, 5, 9), np.int64(2), np.int64(6), opset=13),
    N("PRelu", A, f(4), opset=9),
    N("Celu", A, opset=12, alpha=0.7),
    N("Selu", A, opset=6),
    N("Elu", A, opset=6, alpha=0.3),
    N("HardSigmoid", A, opset=6),
    N("HardSwish", A, opset=14),
    N("ThresholdedRelu", A, opset=10, alpha=0.4),
    N("Shrink", A, opset=9, bias=0.1, lambd=0.3),
    N("Gelu", A, opset=20, approximate="tanh"),
    N("Erf", A, opset=13),
    N("Sign", A, opset=13),
    N("Round", i(1, 3, 5, -1) / np.float32(2), opset=11),
    N("BitShift", i(1, 200, dtype=np.uint8), i(3, 1, dtype=np.uint8), opset=11, direction="LEFT"),
    *[
        N(
            "BitShift",
            i(1, 2, 255, 7, dtype=dtype),
            i(*[8 * dtype().nbytes + n for n in (0, 1, 90, -1)], dtype=dtype),
            **way,
        )
        for dtype in (np.uint8, np.uint16, np.uint32, np.uint64)
        for way in ({"direction": "LEFT"}, {"direction": "RIGHT"})
    ],
    N("IsInf", np.array([1, np.inf, -np.inf], np.float32), opset=10, detect_negative=0),
    N("Gemm", f(4, 2), f(3, 4), f(3), opset=7, transA=1, transB=1, alpha=0.5, beta=2.0),
    N("Gemm", f(2, 4), f(4, 3), opset=11),
    N("MatMul", f(4), f(2, 4, 3), opset=9),
    N("MatMul", f(2, 1, 3, 4), f(5, 4, 2), opset=13),
    N("Einsum", f(2, 3), f(3, 4), opset=12, equation="ij,jk->ki"),
    N("CumSum", A, np.int64(-2), opset=14, exclusive=1, reverse=1),
]

REDUCTIONS = [
    *[
        N(name, np.abs(A) + 1, opset=v, axes=[-1, 0], keepdims=0)
        for name in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin")
        for v in (7, 11, 13)
    ],
    N("ReduceProd", A, opset=13),
    N("ReduceSumSquare", A, i(1), opset=18),
    N("ReduceSum", A, i(-2), opset=13, keepdims=0),
    N("ReduceSum", A, opset=13, noop_with_empty_axes=1),
    N("ReduceMax", A, i(0, 1), opset=18),
    *[N("ArgMax", i(3, 1, 3, 2).reshape(2, 2), opset=v, axis=-1) for v in (7, 11, 13)],
    N("ArgMin", np.array([[2, 2, 1, 1]], np.float32), opset=12, axis=1, select_last_index=1, keepdims=0),
    N("TopK", A, opset=9, k=2, axis=-1, outputs=2),
    N("TopK", A, i(2), opset=11, axis=1, largest=0, outputs=2),
    *[N("Softmax", A, opset=v, axis=1) for v in (7, 11, 13)],
    *[N("LogSoftmax", A, opset=v, axis=-1) for v in (11, 13)],
    N("Hardmax", A, opset=11, axis=1),
    N("Hardmax", A, opset=13, axis=1),
    N("Unique", i(2, 1, 1, 3, 4, 3), opset=11, sorted=0, outputs=4),
    N("Unique", RANDOM.integers(0, 2, (4, 2, 2)), opset=11, axis=-1, outputs=4),
]

LAYERS = [
    N("Conv", f(1, 4, 7), f(6, 2, 3), f(6), opset=11, group=2, strides=[2], pads=[1, 0]),
    N("Conv", f(1, 2, 7, 6), f(3, 2, 3, 3), opset=11, auto_pad="SAME_LOWER", strides=[2, 2]),
    N("Conv", f(1, 2, 7, 6), f(3, 2, 3, 3), opset=11, auto_pad="VALID", dilations=[2, 1]),
    N("Conv", f(1, 1, 4, 4, 4), f(2, 1, 2, 2, 2), opset=11),
    N("ConvTranspose", f(1, 4, 5), f(4, 3, 3), f(6), opset=11, group=2, strides=[2], output_padding=[1], pads=[1, 0]),
    N("AveragePool", f(1, 2, 6, 5), opset=11, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1, pads=[1, 0, 1, 1]),
    N("AveragePool", f(1, 2, 6, 5), opset=7, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    N("MaxPool", f(1, 2, 6, 5), opset=12, kernel_shape=[3, 2], strides=[2, 2], dilations=[1, 2], outputs=2),
    N("LpPool", f(1, 2, 6, 5), opset=11, kernel_shape=[3, 2], p=3, pads=[1, 0, 1, 1]),
    N("GlobalAveragePool", f(1, 2, 3, 4)),
    N("GlobalMaxPool", f(1, 2, 3)),
    N("BatchNormalization", f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3)), opset=9),
    N("BatchNormalization", f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3)), opset=15),
    N("InstanceNormalization", f(2, 3, 4, 2), f(3), f(3), opset=6, epsilon=0.01),
    N("LayerNormalization", f(2, 3, 4), f(3, 4), f(3, 4), opset=17, axis=-2, outputs=3),
    N("GroupNormalization", f(2, 4, 3), f(4), f(4), opset=21, num_groups=2),
    N("LRN", f(1, 5, 2, 2), opset=13, size=3),
    N("LpNormalization", f(2, 3), opset=1, axis=0, p=1),
    N("MeanVarianceNormalization", f(2, 3, 4, 4), opset=13),
    N(
        "LSTM",
        f(3, 2, 4),
        f(2, 12, 4),
        f(2, 12, 3),
        f(2, 24),
        opset=14,
        hidden_size=3,
        direction="bidirectional",
        outputs=3,
    ),
    N(
        "LSTM",
        f(3, 2, 4),
        f(1, 12, 4),
        f(1, 12, 3),
        f(1, 24),
        i(3, 1, dtype=np.int32),
        None,
        None,
        f(1, 9),
        opset=14,
        hidden_size=3,
        outputs=3,
    ),
    N("GRU", f(3, 2, 4), f(1, 9, 4), f(1, 9, 3), f(1, 18), opset=14, hidden_size=3, linear_before_reset=1, outputs=2),
    N("GRU", f(3, 2, 4), f(1, 9, 4), f(1, 9, 3), f(1, 18), opset=7, hidden_size=3, direction="reverse", outputs=2),
    N("RNN", f(3, 2, 4), f(1, 3, 4), f(1, 3, 3), opset=14, hidden_size=3, activations=["Relu"], clip=0.5, outputs=2),
    N("Resize", f(1, 2, 3, 4), np.array([1, 1, 2, 2], np.float32), opset=10, mode="linear"),
    N("Resize", f(1, 2, 3, 4), None, None, i(1, 2, 5, 7), opset=13, mode="cubic"),
    N(
        "Resize",
        f(1, 2, 5, 4),
        None,
        np.array([1, 1, 0.6, 1.5], np.float32),
        opset=13,
        mode="linear",
        coordinate_transformation_mode="align_corners",
    ),
    N("Resize", f(1, 2, 3, 4), None, None, i(5, 7), opset=18, axes=[2, 3], mode="nearest", nearest_mode="ceil"),
    N("Resize", f(1, 1, 6, 6), None, None, i(1, 1, 3, 4), opset=18, mode="linear", antialias=1),
    N("Upsample", f(1, 1, 2, 3), np.array([1, 1, 2, 2], np.float32), opset=9, mode="nearest"),
    N("GridSample", f(1, 2, 4, 5), np.tanh(f(1, 3, 3, 2)) * 1.2, opset=16, mode="bicubic", padding_mode="reflection"),
    N("RoiAlign", f(1, 2, 8, 8), np.array([[0, 0, 4, 6]], np.float32), i(0), opset=16, output_height=2, output_width=3),
    N("QuantizeLinear", f(2, 3), np.array([0.1, 0.2], np.float32), i(3, -4, dtype=np.int8), opset=13, axis=0),
    N("DequantizeLinear", i(1, 200, dtype=np.uint8), np.float32(0.3), np.uint8(9), opset=10),
    N("DynamicQuantizeLinear", f(3, 4), opset=11, outputs=3),
    N(
        "MatMulInteger",
        i(1, 2, 3, 4, dtype=np.uint8).reshape(2, 2),
        i(5, 6, 7, 8, dtype=np.int8).reshape(2, 2),
        np.uint8(3),
    ),
    N(
        "NonMaxSuppression",
        RANDOM.random((1, 6, 4)).astype(np.float32),
        RANDOM.random((1, 2, 6)).astype(np.float32),
        i(3),
        np.array([0.3], np.float32),
        opset=11,
    ),
    N("Range", np.int64(5), np.int64(-4), np.int64(-3), opset=11),
    N("ConstantOfShape", i(2, 0, 3), opset=9),
    N("EyeLike", f(3, 4), opset=9, k=-1),
    N("Shape", A, opset=15, start=-2),
    N("Size", A, opset=13),
    N("Cast", f(4) * 100, opset=13, to=3),
    N("Cast", f(4), opset=13, to=9),
]


STATIC = [
    N("Det", f(2, 4, 4), opset=11),
    N("Det", i(1, 2, 2, 4).reshape(2, 2).astype(np.float32), opset=11),
    N("DFT", f(1, 8, 1), opset=17, axis=1, onesided=1),
    N("STFT", f(1, 16, 1), np.int64(4), f(8), opset=17),
    N("GatherND", f(1, 3, 4), i(0, 2).reshape(2, 1), opset=13, batch_dims=1),
    N("GatherND", f(3, 1, 3, 4), RANDOM.integers(0, 3, (3, 2, 1)), opset=12, batch_dims=2),
]
"""Operators that need to know a size."""


@pytest.mark.parametrize("case", STATIC, ids=str)
def test_values_of_static_shapes(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", [*MOVEMENT, *ARITHMETIC, *REDUCTIONS, *LAYERS], ids=str)
def test_values(case: Node) -> None:
    assert_as_onnxruntime(case, rtol=1e-4, atol=1e-4, dynamic=True)
