"""Odd elements of constants: NaN, infinities, and f16 values clipped to the end of their range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_exec.check.structure import constants
from ir_exec.codes import Code
from ir_exec.errors import IRError, WeightsError
from ir_exec.graph import Graph, Node
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType

__all__ = ["LARGEST_BY_DEFAULT", "odd_constants"]

LARGEST_BY_DEFAULT = 2**20
"""Bytes of the largest constant that is scanned by default: biases and small matrices, not the bulk of a network."""

MOST_BY_DEFAULT = 2**26
"""Bytes that are scanned by default in all: a small .xml may name the bytes of a large .bin many times over."""

_CHUNK = 2**20
"""Elements scanned in one step, which bounds the memory of the scan."""

_CARRIERS: dict[ElementType, np.dtype[Any]] = {
    ElementType.f16: np.dtype(np.uint16),
    ElementType.bf16: np.dtype(np.uint16),
    ElementType.f32: np.dtype(np.float32),
    ElementType.f64: np.dtype(np.float64),
}
"""The dtype in which the bytes are scanned; floats of 16 bits are tested by their bits, which is much faster."""

_EXPONENT = {ElementType.f16: 0x7C00, ElementType.bf16: 0x7F80}
_LARGEST_F16 = 0x7BFF
_MAGNITUDE = 0x7FFF


@dataclass(slots=True)
class _Counts:
    """How many elements are odd. is_uniform: all elements of an f16 constant are equal."""

    nans: int = 0
    infinities: int = 0
    saturated: int = 0
    is_uniform: bool = True


def odd_constants(
    graph: Graph, weights: Weights, *, everything: bool, skip: Callable[[Node], bool]
) -> Iterator[IRError]:
    """IR208, IR209 and IR210 for constants of floats; bytes that several constants share are scanned once.

    everything: scan constants of every size. skip: whether the bytes of a node are known to be missing.
    """
    seen: dict[tuple[ElementType, int, int], _Counts] = {}
    left = MOST_BY_DEFAULT
    for node in constants(graph):
        op = node.op
        assert isinstance(op, Const), "constants have no other operator"
        if op.element_type not in _CARRIERS or not op.shape.is_static or skip(node):
            continue
        key = (op.element_type, op.offset, op.size)
        if key not in seen:
            if not everything and op.size > min(LARGEST_BY_DEFAULT, left):
                continue
            left -= op.size
            seen[key] = _count(weights, op)
        for error in _faults(seen[key], op):
            yield error.located(node.location)


def _count(weights: Weights, op: Const) -> _Counts:
    counts = _Counts()
    carrier = _CARRIERS[op.element_type]
    size = op.size - op.size % carrier.itemsize
    first: Array | None = None
    for start in range(0, size, _CHUNK * carrier.itemsize):
        stored = weights.slice(op.offset + start, min(size - start, _CHUNK * carrier.itemsize))
        if len(stored) % carrier.itemsize:
            break  # cut off, which is reported elsewhere
        elements = np.frombuffer(stored, carrier)
        if not elements.size:
            break
        first = elements[:1] if first is None else first
        if op.element_type is ElementType.f16:
            counts.is_uniform = counts.is_uniform and bool((elements == first).all())
        _add(counts, elements, op.element_type)
    return counts


def _add(counts: _Counts, elements: Array, element_type: ElementType) -> None:
    if element_type not in _EXPONENT:
        if not np.isfinite(elements).all():
            counts.nans += int(np.count_nonzero(np.isnan(elements)))
            counts.infinities += int(np.count_nonzero(np.isinf(elements)))
        return
    exponent = _EXPONENT[element_type]
    magnitudes = elements & np.uint16(_MAGNITUDE)
    largest = int(magnitudes.max())
    if largest >= exponent:
        counts.nans += int(np.count_nonzero(magnitudes > exponent))
        counts.infinities += int(np.count_nonzero(magnitudes == exponent))
    if element_type is ElementType.f16 and largest >= _LARGEST_F16:
        counts.saturated += int(np.count_nonzero(magnitudes == _LARGEST_F16))


def _faults(counts: _Counts, op: Const) -> Iterator[IRError]:
    if not (counts.nans or counts.infinities or counts.saturated):
        return
    total = op.shape.size.lo
    if counts.nans:
        yield WeightsError(f"{_of(counts.nans, total)} NaN", code=Code.nan_in_weights, severity="warning")
    if counts.infinities:
        yield WeightsError(f"{_of(counts.infinities, total)} infinite", code=Code.infinity_in_weights)
    if counts.saturated and not counts.is_uniform:
        message = f"{_of(counts.saturated, total)} 65504 or -65504, where f16 ends"
        hint = "were larger weights cut off when the network was compressed to f16?"
        yield WeightsError(message, code=Code.saturated_f16, severity="warning", hint=hint)


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} elements {'is' if count == 1 else 'are'}"
