"""Formats of compressed weights: arrays of floats as codes, scales and zero points.

Names, ranges and scales follow the documentation of NNCF's modes. Scales are f16, powers of two for the mx formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ir_exec.graph.weight_encodings import ENCODINGS, WeightEncoding
from ir_exec.types import Array, ElementType, convert

__all__ = ["FORMATS", "EncodedWeight", "encode", "split_into_groups"]

_STEPS = np.linspace(0.7, 1.1, 17, dtype=np.float32)
"""Factors that are tried on the scale that follows from the range."""


FORMATS: Mapping[str, WeightEncoding] = MappingProxyType(
    {
        name: ENCODINGS[name]
        for name in (
            *("int8_asym", "int8_sym", "int4_asym", "int4_sym"),
            *("nf4", "fp4", "mxfp4", "fp8_e4m3", "mxfp8_e4m3"),
        )
    }
)
"""The formats that `encode` writes, by name; `f16` is not included, because it has no scales."""


@dataclass(frozen=True)
class EncodedWeight:
    """A weight as (codes - zero) * scale: f32 arrays of numbers that `encoding` represents exactly.

    Attributes:
        shape: The shape of the weight; codes have another axis for groups.
        zero: None for a format without zero points.
        scale_type: f16, or f32 if f16 cannot represent the scales.
    """

    encoding: WeightEncoding
    shape: tuple[int, ...]
    codes: Array
    scale: Array
    zero: Array | None
    scale_type: ElementType
    group_size: int | None

    def expand(self) -> Array:
        """Return the weight that a reader gets, in f32."""
        codes = self.codes if self.zero is None else self.codes - self.zero
        return (codes * self.scale).reshape(self.shape)


def split_into_groups(array: Array, axes: Sequence[int], group_size: int | None) -> tuple[Array, tuple[int, ...]]:
    """Return an array with its last axis of `axes` split into groups, and the axes that share a scale."""
    if group_size is None:
        return array, tuple(axes)
    axis = axes[-1]
    count = array.shape[axis] // group_size
    return array.reshape(*array.shape[:axis], count, group_size, *array.shape[axis + 1 :]), (axis + 1,)


def encode(
    weight: Array,
    axes: Sequence[int],
    encoding: WeightEncoding,
    group_size: int | None = None,
    importance: Array | None = None,
) -> EncodedWeight:
    """Return a weight in a format.

    Args:
        weight: Finite f32 numbers.
            axes: The axes whose elements share a scale, without groups.
        encoding: The format.
        group_size: Elements of the last of `axes` that share a scale; it divides the length of the axis.
            importance: Weight of the errors of each element, broadcast to the weight. With it, the scales minimize the
                weighted squared error among several; without it, the range of a group determines its scale.
    """
    data, shared = split_into_groups(weight, axes, group_size)
    scale, zero = _of_range(data, shared, encoding)
    if importance is not None and encoding.scale_type is ElementType.f16:
        weights, _ = split_into_groups(np.array(np.broadcast_to(importance, weight.shape)), axes, group_size)
        scale = _of_least_error(data, shared, encoding, scale, zero, weights)
    element_type = encoding.scale_type
    if element_type is ElementType.f16 and not _fits_f16(scale):
        element_type = ElementType.f32
    scale = _round_to(scale, element_type)
    codes = _codes(data, scale, zero, encoding)
    return EncodedWeight(encoding, weight.shape, codes, scale, zero, element_type, group_size)


def _of_range(data: Array, shared: tuple[int, ...], encoding: WeightEncoding) -> tuple[Array, Array | None]:
    """Return the scales, and zero points, from the least and greatest element of each group."""
    low, high = data.min(axis=shared, keepdims=True), data.max(axis=shared, keepdims=True)
    if encoding.has_zero:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        scale = (high - low) / np.float32(encoding.greatest)
        scale = np.where(scale == 0, np.float32(1), scale)
        return scale, np.clip(np.rint(-low / scale), 0, encoding.greatest).astype(np.float32)
    most = np.maximum(-low, high)
    if encoding.element_type.is_integer:
        # The scale is signed: the greatest magnitude becomes the lowest code, which has no negative counterpart.
        most = np.where(-low >= high, most, -most)
    scale = most / np.float32(encoding.greatest)
    if encoding.scale_type is ElementType.f8e8m0:
        with np.errstate(divide="ignore"):
            scale = np.exp2(np.clip(np.ceil(np.log2(scale)), -127, 127))
    return np.where(scale == 0, np.float32(1), scale).astype(np.float32), None


def _of_least_error(
    data: Array,
    shared: tuple[int, ...],
    encoding: WeightEncoding,
    first: Array,
    zero: Array | None,
    importance: Array,
) -> Array:
    best, least = first, np.full(first.shape, np.inf, np.float64)
    for factor in _STEPS:
        for scale in _candidate_scales(data, shared, encoding, first * factor, zero, importance):
            rounded = _round_to(scale, ElementType.f16)
            rounded = np.where(rounded == 0, scale, rounded)
            restored = _numbers(_codes(data, rounded, zero, encoding), zero) * rounded
            error = (importance * (data - restored) ** 2).sum(axis=shared, keepdims=True, dtype=np.float64)
            best, least = np.where(error < least, scale, best), np.minimum(error, least)
    return np.asarray(best, np.float32)


def _candidate_scales(
    data: Array,
    shared: tuple[int, ...],
    encoding: WeightEncoding,
    scale: Array,
    zero: Array | None,
    importance: Array,
) -> list[Array]:
    """Return a scale, and the optimal scale for its codes."""
    numbers = _numbers(_codes(data, scale, zero, encoding), zero)
    product = (importance * data * numbers).sum(axis=shared, keepdims=True, dtype=np.float64)
    square = (importance * numbers**2).sum(axis=shared, keepdims=True, dtype=np.float64)
    with np.errstate(all="ignore"):
        better = np.where(square > 0, product / square, scale).astype(np.float32)
    return [scale, np.where(better == 0, scale, better)]


def _numbers(codes: Array, zero: Array | None) -> Array:
    return codes if zero is None else codes - zero


def _codes(data: Array, scale: Array, zero: Array | None, encoding: WeightEncoding) -> Array:
    element_type = encoding.element_type
    numbers = data / scale
    if not element_type.is_integer:
        ends = np.float32(encoding.greatest)
        return convert(convert(np.clip(numbers, -ends, ends), element_type), ElementType.f32)
    low, high = (
        (-(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1)
        if element_type.is_signed
        else (0, 2**element_type.bits - 1)
    )
    return np.clip(np.rint(numbers if zero is None else numbers + zero), low, high).astype(np.float32)


def _round_to(array: Array, element_type: ElementType) -> Array:
    with np.errstate(over="ignore"):
        return convert(convert(array, element_type), ElementType.f32)


_COARSE = 2.0**-9


def _fits_f16(scale: Array) -> bool:
    """Return True if f16 represents every scale accurately: none is infinite, zero or subnormal."""
    rounded = _round_to(scale, ElementType.f16)
    with np.errstate(all="ignore"):
        return bool((np.abs(rounded - scale) <= _COARSE * np.abs(scale)).all())
