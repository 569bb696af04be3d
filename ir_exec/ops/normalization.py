"""Normalizations.

By a norm (GRN, NormalizeL2), by the neighbors of an element (LRN), by mean and variance (MVN, GroupNormalization,
BatchNormInference).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.precision import CALCULABLE_FLOAT, round_to, widen
from ir_exec.kernels.reduce import mean
from ir_exec.ops.base import Family, In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool, Float, Ints, Positive, at_least
from ir_exec.ops.base.dims import AXES, axes_of, distinct_axes
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import known_ints, merge_dims, require_least_rank, require_rank
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = [
    "GRN",
    "LRN",
    "MVN1",
    "MVN6",
    "BatchNormInference1",
    "BatchNormInference5",
    "GroupNormalization",
    "NormalizeL2",
]


@op("GRN", since=1)
class GRN(Op):
    """output = data / sqrt(the sum of its squares over all channels + bias).

    Specification: normalization/grn-1.

    Inputs:
        data: [batch, channels, ...] of rank 2, 3 or 4, any float type.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 for other ranks.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    bias: Float

    def infer(self, data: TensorType) -> TensorType:
        require_rank(data, (2, 3, 4), "data")
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(inputs[0].shape[1])

    def evaluate(self, data: Array) -> Array:
        return _divide_by_norm(data, (1,), self.bias, "add")


@op("NormalizeL2", since=1)
class NormalizeL2(Op):
    """output = data / sqrt(the sum of its squares along the axes, eps added to it or at least eps).

    Without axes every element except 0 becomes 1.

    Specification: normalization/normalize-l2-1.

    Inputs:
        data: Any shape, any float type.
        axes: A scalar or a vector of integers.

    Outputs:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are neither a scalar nor a vector, IR503 and IR701 for axes that data does not
            have.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("axes", types=AXES))
    redundant_attributes = "across_spatial channel_shared"
    arranging_inputs = ("axes",)

    eps: Float
    eps_mode: Annotated[Literal["add", "max"], LOWER]

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, (0, 1), "axes")
        _check_axes(data, axes)
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return _count_along(inputs[0], axes_of(inputs[1], inputs[0].ndim))

    def evaluate(self, data: Array, axes: Array) -> Array:
        if not axes.size:
            return np.asarray(data != 0).astype(data.dtype)
        return _divide_by_norm(data, axes_of(axes, data.ndim), self.eps, self.eps_mode)


def _count_along(data: Array, axes: tuple[int, ...]) -> int:
    """The number of elements of data along the axes."""
    return int(prod([data.shape[axis] for axis in axes]))


def _check_axes(data: TensorType, axes: TensorType) -> None:
    """Raise ShapeError if known axes are not axes of data."""
    values = known_ints(axes)
    if values is not None and data.rank is not None:
        distinct_axes(values, data.rank)


def _divide_by_norm(data: Array, axes: tuple[int, ...], eps: float, eps_mode: str) -> Array:
    """data divided by its L2 norm along the axes."""
    wide = widen(data)
    squares = np.sum(np.square(wide), axis=axes, keepdims=True)
    least = wide.dtype.type(eps)
    squares = squares + least if eps_mode == "add" else np.maximum(squares, least)
    return round_to(np.asarray(wide / np.sqrt(squares)), data.dtype)


@op("LRN", since=1)
class LRN(Op):
    """output = data / (bias + alpha / size**n * sum of the squares near the element)**beta, n the number of axes.

    The sum includes the element and all at most (size - 1) // 2 away along each of the axes.

    Specification: normalization/lrn-1, in which `size / 2` elements on each side count; as in OpenVINO, there is one
    less for even sizes. OpenVINO's CPU plugin supports only axis 1 or all axes after it, and truncates bias to an
    integer; this class does neither.

    Inputs:
        data: Any shape, any float type.
        axes: A vector of integers.

    Outputs:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are not a vector, IR503 and IR701 for axes that data does not have.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("axes", types=AXES))
    arranging_inputs = ("axes",)

    alpha: Float
    beta: Float
    bias: Float
    size: Positive

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, 1, "axes")
        _check_axes(data, axes)
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        data, axes = inputs
        longest = 2 * ((self.size - 1) // 2) + 1
        return int(prod([min(data.shape[axis], longest) for axis in axes_of(axes, data.ndim)]))

    def evaluate(self, data: Array, axes: Array) -> Array:
        window_axes = axes_of(axes, data.ndim)
        wide = widen(data)
        total = np.square(wide)
        for axis in window_axes:
            total = _sum_around(total, axis, (self.size - 1) // 2)
        total *= wide.dtype.type(self.alpha / float(self.size) ** len(window_axes))
        total += wide.dtype.type(self.bias)
        return round_to(np.asarray(wide / _power(total, self.beta)), data.dtype)


def _power(base: Array, exponent: float) -> Array:
    """The array to this power; the power of most models is computed by square roots, ten times faster."""
    if exponent != 0.75:
        return np.asarray(base ** base.dtype.type(exponent))
    root = np.sqrt(base)
    root *= np.sqrt(root)
    return root


def _sum_around(data: Array, axis: int, reach: int) -> Array:
    """The sums of the elements at most `reach` away along one axis."""
    total = data.copy()
    before = (slice(None),) * axis
    for shift in range(1, min(reach, data.shape[axis] - 1) + 1):
        ahead, behind = (*before, slice(shift, None)), (*before, slice(None, -shift))
        total[ahead] += data[behind]
        total[behind] += data[ahead]
    return total


@op("MVN", since=2)
class MVN1(Op):
    """output = data - mean, divided by sqrt(variance + eps) if `normalize_variance`.

    Mean and variance are taken along `reduction_axes`; without them, along all axes except the first
    (`across_channels`) or the first two.

    Specification: normalization/mvn-1. OpenVINO's CPU plugin only checks if `reduction_axes` contains axis 1; this
    class reduces the given axes.

    Inputs:
        data: Any shape, any float type.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR503 for reduction axes that data does not have.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    eps: Float
    normalize_variance: Bool
    across_channels: Bool = False
    reduction_axes: Ints = ()

    def infer(self, data: TensorType) -> TensorType:
        if data.rank is not None:
            self._axes(data.rank)
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return _count_along(inputs[0], self._axes(inputs[0].ndim))

    def evaluate(self, data: Array) -> Array:
        result, variance = _center(data, self._axes(data.ndim), self.normalize_variance)
        if variance is not None:
            result /= np.sqrt(variance + variance.dtype.type(self.eps))
        return round_to(result, data.dtype)

    def sum_magnitudes(self, inputs: Sequence[Array]) -> Array:
        data = inputs[0]
        return _sum_magnitudes(data, self._axes(data.ndim), self.eps if self.normalize_variance else None)

    def _axes(self, rank: int) -> tuple[int, ...]:
        if self.reduction_axes:
            return distinct_axes(self.reduction_axes, rank)
        return tuple(range(1 if self.across_channels else 2, rank))


@op("MVN", since=6)
class MVN6(Op):
    """output = data - mean, divided by the deviation if `normalize_variance`.

    Mean and variance are taken along `axes`. The deviation is sqrt(variance + eps) or sqrt(variance) + eps, according
    to `eps_mode`.

    Specification: normalization/mvn-6.

    Inputs:
        data: Any shape, any float type.
        axes: A vector of integers.

    Outputs:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for axes that are not a vector, IR503 for axes that data does not have, IR505 for more axes than
            data has.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("axes", types=AXES))
    arranging_inputs = ("axes",)

    eps: Float
    normalize_variance: Bool
    eps_mode: Annotated[Literal["inside_sqrt", "outside_sqrt"], LOWER]

    def infer(self, data: TensorType, axes: TensorType) -> TensorType:
        require_rank(axes, 1, "axes")
        if data.rank is not None and axes.shape.size.lo > data.rank:
            raise ShapeError(
                f"axes has {axes.shape.size} elements, data {data.shape} has {data.rank} axes", port="axes"
            )
        _check_axes(data, axes)
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return _count_along(inputs[0], axes_of(inputs[1], inputs[0].ndim))

    def evaluate(self, data: Array, axes: Array) -> Array:
        return self._normalize(axes_of(axes, data.ndim), data)

    def sum_magnitudes(self, inputs: Sequence[Array]) -> Array:
        data, axes = inputs
        eps = self.eps if self.normalize_variance else None
        return _sum_magnitudes(data, axes_of(axes, data.ndim), eps, self.eps_mode)

    def kernel(self, *types: TensorType, unread: frozenset[str] = frozenset()) -> Callable[..., Any]:
        axes = known_ints(types[1])
        if axes is None or types[0].rank is None:
            return self.evaluate
        return partial(self._normalize, distinct_axes(axes, types[0].rank))

    def _normalize(self, reduced: tuple[int, ...], data: Array, axes: Array | None = None) -> Array:
        result, variance = _center(data, reduced, self.normalize_variance)
        if variance is None:
            return round_to(result, data.dtype)
        eps = variance.dtype.type(self.eps)
        result /= np.sqrt(variance + eps) if self.eps_mode == "inside_sqrt" else np.sqrt(variance) + eps
        return round_to(result, data.dtype)


def _center(data: Array, axes: tuple[int, ...], normalize_variance: bool) -> tuple[Array, Array | None]:
    """The elements minus the mean of their slice, and the variance of each slice if `normalize_variance`."""
    wide = widen(data)
    centered = np.asarray(wide - mean(wide, axes))
    return centered, mean(np.square(centered), axes) if normalize_variance else None


def _sum_magnitudes(data: Array, axes: tuple[int, ...], eps: float | None, eps_mode: str = "inside_sqrt") -> Array:
    """The magnitudes of an element and of the mean of its slice, both divided by the deviation unless eps is None."""
    magnitudes = np.abs(data) + np.abs(data).mean(axes, keepdims=True)
    if eps is None:
        return np.asarray(magnitudes)
    variance = data.var(axes, keepdims=True)
    return np.asarray(magnitudes / (np.sqrt(variance + eps) if eps_mode == "inside_sqrt" else np.sqrt(variance) + eps))


@op("GroupNormalization", since=12)
class GroupNormalization(Op):
    """output = (data - mean) / sqrt(variance + epsilon) * scale + bias.

    Mean and variance are taken over a group of channels in one batch; scale and bias are per channel.

    Specification: normalization/group-normalization-12.

    Inputs:
        data: [batch, channels, ...], any float type.
        scale: [channels], any float types: as in OpenVINO, they may differ from the type of data.
        bias: Like `scale`.

    Outputs:
        output: Like data.

    Raises:
        IRError: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ or
            are not a multiple of num_groups.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("scale", types=CALCULABLE_FLOAT),
        In("bias", types=CALCULABLE_FLOAT),
    )

    num_groups: Positive
    epsilon: Float

    def infer(self, data: TensorType, scale: TensorType, bias: TensorType) -> TensorType:
        channels = _channels(data, scale=scale, bias=bias)
        if channels.is_static and (channels.lo % self.num_groups or channels.lo < self.num_groups):
            raise ShapeError(
                "data has",
                actual=channels,
                detail="channels",
                expected=f"a multiple of {self.num_groups}",
                reason="the number of groups",
                code=Code.dims_differ,
                port="data",
            )
        return data.without_values()

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(prod(inputs[0].shape[1:]) // self.num_groups)

    def sum_magnitudes(self, inputs: Sequence[Array]) -> Array:
        data, scale, bias = inputs
        groups = data.reshape(len(data), self.num_groups, -1)
        magnitudes = _sum_magnitudes(groups, (2,), self.epsilon).reshape(data.shape)
        return magnitudes * _by_channel(np.abs(scale), data.ndim) + _by_channel(np.abs(bias), data.ndim)

    def evaluate(self, data: Array, scale: Array, bias: Array) -> Array:
        batch = len(data)
        wide = widen(data)
        groups = wide.reshape(batch, self.num_groups, data.size // max(batch * self.num_groups, 1))
        result = groups - mean(groups, (2,))
        result /= np.sqrt(mean(np.square(result), (2,)) + wide.dtype.type(self.epsilon))
        result = result.reshape(data.shape)
        result *= _by_channel(widen(scale), data.ndim)
        result += _by_channel(widen(bias), data.ndim)
        return round_to(result, data.dtype)


class _BatchNorm(Family):
    """The base of both versions of BatchNormInference; see BatchNormInference5."""

    term_inputs = ("data", "gamma", "beta", "mean")
    subtracted_inputs = ("mean",)

    epsilon: Annotated[Float, at_least(0)]

    def infer_inputs(self, *, data: TensorType, **vectors: TensorType) -> TensorType:
        channels = _channels(data, **vectors)
        if data.shape.dims is None:
            return data.without_values()
        return data.with_shape(Shape([data.shape[0], channels, *data.shape[2:]]))

    def evaluate_inputs(self, *, data: Array, gamma: Array, beta: Array, mean: Array, variance: Array) -> Array:
        wide = widen(data)
        scale = widen(gamma) / np.sqrt(widen(variance) + wide.dtype.type(self.epsilon))
        result = wide - _by_channel(widen(mean), data.ndim)
        result *= _by_channel(scale, data.ndim)
        result += _by_channel(widen(beta), data.ndim)
        return round_to(result, data.dtype)


_VARIANCE = ValueRange(0.5, 2, "a variance", defined_above=0)


@op("BatchNormInference", since=5)
class BatchNormInference5(_BatchNorm):
    """output[b, c, ...] = (data[b, c, ...] - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c].

    Specification: normalization/batch-norm-inference-5.

    Inputs:
        data: [batch, channels, ...], any float type.
        gamma: [channels], of the same type.
        beta: Like `gamma`.
        mean: Like `gamma`.
        variance: Like `gamma`.

    Outputs:
        output: The shape and the type of data.

    Raises:
        IRError: IR501 for data of rank 0 or 1 and other inputs that are not vectors, IR502 if the channels differ.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("gamma", types=CALCULABLE_FLOAT, like="data"),
        In("beta", types=CALCULABLE_FLOAT, like="data"),
        In("mean", types=CALCULABLE_FLOAT, like="data"),
        In("variance", types=CALCULABLE_FLOAT, like="data", domain=_VARIANCE),
    )


@op("BatchNormInference", since=1)
class BatchNormInference1(_BatchNorm):
    """BatchNormInference-5 with gamma and beta before the data.

    Specification: normalization/batch-norm-inference-1, which lists data first; in files it is the third input.
    """

    inputs = (
        In("gamma", types=CALCULABLE_FLOAT),
        In("beta", types=CALCULABLE_FLOAT, like="gamma"),
        In("data", types=CALCULABLE_FLOAT, like="gamma"),
        In("mean", types=CALCULABLE_FLOAT, like="gamma"),
        In("variance", types=CALCULABLE_FLOAT, like="gamma", domain=_VARIANCE),
    )


def _channels(data: TensorType, **vectors: TensorType) -> Dim:
    """The number of channels, axis 1 of data and the length of each vector.

    Raises:
        ShapeError: If these numbers differ.
    """
    channels = Dim.any()
    if data.shape.dims is not None:
        require_least_rank(data, 2, "data")
        channels = data.shape[1]
    for name, vector in vectors.items():
        require_rank(vector, 1, name)
        if vector.shape.dims is not None:
            channels = merge_dims(channels, vector.shape[0], f"the channels of data and {name}", port=name)
    return channels


def _by_channel(vector: Array, rank: int) -> Array:
    """The vector shaped to broadcast along axis 1 of a tensor of this rank."""
    return vector.reshape(-1, *[1] * (rank - 2))
