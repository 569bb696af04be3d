"""Magnitudes of the terms of a layer's sums, for terms that may cancel.

The rounding error of a sum is relative to its largest terms: if 1 and -1 cancel, the error is relative to 1, however
small the result is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ir_exec.debug.values.facts import as_numbers
from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.ops.base.dims import axes_of
from ir_exec.ops.base.registry import canonical
from ir_exec.types import Array, ElementType

__all__ = ["cancelling_terms"]


def cancelling_terms(node: Node, inputs: Sequence[Array]) -> Array | None:
    """Return the sum of the magnitudes of the terms of each element of the first output, in f64.

    Sums that are not finite are returned as 0.

    Returns:
        None for layers without sums that may cancel.
    """
    magnitudes = _SUMS_OF.get(canonical(node.type))
    if magnitudes is None or node.op is None or not inputs or not ElementType.of(inputs[0]).is_float:
        return None
    wide = [as_numbers(array) if ElementType.of(array).is_float else array for array in inputs]
    try:
        with np.errstate(all="ignore"):
            found: Array = magnitudes(node.op, wide)
    except (IRError, ValueError):
        return None  # kernels for specific types reject f64
    return np.where(np.isfinite(found), found, 0.0)


def _linear(*positions: int) -> Callable[[Any, list[Array]], Array]:
    """Return the magnitudes for layers that are linear in these inputs; the last position may be absent."""

    def magnitudes(op: Any, inputs: list[Array]) -> Array:
        taken = [np.abs(array) if position in positions else array for position, array in enumerate(inputs)]
        result = op.evaluate(*taken)
        return np.asarray(result[0] if isinstance(result, tuple) else result)

    return magnitudes


def _difference(op: Any, inputs: list[Array]) -> Array:
    return np.asarray(op.evaluate(np.abs(inputs[0]), -np.abs(inputs[1])))


def _batch_norm(op: Any, inputs: list[Array]) -> Array:
    taken = [
        -np.abs(array) if port.name == "mean" else np.abs(array)
        for port, array in zip(type(op).inputs, inputs, strict=True)
    ]
    return np.asarray(op.evaluate(*taken))


def _mvn(op: Any, inputs: list[Array]) -> Array:
    data = inputs[0]
    axes = axes_of(inputs[1], data.ndim) if len(inputs) > 1 else op._axes(data.ndim)
    if not op.normalize_variance:
        return np.asarray(np.abs(data) + np.abs(data).mean(axes, keepdims=True))
    return _normalized(data, tuple(axes), op.eps, getattr(op, "eps_mode", "inside_sqrt"))


def _group_norm(op: Any, inputs: list[Array]) -> Array:
    data, scale, bias = inputs
    groups = data.reshape(len(data), op.num_groups, -1)
    found = _normalized(groups, (2,), op.epsilon, "inside_sqrt").reshape(data.shape)
    of_channels = (-1, *[1] * (data.ndim - 2))
    return np.asarray(found * np.abs(scale).reshape(of_channels) + np.abs(bias).reshape(of_channels))


def _normalized(data: Array, axes: tuple[int, ...], eps: float, eps_mode: str) -> Array:
    variance = data.var(axes, keepdims=True)
    deviation = np.sqrt(variance + eps) if eps_mode == "inside_sqrt" else np.sqrt(variance) + eps
    magnitudes = np.abs(data)
    return np.asarray((magnitudes + magnitudes.mean(axes, keepdims=True)) / deviation)


def _argument(op: Any, inputs: list[Array]) -> Array:
    return np.abs(inputs[0])


_SUMS_OF: Mapping[str, Callable[[Any, list[Array]], Array]] = MappingProxyType(
    {
        "Add": _linear(0, 1),
        "Subtract": _difference,
        "ReduceSum": _linear(0),
        "ReduceMean": _linear(0),
        "CumSum": _linear(0),
        "AvgPool": _linear(0),
        "AdaptiveAvgPool": _linear(0),
        "Interpolate": _linear(0),
        "GridSample": _linear(0),
        "ROIAlign": _linear(0),
        "MatMul": _linear(0, 1),
        "Convolution": _linear(0, 1),
        "GroupConvolution": _linear(0, 1),
        "ConvolutionBackpropData": _linear(0, 1),
        "GroupConvolutionBackpropData": _linear(0, 1),
        "DeformableConvolution": _linear(0, 2),
        "Einsum": _linear(*range(16)),
        "EmbeddingBagPackedSum": _linear(0, 2),
        "EmbeddingBagPacked": _linear(0, 2),
        "EmbeddingBagOffsetsSum": _linear(0, 4),
        "EmbeddingBagOffsets": _linear(0, 4),
        "EmbeddingSegmentsSum": _linear(0, 5),
        "ScatterElementsUpdate": _linear(0, 2),
        "ScatterNDUpdate": _linear(0, 2),
        "ScaledDotProductAttention": _linear(2),
        "BatchNormInference": _batch_norm,
        "MVN": _mvn,
        "GroupNormalization": _group_norm,
        **dict.fromkeys(("Swish", "HSwish", "Mish", "Gelu", "SoftPlus", "Sin", "Cos"), _argument),
    }
)
