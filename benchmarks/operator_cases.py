"""Layers of every operator type in three sizes: bounded by calls, with tensors in a cache, and bounded by memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TypeAlias

import numpy as np

from ir_exec.types import Array, ElementType
from tests.conformance.case import Case

__all__ = ["SIZES", "cases"]

SIZES = ("small", "middle", "large")

IMAGES = ((1, 8, 8, 8), (1, 64, 56, 56), (8, 64, 112, 112))
ROWS = ((4, 16), (256, 768), (8192, 768))

Maker: TypeAlias = Callable[[int], Case]

_MAKERS: list[tuple[str, Maker]] = []


def cases(only: str = "", sizes: Container[str] = SIZES) -> Iterator[tuple[str, str, Case]]:
    """Yield type, size and case of every layer whose type contains this text, each made on request."""
    for type, make in _MAKERS:
        for number, size in enumerate(SIZES):
            if only.lower() in type.lower() and size in sizes:
                yield type, size, make(number)


def _add(type: str, opset: int, make: Callable[[int], tuple[Array, ...]], **attributes: object) -> None:

    constants = attributes.pop("constants", ())
    outputs = attributes.pop("outputs", 1)

    def case(size: int) -> Case:
        told = {name: value(size) if callable(value) else value for name, value in attributes.items()}
        return Case(type, opset, make(size), told, constants=constants, outputs=outputs)  # type: ignore[arg-type]  # taken from **attributes

    _MAKERS.append((f"{type}-{opset}", case))


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def ratios(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape, np.float32)


def random_integers(top: int, *shape: int, dtype: type = np.int32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, top, shape).astype(dtype)


def truths(*shape: int, seed: int = 0) -> Array:
    return random_integers(2, *shape, dtype=np.bool_, seed=seed)


def vector(*values: int, dtype: type = np.int64) -> Array:
    return np.array(values, dtype)


def image(size: int) -> tuple[Array, ...]:
    return (floats(*IMAGES[size]),)


def two_images(size: int) -> tuple[Array, ...]:
    return floats(*IMAGES[size]), floats(*IMAGES[size], seed=1)


def rows(size: int) -> tuple[Array, ...]:
    return (floats(*ROWS[size]),)


def boxes(count: int, extent: float, *batch: int, seed: int = 0) -> Array:
    """Return corners of boxes, [..., count, 4]."""
    random = np.random.default_rng(seed)
    corners = random.random((*batch, count, 2)) * extent * 0.8
    return np.concatenate([corners, corners + 1 + random.random(corners.shape) * extent * 0.2], -1).astype(np.float32)


# Element-wise.
for _type, _opset in (
    *[(name, 1) for name in ("ReLU", "Sigmoid", "Tanh", "Exp", "Abs", "Negative", "Floor", "Ceiling", "Sign", "Sin")],
    *[(name, 1) for name in ("Cos", "Tan", "Atan", "Sinh", "Cosh", "Erf")],
    *[(name, 4) for name in ("HSwish", "Mish", "SoftPlus", "Swish", "Asinh")],
    ("SoftSign", 9),
    ("HSigmoid", 5),
    ("Identity", 16),
):
    _add(_type, _opset, image)
for _type, _opset in (("Acos", 1), ("Asin", 1), ("Atanh", 4), ("Sqrt", 1), ("Log", 1), ("ErfInv", 17)):
    _add(_type, _opset, lambda size: (ratios(*IMAGES[size]) * np.float32(0.9) + np.float32(0.05),))
_add("Acosh", 4, lambda size: (ratios(*IMAGES[size]) + 1,))
_add("Clamp", 1, image, min=0.0, max=6.0)
_add("Elu", 1, image, alpha=1.0)
_add("Gelu", 7, image, approximation_mode="ERF")
_add("Gelu", 2, image)
_add("HardSigmoid", 1, lambda size: (*image(size), np.float32(0.2), np.float32(0.5)), constants=(1, 2))
_add("Selu", 1, lambda size: (*image(size), np.float32(1.67), np.float32(1.05)), constants=(1, 2))
_add("PReLU", 1, lambda size: (*image(size), floats(IMAGES[size][1])), constants=(1,))
_add("Round", 5, image, mode="half_to_even")
for _type in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference", "Less", "Equal"):
    _add(_type, 1, two_images)
for _type in ("FloorMod", "Mod"):
    _add(_type, 1, lambda size: (floats(*IMAGES[size]), ratios(*IMAGES[size]) + 1))
_add("Power", 1, lambda size: (ratios(*IMAGES[size]), np.float32(1.7)), constants=(1,))
for _type in ("Greater", "GreaterEqual", "LessEqual", "NotEqual"):
    _add(_type, 1, lambda size: (floats(*IMAGES[size]), floats(1, IMAGES[size][1], 1, 1, seed=1)))
for _type in ("LogicalAnd", "LogicalOr", "LogicalXor"):
    _add(_type, 1, lambda size: (truths(*IMAGES[size]), truths(*IMAGES[size], seed=1)))
_add("LogicalNot", 1, lambda size: (truths(*IMAGES[size]),))
for _type, _opset in (("BitwiseAnd", 13), ("BitwiseOr", 13), ("BitwiseXor", 13)):
    _add(_type, _opset, lambda size: (random_integers(100, *IMAGES[size]), random_integers(100, *IMAGES[size], seed=1)))
_add("BitwiseNot", 13, lambda size: (random_integers(100, *IMAGES[size]),))
for _type in ("BitwiseLeftShift", "BitwiseRightShift"):
    _add(_type, 15, lambda size: (random_integers(100, *IMAGES[size]), random_integers(5, *IMAGES[size], seed=1)))
for _type in ("IsFinite", "IsInf", "IsNaN"):
    _add(_type, 10, image)
_add("Select", 1, lambda size: (truths(*IMAGES[size]), *two_images(size)), auto_broadcast="numpy")
_add("Convert", 1, lambda size: (random_integers(100, *IMAGES[size]),), destination_type="f32")
_add("ConvertLike", 1, lambda size: (random_integers(100, *IMAGES[size]), floats(1)))
_add(
    "Bucketize",
    3,
    lambda size: (*image(size), np.linspace(-2, 2, 30, dtype=np.float32)),
    constants=(1,),
    output_type="i32",
)
_add(
    "FakeQuantize",
    1,
    lambda size: (*image(size), *[np.float32([[[[value]]]]) for value in (-2, 2, -2, 2)]),
    constants=(1, 2, 3, 4),
    levels=256,
)
_add(
    "FakeConvert",
    13,
    lambda size: (*image(size), np.float32([2]), np.float32([0])),
    constants=(1, 2),
    destination_type="f8e4m3",
)

# Along axes.
_add("SoftMax", 8, rows, axis=-1)
_add("SoftMax", 1, image, axis=1)
_add("LogSoftmax", 5, rows, axis=-1)
for _type, _opset in (
    *[(f"Reduce{name}", 1) for name in ("Max", "Mean", "Min", "Prod", "Sum")],
    ("ReduceL1", 4),
    ("ReduceL2", 4),
):
    _add(_type, _opset, lambda size: (*image(size), vector(2, 3)), constants=(1,), keep_dims=True)
for _type in ("ReduceLogicalAnd", "ReduceLogicalOr"):
    _add(_type, 1, lambda size: (truths(*IMAGES[size]), vector(2, 3)), constants=(1,), keep_dims=True)
_add("CumSum", 3, lambda size: (*rows(size), np.int64(1)), constants=(1,))
_add(
    "MVN",
    6,
    lambda size: (*rows(size), vector(-1)),
    constants=(1,),
    normalize_variance=True,
    eps=1e-6,
    eps_mode="inside_sqrt",
)
_add("MVN", 2, image, across_channels=False, normalize_variance=True, eps=1e-6)
_add("NormalizeL2", 1, lambda size: (*image(size), vector(1)), constants=(1,), eps=1e-6, eps_mode="add")
_add("GRN", 1, image, bias=1e-6)
_add("LRN", 1, lambda size: (*image(size), vector(1)), constants=(1,), alpha=1e-4, beta=0.75, bias=1.0, size=5)
_add(
    "GroupNormalization",
    12,
    lambda size: (*image(size), floats(IMAGES[size][1]), floats(IMAGES[size][1])),
    constants=(1, 2),
    num_groups=4,
    epsilon=1e-5,
)
_add(
    "BatchNormInference",
    5,
    lambda size: (*image(size), *[ratios(IMAGES[size][1]) + 1 for _ in range(4)]),
    constants=(1, 2, 3, 4),
    epsilon=1e-5,
)
_add(
    "TopK",
    11,
    lambda size: (*rows(size), np.int64(5)),
    constants=(1,),
    outputs=2,
    axis=-1,
    mode="max",
    sort="value",
    index_element_type="i64",
)
_add(
    "SearchSorted",
    15,
    lambda size: (np.sort(floats(100, 64)[: 4**size]), floats(100, 1000)[: 4**size]),
    right_mode=False,
)

# Data movement.
_add("Transpose", 1, lambda size: (*image(size), vector(0, 2, 3, 1)), constants=(1,))
_add("Reshape", 1, lambda size: (*image(size), vector(0, -1)), constants=(1,), special_zero=True)
_add("Squeeze", 1, lambda size: (floats(1, *IMAGES[size]), vector(0)), constants=(1,))
_add("Unsqueeze", 1, lambda size: (*image(size), vector(0)), constants=(1,))
_add("ShapeOf", 3, image, output_type="i64")
_add("Concat", 1, two_images, axis=1)
_add("Split", 1, lambda size: (*image(size), np.int64(1)), constants=(1,), outputs=4, num_splits=4)
_add("VariadicSplit", 1, lambda size: (*image(size), np.int64(1), vector(2, -1)), constants=(1, 2), outputs=2)
_add(
    "Slice",
    8,
    lambda size: (*image(size), vector(1, 1), vector(-1, -1), vector(1, 2), vector(2, 3)),
    constants=(1, 2, 3, 4),
)
_add(
    "StridedSlice",
    1,
    lambda size: (*image(size), vector(0, 0, 1, 1), vector(0, 0, -1, -1), vector(1, 1, 1, 2)),
    constants=(1, 2, 3),
    begin_mask="1,1,0,0",
    end_mask="1,1,0,0",
    new_axis_mask="0,0,0,0",
    shrink_axis_mask="0,0,0,0",
    ellipsis_mask="0,0,0,0",
)
_add(
    "SliceScatter",
    15,
    lambda size: (
        *image(size),
        floats(*IMAGES[size][:3], IMAGES[size][3] // 2),
        vector(0),
        vector(1000),
        vector(2),
        vector(3),
    ),
    constants=(2, 3, 4, 5),
)
_add(
    "Pad",
    1,
    lambda size: (*image(size), vector(0, 0, 1, 1), vector(0, 0, 1, 1), np.float32(0)),
    constants=(1, 2, 3),
    pad_mode="constant",
)
_add(
    "Broadcast", 3, lambda size: (floats(1, IMAGES[size][1], 1, 1), vector(*IMAGES[size])), constants=(1,), mode="numpy"
)
_add("Tile", 1, lambda size: (*image(size), vector(1, 1, 2, 2)), constants=(1,))
_add("Reverse", 1, lambda size: (*image(size), vector(3)), constants=(1,), mode="index")
_add("ReverseSequence", 1, lambda size: (*rows(size), random_integers(16, ROWS[size][0]) + 1), batch_axis=0, seq_axis=1)
_add("Roll", 7, lambda size: (*image(size), vector(3), vector(2)), constants=(1, 2))
_add("DepthToSpace", 1, image, block_size=2, mode="blocks_first")
_add("SpaceToDepth", 1, image, block_size=2, mode="blocks_first")
_add(
    "BatchToSpace",
    2,
    lambda size: (floats(4, *IMAGES[size][1:]), vector(1, 1, 2, 2), *[vector(0, 0, 0, 0)] * 2),
    constants=(1, 2, 3),
)
_add("SpaceToBatch", 2, lambda size: (*image(size), vector(1, 1, 2, 2), *[vector(0, 0, 0, 0)] * 2), constants=(1, 2, 3))
_add("ShuffleChannels", 1, image, axis=1, group=4)
_add("ExtractImagePatches", 3, image, sizes="3,3", strides="2,2", rates="1,1", auto_pad="valid")
_add(
    "Col2Im",
    15,
    lambda size: (floats(1, 4 * IMAGES[size][1], (IMAGES[size][2] // 2) ** 2), vector(*IMAGES[size][2:]), vector(2, 2)),
    constants=(1, 2),
    strides="2,2",
    dilations="1,1",
    pads_begin="0,0",
    pads_end="0,0",
)
_add(
    "Gather",
    8,
    lambda size: (*rows(size), random_integers(ROWS[size][0], ROWS[size][0]), np.int64(0)),
    constants=(2,),
    batch_dims=0,
)
_add("GatherElements", 6, lambda size: (*rows(size), random_integers(ROWS[size][1], *ROWS[size])), axis=1)
_add("GatherND", 8, lambda size: (*rows(size), random_integers(ROWS[size][0], ROWS[size][0], 1)), batch_dims=0)
_add(
    "GatherTree",
    1,
    lambda size: (
        random_integers(100, 10 * 4**size, 4**size, 4),
        random_integers(4, 10 * 4**size, 4**size, 4),
        np.full(4**size, 10 * 4**size, np.int32),
        np.int32(1),
    ),
)
_add(
    "ScatterUpdate",
    3,
    lambda size: (*rows(size), np.arange(0, ROWS[size][0], 2), floats(ROWS[size][0] // 2, ROWS[size][1]), np.int64(0)),
    constants=(3,),
)
_add(
    "ScatterElementsUpdate",
    3,
    lambda size: (*rows(size), random_integers(ROWS[size][1], *ROWS[size]), floats(*ROWS[size], seed=1), np.int64(1)),
    constants=(3,),
)
_add(
    "ScatterElementsUpdate",
    12,
    lambda size: (*rows(size), random_integers(ROWS[size][1], *ROWS[size]), floats(*ROWS[size], seed=1), np.int64(1)),
    constants=(3,),
    reduction="sum",
    use_init_val=True,
)
_add(
    "ScatterNDUpdate",
    4,
    lambda size: (
        *rows(size),
        np.arange(0, ROWS[size][0], 2)[:, np.newaxis],
        floats(ROWS[size][0] // 2, ROWS[size][1]),
    ),
)
_add(
    "OneHot",
    1,
    lambda size: (random_integers(64, 64 * 16**size), np.int64(64), np.float32(1), np.float32(0)),
    constants=(1, 2, 3),
    axis=-1,
)
_add("NonZero", 3, lambda size: (truths(*IMAGES[size]),), output_type="i64")
_add(
    "Unique",
    10,
    lambda size: (random_integers(1000, 100 * 30**size),),
    outputs=4,
    sorted=True,
    index_element_type="i64",
    count_element_type="i64",
)
_add("Range", 4, lambda size: (np.int64(0), np.int64(10 * 300**size), np.int64(1)), output_type="i64")
_add("Eye", 9, lambda size: (np.int64(4 * 20**size), np.int64(4 * 20**size), np.int64(0)), output_type="f32")
_add(
    "RandomUniform",
    8,
    lambda size: (vector(*IMAGES[size]), np.float32(0), np.float32(1)),
    constants=(0, 1, 2),
    output_type="f32",
    global_seed=1,
    op_seed=2,
)
_add(
    "EmbeddingBagOffsetsSum",
    3,
    lambda size: (floats(1000, 64), random_integers(1000, 40 * 30**size), np.arange(0, 40 * 30**size, 4, np.int32)),
)
_add("EmbeddingBagPackedSum", 3, lambda size: (floats(1000, 64), random_integers(1000, 10 * 30**size, 4)))
_add(
    "EmbeddingSegmentsSum",
    3,
    lambda size: (
        floats(1000, 64),
        random_integers(1000, 40 * 30**size),
        np.repeat(np.arange(10 * 30**size, dtype=np.int32), 4),
        np.int32(10 * 30**size),
    ),
    constants=(3,),
)
_add(
    "SegmentMax",
    16,
    lambda size: (floats(40 * 30**size, 64), np.repeat(np.arange(10 * 30**size, dtype=np.int32), 4)),
    fill_mode="ZERO",
)


# Products and windows.
def _matrices(size: int) -> tuple[Array, ...]:
    rows, width = ((8, 32), (128, 512), (512, 2048))[size]
    return floats(rows, width), floats(width, width, seed=1)


_add("MatMul", 1, _matrices, constants=(1,), transpose_a=False, transpose_b=False)
_add(
    "Einsum",
    7,
    lambda size: (floats(2, (8, 128, 512)[size], 4, 64), floats(2, (8, 128, 512)[size], 4, 64, seed=1)),
    equation="bqhd,bkhd->bhqk",
)
_add(
    "ScaledDotProductAttention",
    13,
    lambda size: tuple(floats(1, (2, 12, 16)[size], (8, 128, 1024)[size], 64, seed=seed) for seed in range(3)),
    causal=False,
)
_add("Inverse", 14, lambda size: (floats(4**size, 4 * 4**size, 4 * 4**size),), adjoint=False)

WINDOWS = {"strides": "1,1", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,1", "auto_pad": "explicit"}


def _filter_inputs(size: int) -> tuple[Array, ...]:
    channels, extent, batch = ((8, 8, 1), (64, 56, 1), (64, 112, 8))[size]
    return floats(batch, channels, extent, extent), floats(channels, channels, 3, 3, seed=1)


_add("Convolution", 1, _filter_inputs, constants=(1,), **WINDOWS)
_add(
    "GroupConvolution",
    1,
    lambda size: (*image(size), floats(IMAGES[size][1], 1, 1, 3, 3, seed=1)),
    constants=(1,),
    **WINDOWS,
)
_add(
    "ConvolutionBackpropData",
    1,
    lambda size: (floats(1, *((8, 8, 8), (64, 28, 28), (64, 112, 112))[size]), floats((8, 64, 64)[size], 16, 2, 2)),
    constants=(1,),
    **{**WINDOWS, "strides": "2,2", "pads_begin": "0,0", "pads_end": "0,0"},
)
_add(
    "GroupConvolutionBackpropData",
    1,
    lambda size: (*image(size), floats(IMAGES[size][1], 1, 1, 4, 4)),
    constants=(1,),
    **{**WINDOWS, "strides": "2,2"},
)


def _mirrored_bits(*shape: int) -> Array:
    """Return bits with eight equal ones per byte: OpenVINO reads the bits of a byte in reverse order."""
    return (
        np.repeat(random_integers(2, int(np.prod(shape)) // 8, dtype=np.uint8), 8)
        .reshape(shape)
        .view(ElementType.u1.dtype)
    )


_add(
    "BinaryConvolution",
    1,
    lambda size: (
        truths(1, *((8, 8, 8), (32, 28, 28), (64, 56, 56))[size]).astype(np.float32),
        _mirrored_bits(*((8, 8), (32, 32), (64, 64))[size], 3, 3),
    ),
    constants=(1,),
    mode="xnor-popcount",
    pad_value=1.0,
    **WINDOWS,
)
_add(
    "DeformableConvolution",
    8,
    lambda size: (
        floats(1, *((8, 8, 8), (32, 28, 28), (64, 56, 56))[size]),
        floats(1, 18, *((8, 8), (28, 28), (56, 56))[size]),
        floats(*((8, 8), (32, 32), (64, 64))[size], 3, 3),
    ),
    constants=(2,),
    group=1,
    deformable_group=1,
    bilinear_interpolation_pad=False,
    **WINDOWS,
)
POOLED = {"kernel": "3,3", "strides": "2,2", "pads_begin": "1,1", "pads_end": "1,1", "rounding_type": "floor"}
_add("MaxPool", 1, image, **POOLED)
_add("MaxPool", 8, image, outputs=2, dilations="1,1", index_element_type="i64", axis=0, **POOLED)
_add("AvgPool", 1, image, **{**POOLED, "exclude-pad": "true"})
_add("AdaptiveAvgPool", 8, lambda size: (*image(size), vector(5, 5)), constants=(1,))
_add(
    "AdaptiveMaxPool", 8, lambda size: (*image(size), vector(5, 5)), constants=(1,), outputs=2, index_element_type="i32"
)

# Recurrent.
CELLS = ((1, 8, 16), (8, 128, 256), (64, 512, 512))


def _cell(gates: int, states: int) -> Callable[[int], tuple[Array, ...]]:
    def make(size: int) -> tuple[Array, ...]:
        batch, inputs, width = CELLS[size]
        scale = np.float32(0.1)
        weights = floats(gates * width, inputs) * scale, floats(gates * width, width) * scale, floats(gates * width)
        return floats(batch, inputs), *[floats(batch, width)] * states, *weights

    return make


def _sequence(gates: int, states: int) -> Callable[[int], tuple[Array, ...]]:
    def make(size: int) -> tuple[Array, ...]:
        batch, inputs, width = CELLS[size]
        steps = (7, 32, 32)[size]
        scale = np.float32(0.1)
        weights = (
            floats(1, gates * width, inputs) * scale,
            floats(1, gates * width, width) * scale,
            floats(1, gates * width),
        )
        start = [floats(batch, 1, width)] * states
        return floats(batch, steps, inputs), *start, np.full(batch, steps, np.int32), *weights

    return make


def width(size: int) -> int:
    return CELLS[size][2]


_add("RNNCell", 1, _cell(1, 1), constants=(2, 3, 4), hidden_size=width)
_add("GRUCell", 3, _cell(3, 1), constants=(2, 3, 4), hidden_size=width)
_add("LSTMCell", 4, _cell(4, 2), constants=(3, 4, 5), outputs=2, hidden_size=width)
_add(
    "RNNSequence",
    5,
    _sequence(1, 1),
    constants=(2, 3, 4, 5),
    outputs=2,
    hidden_size=width,
    activations="tanh",
    direction="forward",
)
_add(
    "GRUSequence",
    5,
    _sequence(3, 1),
    constants=(2, 3, 4, 5),
    outputs=2,
    hidden_size=width,
    activations="sigmoid,tanh",
    direction="forward",
)
_add(
    "LSTMSequence",
    5,
    _sequence(4, 2),
    constants=(3, 4, 5, 6),
    outputs=3,
    hidden_size=width,
    activations="sigmoid,tanh,tanh",
    direction="forward",
)
_add(
    "CTCGreedyDecoder",
    1,
    lambda size: (floats(20 * 3**size, 4**size, 40), np.ones((20 * 3**size, 4**size), np.float32)),
    ctc_merge_repeated=True,
)
_add(
    "CTCGreedyDecoderSeqLen",
    6,
    lambda size: (floats(4**size, 20 * 3**size, 40), np.full(4**size, 20 * 3**size, np.int32)),
    outputs=2,
    merge_repeated=True,
    classes_index_type="i32",
    sequence_length_type="i32",
)
_add(
    "CTCLoss",
    4,
    lambda size: (
        floats(4**size, 20 * 2**size, 40),
        np.full(4**size, 20 * 2**size, np.int32),
        random_integers(39, 4**size, 20 * 2**size),
        np.full(4**size, 5, np.int32),
        np.int32(39),
    ),
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    unique=False,
)

# Images and signals.
_add(
    "Interpolate",
    4,
    lambda size: (*image(size), vector(2 * IMAGES[size][2], 2 * IMAGES[size][3]), np.float32([2, 2]), vector(2, 3)),
    constants=(1, 2, 3),
    mode="linear_onnx",
    shape_calculation_mode="sizes",
    coordinate_transformation_mode="half_pixel",
    nearest_mode="round_prefer_floor",
    antialias=False,
    pads_begin="0",
    pads_end="0",
    cube_coeff=-0.75,
)
_add(
    "Interpolate",
    11,
    lambda size: (*image(size), vector(2 * IMAGES[size][2], 2 * IMAGES[size][3]), vector(2, 3)),
    constants=(1, 2),
    mode="nearest",
    shape_calculation_mode="sizes",
    coordinate_transformation_mode="asymmetric",
    nearest_mode="floor",
    antialias=False,
    pads_begin="0",
    pads_end="0",
    cube_coeff=-0.75,
)
_add(
    "GridSample",
    9,
    lambda size: (*image(size), ratios(IMAGES[size][0], *IMAGES[size][2:], 2) * 2 - 1),
    align_corners=False,
    mode="bilinear",
    padding_mode="zeros",
)
for _type in ("NV12toBGR", "NV12toRGB", "I420toBGR", "I420toRGB"):
    _add(
        _type,
        8,
        lambda size: (random_integers(255, 1, (12, 360, 1620)[size], (16, 320, 1920)[size], 1, dtype=np.uint8),),
    )
for _type, _inverse in (("DFT", False), ("IDFT", True)):
    _add(_type, 7, lambda size: (floats(*ROWS[size], 2), vector(1)), constants=(1,))
_add("RDFT", 9, lambda size: (*rows(size), vector(1)), constants=(1,))
_add("IRDFT", 9, lambda size: (floats(ROWS[size][0], ROWS[size][1] // 2 + 1, 2), vector(1)), constants=(1,))
_add(
    "STFT",
    15,
    lambda size: (
        floats(1, (200, 16_000, 480_000)[size]),
        np.hanning(128).astype(np.float32),
        np.int64(128),
        np.int64(64),
    ),
    constants=(1, 2, 3),
    transpose_frames=False,
)

# Boxes.
_add(
    "ROIAlign",
    9,
    lambda size: (
        floats(1, 16, *[(16, 56, 112)[size]] * 2),
        boxes(4 * 8**size, (16, 56, 112)[size]),
        np.zeros(4 * 8**size, np.int32),
    ),
    pooled_h=7,
    pooled_w=7,
    sampling_ratio=2,
    spatial_scale=1.0,
    mode="avg",
    aligned_mode="asymmetric",
)
_add(
    "ROIPooling",
    1,
    lambda size: (floats(1, 16, *[(16, 56, 112)[size]] * 2), _rois(4 * 8**size, (16, 56, 112)[size])),
    pooled_h=7,
    pooled_w=7,
    spatial_scale=1.0,
    method="max",
)
_add(
    "PSROIPooling",
    1,
    lambda size: (floats(1, 4 * 4, *[(16, 56, 112)[size]] * 2), _rois(4 * 8**size, (16, 56, 112)[size])),
    output_dim=4,
    group_size=2,
    spatial_scale=1.0,
    mode="average",
    spatial_bins_x=1,
    spatial_bins_y=1,
)
_add(
    "DeformablePSROIPooling",
    1,
    lambda size: (floats(1, 4 * 4, *[(16, 56, 112)[size]] * 2), _rois(4 * 8**size, (16, 56, 112)[size])),
    output_dim=4,
    group_size=2,
    spatial_scale=1.0,
    mode="bilinear_deformable",
    spatial_bins_x=2,
    spatial_bins_y=2,
    trans_std=0.1,
    part_size=2,
)
_add(
    "NonMaxSuppression",
    9,
    lambda size: (
        boxes(30 * 6**size, 100, 1),
        ratios(1, 4, 30 * 6**size),
        np.int64(20),
        np.float32(0.5),
        np.float32(0.1),
    ),
    constants=(2, 3, 4),
    outputs=3,
    box_encoding="corner",
    sort_result_descending=True,
    output_type="i32",
)
_add(
    "MatrixNms",
    8,
    lambda size: (boxes(30 * 6**size, 100, 1), ratios(1, 4, 30 * 6**size)),
    outputs=3,
    sort_result_type="score",
    output_type="i32",
    score_threshold=0.1,
    nms_top_k=50,
    keep_top_k=20,
    background_class=-1,
    decay_function="linear",
)
_add(
    "MulticlassNms",
    9,
    lambda size: (boxes(30 * 6**size, 100, 1), ratios(1, 4, 30 * 6**size)),
    outputs=3,
    sort_result_type="score",
    output_type="i32",
    iou_threshold=0.5,
    score_threshold=0.1,
    nms_top_k=50,
    keep_top_k=20,
    background_class=-1,
)
_add(
    "DetectionOutput",
    8,
    lambda size: _detections(30 * 6**size),
    background_label_id=0,
    top_k=50,
    variance_encoded_in_target=False,
    keep_top_k="20",
    code_type="caffe.PriorBoxParameter.CENTER_SIZE",
    share_location=True,
    nms_threshold=0.45,
    confidence_threshold=0.1,
    normalized=True,
)
_add(
    "PriorBox",
    8,
    lambda size: (vector(*[4 * 4**size] * 2), vector(300, 300)),
    min_size="30",
    max_size="60",
    aspect_ratio="2",
    flip=True,
    clip=False,
    step=0.0,
    offset=0.5,
    variance="0.1,0.1,0.2,0.2",
    scale_all_sizes=True,
)
_add(
    "PriorBoxClustered",
    1,
    lambda size: (vector(*[4 * 4**size] * 2), vector(300, 300)),
    width="30,60",
    height="30,60",
    clip=False,
    step=16.0,
    offset=0.5,
    variance="0.1,0.1,0.2,0.2",
)
_add(
    "RegionYolo",
    1,
    lambda size: (floats(1, 255, *[(4, 26, 104)[size]] * 2),),
    axis=1,
    end_axis=3,
    coords=4,
    classes=80,
    num=3,
    do_softmax=False,
    mask="0,1,2",
    anchors="10,13,16,30,33,23",
)
_add("ReorgYolo", 2, image, stride=2)
_add(
    "Proposal",
    4,
    lambda size: (
        ratios(1, 18, *[(4, 14, 38)[size]] * 2),
        floats(1, 36, *[(4, 14, 38)[size]] * 2),
        np.float32([600, 600, 1]),
    ),
    outputs=2,
    base_size=16,
    pre_nms_topn=1000,
    post_nms_topn=100,
    nms_thresh=0.7,
    feat_stride=16,
    min_size=1,
    ratio="0.5,1,2",
    scale="8,16,32",
    clip_before_nms=True,
    clip_after_nms=False,
    normalize=False,
    box_size_scale=1.0,
    box_coordinate_scale=1.0,
    framework="",
)
_add(
    "ExperimentalDetectronROIFeatureExtractor",
    6,
    lambda size: (boxes(4 * 8**size, 200), *[floats(1, 16, 64 >> level, 64 >> level) for level in range(3)]),
    outputs=2,
    output_size=7,
    sampling_ratio=2,
    pyramid_scales="4,8,16",
    aligned=False,
)
_add("ExperimentalDetectronTopKROIs", 6, lambda size: (boxes(30 * 6**size, 100), ratios(30 * 6**size)), max_rois=20)


def _rois(count: int, extent: float) -> Array:
    return np.concatenate([np.zeros((count, 1), np.float32), boxes(count, extent)], 1)


def _detections(count: int) -> tuple[Array, ...]:
    """Return offsets of boxes, confidences of 5 classes, and priors with their variances."""
    confidences = ratios(1, count, 5) ** 4
    priors = np.stack([boxes(count, 1.0).reshape(-1), np.tile(np.float32([0.1, 0.1, 0.2, 0.2]), count)])[np.newaxis]
    return floats(1, count * 4), confidences.reshape(1, -1), priors
