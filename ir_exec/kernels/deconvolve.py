"""Transposed convolution: every element of the data, multiplied by the filters, added where a window would read it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.convolve import portions
from ir_exec.kernels.precision import accumulator, rounded, widened
from ir_exec.kernels.products import matrix_products
from ir_exec.kernels.windows import Scratch, SlidingAxis, block_sizes
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
    result = np.zeros((batch, groups, outputs, *[axis.size for axis in axes]), accumulator(data.dtype))
    each = max(rows.shape[1], 1)
    sizes = block_sizes(counts, max(costs.INTERMEDIATE_ELEMENTS // each, costs.LEAST_WINDOWS))
    scratch = Scratch(rows.dtype)
    for block, chosen, some_groups in portions(
        (batch, groups), counts, sizes, costs.INTERMEDIATE_ELEMENTS // (each * max(prod(sizes), 1))
    ):
        part = [axis.part(windows) for axis, windows in zip(axes, block, strict=True)]
        columns = grouped[chosen]
        products = scratch.array((*columns.shape[:2], rows.shape[1], columns.shape[3]))
        matrix_products(rows[some_groups], columns, products)
        products = products.reshape(*products.shape[:2], outputs, *kernel, *[axis.count for axis in part])
        _add_shifted(products, part, result[chosen[:2]])
    return rounded(result.reshape(batch, groups * outputs, *result.shape[3:]), data.dtype)


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
