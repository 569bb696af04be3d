"""One layer of each type, with the values that it has to give, computed in NumPy without ir_exec."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import erf
from typing import Any

import numpy as np

from ir_exec.types import Array
from tests.older.files import OlderFile, Port

__all__ = ["CASES", "Case", "convolved", "image", "pooled"]

Case = tuple[OlderFile, list[Array], list[Array]]


def image(*dims: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def convolved(
    x: Array, w: Array, strides: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], dilation: int = 1
) -> Array:
    """Cross-correlation by loops; w is [output, input, height, width]."""
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(begin, end, strict=True)])
    reach = [(one - 1) * dilation + 1 for one in w.shape[2:]]
    sizes = [(n - k) // s + 1 for n, k, s in zip(padded.shape[2:], reach, strides, strict=True)]
    found = np.zeros((len(x), len(w), *sizes))
    for i, j in product(*map(range, sizes)):
        top, left = i * strides[0], j * strides[1]
        part = padded[:, :, top : top + reach[0] : dilation, left : left + reach[1] : dilation]
        found[:, :, i, j] = np.einsum("nchw,ochw->no", part, w)
    return found.astype(np.float32)


def pooled(x: Array, kernel: int, stride: int, pad: int, sizes: tuple[int, int], how: str) -> Array:
    """The largest element or the mean of what a window and the image share, or the mean over a window with pads."""
    found = np.zeros((*x.shape[:2], *sizes), np.float32)
    height, width = x.shape[2:]
    for i, j in product(*map(range, sizes)):
        top, left = i * stride - pad, j * stride - pad
        part = x[:, :, max(top, 0) : top + kernel, max(left, 0) : left + kernel]
        if how == "max":
            found[:, :, i, j] = part.max((2, 3))
        elif how == "exclude":
            found[:, :, i, j] = part.mean((2, 3))
        else:
            # What lies past the pads counts for nothing.
            rows = min(top + kernel, height + pad) - top
            columns = min(left + kernel, width + pad) - left
            found[:, :, i, j] = part.sum((2, 3)) / (rows * columns)
    return found


def one(
    type: str,
    inputs: list[Array],
    expected: list[Array] | Array,
    data: dict[str, Any] | None = None,
    blobs: dict[str, Array] | None = None,
    *,
    consts: list[tuple[Any, str]] | None = None,
    precisions: list[str] | None = None,
    **file: Any,
) -> Case:
    """A file of a single layer, of these inputs and then these constants."""
    made = OlderFile(**file)
    outputs = expected if isinstance(expected, list) else [expected]
    ports: list[Port] = []
    for place, array in enumerate(inputs):
        kind = "I32" if array.dtype.kind == "i" else made.precision
        ports.append(made.input(f"in{place}", *array.shape, precision=kind))
    ports += [made.const(value, kind) for value, kind in consts or ()]
    made.layer(type, ports, *[one.shape for one in outputs], data=data, blobs=blobs, precisions=precisions or ())
    return made, inputs, outputs


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    CASES[function.__name__] = function
    return function


X = image(1, 4, 5, 6)
W = image(3, 4, 3, 2, seed=1)
B = image(3, seed=2)


@case
def convolution_with_kernel_lists() -> Case:
    expected = convolved(X, W, (2, 1), (1, 0), (1, 1)) + B[:, None, None]
    told = {"kernel": (3, 2), "strides": (2, 1), "pads_begin": (1, 0), "pads_end": (1, 1), "output": 3, "group": 1}
    return one("Convolution", [X], expected, told, {"weights": W, "biases": B})


@case
def convolution_with_kernel_x_and_y() -> Case:
    expected = convolved(X, W, (2, 1), (1, 0), (1, 0)) + B[:, None, None]
    told = {"kernel-x": 2, "kernel-y": 3, "stride-x": 1, "stride-y": 2, "pad-x": 0, "pad-y": 1, "output": 3}
    blobs = {"weights": W, "biases": B}
    return one("Convolution", [X], expected, told, blobs, version=2, element="convolution_data")


@case
def convolution_with_right_and_bottom_pads() -> Case:
    told = {"kernel-x": 2, "kernel-y": 3, "pad-x": 0, "pad-y": 0, "pad-r": 1, "pad-b": 2, "output": 3, "group": 1}
    return one("Convolution", [X], convolved(X, W, (1, 1), (0, 0), (2, 1)), told, {"weights": W}, version=2)


@case
def convolution_in_groups_with_dilation() -> Case:
    w = image(6, 2, 2, 2, seed=3)
    parts = [
        convolved(X[:, :2], w[:3], (1, 1), (0, 0), (0, 0), 2),
        convolved(X[:, 2:], w[3:], (1, 1), (0, 0), (0, 0), 2),
    ]
    told = {"kernel": (2, 2), "dilations": (2, 2), "output": 6, "group": 2}
    return one("Convolution", [X], np.concatenate(parts, 1), told, {"weights": w})


@case
def convolution_with_auto_pad() -> Case:
    w = image(3, 4, 2, 2, seed=3)
    told = {"kernel": (2, 2), "output": 3, "auto_pad": "same_upper", "pads_begin": (0, 0), "pads_end": (0, 0)}
    return one("Convolution", [X], convolved(X, w, (1, 1), (0, 0), (1, 1)), told, {"weights": w}, version=7)


@case
def convolution_whose_end_pads_follow_from_the_declared_output() -> Case:
    # With a stride of 2 the last row of the pads is not reached, so that both pads give this output.
    w = image(3, 4, 2, 2, seed=3)
    told = {"kernel-x": 2, "kernel-y": 2, "stride-x": 2, "stride-y": 2, "pad-x": 1, "pad-y": 1, "output": 3}
    return one(
        "Convolution", [X], convolved(X, w, (2, 2), (1, 1), (1, 1))[:, :, :3, :4], told, {"weights": w}, version=3
    )


@case
def deconvolution() -> Case:
    w = image(4, 3, 2, 2, seed=3)
    full = np.zeros((1, 3, 10, 12), np.float32)
    for i, j in product(range(5), range(6)):
        full[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += np.einsum("nc,cohw->nohw", X[:, :, i, j], w)
    told = {"kernel": (2, 2), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "output": 3, "group": 1}
    return one("Deconvolution", [X], full[:, :, 1:-1, 1:-1], told, {"weights": w})


@case
def deconvolution_in_groups() -> Case:
    w = image(4, 1, 2, 2, seed=3)
    full = np.zeros((1, 4, 6, 7), np.float32)
    for i, j in product(range(5), range(6)):
        full[:, :, i : i + 2, j : j + 2] += X[:, :, i, j, None, None] * w[:, 0]
    told = {"kernel-x": 2, "kernel-y": 2, "output": 4, "group": 4}
    return one("Deconvolution", [X], full, told, {"weights": w}, version=2)


@case
def pooling_rounds_up_as_caffe_does() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pool-method": "max", "rounding_type": "ceil"}
    return one("Pooling", [X], pooled(X, 3, 2, 0, (2, 3), "max"), told, version=4)


@case
def pooling_rounds_up_where_the_file_has_no_rounding() -> Case:
    told = {"kernel-x": 3, "kernel-y": 3, "stride-x": 2, "stride-y": 2, "pad-x": 0, "pad-y": 0, "pool-method": "max"}
    return one("Pooling", [X], pooled(X, 3, 2, 0, (2, 3), "max"), told, version=2, element="pooling_data")


@case
def pooling_rounds_down_where_only_that_gives_the_declared_output() -> Case:
    told = {"kernel-x": 3, "kernel-y": 3, "stride-x": 2, "stride-y": 2, "pool-method": "max"}
    return one("Pooling", [X], pooled(X, 3, 2, 0, (2, 2), "max"), told, version=2)


@case
def pooling_leaves_out_a_window_that_begins_past_the_input() -> Case:
    x = image(1, 2, 4, 6)
    told = {"kernel": (1, 1), "strides": (2, 2), "pool-method": "max", "rounding_type": "ceil"}
    return one("Pooling", [x], x[:, :, ::2, ::2], told)


@case
def pooling_leaves_out_a_window_along_one_axis() -> Case:
    x = image(1, 2, 4, 6)
    told = {"kernel": (1, 2), "strides": (2, 3), "pool-method": "max", "rounding_type": "ceil"}
    expected = np.maximum(x[:, :, ::2, ::3], x[:, :, ::2, 1::3])
    return one("Pooling", [x], expected, told | {"kernel": (1, 2)})


@case
def pooling_means_without_pads() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "pool-method": "avg"}
    told |= {"exclude-pad": "true", "rounding_type": "floor"}
    return one("Pooling", [X], pooled(X, 3, 2, 1, (3, 3), "exclude"), told)


@case
def pooling_means_with_pads() -> Case:
    told = {"kernel": (3, 3), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "pool-method": "avg"}
    told |= {"exclude-pad": "false", "rounding_type": "floor"}
    return one("Pooling", [X], pooled(X, 3, 2, 1, (3, 3), "include"), told)


@case
def pooling_in_the_spelling_of_caffe() -> Case:
    told = {"kernel_size": 2, "stride": 2, "pool": "caffe.PoolingParameter.MAX"}
    return one("Pooling", [X], pooled(X, 2, 2, 0, (3, 3), "max"), told, version=2)


@case
def pooling_with_auto_pad() -> Case:
    told = {"kernel": (1, 1), "strides": (2, 2), "pool-method": "max", "auto_pad": "same_upper"}
    x = image(1, 2, 4, 6)
    return one("Pooling", [x], x[:, :, ::2, ::2], told)


@case
def fully_connected_flattens() -> Case:
    w, b = image(7, 120, seed=1), image(7, seed=2)
    return one("FullyConnected", [X], X.reshape(1, -1) @ w.T + b, {"out-size": 7}, {"weights": w, "biases": b})


@case
def fully_connected_of_the_oldest_files() -> Case:
    w = image(7, 120, seed=1)
    return one(
        "InnerProduct", [X], X.reshape(1, -1) @ w.T, {"out-size": 7}, {"weights": w}, version=2, element="fc_data"
    )


@case
def fully_connected_of_sequences() -> Case:
    x, w = image(2, 3, 4), image(5, 4, seed=1)
    return one("FullyConnected", [x], x @ w.T, {"out-size": 5}, {"weights": w})


@case
def gemm() -> Case:
    a, b, c = image(2, 3, 4), image(2, 5, 4, seed=1), image(2, 3, 5, seed=2)
    told = {"alpha": 2.0, "beta": 0.5, "transpose_a": "False", "transpose_b": "True"}
    return one("Gemm", [a, b, c], 2 * (a @ b.transpose(0, 2, 1)) + 0.5 * c, told)


@case
def scale_shift() -> Case:
    w, b = image(4, seed=1), image(4, seed=2)
    expected = X * w[:, None, None] + b[:, None, None]
    return one("ScaleShift", [X], expected, {"broadcast": 0}, {"weights": w, "biases": b})


@case
def scale_shift_of_one_factor() -> Case:
    w = image(1, seed=1)
    return one("ScaleShift", [X], X * w, None, {"weights": w}, version=2)


@case
def batch_normalization() -> Case:
    variance, mean = np.abs(image(4, seed=1)) + 0.5, image(4, seed=2)
    expected = (X - mean[:, None, None]) / np.sqrt(variance + 0.01)[:, None, None]
    return one("BatchNormalization", [X], expected, {"epsilon": 0.01}, {"weights": variance, "biases": mean})


@case
def eltwise_sum_with_coefficients() -> Case:
    y = image(1, 4, 5, 6, seed=1)
    told = {"operation": "sum", "coeff": "1.0,-0.5"}
    return one("Eltwise", [X, y], X - 0.5 * y, told)


@case
def eltwise_of_three() -> Case:
    y, z = image(1, 4, 5, 6, seed=1), image(1, 4, 5, 6, seed=2)
    return one("Eltwise", [X, y, z], X * y * z, {"operation": "prod"}, version=2, element="elementwise_data")


def _eltwise(operation: str, expected: Callable[[Array, Array], Array]) -> None:
    def made() -> Case:
        y = np.abs(image(1, 4, 5, 6, seed=1)) + 1
        x = np.abs(X) + (X > 0) if operation in ("pow", "floor_mod") else np.where(X > 1, y, X)
        return one("Eltwise", [x, y], expected(x, y).astype(np.float32), {"operation": operation})

    CASES[f"eltwise_{operation}"] = made


for _name, _function in {
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "sub": np.subtract,
    "div": np.divide,
    "pow": np.power,
    "squared_diff": lambda x, y: (x - y) ** 2,
    "floor_mod": np.mod,
    "mean": lambda x, y: (x + y) / 2,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": lambda x, y: (x != 0) & (y != 0),
    "logical_or": lambda x, y: (x != 0) | (y != 0),
    "logical_xor": lambda x, y: (x != 0) ^ (y != 0),
}.items():
    _eltwise(_name, _function)


@case
def power() -> Case:
    x = np.abs(X)
    return one("Power", [x], (1 + 2 * x) ** 1.5, {"power": 1.5, "scale": 2.0, "shift": 1.0})


@case
def power_that_changes_nothing() -> Case:
    return one("Power", [X], X, {"power": 1, "scale": 1, "shift": 0})


def _activation(type: str, data: dict[str, Any] | None, expected: Callable[[Array], Array], x: Array = X) -> None:
    name = f"activation_{type.lower()}_{len(CASES)}"
    CASES[name] = lambda: one(type, [x], np.asarray(expected(x), np.float32), data)
    lower = {"ReLU6": "relu6", "TanH": "tanh"}.get(type, type.lower())
    if type in ("ReLU", "Sigmoid", "TanH", "ELU", "Clamp", "ReLU6", "Exp"):
        CASES[f"{name}_named"] = lambda: one(
            "Activation", [x], np.asarray(expected(x), np.float32), {"type": lower, **(data or {})}
        )


_positive = np.abs(X) + 1
_small = np.tanh(X)
for _type, _data, _expected, _x in (
    ("ReLU", {"negative_slope": 0.0}, lambda x: np.maximum(x, 0), X),
    ("ReLU", {"negative_slope": 0.25}, lambda x: np.where(x > 0, x, x / 4), X),
    ("ReLU", None, lambda x: np.maximum(x, 0), X),
    ("ReLU6", {"n": 1.5}, lambda x: np.clip(x, 0, 1.5), X),
    ("ELU", {"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * (np.exp(x) - 1)), X),
    ("Clamp", {"min": -0.5, "max": 0.75}, lambda x: np.clip(x, -0.5, 0.75), X),
    ("Sigmoid", None, lambda x: 1 / (1 + np.exp(-x)), X),
    ("TanH", None, np.tanh, X),
    ("Exp", None, np.exp, X),
    ("Abs", None, np.abs, X),
    ("Ceil", None, np.ceil, X),
    ("Floor", None, np.floor, X),
    ("Log", None, np.log, _positive),
    ("Neg", None, np.negative, X),
    ("Reciprocal", None, lambda x: 1 / x, _positive),
    ("Sign", None, np.sign, X),
    ("Softplus", None, lambda x: np.log1p(np.exp(x)), X),
    ("Softsign", None, lambda x: x / (1 + np.abs(x)), X),
    ("Selu", None, lambda x: 1.05070102 * np.where(x > 0, x, 1.67326319 * (np.exp(x) - 1)), X),
    ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, lambda x: np.clip(0.25 * x + 0.5, 0, 1), X),
    ("Sin", None, np.sin, X),
    ("Cos", None, np.cos, X),
    ("Tan", None, np.tan, _small),
    ("Sinh", None, np.sinh, X),
    ("Cosh", None, np.cosh, X),
    ("Asin", None, np.arcsin, _small),
    ("Acos", None, np.arccos, _small),
    ("Atan", None, np.arctan, X),
    ("Asinh", None, np.arcsinh, X),
    ("Acosh", None, np.arccosh, _positive),
    ("Atanh", None, np.arctanh, _small),
    ("Not", None, lambda x: x == 0, np.round(X)),
    ("Copy", None, lambda x: x, X),
):
    _activation(_type, _data, _expected, _x)


@case
def prelu_of_channels() -> Case:
    slopes = image(4, seed=1)
    expected = np.where(X > 0, X, X * slopes[:, None, None])
    return one("PReLU", [X], expected, {"channel_shared": 0}, {"weights": slopes})


@case
def prelu_of_one_slope() -> Case:
    slopes = np.float32([0.25])
    return one("PReLU", [X], np.where(X > 0, X, X / 4), {"channel_shared": 1}, {"weights": slopes})


@case
def norm_across_channels() -> Case:
    x = image(1, 6, 3, 3)
    squares = np.stack([(x[:, max(c - 1, 0) : c + 2] ** 2).sum(1) for c in range(6)], 1)
    told = {"local-size": 3, "alpha": 0.5, "beta": 0.75, "k": 1, "region": "across"}
    return one("Norm", [x], x / (1 + 0.5 / 3 * squares) ** 0.75, told, version=2, element="norm_data")


@case
def normalize_of_places() -> Case:
    w = image(4, seed=1)
    expected = X / np.sqrt((X**2).sum(1, keepdims=True) + 0.1) * w[:, None, None]
    return one("Normalize", [X], expected, {"across_spatial": 0, "channel_shared": 0, "eps": 0.1}, {"weights": w})


@case
def normalize_of_everything() -> Case:
    w = image(1, seed=1)
    expected = X / np.sqrt((X**2).sum() + 0.1) * w
    return one("Normalize", [X], expected, {"across_spatial": 1, "channel_shared": 1, "eps": 0.1}, {"weights": w})


@case
def mvn_of_channels() -> Case:
    mean, variance = X.mean((2, 3), keepdims=True), X.var((2, 3), keepdims=True)
    told = {"across_channels": 0, "normalize_variance": 1, "eps": 0.01}
    return one("MVN", [X], (X - mean) / np.sqrt(variance + 0.01), told)


@case
def mvn_that_subtracts_alone() -> Case:
    told = {"across_channels": 1, "normalize_variance": 0, "eps": 0.01}
    return one("MVN", [X], X - X.mean((1, 2, 3), keepdims=True), told)


@case
def grn() -> Case:
    return one("GRN", [X], X / np.sqrt((X**2).sum(1, keepdims=True) + 0.5), {"bias": 0.5})


@case
def softmax() -> Case:
    x = image(2, 5)
    return one("SoftMax", [x], np.exp(x) / np.exp(x).sum(1, keepdims=True), {"axis": 1})


@case
def log_softmax() -> Case:
    x = image(2, 5)
    return one("LogSoftmax", [x], x - np.log(np.exp(x).sum(1, keepdims=True)), {"axis": 1})


@case
def concat() -> Case:
    y = image(1, 2, 5, 6, seed=1)
    return one("Concat", [X, y], np.concatenate([X, y], 1), {"axis": 1}, version=2, element="concat_data")


@case
def split_in_declared_parts() -> Case:
    return one("Split", [X], [X[:, :1], X[:, 1:4]], {"axis": 1})


@case
def slice_at_points() -> Case:
    return one("Slice", [X], [X[..., :2], X[..., 2:3], X[..., 3:]], {"axis": 3, "slice_point": (2, 3)}, version=2)


@case
def permute() -> Case:
    return one("Permute", [X], X.transpose(0, 2, 3, 1), {"order": (0, 2, 3, 1)})


@case
def crop_to_dims() -> Case:
    return one("Crop", [X], X[:, :, 1:4, 2:5], {"axis": (2, 3), "offset": (1, 2), "dim": (3, 3)})


@case
def crop_from_both_ends() -> Case:
    told = {"axis": (2, 3), "crop_begin": (1, 2), "crop_end": (1, 1)}
    return one("Crop", [X], X[:, :, 1:4, 2:5], told)


@case
def crop_like_another() -> Case:
    like = image(1, 4, 3, 2)
    return one("Crop", [X, like], X[:, :, 1:4, 2:4], {"axis": (2, 3), "offset": (1, 2)}, version=2)


@case
def tile() -> Case:
    return one("Tile", [X], np.tile(X, (1, 3, 1, 1)), {"axis": 1, "tiles": 3})


@case
def pad() -> Case:
    expected = np.pad(X, [(0, 0), (0, 0), (1, 0), (2, 1)], constant_values=1.5)
    told = {"pads_begin": (0, 0, 1, 2), "pads_end": (0, 0, 0, 1), "pad_mode": "constant", "pad_value": 1.5}
    return one("Pad", [X], expected, told)


@case
def reshape_with_dims() -> Case:
    return one("Reshape", [X], X.reshape(1, 4, 30), {"dim": (0, 4, -1)})


@case
def reshape_of_axes() -> Case:
    told = {"axis": 1, "num_axes": 2, "dim": (-1,)}
    return one("Reshape", [X], X.reshape(1, 20, 6), told, version=2, element="reshape_data")


@case
def reshape_as_declared() -> Case:
    return one("Reshape", [X], X.reshape(1, 20, 6), {"axis": 0, "num_axes": -1}, version=2)


@case
def reshape_with_an_input() -> Case:
    return one("Reshape", [X], X.reshape(1, 120), None, consts=[(np.int32([0, -1]), "I32")])


@case
def reshape_with_floats() -> Case:
    return one("Reshape", [X], X.reshape(1, 120), None, consts=[(np.float32([0, -1]), "FP32")], version=5)


@case
def reshape_with_integers_in_a_layer_of_floats() -> Case:
    dims = np.int32([1, -1, 3]).view(np.float32)
    return one("Reshape", [X], X.reshape(1, 40, 3), None, consts=[(dims, "FP32")], version=5)


@case
def flatten() -> Case:
    return one("Flatten", [X], X.reshape(1, 20, 6), {"axis": 1, "end_axis": 2})


@case
def flatten_to_the_end() -> Case:
    return one("Flatten", [X], X.reshape(1, 120), {"axis": 1})


@case
def squeeze() -> Case:
    x = image(2, 1, 3)
    return one("Squeeze", [x], x[:, 0], None, consts=[(np.int32([1]), "I32")])


@case
def unsqueeze() -> Case:
    x = image(2, 3)
    return one("Unsqueeze", [x], x[:, None], None, consts=[(np.int32([1]), "I32")])


@case
def strided_slice() -> Case:
    told = {"begin_mask": "0,1,1,1", "end_mask": "0,1,0,1", "shrink_axis_mask": "0,1,0,0"}
    bounds = [(np.int32(one), "I32") for one in ([0, 2, 1, 5], [0, 3, 0, 0], [1, 1, 2, -2])]
    return one("StridedSlice", [X], X[:, 2, 1::2, 5:0:-2], told, consts=bounds)


@case
def gather() -> Case:
    x = image(5, 3)
    return one("Gather", [x], x[[4, 0]], {"axis": 0}, consts=[(np.int32([4, 0]), "I32")])


@case
def depth_to_space() -> Case:
    expected = X.reshape(1, 2, 2, 1, 5, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 10, 12)
    return one("DepthToSpace", [X], expected, {"block_size": 2})


@case
def space_to_depth() -> Case:
    x = image(1, 2, 4, 6)
    expected = x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3)
    return one("SpaceToDepth", [x], expected, {"block_size": 2})


@case
def shuffle_channels() -> Case:
    expected = X.reshape(1, 2, 2, 5, 6).swapaxes(1, 2).reshape(X.shape)
    return one("ShuffleChannels", [X], expected, {"axis": 1, "group": 2})


@case
def reverse_sequence() -> Case:
    x = image(2, 4)
    expected = np.stack([np.r_[x[0, 2::-1], x[0, 3:]], x[1, ::-1]])
    told = {"seq_axis": 1, "batch_axis": 0}
    return one("ReverseSequence", [x], expected, told, consts=[(np.int32([3, 4]), "I32")])


@case
def one_hot() -> Case:
    indices = np.int32([2, 0])
    told = {"depth": 3, "on_value": 5.0, "off_value": -1.0, "axis": -1}
    return one("OneHot", [indices], np.where(np.eye(3)[indices], 5, -1).astype(np.float32), told, precisions=["FP32"])


@case
def broadcast() -> Case:
    x = image(1, 3)
    return one("Broadcast", [x], np.broadcast_to(x, (2, 3)).copy(), None, consts=[(np.int32([2, 3]), "I32")])


@case
def select() -> Case:
    condition, x, y = np.int32([[1, 0], [0, 1]]), image(2, 2), image(2, 2, seed=1)
    return one("Select", [condition, x, y], np.where(condition != 0, x, y), None)


@case
def scatter_update() -> Case:
    x, updates = image(4, 2), image(2, 2, seed=1)
    expected = x.copy()
    expected[[3, 0]] = updates
    file = OlderFile()
    data, new = file.input("in0", 4, 2), file.input("in1", 2, 2)
    file.layer("ScatterUpdate", [data, file.const(np.int32([3, 0]), "I32"), new], (4, 2), data={"axis": 0})
    return file, [x, updates], [expected]


def _reduced(type: str, expected: Callable[[Array], Array]) -> None:
    x = np.abs(X) + 0.5
    CASES[f"reduce_{type.lower()}"] = lambda: one(
        f"Reduce{type}", [x], expected(x), {"keep_dims": "False"}, consts=[(np.int32([1, -1]), "I32")]
    )


for _name, _function in {
    "Sum": lambda x: x.sum((1, 3)),
    "Mean": lambda x: x.mean((1, 3)),
    "Max": lambda x: x.max((1, 3)),
    "Min": lambda x: x.min((1, 3)),
    "Prod": lambda x: x.prod((1, 3)),
    "L1": lambda x: np.abs(x).sum((1, 3)),
    "L2": lambda x: np.sqrt((x**2).sum((1, 3))),
    "SumSquare": lambda x: (x**2).sum((1, 3)),
    "LogSum": lambda x: np.log(x.sum((1, 3))),
    "LogSumExp": lambda x: np.log(np.exp(x).sum((1, 3))),
    "And": lambda x: np.ones((1, 5), np.float32),
    "Or": lambda x: np.ones((1, 5), np.float32),
}.items():
    _reduced(_name, _function)


@case
def resample_to_the_nearest() -> Case:
    told = {"type": "caffe.ResampleParameter.NEAREST", "factor": 2.0, "antialias": 0}
    return one("Resample", [X], X.repeat(2, 2).repeat(2, 3), told)


@case
def upsampling() -> Case:
    return one("Upsampling", [X], X.repeat(3, 2).repeat(3, 3), {"scale": 3})


@case
def interp_keeps_the_corners() -> Case:
    def line(values: Array, size: int) -> Array:
        places = np.linspace(0, values.shape[-1] - 1, size)
        low = np.minimum(places.astype(int), values.shape[-1] - 2)
        return values[..., low] * (1 - (places - low)) + values[..., low + 1] * (places - low)

    expected = line(line(X, 11).swapaxes(2, 3), 7).swapaxes(2, 3).astype(np.float32)
    told = {"height": 7, "width": 11, "align_corners": 1, "pad_beg": 0, "pad_end": 0}
    return one("Interp", [X], expected, told)


@case
def interp_with_a_zoom_factor_as_caffe_counts() -> Case:
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3).repeat(2, 2)
    expected = np.arange(0, 2.25, 0.5, dtype=np.float32).reshape(1, 1, 1, 5).repeat(3, 2)
    return one("Interp", [x], expected, {"zoom_factor": 2, "pad_beg": 0, "pad_end": 0}, version=2)


@case
def arg_max_of_items() -> Case:
    x = image(2, 3, 4)
    order = np.argsort(-x.reshape(2, -1), 1)[:, :2]
    return one("ArgMax", [x], order[:, None].astype(np.float32), {"top_k": 2, "out_max_val": 0})


@case
def arg_max_with_values() -> Case:
    x = image(2, 3, 4)
    order = np.argsort(-x.reshape(2, -1), 1)[:, :2]
    values = np.take_along_axis(x.reshape(2, -1), order, 1)
    return one("ArgMax", [x], np.stack([order, values], 1).astype(np.float32), {"top_k": 2, "out_max_val": 1})


@case
def arg_max_along_an_axis() -> Case:
    return one("ArgMax", [X], X.argmax(1)[:, None].astype(np.float32), {"top_k": 1, "axis": 1, "out_max_val": 0})


@case
def arg_max_values_along_an_axis() -> Case:
    return one("ArgMax", [X], X.max(1)[:, None], {"top_k": 1, "axis": 1, "out_max_val": 1})


@case
def topk() -> Case:
    x = image(2, 5)
    order = np.argsort(-x, 1)[:, :3]
    expected = [np.take_along_axis(x, order, 1), order.astype(np.int32)]
    told = {"axis": 1, "mode": "max", "sort": "value"}
    return one("TopK", [x], expected, told, consts=[(np.int32([3]), "I32")], precisions=["FP32", "I32"], version=7)


@case
def bucketize() -> Case:
    x, bounds = np.float32([[-1, 0.5, 1, 3]]), np.float32([0, 1, 2])
    expected = np.searchsorted(bounds, x).astype(np.int32)
    told = {"with_right_bound": "True"}
    return one("Bucketize", [x], expected, told, consts=[(bounds, "FP32")], precisions=["I32"])


@case
def fake_quantize() -> Case:
    bounds = [(np.float32([one]).reshape(1, 1, 1, 1), "FP32") for one in (-1, 1, -2, 2)]
    expected = np.round((np.clip(X, -1, 1) + 1) / 2 * 4) / 4 * 4 - 2
    return one("FakeQuantize", [X], expected.astype(np.float32), {"levels": 5}, consts=bounds)


@case
def quantize_of_version_5() -> Case:
    bounds = [(np.float32([one]).reshape(1, 1, 1, 1), "FP32") for one in (-1, 1, -2, 2)]
    expected = np.round((np.clip(X, -1, 1) + 1) / 2 * 4) / 4 * 4 - 2
    return one("Quantize", [X], expected.astype(np.float32), {"levels": 5}, consts=bounds, version=5)


@case
def lstm_cell() -> Case:
    x, h, c = image(2, 3), image(2, 4, seed=1), image(2, 4, seed=2)
    w, b = image(16, 7, seed=3), image(16, seed=4)
    gates = np.concatenate([x, h], 1) @ w.T + b
    forget, enter, cell, leave = np.split(gates, 4, 1)
    new = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
    return one(
        "LSTMCell", [x, h, c], [sigmoid(leave) * np.tanh(new), new], {"hidden_size": 4}, {"weights": w, "biases": b}
    )


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _gru(x: Array, h: Array, w: Array, b: Array) -> Array:
    size = h.shape[1]
    both = np.concatenate([x, h], 1) @ w[: 2 * size].T + b[: 2 * size]
    update, reset = np.split(sigmoid(both), 2, 1)
    new = np.tanh(np.concatenate([x, reset * h], 1) @ w[2 * size :].T + b[2 * size :])
    return update * h + (1 - update) * new


@case
def gru_cell() -> Case:
    x, h, w, b = image(2, 3), image(2, 4, seed=1), image(12, 7, seed=3), image(12, seed=4)
    return one("GRUCell", [x, h], _gru(x, h, w, b), {"hidden_size": 4}, {"weights": w, "biases": b})


@case
def rnn_cell() -> Case:
    x, h, w, b = image(2, 3), image(2, 4, seed=1), image(4, 7, seed=3), image(4, seed=4)
    expected = np.maximum(np.concatenate([x, h], 1) @ w.T + b, 0)
    return one("RNNCell", [x, h], expected, {"hidden_size": 4, "activations": "relu"}, {"weights": w, "biases": b})


@case
def gru_sequence_backward() -> Case:
    x, h, w, b = image(2, 5, 3), image(2, 4, seed=1), image(12, 7, seed=3), image(12, seed=4)
    steps, state = np.zeros((2, 5, 4), np.float32), h
    for step in reversed(range(5)):
        state = steps[:, step] = _gru(x[:, step], state, w, b)
    told = {"hidden_size": 4, "direction": "Backward", "axis": 1}
    return one("GRUSequence", [x, h], [steps, steps[:, 0]], told, {"weights": w, "biases": b})


@case
def prior_box() -> Case:
    told = {"min_size": 2.0, "max_size": 8.0, "aspect_ratio": 4.0, "flip": 1, "clip": 0, "step": 4.0, "offset": 0.5}
    told |= {"variance": (0.1, 0.1, 0.2, 0.2)}
    feature, picture = image(1, 1, 2, 3), image(1, 3, 8, 12)
    boxes = []
    for row, column in product(range(2), range(3)):
        x, y = (column + 0.5) * 4, (row + 0.5) * 4
        for width, height in ((2, 2), (4, 4), (4, 1), (1, 4)):
            boxes += [(x - width / 2) / 12, (y - height / 2) / 8, (x + width / 2) / 12, (y + height / 2) / 8]
    expected = np.float32([[boxes, np.tile([0.1, 0.1, 0.2, 0.2], 24)]])
    return one("PriorBox", [feature, picture], expected, told)


@case
def prior_box_clustered() -> Case:
    told = {"width": (2.0, 6.0), "height": (4.0, 1.0), "clip": 1, "step": 4.0, "offset": 0.5, "variance": 0.1}
    told |= {"img_h": 0, "img_w": 0, "step_h": 0.0, "step_w": 0.0}
    told["variance"] = (0.1, 0.1, 0.2, 0.2)
    feature, picture = image(1, 1, 2, 3), image(1, 3, 8, 12)
    boxes = []
    for row, column in product(range(2), range(3)):
        x, y = (column + 0.5) * 4, (row + 0.5) * 4
        for width, height in ((2, 4), (6, 1)):
            boxes += [(x - width / 2) / 12, (y - height / 2) / 8, (x + width / 2) / 12, (y + height / 2) / 8]
    expected = np.float32([[np.clip(boxes, 0, 1), np.tile([0.1, 0.1, 0.2, 0.2], 12)]])
    return one("PriorBoxClustered", [feature, picture], expected, told)


@case
def detection_output() -> Case:
    # Two priors far from each other, whose boxes are the priors themselves.
    priors = np.float32([[[0.1, 0.1, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9], [0.1, 0.1, 0.2, 0.2] * 2]])
    scores = np.float32([[0.1, 0.9, 0.4, 0.6]])
    told = {"num_classes": 2, "share_location": 1, "background_label_id": 0, "nms_threshold": 0.45, "keep_top_k": 3}
    told |= {"code_type": "caffe.PriorBoxParameter.CENTER_SIZE", "confidence_threshold": 0.2, "top_k": 10}
    told |= {"variance_encoded_in_target": 0, "input_height": 1, "input_width": 1, "normalized": 1, "eta": 1.0}
    expected = np.zeros((1, 1, 3, 7), np.float32)
    expected[0, 0, :2] = [[0, 1, 0.9, 0.1, 0.1, 0.3, 0.3], [0, 1, 0.6, 0.6, 0.6, 0.9, 0.9]]
    expected[0, 0, 2, 0] = -1
    return one("DetectionOutput", [np.zeros((1, 8), np.float32), scores, priors], expected, told)


@case
def region_yolo() -> Case:
    x = image(1, 14, 2, 2)
    told = {
        "axis": 1,
        "end_axis": 3,
        "coords": 4,
        "classes": 2,
        "num": 2,
        "do_softmax": 0,
        "mask": (0, 1),
        "anchors": 1.0,
    }
    grid = x.reshape(1, 2, 7, 2, 2)
    expected = np.concatenate([sigmoid(grid[:, :, :2]), grid[:, :, 2:4], sigmoid(grid[:, :, 4:])], 2)
    return one("RegionYolo", [x], expected.reshape(x.shape), told)


@case
def reorg_yolo() -> Case:
    x = image(1, 8, 4, 6)
    flat, expected = x.reshape(-1), np.zeros(x.size, np.float32)
    for c, y, z in product(range(8), range(4), range(6)):
        channel, block = c % 2, c // 2
        source = (channel * 8 + 2 * y + block // 2) * 12 + 2 * z + block % 2
        expected[(c * 4 + y) * 6 + z] = flat[source]
    return one("ReorgYolo", [x], expected.reshape(1, 32, 2, 3), {"stride": 2})


@case
def ctc_greedy_decoder() -> Case:
    x = np.zeros((5, 1, 3), np.float32)
    x[np.arange(5), 0, [0, 0, 2, 1, 1]] = 1
    expected = np.float32([0, 1, -1, -1, -1]).reshape(1, 5, 1, 1)
    return one("CTCGreedyDecoder", [x, np.ones((5, 1), np.float32)], expected, {"ctc_merge_repeated": 1})


@case
def roi_pooling() -> Case:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    rois = np.float32([[0, 0, 0, 3, 3]])
    told = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0, "method": "max"}
    return one("ROIPooling", [x, rois], np.float32([5, 7, 13, 15]).reshape(1, 1, 2, 2), told)


@case
def psroi_pooling() -> Case:
    x = np.repeat(np.arange(4, dtype=np.float32), 16).reshape(1, 4, 4, 4)
    told = {"output_dim": 1, "group_size": 2, "spatial_scale": 1.0, "mode": "average"}
    rois = np.float32([[0, 0, 0, 3, 3]])
    return one("PSROIPooling", [x, rois], np.float32([0, 1, 2, 3]).reshape(1, 1, 2, 2), told)


@case
def non_max_suppression() -> Case:
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]]])
    scores = np.float32([[[0.9, 0.8, 0.7]]])
    limits = [(np.int32([3]), "I32"), (np.float32([0.5]), "FP32"), (np.float32([0.0]), "FP32")]
    expected = np.int32([[0, 0, 0], [0, 0, 2], [-1, -1, -1]])
    told = {"center_point_box": 0, "sort_result_descending": 1}
    return one("NonMaxSuppression", [boxes, scores], expected, told, consts=limits, precisions=["I32"], version=7)


@case
def a_network_of_fp16() -> Case:
    w = image(3, 4, 1, 1).astype(np.float16).astype(np.float32)
    expected = np.einsum("nchw,oc->nohw", X, w[..., 0, 0])
    file = OlderFile(version=4, precision="FP16")
    x = file.input("in0", *X.shape)
    told = {"kernel": (1, 1), "output": 3, "group": 1}
    file.layer("Convolution", [x], expected.shape, data=told, blobs={"weights": w})
    return file, [X], [expected]


@case
def ports_without_ids() -> Case:
    return one("Tile", [X], np.tile(X, (1, 2, 1, 1)), {"axis": 1, "tiles": 2}, version=2, has_port_ids=False)


@case
def mean_values() -> Case:
    made, inputs, (expected,) = one("ReLU", [image(1, 3, 2, 2) * 100], np.zeros((1, 3, 2, 2), np.float32), None)
    channels = "".join(f'<channel id="{c}"><mean value="{10 * c}"/></channel>' for c in (0, 2, 1))
    made.extra = f'<pre-process reference-layer-name="in0" mean-precision="FP32">{channels}</pre-process>'
    expected = np.maximum(inputs[0] - np.float32([0, 10, 20])[:, None, None], 0)
    return made, inputs, [expected]


@case
def mean_values_and_scales() -> Case:
    made, inputs, (expected,) = one("ReLU", [image(1, 3, 2, 2) * 100], np.zeros((1, 3, 2, 2), np.float32), None)
    channels = "".join(f'<channel id="{c}"><mean value="5"/><scale value="{c + 1}"/></channel>' for c in range(3))
    made.extra = f"<pre-process>{channels}</pre-process>"
    expected = np.maximum((inputs[0] - 5) / np.float32([1, 2, 3])[:, None, None], 0)
    return made, inputs, [expected]


@case
def mean_images() -> Case:
    made, inputs, _ = one("ReLU", [image(1, 3, 2, 2)], np.zeros((1, 3, 2, 2), np.float32), None)
    means = image(3, 2, 2, seed=1)
    made.stored = means.tobytes()
    channels = "".join(f'<channel id="{c}"><mean offset="{16 * c}" size="16"/></channel>' for c in range(3))
    made.extra = f'<pre-process mean-precision="FP32">{channels}</pre-process>'
    return made, inputs, [np.maximum(inputs[0] - means, 0)]


def _elementwise(
    type: str, expected: Callable[[Array], Array], data: dict[str, Any] | None = None, x: Array = X
) -> None:
    CASES[f"{type.lower()}_of_every_element"] = lambda: one(type, [x], np.asarray(expected(x), np.float32), data)


for _type, _expected, _data, _x in (
    ("Ceiling", np.ceil, None, X),
    ("Logistic", lambda x: 1 / (1 + np.exp(-x)), None, X),
    ("Sqrt", np.sqrt, None, _positive),
    ("Erf", np.vectorize(erf), None, X),
    ("Gelu", lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2, None, X),
    ("Swish", lambda x: x / (1 + np.exp(-2 * x)), {"alpha": 2.0}, X),
    ("HSwish", lambda x: x * np.clip(x + 3, 0, 6) / 6, None, X),
    ("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), None, X),
):
    _elementwise(_type, _expected, _data, _x)


@case
def convert() -> Case:
    return one("Convert", [X * 3], (X * 3).astype(np.int32), {"precision": "I32"}, precisions=["I32"], version=7)


@case
def mat_mul() -> Case:
    a, b = image(2, 3), image(3, 4, seed=1)
    return one("MatMul", [a, b], a @ b)


@case
def lrn_within_a_channel() -> Case:
    padded = np.pad(X**2, [(0, 0), (0, 0), (1, 1), (1, 1)])
    squares = sum(padded[:, :, i : i + 5, j : j + 6] for i in range(3) for j in range(3))
    told = {"local-size": 3, "alpha": 0.5, "beta": 0.75, "k": 1, "region": "same"}
    return one("LRN", [X], (X / (1 + 0.5 / 9 * squares) ** 0.75).astype(np.float32), told)


@case
def shape_of() -> Case:
    return one("ShapeOf", [X], np.int32(X.shape), precisions=["I32"], version=7)


@case
def shape_of_an_older_name() -> Case:
    return one("Shape", [X], np.int32(X.shape), precisions=["I32"])


@case
def expand_dims() -> Case:
    return one("ExpandDims", [X], X[:, None], {"axis": 1})


@case
def expand() -> Case:
    x = image(1, 3)
    return one("Expand", [x], np.broadcast_to(x, (2, 3)).copy())


@case
def fill() -> Case:
    x = image(1)
    file = OlderFile()
    value = file.input("in0", 1)
    file.layer("Fill", [file.const(np.int32([2, 3]), "I32"), value], (2, 3))
    return file, [x], [np.full((2, 3), x[0])]


@case
def range_of_integers() -> Case:
    file = OlderFile()
    ends = [file.const(np.int32([one]), "I32") for one in (1, 8, 3)]
    numbers = file.layer("Range", ends, (3,), precision="I32")
    x = file.input("in0", 3)
    file.layer("Eltwise", [x, *numbers], (3,), data={"operation": "mul"})
    return file, [image(3)], [image(3) * np.float32([1, 4, 7])]


@case
def gather_tree() -> Case:
    # One beam of three steps, whose parents all are itself: the steps up to the first end.
    steps, parents = np.int32([[[5]], [[2]], [[7]]]), np.zeros((3, 1, 1), np.int32)
    lengths = [(np.int32([3]), "I32"), (np.int32([2]), "I32")]
    expected = np.int32([[[5]], [[2]], [[2]]])
    return one("GatherTree", [steps, parents], expected, consts=lengths, precisions=["I32"], precision="I32")


@case
def lstm_sequence_with_time_first() -> Case:
    x, h, c = image(5, 2, 3), image(2, 4, seed=1), image(2, 4, seed=2)
    w, b = image(16, 7, seed=3), image(16, seed=4)
    steps = np.zeros((5, 2, 4), np.float32)
    state, cell = h, c
    for step in range(5):
        forget, enter, new, leave = np.split(np.concatenate([x[step], state], 1) @ w.T + b, 4, 1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = steps[step] = sigmoid(leave) * np.tanh(cell)
    told = {"hidden_size": 4, "direction": "Forward", "axis": 0}
    return one("LSTMSequence", [x, h, c], [steps, state, cell], told, {"weights": w, "biases": b})


@case
def rnn_sequence() -> Case:
    x, h, w, b = image(2, 5, 3), image(2, 4, seed=1), image(4, 7, seed=3), image(4, seed=4)
    steps, state = np.zeros((2, 5, 4), np.float32), h
    for step in range(5):
        state = steps[:, step] = np.tanh(np.concatenate([x[:, step], state], 1) @ w.T + b)
    told = {"hidden_size": 4, "direction": "Forward", "axis": 1}
    return one("RNNSequence", [x, h], [steps, state], told, {"weights": w, "biases": b})


@case
def deformable_convolution_without_offsets() -> Case:
    w = image(3, 4, 2, 2, seed=3)
    expected = convolved(X, w, (1, 1), (0, 0), (0, 0))
    offsets = np.zeros((1, 8, 4, 5), np.float32)
    told = {"kernel": (2, 2), "output": 3, "group": 1, "deformable_group": 1}
    return one("DeformableConvolution", [X, offsets], expected, told, {"weights": w})


@case
def binary_convolution() -> Case:
    # Bytes that are the same in both directions: OpenVINO's plugin takes the bits of a byte from the lowest on.
    x = np.where(image(1, 8, 3, 4) > 0, 1, 0).astype(np.float32)
    bits = np.array([[1, 0, 1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 0, 1, 0]])
    expected = np.einsum("nchw,oc->nohw", 2 * x - 1, 2 * bits - 1).astype(np.float32)
    told = {"kernel": (1, 1), "output": 2, "input": 8, "group": 1, "mode": "xnor-popcount", "pad_value": 0.0}
    return one("BinaryConvolution", [x], expected, told, {"weights": np.packbits(bits)})


def _one_anchor(type: str, data: dict[str, Any]) -> Case:
    """A single place of nine anchors; only the middle one, of 16 x 16 and ratio 1, is probable."""
    scores, deltas = np.zeros((1, 18, 1, 1), np.float32), np.zeros((1, 36, 1, 1), np.float32)
    scores[0, 9:, 0, 0] = 0.01
    scores[0, 12, 0, 0] = 0.9
    picture = np.float32([[64, 64, 1]])
    expected = np.float32([[0, 0, 0, 16, 16]])  # the corner is not moved back by one
    return one(type, [scores, deltas, picture], expected, data)


@case
def proposal() -> Case:
    told = {"base_size": 16, "feat_stride": 16, "min_size": 1, "pre_nms_topn": 1, "post_nms_topn": 1}
    return _one_anchor("Proposal", told | {"nms_thresh": 0.7, "ratio": (0.5, 1, 2), "scale": (1, 2, 4)})


@case
def simpler_nms() -> Case:
    told = {"feat_stride": 16, "min_bbox_size": 1, "pre_nms_topn": 1, "post_nms_topn": 1, "iou_threshold": 0.7}
    return _one_anchor("SimplerNMS", told | {"scale": (1, 2, 4), "cls_threshold": 0.5})
