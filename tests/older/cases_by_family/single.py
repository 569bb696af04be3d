"""A file of a single layer, with the values that it has to give, computed in NumPy without ir_exec."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ir_exec.types import Array
from tests.older.files import OlderFile, Port

Case = tuple[OlderFile, list[Array], list[Array]]


def image(*dims: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def convolve(
    x: Array, w: Array, strides: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...], dilation: int = 1
) -> Array:
    """Cross-correlation by loops; w is [output, input, height, width]."""
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(begin, end, strict=True)])
    reach = [(size - 1) * dilation + 1 for size in w.shape[2:]]
    sizes = [(n - k) // s + 1 for n, k, s in zip(padded.shape[2:], reach, strides, strict=True)]
    output = np.zeros((len(x), len(w), *sizes))
    for i, j in product(*map(range, sizes)):
        top, left = i * strides[0], j * strides[1]
        part = padded[:, :, top : top + reach[0] : dilation, left : left + reach[1] : dilation]
        output[:, :, i, j] = np.einsum("nchw,ochw->no", part, w)
    return output.astype(np.float32)


def pool(x: Array, kernel: int, stride: int, pad: int, sizes: tuple[int, int], how: str) -> Array:
    """The largest element or the mean of what a window and the image share, or the mean over a window with pads."""
    output = np.zeros((*x.shape[:2], *sizes), np.float32)
    height, width = x.shape[2:]
    for i, j in product(*map(range, sizes)):
        top, left = i * stride - pad, j * stride - pad
        part = x[:, :, max(top, 0) : top + kernel, max(left, 0) : left + kernel]
        if how == "max":
            output[:, :, i, j] = part.max((2, 3))
        elif how == "exclude":
            output[:, :, i, j] = part.mean((2, 3))
        else:
            # Elements past the pads do not count.
            rows = min(top + kernel, height + pad) - top
            columns = min(left + kernel, width + pad) - left
            output[:, :, i, j] = part.sum((2, 3)) / (rows * columns)
    return output


def single_layer(
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
    network = OlderFile(**file)
    outputs = expected if isinstance(expected, list) else [expected]
    ports: list[Port] = []
    for position, array in enumerate(inputs):
        precision = "I32" if array.dtype.kind == "i" else network.precision
        ports.append(network.input(f"in{position}", *array.shape, precision=precision))
    ports += [network.const(value, precision) for value, precision in consts or ()]
    network.layer(
        type, ports, *[output.shape for output in outputs], data=data, blobs=blobs, precisions=precisions or ()
    )
    return network, inputs, outputs


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    CASES[function.__name__] = function
    return function


X = image(1, 4, 5, 6)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))
