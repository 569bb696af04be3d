"""Networks for the transformations: one that matches, and the same with one condition changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ir_exec import build
from ir_exec.fusions import FusionTarget
from ir_exec.model import Model

HEADS, SIZE = 4, 32


def vector(size: int) -> np.ndarray[Any, Any]:
    return np.linspace(0.5, 1.5, size, dtype=np.float32)


def rms(*, epsilon: str = "constant", axis: int = -1, scale: tuple[int, ...] = (64,)) -> Model:
    """Normalization by the root mean square of [?, 8, 64].

    Args:
        epsilon: "input" for an epsilon that is an input of the model.
        scale: The shape of the scale.
    """
    x = build.parameter([None, 8, 64], "f32", name="x")
    square = build.power(x, np.float32(2), name="square")
    mean = build.reduce_mean(square, np.array([axis]), keep_dims=True, name="mean")
    added = build.parameter([], "f32", name="epsilon") if epsilon == "input" else build.constant(np.float32(1e-6))
    inverse = build.power(build.sqrt(build.add(mean, added, name="sum")), np.float32(-1), name="inverse")
    norm = build.multiply(x, inverse, name="norm")
    weights = np.resize(vector(64), scale)
    return build.model([build.relu(build.multiply(norm, weights, name="scaled"))])


def mvn(*, second_axis: int = -1, form: str = "divide") -> Model:
    """Normalization by mean and variance in parts."""
    x = build.parameter([None, 8, 64], "f32", name="x")
    mean = build.reduce_mean(x, np.array([-1]), keep_dims=True, name="mean")
    difference = build.subtract(x, mean, name="difference")
    square = build.power(difference, np.float32(2), name="square")
    variance = build.reduce_mean(square, np.array([second_axis]), keep_dims=True, name="variance")
    root = build.sqrt(build.add(variance, np.float32(1e-5), name="sum"), name="root")
    if form == "divide":
        return build.model([build.relu(build.divide(difference, root, name="norm"))])
    return build.model([build.relu(build.multiply(difference, build.divide(np.float32(1), root), name="norm"))])


def halves(x: Any, *, with_split: bool) -> tuple[Any, Any]:
    half = SIZE // 2
    if with_split:
        first, second = build.split(x, np.int64(3), num_splits=2, name="split")
        return first, second
    end = np.array([2**31 - 1])
    first = build.slice(x, np.array([0]), np.array([half]), np.array([1]), np.array([3]), name="first")
    return first, build.slice(x, np.array([half]), end, np.array([1]), np.array([3]), name="second")


def rope(*, axis: int = -1, with_split: bool = False, angle: tuple[int | None, ...] = (None, 1, None, SIZE)) -> Model:
    """Rotary position embedding of halves.

    Args:
        axis: The axis of the concatenation, as it is written.
        with_split: Make the halves with Split.
        angle: The shape of cosines and sines.
    """
    x = build.relu(build.parameter([None, HEADS, None, SIZE], "f32", name="x"))
    cos, sin = (build.parameter(angle, "f32", name=name) for name in ("cos", "sin"))
    first, second = halves(x, with_split=with_split)
    rotated = build.concat([build.multiply(second, np.float32(-1), name="negative"), first], axis=axis, name="rotated")
    product = build.multiply(x, cos, name="straight")
    return build.model([build.relu(build.add(product, build.multiply(rotated, sin, name="turned"), name="rope"))])


def decoder(
    *,
    in_parts: bool = False,
    extra_reader: bool = False,
    beam: str = "i32",
    cache: Literal["variables", "inputs", "none"] = "variables",
    mask_reader: bool = False,
    heads: int | None = HEADS,
) -> Model:
    """Attention with a cache of keys and values, as a stateful language model.

    Args:
        in_parts: Write attention as MatMul, Softmax and MatMul.
        extra_reader: Add an output of the keys of all positions.
        beam: The element type of the order of beams.
        cache: The holder of the keys and values of earlier tokens.
        mask_reader: Add an output that depends on the input `attention_mask`.
        heads: The number of heads; None for a dynamic one.
    """
    tokens = build.parameter([None, None], "i64", name="input_ids", tensor_names=["input_ids"])
    mask = build.parameter([None, None], "i64", name="attention_mask", tensor_names=["attention_mask"])
    order = build.parameter([None], beam, name="beam_idx", tensor_names=["beam_idx"])
    table = np.linspace(-1, 1, 16 * HEADS * SIZE, dtype=np.float32).reshape(16, -1)
    embedded = build.gather(table, tokens, np.int64(0), name="embedded")

    def heads_of(name: str) -> Any:
        shape = np.array([0, 0, -1 if heads is None else HEADS, SIZE])
        split = build.reshape(embedded, shape, special_zero=True, name=f"split_{name}")
        return build.transpose(split, np.array([0, 2, 1, 3]), name=name)

    sinks, present = [], {}
    for name in ("key", "value"):
        current = heads_of(name)
        if cache == "none":
            present[name] = current
            continue
        if cache == "inputs":
            names = [f"past_key_values.0.{name}"]
            past = build.parameter([None, HEADS, None, SIZE], "f32", name=names[0], tensor_names=names)
            present[name] = build.concat([past, current], axis=2, name=f"present_{name}")
            continue
        start = np.zeros((1, HEADS, 0, SIZE), np.float32)
        past = build.read_value(build.constant(start), name, shape=[None, HEADS, None, SIZE], name=f"past_{name}")
        selected = build.gather(past, order, np.int64(0), name=f"selected_{name}")
        present[name] = build.concat([selected, current], axis=2, name=f"present_{name}")
        sinks.append(build.assign(present[name], name))
    visible = build.multiply(
        build.convert(mask, destination_type="f32", name="float_mask"), np.float32(0.1), name="visible"
    )
    wide = build.unsqueeze(visible, np.array([1, 2]), name="mask")
    query = heads_of("query")
    if in_parts:
        scores = build.matmul(query, present["key"], transpose_a=False, transpose_b=True, name="scores")
        scaled = build.add(build.multiply(scores, np.float32(SIZE**-0.5)), wide, name="masked")
        weights = build.softmax(scaled, axis=-1, name="weights")
        attended = build.matmul(weights, present["value"], transpose_a=False, transpose_b=False, name="attention")
    else:
        attended = build.scaled_dot_product_attention(
            query, present["key"], present["value"], wide, causal=False, name="attention"
        )
    outputs = [build.result(attended, tensor_names=["logits"])]
    if extra_reader:
        outputs.append(build.result(build.relu(present["key"], name="reader")))
    if mask_reader:
        outputs.append(build.result(build.relu(visible, name="reader")))
    return build.model(outputs, sinks=sinks)


def compress(*, scale: tuple[int, ...] = (32, 1), element_type: str = "i8", transposed: bool = True) -> Model:
    """A matrix product with weights of 8 bits, 32 output channels and 64 input channels."""
    shape = (32, 64) if transposed else (64, 32) if len(scale) == 2 else (2, 32, 32)
    x = build.parameter([None, None, 64], "f32", name="x")
    codes = build.constant(np.resize(np.arange(-8, 8), shape).astype(np.int8), element_type, name="codes")
    weights = build.multiply(build.convert(codes, destination_type="f32"), np.resize(vector(64), scale), name="weights")
    if len(shape) > 2:
        weights = build.reshape(weights, np.array([64, 32]), special_zero=False)
    return build.model(
        [build.relu(build.matmul(x, weights, transpose_a=False, transpose_b=transposed, name="product"))]
    )


def experts() -> Model:
    """The products of all tokens with the weights of 4 experts."""
    x = build.parameter([1, None, 16], "f32", name="x")
    weights = np.resize(vector(64), (4, 8, 16))
    return build.model([build.relu(build.matmul(x, weights, transpose_a=False, transpose_b=True, name="product"))])


def quantized_convolution(*, levels: int | None = 256) -> Model:
    """A convolution with weights of 8 bits, and data of so many levels; None for data that is not quantized."""
    x = build.multiply(build.parameter([1, 16, 8, 8], "f32", name="x"), np.float32(2), name="scaled")
    if levels is not None:
        limits = [build.constant(np.full((1, 1, 1, 1), limit, np.float32)) for limit in (0, 2.55, 0, 2.55)]
        x = build.fake_quantize(x, *limits, levels=levels, name="quantized")
    codes = build.constant(np.resize(np.arange(-8, 8), (16, 16, 3, 3)).astype(np.int8), name="codes")
    weights = build.multiply(build.convert(codes, destination_type="f32"), np.full((16, 1, 1, 1), 0.01, np.float32))
    sizes = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
    return build.model([build.relu(build.convolution(x, weights, name="convolution", **sizes))])


def gelu(*, factor: float = 0.5, name: str = "error") -> Model:
    """x · factor · (1 + erf(x / √2))."""
    x = build.parameter([None, 8], "f32", name="x")
    error = build.erf(build.multiply(x, np.float32(0.5**0.5), name="scaled"), name=name)
    sum = build.add(error, np.float32(1), name="sum")
    return build.model(
        [build.relu(build.multiply(build.multiply(x, np.float32(factor), name="half"), sum, name="gelu"))]
    )


def lora(*, extra_reader: bool = False) -> Model:
    """A matrix product with an adapter of rank 4 in variables."""
    x = build.parameter([None, None, 64], "f32", name="x")
    states = {
        name: build.read_value(build.constant(np.full(shape, 0.1, np.float32)), name, name=name)
        for name, shape in (("a", (4, 64)), ("alpha", (1, 4)), ("b", (64, 4)))
    }
    first = build.matmul(x, states["a"], transpose_a=False, transpose_b=True, name="first")
    scaled = build.multiply(first, states["alpha"], name="scaled")
    second = build.matmul(scaled, states["b"], transpose_a=False, transpose_b=True, name="second")
    weights = np.resize(vector(64), (64, 64))
    main = build.matmul(x, weights, transpose_a=False, transpose_b=True, name="main")
    outputs = [build.relu(build.add(main, second, name="sum"))]
    if extra_reader:
        outputs.append(build.relu(scaled, name="reader"))
    sinks = [build.assign(value, name) for name, value in states.items()]
    return build.model(outputs, sinks=sinks)


@dataclass(frozen=True)
class FusionCase:
    """A network, and the result of one transformation.

    Attributes:
        matched: The number of matches; None if the transformation fails, or if it is `unknown`.
        missed: The layer of the near miss, and a name or a number of the actual value.
    """

    fusion: str
    make: Callable[[], Model]
    matched: int | None
    missed: tuple[str, str] | None = None
    target: FusionTarget = "cpu"
    unknown: bool = False


CASES: dict[str, FusionCase] = {
    "rms": FusionCase("RMS", rms, 1),
    "rms of another axis": FusionCase("RMS", lambda: rms(axis=1), 0, ("mean", "1")),
    "rms with epsilon as an input": FusionCase("RMS", lambda: rms(epsilon="input"), 0, ("sum", "epsilon")),
    "rms with a scale of two axes": FusionCase("RMS", lambda: rms(scale=(8, 64)), 0, ("scaled", "f32[8,64]")),
    "mvn": FusionCase("MVN", mvn, 1),
    "mvn with the variance of another axis": FusionCase("MVN", lambda: mvn(second_axis=1), 0, ("norm", "[1]")),
    "rope": FusionCase("RoPE", rope, 1),
    "rope with a concatenation along axis 3": FusionCase("RoPE", lambda: rope(axis=3), 0, ("rotated", "3")),
    "rope with Split": FusionCase("RoPE", lambda: rope(with_split=True), 0, ("negative", "split:1")),
    "rope with angles of 2 axes": FusionCase("RoPE", lambda: rope(angle=(None, SIZE)), 0, ("turned", "sin")),
    "compressed product": FusionCase("FullyConnectedCompressed", compress, 1),
    "compressed product of transposed codes": FusionCase(
        "FullyConnectedCompressed", lambda: compress(scale=(1, 32), transposed=False), 1
    ),
    "compressed product of transposed groups": FusionCase(
        "FullyConnectedCompressed", lambda: compress(scale=(2, 1, 32), transposed=False), 1
    ),
    "compressed product of f8e4m3": FusionCase(
        "FullyConnectedCompressed", lambda: compress(element_type="f8e4m3"), 0, ("product", "f8e4m3")
    ),
    "experts": FusionCase("MoE", lambda: experts(), None, unknown=True),
    "int8 convolution": FusionCase("Int8Convolution", quantized_convolution, 1),
    "convolution of data that is not quantized": FusionCase(
        "Int8Convolution", lambda: quantized_convolution(levels=None), 0, ("convolution", "scaled")
    ),
    "convolution of data of 16 bits": FusionCase(
        "Int8Convolution", lambda: quantized_convolution(levels=65536), 0, ("convolution", "65536")
    ),
    "gelu": FusionCase("Gelu", gelu, 1),
    "gelu with another factor": FusionCase("Gelu", lambda: gelu(factor=0.25), 0, ("half", "0.25")),
    "lora": FusionCase("LoRA", lora, 1),
    "lora with a second reader": FusionCase("LoRA", lambda: lora(extra_reader=True), 0, ("scaled", "reader")),
    "attention": FusionCase("ScaledDotProductAttention", decoder, 1),
    "attention in parts": FusionCase(
        "ScaledDotProductAttention", lambda: decoder(in_parts=True), 0, ("attention", "Softmax")
    ),
    "attention with a cache": FusionCase("StatefulAttention", decoder, 1),
    "attention with a second reader of keys": FusionCase(
        "StatefulAttention", lambda: decoder(extra_reader=True), 0, ("present_key", "reader")
    ),
    "attention with an order of beams of i64": FusionCase(
        "StatefulAttention", lambda: decoder(beam="i64"), 0, ("selected_key", "i64[?]")
    ),
    "paged attention": FusionCase("PagedAttention", decoder, 1, target="genai"),
    "paged attention without variables": FusionCase(
        "PagedAttention", lambda: decoder(cache="inputs"), None, ("", ""), "genai"
    ),
    "paged attention of parts": FusionCase("PagedAttention", lambda: decoder(in_parts=True), None, ("", ""), "genai"),
    "paged attention with another reader of the mask": FusionCase(
        "PagedAttention", lambda: decoder(mask_reader=True), None, ("float_mask", "float_mask"), "genai"
    ),
}
"""Networks by name."""
