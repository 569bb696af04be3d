"""The networks whose plans are held as snapshots: those of `tests/networks`, and small ones for what they lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import ir_exec
from ir_exec import build
from ir_exec.build import Value
from ir_exec.types import Array
from tests.conformance.networks import COPIES

__all__ = ["Case", "cases"]

Made: TypeAlias = tuple[ir_exec.Model, list[Array]]

_PLAIN: dict[str, Any] = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
_PADDED: dict[str, Any] = _PLAIN | {"pads_begin": [1, 1], "pads_end": [1, 1]}


class Case(NamedTuple):
    """A network to make a plan of.

    make: reads or builds it, with its inputs. options: for `compile_model`.
    """

    make: Callable[[], Made]
    options: Mapping[str, Any]


def cases() -> dict[str, Case]:
    """Every network by the name of its snapshot."""
    all_cases = {}
    for path in sorted([*COPIES.glob("*.xml"), *(COPIES / "onnx").glob("*.onnx")]):
        name = path.stem if path.suffix == ".xml" else f"onnx_{path.stem}"
        all_cases[name] = Case(lambda path=path: _read(path), {})
    all_cases["llama_int4_asym_keep"] = Case(lambda: _read(COPIES / "llama_int4_asym.xml"), {"weight_mode": "keep"})
    all_cases["bert_tiny_fp16_plain"] = Case(lambda: _read(COPIES / "bert_tiny_fp16.xml"), {"optimize": False})
    return all_cases | {f"built_{name}": Case(make, {}) for name, make in _BUILT.items()}


def _read(path: Path) -> Made:
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        return ir_exec.read_model(path), [stored[key] for key in stored.files]


def _random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _make_network(values: Value | list[Value], *inputs: Array) -> Made:
    return build.model(values), list(inputs)


def _matrices() -> Made:
    """Constant matrices that are multiplied as they are, transposed, and by many rows and by few."""
    data = build.parameter([2, 30, 320], "f32", name="data")
    wide = build.matmul(data, build.constant(_random(320, 400)), name="wide")
    turned = build.matmul(wide, build.constant(_random(400, 400)), transpose_b=True, name="transposed")
    row = build.parameter([1, 320], "f32", name="row")
    few = build.matmul(row, build.constant(_random(300, 320)), transpose_b=True, name="one_row")
    return _make_network([build.result(build.relu(turned)), build.result(few)], _random(2, 30, 320), _random(1, 320))


def _images() -> Made:
    """Filters that are transformed, a sum of convolutions, a scale, and padding that a convolution adds itself."""
    data = build.parameter([1, 48, 28, 30], "f32", name="data")
    first = build.relu(build.convolution(data, build.constant(_random(48, 48, 3, 3)), **_PADDED, name="transformed"))
    vector = build.constant(abs(_random(48)) + 1)
    pads = [build.constant(np.array([0, 0, 1, 1])) for _ in range(2)]
    padded = build.pad(first, *pads, build.constant(np.float32(0)), pad_mode="constant", name="padding")
    strided = _PLAIN | {"strides": [2, 2]}
    second = build.convolution(padded, build.constant(_random(48, 48, 3, 3)), **strided, name="padded")
    norm = build.batch_norm_inference(second, vector, vector, vector, vector, epsilon=1e-3, name="norm")
    left = build.convolution(norm, build.constant(_random(32, 48, 3, 3)), **_PADDED, name="left")
    right = build.convolution(norm, build.constant(_random(32, 48, 1, 1)), **_PLAIN, name="right")
    total = build.multiply(build.add(left, right), build.constant(_random(32, 1, 1)), name="sum")
    return _make_network(build.relu(total), _random(1, 48, 28, 30))


def _depthwise() -> Made:
    """A pointwise convolution whose image a depthwise one reads along the channels."""
    data = build.parameter([1, 24, 14, 13], "f32", name="data")
    image = build.relu(build.convolution(data, build.constant(_random(48, 24, 1, 1)), **_PLAIN, name="pointwise"))
    last = build.group_convolution(image, build.constant(_random(48, 1, 1, 3, 3)), **_PADDED, name="depthwise")
    return _make_network(last, _random(1, 24, 14, 13))


def _attention() -> Made:
    """Scores that the cache of a core does not hold, with a scale and a mask."""
    query, key, value = [build.parameter([1, 4, 300, 32], "f32", name=name) for name in ("query", "key", "value")]
    mask = build.parameter([1, 1, 300, 300], "f32", name="mask")
    scores = build.multiply(build.matmul(query, key, transpose_b=True, name="scores"), np.float32(0.2), name="scale")
    shares = build.softmax(build.add(scores, mask, name="masked"), axis=-1, name="shares")
    inputs = [*[_random(1, 4, 300, 32)] * 3, np.zeros((1, 1, 300, 300), np.float32)]
    return _make_network(build.matmul(shares, value, name="attention"), *inputs)


def _quantized_network() -> Made:
    """An activation before a quantization, and a quantization whose limits are not known."""
    data = build.parameter([4, 64, 32], "f32", name="data")
    limits = [build.constant(np.float32(limit)) for limit in (0, 6, 0, 6)]
    first = build.fake_quantize(build.relu(data, name="relu"), *limits, levels=256, name="quantized")
    high = build.parameter([], "f32", name="high")
    second = build.fake_quantize(first, limits[0], high, limits[0], high, levels=256, name="open")
    return _make_network(second, _random(4, 64, 32), np.float32(5))


def _norms() -> Made:
    """Normalizations in three spellings, and near misses of two of them."""
    data = build.parameter([2, 8, 64], "f32", name="data")
    weight, bias = build.constant(_random(64)), build.constant(_random(64))
    last, first = build.constant(np.array([-1])), build.constant(np.array([0]))

    def rms(value: Value, axes: Value, name: str) -> Value:
        mean = build.reduce_mean(build.power(value, np.float32(2)), axes, keep_dims=True)
        root = build.sqrt(build.add(mean, np.float32(1e-5)))
        return build.multiply(build.divide(value, root), weight, name=name)

    layer = build.mvn(rms(data, last, "rms"), last, eps=1e-5, eps_mode="inside_sqrt", normalize_variance=True)
    normal = build.add(build.multiply(layer, weight), bias, name="layer_norm")
    outside = build.mvn(normal, last, eps=1e-5, eps_mode="outside_sqrt", normalize_variance=True)
    other = build.add(build.multiply(outside, weight), bias, name="epsilon_outside")
    return _make_network(rms(other, first, "another_axis"), _random(2, 8, 64))


def _shapes() -> Made:
    """Tables that follow from the shape of an input, and are the same in every run on this shape."""
    data = build.parameter([None, None, 16], "f32", name="data")
    size = build.gather(build.shape_of(data), build.constant(np.array(1)), build.constant(np.array(0)), name="length")
    places = build.range(np.int64(0), size, np.int64(1), output_type="i64", name="places")
    angles = build.sin(build.convert(places, destination_type="f32"), name="angles")
    table = build.unsqueeze(angles, build.constant(np.array([1])), name="table")
    return _make_network(build.add(data, table, name="sum"), _random(2, 9, 16))


_BUILT: dict[str, Callable[[], Made]] = {
    "attention": _attention,
    "depthwise": _depthwise,
    "images": _images,
    "matrices": _matrices,
    "norms": _norms,
    "quantized": _quantized_network,
    "shapes": _shapes,
}
