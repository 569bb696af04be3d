"""Comparison of compressed weights with those of another model: format, error, and errors not caused by rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from ir_exec.debug.comparison.metrics import Difference, difference
from ir_exec.debug.comparison.rounded import ROUNDED
from ir_exec.graph.compressed import CompressedWeight
from ir_exec.graph.decoding import decode_weight, mask_end_levels, read_range, read_steps
from ir_exec.ir import Weights
from ir_exec.ir.packing import packed_size
from ir_exec.report.numbers import pluralize
from ir_exec.report.records import Record
from ir_exec.types import Array, ElementType, convert

__all__ = [
    "ComparedWeight",
    "QuantizedNote",
    "QuantizedWeight",
    "as_reported",
    "compared_weight",
    "described_weight",
    "plain_weight",
    "summary_of",
    "weight_line",
]

_MOST_STEPS = 1.0
"""Maximum error caused by rounding, in steps of the format.

Rounding to nearest causes at most half a step; f16 scales, and scales optimized after rounding, add to this.
"""

_MANY = 0.5
"""Minimum share of weights with unexplained elements for the assumption that the quantization method moves elements.

GPTQ compensates the error of one element in others, and does not round to nearest.
"""

_MOVED = 1.8
"""Maximum error of a weight relative to the median of all weights, if the method moves elements."""

Side = Literal["model", "reference", "a", "b"]


_SCALED = 0.05
_MOST_CHANNELS = 0.25
"""Channels count as scaled if this share of their factors differs from the median by more than `_SCALED`."""

_SCALED_STEPS = 2.0
"""Maximum error in steps of a weight with scaled channels, because the factors are fitted to rounded numbers."""

_LEFT = 1e-3
"""Maximum share of unexplained elements after scaling, because the factors are fitted to rounded numbers."""


class QuantizedWeight(Record):
    """A compressed weight and the weight of the other model.

    Attributes:
        path: The constant of codes.
        layer_ids: All layers of the chain, the constant of codes first.
        partner: The constant of the other model.
        partner_ids: The layers of the other model.
        side: The model with the compressed weight; if both are compressed, the model with fewer bytes.
        format: The name of the format in NNCF.
        partner_format: The element type of a plain weight, or its format.
        group_size: The number of elements that share a scale; None for whole rows or tensors.
        elements: The number of elements of the weight.
        bytes: The size of all constants of the weight.
        partner_bytes: The size of all constants of the other weight.
        error: The error of the compressed weight relative to the other.
        unexplained: The number of elements within the range of their group that differ by more than a step.
        worst_steps: The greatest difference of such an element in steps.
        outside: The share of elements beyond the range of their group.
        scaled_axis: The axis whose channels are scaled relative to the other weight; rounding explains the other
            differences.
        levels: The number of levels of a FakeQuantize.
        dead_levels: The number of levels that no element has.
        is_fault: True if elements differ by more than rounding explains, and by more than in most other weights.
    """

    path: str
    layer_ids: tuple[str, ...] = ()
    partner: str
    partner_ids: tuple[str, ...] = ()
    side: Side
    format: str
    partner_format: str
    group_size: int | None = None
    elements: int = 0
    bytes: int = 0
    partner_bytes: int = 0
    error: Difference
    unexplained: int = 0
    worst_steps: float = 0.0
    outside: float = 0.0
    scaled_axis: int | None = None
    levels: int | None = None
    dead_levels: int | None = None
    is_fault: bool = False

    @property
    def kind(self) -> str:
        """The format and the group size as text."""
        return self.format if self.group_size is None else f"{self.format}, groups of {self.group_size}"


class QuantizedNote(NamedTuple):
    """The effect of quantization on a value, as text.

    Attributes:
        is_fault: True if rounding and clipping do not explain it.
    """

    text: str
    is_fault: bool


@dataclass(frozen=True)
class ComparedWeight:
    """A weight of one of two models.

    Attributes:
        path: The path of the constant.
        layer_ids: The ids of all layers, the constant first.
        format: The name of the format; the element type of a plain weight.
        bytes: The bytes of its constants in a file.
        decode: Returns the weight as f32.
        chain: The description of a compressed weight; None for others.
        weights: The source of the constants of `chain`.
    """

    path: str
    layer_ids: tuple[str, ...]
    format: str
    bytes: int
    decode: Callable[[], Array]
    chain: CompressedWeight | None = None
    weights: Weights | None = None


def plain_weight(path: str, layer_ids: tuple[str, ...], array: Array, element_type: ElementType) -> ComparedWeight:
    """A weight that is a constant.

    Args:
        element_type: The element type of `array` in the file.
    """
    decode = partial(convert, array, ElementType.f32)
    return ComparedWeight(path, layer_ids, element_type.name, packed_size(element_type, array.size), decode)


def described_weight(weight: CompressedWeight, weights: Weights, scope: tuple[str, ...]) -> ComparedWeight:
    """The weight of a constant: the expanded one if the weight is compressed, or else the constant itself."""
    path = "/".join((*scope, weight.codes.name))
    if weight.is_compressed:
        ids = tuple([node.id for node in dict.fromkeys((weight.codes, *weight.nodes))])
        decode = partial(decode_weight, weight, weights)
        return ComparedWeight(path, ids, weight.format(weights), weight.stored_bytes, decode, weight, weights)
    ids = tuple([node.id for node in (weight.codes, *weight.line)])
    return plain_weight(path, ids, weight.constant.evaluate(weights=weights), weight.element_type)


def compared_weight(a: ComparedWeight, b: ComparedWeight, sides: tuple[Side, Side]) -> QuantizedWeight:
    """Compare two weights, at least one of them compressed.

    Args:
        sides: The names of both models.
    """
    is_first = a.chain is not None and (b.chain is None or a.bytes <= b.bytes)
    compressed, other, side = (a, b, sides[0]) if is_first else (b, a, sides[1])
    chain = compressed.chain
    assert chain is not None
    assert compressed.weights is not None
    expanded, plain = compressed.decode(), other.decode()
    counted: dict[str, int | float | None] = {}
    if expanded.shape == plain.shape and expanded.size:
        counted = _count_elements(chain, compressed.weights, expanded, plain)
    return QuantizedWeight.model_validate(
        {
            "path": compressed.path,
            "layer_ids": compressed.layer_ids,
            "partner": other.path,
            "partner_ids": other.layer_ids,
            "side": side,
            "format": compressed.format,
            "partner_format": other.format,
            "group_size": chain.group_size,
            "elements": expanded.size,
            "bytes": compressed.bytes,
            "partner_bytes": other.bytes,
            "error": difference(expanded, plain, ROUNDED),
            **counted,
        }
    )


def _count_elements(
    chain: CompressedWeight, weights: Weights, expanded: Array, plain: Array
) -> dict[str, int | float | None]:
    """The number of unexplained elements, the share of elements beyond the ranges, and the number of unused levels."""
    if chain.limits is not None:
        return _of_levels(chain, weights, expanded, plain)
    steps = read_steps(chain, weights)
    assert steps is not None, "only chains with a FakeQuantize have no steps"
    with np.errstate(all="ignore"):
        is_beyond = np.abs(expanded - plain) > 0.5 * steps
    # An element beyond the last level at the opposite end of the range is not clipped.
    is_end = mask_end_levels(chain, weights) & (np.sign(expanded) * np.sign(plain) >= 0)
    counted: dict[str, int | float | None] = {
        "outside": float(np.count_nonzero(is_beyond & is_end) / expanded.size),
        **_far(np.abs(expanded - plain), steps, ~is_end),
    }
    return counted | (_of_channels(steps, expanded, plain, is_end) if counted["unexplained"] else {})


def _far(errors: Array, steps: Array, is_inside: Array) -> dict[str, int | float | None]:
    """The number of elements inside the range that differ by more than a step, and the greatest error in steps."""
    with np.errstate(all="ignore"):
        away = np.where(is_inside, np.nan_to_num(errors / steps, nan=np.inf), 0)
        # If the step is 0, the level is 0 as well.
        away = np.where(errors == 0, 0, away)
    return {"unexplained": int(np.count_nonzero(away > _MOST_STEPS)), "worst_steps": float(away.max(initial=0.0))}


def _of_channels(steps: Array, expanded: Array, plain: Array, is_end: Array) -> dict[str, int | float | None]:
    """Count the unexplained elements of a weight with scaled channels, as by AWQ; empty for other weights."""
    for axis in range(expanded.ndim):
        others = tuple([dim for dim in range(expanded.ndim) if dim != axis])
        power = np.square(plain).sum(axis=others, keepdims=True, dtype=np.float64)
        product = (expanded * plain).sum(axis=others, keepdims=True, dtype=np.float64)
        factors = np.divide(product, power, out=np.ones_like(power), where=power > 0).astype(np.float32)
        # Equal factors of all channels mean a wrong scale.
        middle = np.median(factors)
        if np.count_nonzero(np.abs(factors - middle) > _SCALED * abs(middle)) < _MOST_CHANNELS * factors.size:
            continue
        left = _far(np.abs(expanded - plain * factors), steps, ~is_end)
        if int(left["unexplained"] or 0) <= _LEFT * expanded.size:
            return {**left, "unexplained": 0, "scaled_axis": axis}
    return {}


def _of_levels(
    chain: CompressedWeight, weights: Weights, expanded: Array, plain: Array
) -> dict[str, int | float | None]:
    levels = chain.levels or 2
    low, high = read_range(chain, weights)
    step = (high - low) / (levels - 1)
    with np.errstate(all="ignore"):
        is_outside = (plain < low - step / 2) | (plain > high + step / 2)
        places = np.nan_to_num(np.rint((expanded - low) / step)).astype(np.int64)
    used = np.unique(places).size
    return {
        "outside": float(np.count_nonzero(is_outside) / plain.size),
        **_far(np.abs(expanded - plain), np.broadcast_to(np.abs(step), plain.shape), ~is_outside),
        "levels": levels,
        "dead_levels": max(levels - used, 0),
    }


def as_reported(weights: Sequence[QuantizedWeight]) -> tuple[QuantizedWeight, ...]:
    """Mark the faulty weights: those with elements that neither rounding nor the method explains."""
    limit = _MOST_STEPS
    worst = [weight.worst_steps for weight in weights]
    if sum(weight.unexplained > 0 for weight in weights) > max(1.0, _MANY * len(weights)):
        limit = max(limit, _MOVED * median(worst))
    return tuple(
        [
            weight.model_copy(
                update={
                    "is_fault": weight.error.problem is not None
                    or weight.worst_steps > (limit if weight.scaled_axis is None else max(limit, _SCALED_STEPS))
                }
            )
            for weight in weights
        ]
    )


def summary_of(weights: Iterable[QuantizedWeight]) -> Iterator[str]:
    """Yield a phrase for each format: the number of weights, the model, their error and their bytes."""
    kinds: dict[tuple[str, Side], list[QuantizedWeight]] = {}
    for weight in weights:
        kinds.setdefault((weight.kind, weight.side), []).append(weight)
    names = {"model": "", "reference": " in the reference", "a": " in the first model", "b": " in the second model"}
    for (weight_format, side), members in kinds.items():
        count = len(members)
        ratio = _ratio(members)
        error = "" if ratio is None else f"SQNR {ratio:.1f} dB, "
        before, after = sum(member.partner_bytes for member in members), sum(member.bytes for member in members)
        subject = f"{count:,} {pluralize(count, 'weight is', 'weights are')}"
        yield f"{subject} {weight_format}{names[side]} ({error}{before:,} -> {after:,} bytes)"


def _ratio(weights: Iterable[QuantizedWeight]) -> float | None:
    """The signal to noise ratio of all weights together, in decibels."""
    noise = signal = 0.0
    for weight in weights:
        if weight.error.sqnr_db is not None:
            part = float(weight.error.rmse) ** 2 * weight.error.elements
            noise += part
            signal += part * 10 ** (float(weight.error.sqnr_db) / 10)
    return 10 * math.log10(signal / noise) if noise > 0 and signal > 0 else None


def weight_line(weight: QuantizedWeight) -> str:
    """A weight in one line: the format, the error, and the elements that rounding does not explain."""
    if weight.error.problem is not None:
        return f"{weight.kind}: {weight.error.problem}"
    parts = [f"max abs {float(weight.error.max_abs):.4g}"]
    if weight.error.sqnr_db is not None:
        parts.insert(0, f"SQNR {weight.error.sqnr_db:.1f} dB")
    if weight.outside:
        parts.append(f"{weight.outside:.2%} outside the range")
    if weight.dead_levels:
        parts.append(f"{weight.dead_levels:,} of {weight.levels:,} levels unused")
    if weight.scaled_axis is not None:
        parts.append(f"the channels of axis {weight.scaled_axis} are scaled")
    if weight.unexplained:
        parts.append(f"{weight.unexplained:,} of {weight.elements:,} elements differ by more than a step")
    return f"{weight.kind}: {', '.join(parts)}; {weight.partner_bytes:,} -> {weight.bytes:,} bytes"
