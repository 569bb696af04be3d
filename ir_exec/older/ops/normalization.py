"""Normalization: BatchNormalization, Norm (LRN), Normalize, MVN, GRN, SoftMax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.older.call import LayerCall
from ir_exec.older.registry import older_layer
from ir_exec.older.values import as_floats, axis_of, dims_of, rank_of, vector

__all__: list[str] = []


@older_layer("BatchNormalization")
def batch_normalization(layer: LayerCall, data: Value) -> Value:
    """(x - biases) / sqrt(weights + epsilon): the blobs are the variance and the mean of each channel."""
    data = as_floats(data)
    channels = dims_of(data)[1] if rank_of(data) > 1 else 1
    variance, mean = layer.blob("weights", channels), layer.blob("biases", channels)
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    return build.batch_norm_inference(data, ones, zeros, mean, variance, layer.number("epsilon"))


@older_layer("Norm", "LRN")
def norm(layer: LayerCall, data: Value) -> Value:
    """x / (k + alpha / size * sum of squares) ** beta; the sum is over channels, or over windows of the image.

    Source: NormValidator, mkldnn_lrn_node.cpp: alpha is divided by the number of elements of a window.
    """
    data = as_floats(data)
    size = layer.integer("local_size", 0) or layer.integer("size", 1)
    across = layer.choice("region", {"across": True, "same": False}, "across")
    axes = [1] if across else list(range(2, rank_of(data)))
    attributes: dict[str, Any] = {"alpha": layer.number("alpha"), "beta": layer.number("beta"), "size": size}
    return build.lrn(data, vector(*axes), bias=layer.number("k", 1.0), **attributes)


@older_layer("Normalize")
def normalize(layer: LayerCall, data: Value) -> Value:
    """weights * x / sqrt(eps + sum of squares), over channels or over all elements.

    Source: normalize.cpp.
    """
    data = as_floats(data)
    rank = rank_of(data)
    axes = range(1, rank) if layer.flag("across_spatial", False) else [min(1, rank - 1)]
    eps = layer.number("eps")
    normal = build.normalize_l2(data, vector(*axes), eps=eps, eps_mode="add")
    if not layer.has_blob("weights"):
        return normal
    count = 1 if layer.flag("channel_shared", False) else dims_of(data)[min(1, rank - 1)]
    ones = (1,) * max(rank - 2, 0)
    return build.multiply(normal, layer.blob("weights", *(1,) * (rank > 1), count, *ones))


@older_layer("MVN")
def mvn(layer: LayerCall, data: Value) -> Value:
    """x - mean, divided by sqrt(variance + eps) if `normalize_variance` is set.

    Source: mkldnn_mvn_node.cpp.
    """
    data = as_floats(data)
    first = 1 if layer.flag("across_channels", False) else 2
    attributes: dict[str, Any] = {
        "eps": layer.number("eps", 1e-9),
        "normalize_variance": layer.flag("normalize_variance", True),
    }
    return build.mvn(data, vector(*range(first, rank_of(data))), eps_mode="inside_sqrt", **attributes)


@older_layer("GRN")
def grn(layer: LayerCall, data: Value) -> Value:
    """x / sqrt(bias + sum of squares of the channels of a position)."""
    return build.grn(as_floats(data), layer.number("bias", 0.0))


@older_layer("SoftMax")
def softmax(layer: LayerCall, data: Value) -> Value:
    """exp(x) divided by its sum along an axis."""
    return build.softmax(as_floats(data), axis=_softmax_axis(layer, data))


@older_layer("LogSoftmax")
def log_softmax(layer: LayerCall, data: Value) -> Value:
    """The logarithm of SoftMax."""
    return build.log_softmax(as_floats(data), axis=_softmax_axis(layer, data))


def _softmax_axis(layer: LayerCall, data: Value) -> int:
    axis = layer.integer("axis", 1)
    return axis_of(axis if axis or rank_of(data) else 0, data) if rank_of(data) > 1 else 0
