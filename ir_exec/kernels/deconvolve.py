"""Transposed convolution: every element of the data, multiplied by the filters, added where a window would read it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.convolve import portions
from ir_exec.kernels.parallel import Worker, for_each
from ir_exec.kernels.precision import accumulator, rounded, widened
from ir_exec.kernels.products import matrix_products, share_products
from ir_exec.kernels.windows import Block, Scratch, SlidingAxis, block_sizes
from ir_exec.types import Array

__all__ = ["deconvolve"]

_Strand: TypeAlias = tuple[int, list[int], list[int]]
_Places: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]


def deconvolve(data: Array, filters: Array, axes: Sequence[SlidingAxis]) -> Array:
    """data [batch, groups * C, spatial...], filters [groups, C, O, kernel...]; in the type of data.

    One matrix product gives what all elements of the kernel add, for as many elements of the data as stay in the
    cache; then each element of the kernel is added where it belongs.
    Groups of one channel, whose matrices would have one column, are done without.
    """
    batch, (groups, channels, outputs), kernel = data.shape[0], filters.shape[:3], filters.shape[3:]
    counts = [axis.count for axis in axes]
    grouped = widened(data).reshape(batch, groups, channels, prod(counts))
    rows = widened(filters).reshape(groups, channels, outputs * prod(kernel)).swapaxes(1, 2)
    spatial = [axis.size for axis in axes]
    are_tiles = all(
        axis.kernel == axis.stride and axis.dilation == 1 and axis.pad == 0 and axis.size == axis.count * axis.kernel
        for axis in axes
    )
    if channels == 1 and not are_tiles and np.isfinite(rows).all():
        shifted = _by_shifts(grouped.reshape(batch, groups, 1, *counts), rows.reshape(groups, outputs, *kernel), axes)
        return rounded(shifted.reshape(batch, groups * outputs, *spatial), data.dtype)
    result = (np.empty if are_tiles else np.zeros)((batch, groups, outputs, *spatial), accumulator(data.dtype))
    each = max(rows.shape[1], 1)
    sizes = block_sizes(counts, max(costs.INTERMEDIATE_ELEMENTS // each, costs.LEAST_WINDOWS))
    pairs = costs.INTERMEDIATE_ELEMENTS // (each * max(prod(sizes), 1))
    parts = list(portions((batch, groups), counts, sizes, pairs))

    def make_worker() -> Worker:
        scratch = Scratch(rows.dtype)

        def work(number: int) -> None:
            block, chosen, some_groups = parts[number]
            part = [axis.part(windows) for axis, windows in zip(axes, block, strict=True)]
            columns = grouped[chosen]
            products = scratch.array((*columns.shape[:2], rows.shape[1], columns.shape[3]))
            matrix_products(rows[some_groups], columns, products)
            products = products.reshape(*products.shape[:2], outputs, *kernel, *[axis.count for axis in part])
            if are_tiles:
                _place_tiles(products, block, result[chosen[:2]])
            else:
                _add_shifted(products, part, result[chosen[:2]])

        return work

    nanoseconds = result.size * (channels / costs.MULTIPLICATIONS_A_NANOSECOND + costs.ELEMENT_NANOSECONDS)
    # What is added to the same elements is added by one thread.
    share_products(len(parts), make_worker, nanoseconds=nanoseconds if are_tiles else 0)
    return rounded(result.reshape(batch, groups * outputs, *spatial), data.dtype)


def _by_shifts(data: Array, filters: Array, axes: Sequence[SlidingAxis]) -> Array:
    """data [batch, groups, 1, count...] and finite filters [groups, O, kernel...] give [batch, groups, O, size...].

    Each row of the data is followed by as many zeros as it is shifted by at most. So a shift along any axis is one of
    the flat data, and each element of the kernel takes a multiplication and an addition of long runs.
    """
    strands = [_strands(axis) for axis in axes]
    reaches = [max([max(shifts) for _, _, shifts in found], default=0) for found in strands]
    lengths = [axis.count + reach for axis, reach in zip(axes, reaches, strict=True)]
    steps = [prod(lengths[number + 1 :]) for number in range(len(axes))]
    counts = data.shape[3:]
    run, tail = counts[0] * steps[0], sum(reach * step for reach, step in zip(reaches[1:], steps[1:], strict=True))
    batch, groups = data.shape[:2]
    outputs = filters.shape[1]
    result = np.zeros((batch, groups, outputs, *[axis.size for axis in axes]), data.dtype)
    each = max(costs.PIECE_ELEMENTS // max(outputs * prod(lengths), 1), 1)
    parts = [(image, slice(start, start + each)) for image in range(batch) for start in range(0, groups, each)]

    def work(number: int) -> None:
        image, some_groups = parts[number]
        chosen, weights, target = data[image, some_groups], filters[some_groups], result[image, some_groups]
        padded = np.zeros((len(chosen), 1, counts[0], *lengths[1:]), data.dtype)
        inside: tuple[Any, ...] = (..., *[slice(count) for count in counts])
        padded[inside] = chosen
        flat = padded.reshape(len(chosen), 1, run)
        added = np.empty((len(chosen), outputs, run), data.dtype)
        total = np.empty((len(chosen), outputs, prod(lengths) + tail), data.dtype)
        for strand in product(*strands):
            total[...] = 0
            for element in product(*[zip(elements, shifts, strict=True) for _, elements, shifts in strand]):
                place = sum(shift * step for (_, shift), step in zip(element, steps, strict=True))
                chosen_element: tuple[Any, ...] = (..., *[k for k, _ in element], np.newaxis)
                np.multiply(flat, weights[chosen_element], out=added)
                shifted = total[..., place : place + run]
                shifted += added
            found = _places(strand, axes, lengths)
            if found is not None:
                # No other strand adds to these.
                target[found[1]] = total[..., : prod(lengths)].reshape(len(chosen), outputs, *lengths)[found[0]]

    nanoseconds = batch * groups * outputs * run * prod(filters.shape[2:]) * costs.SHIFTED_MULTIPLICATION_NANOSECONDS
    for_each(len(parts), lambda: work, nanoseconds=nanoseconds)
    return result


def _place_tiles(products: Array, block: Block, result: Array) -> None:
    """Write products [batch, groups, O, kernel..., count...] into result [batch, groups, O, size...] side by side."""
    rank = len(block)
    kernel = products.shape[3 : 3 + rank]
    sizes = [size for pair in zip(result.shape[3:], kernel, strict=True) for size in (pair[0] // pair[1], pair[1])]
    # A view: splitting axes never needs a copy.
    tiles = result.reshape(*result.shape[:3], *sizes)
    order = [axis for number in range(rank) for axis in (3 + rank + number, 3 + number)]
    places = [place for windows in block for place in (windows, slice(None))]
    tiles[(slice(None),) * 3 + tuple(places)] = products.transpose(0, 1, 2, *order)


def _add_shifted(products: Array, axes: Sequence[SlidingAxis], result: Array) -> None:
    """Add products [batch, groups, O, kernel..., count...] to result [batch, groups, O, size...].

    Elements of the kernel that lie a multiple of the stride apart add to the same elements of the result: they are
    added up where all elements stand side by side, and spread over the result once.
    """
    everything = (slice(None),) * 3
    for strand in product(*[_strands(axis) for axis in axes]):
        lengths = [axis.count + max(shifts) for axis, (_, _, shifts) in zip(axes, strand, strict=True)]
        total = np.zeros((*products.shape[:3], *lengths), products.dtype)
        for element in product(*[zip(elements, shifts, strict=True) for _, elements, shifts in strand]):
            chosen: tuple[Any, ...] = tuple([k for k, _ in element])
            onto = tuple([slice(shift, shift + axis.count) for axis, (_, shift) in zip(axes, element, strict=True)])
            shifted = total[everything + onto]
            shifted += products[everything + chosen]
        found = _places(strand, axes, lengths)
        if found is not None:
            target = result[found[1]]
            target += total[found[0]]


def _places(strand: Sequence[_Strand], axes: Sequence[SlidingAxis], lengths: Sequence[int]) -> _Places | None:
    """Which of the sums [..., count + shift...] of a strand lie in the result, and where; None where none do."""
    spread = [
        SlidingAxis(axis.size, 1, axis.stride, 1, axis.pad - offset, length).reach(0)
        for axis, (offset, _, _), length in zip(axes, strand, lengths, strict=True)
    ]
    found = [reach for reach in spread if reach is not None]
    if len(found) < len(axes):
        return None
    return (..., *[inside for inside, _ in found]), (..., *[place for _, place in found])


def _strands(axis: SlidingAxis) -> list[_Strand]:
    """Elements of the kernel that lie a multiple of the stride apart: an offset, the elements, their shifts.

    Element k lies at `k * dilation`, which is `shift * stride + offset`.
    """
    strands: dict[int, tuple[list[int], list[int]]] = {}
    for k in axis.positions():
        shift, offset = divmod(k * axis.dilation, axis.stride)
        elements, shifts = strands.setdefault(offset, ([], []))
        elements.append(k)
        shifts.append(shift)
    return [(offset, elements, shifts) for offset, (elements, shifts) in strands.items()]
