"""Transposed convolution: every element of the data, multiplied by the filters, added where a window would read it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.convolve import portions
from ir_exec.kernels.parallel import Worker
from ir_exec.kernels.precision import accumulator, rounded, widened
from ir_exec.kernels.products import matrix_products, share_products
from ir_exec.kernels.windows import Block, Scratch, SlidingAxis, block_sizes
from ir_exec.types import Array

__all__ = ["deconvolve"]


def deconvolve(data: Array, filters: Array, axes: Sequence[SlidingAxis]) -> Array:
    """data [batch, groups * C, spatial...], filters [groups, C, O, kernel...]; in the type of data.

    One matrix product gives what all elements of the kernel add, for as many elements of the data as stay in the
    cache; then each element of the kernel is added where it belongs.
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
        spread = [
            SlidingAxis(axis.size, 1, axis.stride, 1, axis.pad - offset, length).reach(0)
            for axis, (offset, _, _), length in zip(axes, strand, lengths, strict=True)
        ]
        inside = tuple([reach[0] for reach in spread if reach])
        places = tuple([reach[1] for reach in spread if reach])
        if len(places) == len(axes):
            target = result[everything + places]
            target += total[everything + inside]


def _strands(axis: SlidingAxis) -> list[tuple[int, list[int], list[int]]]:
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
