"""Transposed convolution: elements of the data, multiplied by filters, added where a window would read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.gemm.sharing import share_products
from ir_exec.kernels.parallel import Worker
from ir_exec.kernels.precision import accumulator, round_to, widen
from ir_exec.kernels.windows import Block, Scratch, SlidingAxis, block_sizes, placed_blocks
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array

__all__ = ["Deconvolver", "deconvolve"]

_Strand: TypeAlias = tuple[int, list[int], list[int]]
_Places: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]


class Deconvolver:
    """The transposed convolution for data and filters of these shapes; the result is in the type of data.

    Args:
        data: [batch, groups * C, spatial...].
        filters: [groups, C, O, kernel...]. One matrix product gives the terms of all elements of the kernel for a chunk
            of the data that fits the cache. The terms of each element of the kernel are then added at their places.
            Groups of one channel, whose matrices would have one column, need no such product.
    """

    def __init__(
        self, axes: Sequence[SlidingAxis], data: tuple[int, ...], filters: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        groups, channels, self._outputs = filters[:3]
        self._axes = tuple(axes)
        self._counts = [axis.count for axis in axes]
        self._kernel = filters[3:]
        self._grouped = (data[0], groups, channels, prod(self._counts))
        self._rows = (groups, channels, self._outputs * prod(self._kernel))
        self._result = (data[0], groups, self._outputs, *[axis.size for axis in axes])
        self._dtype = dtype
        self._are_tiles = all(
            axis.kernel == axis.stride
            and axis.dilation == 1
            and axis.pad == 0
            and axis.size == axis.count * axis.kernel
            for axis in axes
        )
        each = max(self._rows[2], 1)
        sizes = block_sizes(self._counts, max(thresholds.INTERMEDIATE_ELEMENTS // each, thresholds.LEAST_WINDOWS))
        pairs = thresholds.INTERMEDIATE_ELEMENTS // (each * max(prod(sizes), 1))
        self._parts = [
            (chosen, some_groups, [axis.part(windows) for axis, windows in zip(axes, block, strict=True)], block)
            for block, chosen, some_groups in placed_blocks((data[0], groups), self._counts, sizes, pairs)
        ]
        self._strands = [_strands_of(part) for _, _, part, _ in self._parts] if not self._are_tiles else []
        nanoseconds = prod(self._result) * (
            channels / machine().multiplications_a_nanosecond + thresholds.ELEMENT_NANOSECONDS
        )
        # Terms of the same elements are added by one thread.
        self._nanoseconds = nanoseconds if self._are_tiles else 0
        self._shifts = _Shifts(axes) if channels == 1 and not self._are_tiles else None

    def __call__(self, data: Array, filters: Array) -> Array:
        grouped = widen(data).reshape(self._grouped)
        rows = widen(filters).reshape(self._rows).swapaxes(1, 2)
        batch, groups = self._grouped[:2]
        outputs, spatial = self._outputs, self._result[3:]
        if self._shifts is not None and self._shifts.apply_to(grouped, rows):
            result = np.zeros(self._result, accumulator(self._dtype))
            images = grouped.reshape(batch, groups, *self._counts)
            self._shifts.add(images, rows.reshape(groups, outputs, *self._kernel), result)
        else:
            result = (np.empty if self._are_tiles else np.zeros)(self._result, accumulator(self._dtype))
            make_worker = self._worker(grouped, rows, result)
            share_products(len(self._parts), make_worker, nanoseconds=self._nanoseconds)
        return round_to(result.reshape(batch, groups * outputs, *spatial), self._dtype)

    def _worker(self, grouped: Array, rows: Array, result: Array) -> Callable[[], Worker]:
        def make_worker() -> Worker:
            scratch = Scratch(rows.dtype)

            def work(number: int) -> None:
                chosen, some_groups, part, block = self._parts[number]
                columns = grouped[chosen]
                products = scratch.array((*columns.shape[:2], rows.shape[1], columns.shape[3]))
                matrix_product(rows[some_groups], columns, products)
                counts = [axis.count for axis in part]
                products = products.reshape(*products.shape[:2], self._outputs, *self._kernel, *counts)
                if self._are_tiles:
                    _place_tiles(products, block, result[chosen[:2]])
                else:
                    _add_shifted(products, self._strands[number], result[chosen[:2]])

            return work

        return make_worker


def deconvolve(data: Array, filters: Array, axes: Sequence[SlidingAxis]) -> Array:
    """The transposed convolution, see `Deconvolver`."""
    return Deconvolver(axes, data.shape, filters.shape, data.dtype)(data, filters)


def _place_tiles(products: Array, block: Block, result: Array) -> None:
    """Write products [batch, groups, O, kernel..., count...] as tiles of result [batch, groups, O, size...]."""
    rank = len(block)
    kernel = products.shape[3 : 3 + rank]
    sizes = [size for pair in zip(result.shape[3:], kernel, strict=True) for size in (pair[0] // pair[1], pair[1])]
    # A view: splitting axes never needs a copy.
    tiles = result.reshape(*result.shape[:3], *sizes)
    order = [axis for number in range(rank) for axis in (3 + rank + number, 3 + number)]
    places = [part for windows in block for part in (windows, slice(None))]
    tiles[(slice(None),) * 3 + tuple(places)] = products.transpose(0, 1, 2, *order)


class _Placed(NamedTuple):
    """Elements of the kernel with terms of the same elements of the result.

    Attributes:
        lengths: The lengths of the sum along each axis.
        elements: The indices of the products and their range of the sum.
        places: The range of the sums inside the result, and its place there.
    """

    lengths: tuple[int, ...]
    elements: list[tuple[tuple[Any, ...], tuple[Any, ...]]]
    places: _Places


def _strands_of(axes: Sequence[SlidingAxis]) -> list[_Placed]:
    """Strands of the kernel: elements at multiples of the stride, which add to the same elements of the result."""
    everything = (slice(None),) * 3
    strands = []
    for strand in product(*[_strands(axis) for axis in axes]):
        lengths = tuple([axis.count + max(shifts) for axis, (_, _, shifts) in zip(axes, strand, strict=True)])
        places = _places(strand, axes, lengths)
        if places is None:
            continue
        elements = []
        for element in product(*[zip(elements, shifts, strict=True) for _, elements, shifts in strand]):
            onto = [slice(shift, shift + axis.count) for axis, (_, shift) in zip(axes, element, strict=True)]
            elements.append(((*everything, *[k for k, _ in element]), (*everything, *onto)))
        strands.append(_Placed(lengths, elements, places))
    return strands


def _add_shifted(products: Array, strands: Sequence[_Placed], result: Array) -> None:
    """Add products [batch, groups, O, kernel..., count...] to result [batch, groups, O, size...].

    The terms of a strand are summed in contiguous memory, and spread over the result once.
    """
    for strand in strands:
        if len(strand.elements) == 1 and strand.lengths == products.shape[-len(strand.lengths) :]:
            total = products[strand.elements[0][0]]
        else:
            total = np.zeros((*products.shape[:3], *strand.lengths), products.dtype)
            for chosen, onto in strand.elements:
                shifted = total[onto]
                np.add(shifted, products[chosen], shifted)
        target = result[strand.places[1]]
        np.add(target, total[strand.places[0]], target)


def _places(strand: Sequence[_Strand], axes: Sequence[SlidingAxis], lengths: Sequence[int]) -> _Places | None:
    """The range of a strand's sums [..., count + shift...] inside the result, and its place there; None if empty."""
    spread = [
        SlidingAxis(axis.size, 1, axis.stride, 1, axis.pad - offset, length).reach(0)
        for axis, (offset, _, _), length in zip(axes, strand, lengths, strict=True)
    ]
    reaches = [reach for reach in spread if reach is not None]
    if len(reaches) < len(axes):
        return None
    return (..., *[inside for inside, _ in reaches]), (..., *[target for _, target in reaches])


def _strands(axis: SlidingAxis) -> list[_Strand]:
    """Strands, elements of the kernel at multiples of the stride: an offset, the elements, their shifts.

    Element k is at `k * dilation`, which is `shift * stride + offset`.
    """
    strands: dict[int, tuple[list[int], list[int]]] = {}
    for k in axis.positions():
        shift, offset = divmod(k * axis.dilation, axis.stride)
        elements, shifts = strands.setdefault(offset, ([], []))
        elements.append(k)
        shifts.append(shift)
    return [(offset, elements, shifts) for offset, (elements, shifts) in strands.items()]


class _Shifts:
    """The transposed convolution of groups of one channel, as the product of filters and shifted data.

    Each row of the data is followed by as many zeros as the maximum shift. A shift along any axis is then a shift of
    the flat data, and a matrix with a row for every shift gives the sums of all strands at once.
    """

    def __init__(self, axes: Sequence[SlidingAxis]) -> None:
        self._axes = tuple(axes)
        strands = [_strands(axis) for axis in axes]
        self._shifts = [1 + max([max(shifts) for _, _, shifts in placed], default=0) for placed in strands]
        self._strands = [len(placed) for placed in strands]
        self._counts = [axis.count for axis in axes]
        self._lengths = [count + shifts - 1 for count, shifts in zip(self._counts, self._shifts, strict=True)]
        # For every element of the kernel, axis by axis.
        columns = [
            [
                (number, shift, k)
                for number, (_, ks, shifts) in enumerate(placed)
                for k, shift in zip(ks, shifts, strict=True)
            ]
            for placed in strands
        ]
        number, shift, k = (np.ix_(*[[entry[i] for entry in column] for column in columns]) for i in range(3))
        everything = (slice(None),) * 2
        self._weights: tuple[Any, ...] = (*everything, *number, *shift)
        self._elements: tuple[Any, ...] = (*everything, *k)
        self._are_full = all(
            len(column) == strand * shifts
            for column, strand, shifts in zip(columns, self._strands, self._shifts, strict=True)
        )
        self._places = [_places(strand, axes, self._lengths) for strand in product(*strands)]

    def apply_to(self, data: Array, filters: Array) -> bool:
        """Return True if zeros after the data and zeros of missing shifts are multiplied by finite numbers only."""
        return bool(np.isfinite(filters).all() and (self._are_full or np.isfinite(data).all()))

    def add(self, data: Array, filters: Array, result: Array) -> None:
        """Write the result for data [batch, groups, count...] and filters [groups, O, kernel...].

        Args:
            result: [batch, groups, O, size...], zeros.
        """
        batch, groups = data.shape[:2]
        outputs = filters.shape[1]
        weights = np.zeros((groups, outputs, *self._strands, *self._shifts), data.dtype)
        weights[self._weights] = filters[self._elements]
        rows = weights.reshape(groups, outputs * prod(self._strands), prod(self._shifts))
        length = prod(self._lengths)
        each = max(thresholds.INTERMEDIATE_ELEMENTS // max(length * max(rows.shape[1:]), 1), 1)
        parts = [(image, slice(start, start + each)) for image in range(batch) for start in range(0, groups, each)]

        def make_worker() -> Worker:
            scratch = Scratch(data.dtype)

            def work(number: int) -> None:
                image, some = parts[number]
                shifted = self._shift_view(data[image, some])
                sums = scratch.array((len(shifted), rows.shape[1], length))
                step = max(thresholds.INTERMEDIATE_ELEMENTS // (len(shifted) * rows.shape[2]), 1)
                for start in range(0, length, step):
                    columns = np.ascontiguousarray(shifted[..., start : start + step])
                    columns = columns.reshape(*rows[some].shape[::2], columns.shape[-1])
                    matrix_product(rows[some], columns, sums[..., start : start + step], is_chunk=True)
                self._spread(sums.reshape(len(sums), outputs, *self._strands, *self._lengths), result[image, some])

            return work

        elements = batch * groups * length * sum(rows.shape[1:])
        share_products(len(parts), make_worker, nanoseconds=elements * thresholds.ELEMENT_NANOSECONDS)

    def _shift_view(self, data: Array) -> Array:
        """data [groups, count...] at every shift: a view [groups, shifts..., length]."""
        steps = [prod(self._lengths[number + 1 :]) for number in range(len(self._lengths))]
        before = sum((shifts - 1) * step for shifts, step in zip(self._shifts, steps, strict=True))
        padded = np.zeros((len(data), before + prod(self._lengths)), data.dtype)
        unshifted = padded[:, before:]
        inside = (slice(None), *[slice(count) for count in self._counts])
        unshifted.reshape(len(data), *self._lengths)[inside] = data
        along = data.itemsize
        strides = (padded.strides[0], *[-step * along for step in steps], along)
        return as_strided(unshifted, (len(data), *self._shifts, unshifted.shape[1]), strides, writeable=False)

    def _spread(self, sums: Array, result: Array) -> None:
        """Write the sums [groups, O, strands..., lengths...] of each strand to their places in the result."""
        for strand, places in zip(np.ndindex(*self._strands), self._places, strict=True):
            if places is not None:
                # No other strand adds to these elements.
                result[places[1]] = sums[(slice(None), slice(None), *strand)][places[0]]
