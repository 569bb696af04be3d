"""Convolution of bits: a byte holds eight channels, and unequal bits are counted in 64-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ir_exec.kernels.limits import check_time
from ir_exec.kernels.windows import SlidingAxis, copy_rows, covered_part, window_view
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["convolve_bits", "packed_filters"]


def convolve_bits(axes: Sequence[SlidingAxis], bits: Array, filters: Array, padding: bool) -> Array:
    """The number of equal bits of window and filter minus unequal ones: f32 [batch, outputs, count...].

    Args:
        bits: [batch, channels, spatial...], booleans.
        filters: Filters with the same number of channels, from `packed_filters`.
        padding: The value of every bit outside of the data.
    """
    covering = _covering(bits, axes, padding)
    elements = bits.shape[1] * prod([axis.kernel for axis in axes])
    counts = [axis.count for axis in axes]
    result = np.empty((len(bits), len(filters), prod(counts)), np.float32)
    for image, target in zip(covering, result, strict=True):
        _count_equal(_words_of_windows(image, axes, filters.shape[1]), filters, elements, target)
    return result.reshape(*result.shape[:2], *counts)


def packed_filters(filters: Array) -> Array:
    """Filters [outputs, channels, kernel...] of booleans as rows of u64 with their bits: [outputs, n]."""
    rows = _pack_bits(filters).reshape(len(filters), -1)
    words = np.zeros((len(filters), -(-rows.shape[1] // 8) * 8), np.uint8)
    words[:, : rows.shape[1]] = rows
    return words.view(np.uint64)


def _pack_bits(bits: Array) -> Array:
    """[n, channels, spatial...] as bytes [n, spatial..., channels / 8]; the padding bits of a byte are 0."""
    # Along any other axis NumPy is five times slower.
    return np.packbits(np.ascontiguousarray(np.moveaxis(bits, 1, -1)), axis=-1)


def _covering(bits: Array, axes: Sequence[SlidingAxis], padding: bool) -> Array:
    """The covered elements of the windows, eight channels in a byte: [batch, covered..., bytes]."""
    inside, target, shape = covered_part(axes)
    part = _pack_bits(bits[(..., *inside)])
    if part.shape[1:-1] == shape:
        return part
    channels = bits.shape[1]
    covering = np.empty((len(bits), *shape, part.shape[-1]), np.uint8)
    covering[...] = np.packbits(np.full(channels, padding))
    covering[(slice(None), *target)] = part
    return covering


def _words_of_windows(image: Array, axes: Sequence[SlidingAxis], words: int) -> Array:
    """The bits of every window of an image [covered..., bytes], in the order of a filter: [words, windows], u64."""
    nbytes, rank = image.shape[-1], len(axes)
    kernel, counts = [axis.kernel for axis in axes], [axis.count for axis in axes]
    rows = np.zeros((prod(counts), words * 8), np.uint8)
    if not (rows.size and nbytes):
        return rows.view(np.uint64).T
    element = np.dtype((np.void, nbytes))
    windows = window_view(np.ascontiguousarray(image).view(element)[..., 0], axes)
    target = rows[:, : prod(kernel) * nbytes].reshape(*counts, *kernel, nbytes).view(element)[..., 0]
    copy_rows(windows.transpose(*range(rank, 2 * rank), *range(rank)), target)
    return np.ascontiguousarray(rows.view(np.uint64).T)


def _count_equal(windows: Array, filters: Array, elements: int, result: Array) -> None:
    """Write equal bits minus unequal ones of windows [words, n] and filters [outputs, words] into [outputs, n]."""
    words, count = windows.shape
    # On one thread: a second one slows down calls of 10 us on words in the cache.
    step = max(thresholds.CHUNK_ELEMENTS // max(4 * count, 1), 1)
    for start in range(0, len(filters), step):
        check_time()
        some = filters[start : start + step]
        unequal = np.zeros((len(some), count), np.min_scalar_type(elements))
        differing, ones = np.empty(unequal.shape, np.uint64), np.empty(unequal.shape, np.uint8)
        for word in range(words):
            np.bitwise_xor(windows[word], some[:, word, np.newaxis], out=differing)
            np.bitwise_count(differing, out=ones)
            unequal += ones
        part = result[start : start + step]
        np.multiply(unequal, np.float32(-2), out=part)
        part += np.float32(elements)
