"""Activations of a run: their ranges at FakeQuantize layers, and the importance of the channels of a weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ir_exec.build.compress import plain_weights
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.model import Model
from ir_exec.report.records import Record
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array, ElementType, convert

__all__ = ["QuantizedRange", "RangeCounter", "activation_powers", "range_line"]

_MOST_STEPS = 1.0
"""Maximum error of a value inside the range, in steps; rounding causes at most half a step."""

_MOST_LEVELS = 2**16
"""Maximum levels whose use is counted."""


class QuantizedRange(Record):
    """The range of a FakeQuantize in a run.

    Attributes:
        levels: The number of levels of the layer.
        low: The least limit of the input range over all channels.
        high: The greatest limit of the input range over all channels.
        outside: The share of values that are clipped to the range.
        dead_levels: The number of unused levels; None for more than 65,536 levels.
        elements: The number of values.
        unexplained: The number of values inside the range that the layer changes by more than a step.
    """

    path: str
    layer_id: str
    levels: int
    low: float = 0.0
    high: float = 0.0
    outside: float = 0.0
    dead_levels: int | None = None
    elements: int = 0
    unexplained: int = 0


class RangeCounter:
    """A counter of values in the runs of one FakeQuantize."""

    def __init__(self, path: str, layer_id: str, levels: int) -> None:
        self._path, self._layer_id, self._levels = path, layer_id, levels
        self._low, self._high = np.inf, -np.inf
        self._outside = self._elements = self._unexplained = 0
        self._used = np.zeros(levels, bool) if levels <= _MOST_LEVELS else None

    def add(self, inputs: Sequence[Array], output: Array) -> int:
        """Add a run with the five inputs of the layer. Return the number of values that rounding does not explain."""
        data, low, high, first, last = (convert(input, ElementType.f32) for input in inputs)
        result = convert(output, ElementType.f32)
        with np.errstate(all="ignore"):
            step = np.abs(high - low) / (self._levels - 1)
            is_outside = (data < low - step / 2) | (data > high + step / 2)
            places = np.rint((result - first) / (last - first) * (self._levels - 1))
            expected = (data - low) / (high - low) * (self._levels - 1)
            is_far = ~(np.abs(places - expected) <= _MOST_STEPS) & ~is_outside & np.isfinite(expected)
        self._low, self._high = min(self._low, float(low.min())), max(self._high, float(high.max()))
        self._outside += int(np.count_nonzero(is_outside))
        self._elements += data.size
        unexplained = int(np.count_nonzero(is_far))
        self._unexplained += unexplained
        if self._used is not None:
            self._used[np.nan_to_num(places).astype(np.int64).clip(0, self._levels - 1)] = True
        return unexplained

    def result(self) -> QuantizedRange:
        """Return the counts."""
        return QuantizedRange(
            path=self._path,
            layer_id=self._layer_id,
            levels=self._levels,
            low=self._low,
            high=self._high,
            outside=self._outside / max(self._elements, 1),
            dead_levels=None if self._used is None else int(self._levels - np.count_nonzero(self._used)),
            elements=self._elements,
            unexplained=self._unexplained,
        )


def range_line(counts: QuantizedRange) -> str:
    """A FakeQuantize in one line."""
    parts = [f"{counts.outside:.2%} of {counts.elements:,} values outside [{counts.low:.4g}, {counts.high:.4g}]"]
    if counts.dead_levels is not None:
        parts.append(f"{counts.dead_levels:,} of {counts.levels:,} levels unused")
    if counts.unexplained:
        parts.append(f"{counts.unexplained:,} values differ by more than a step")
    return ", ".join(parts)


def activation_powers(
    model: Model, calls: Sequence[Inputs], progress: Callable[[str], None] | None = None
) -> dict[str, Array]:
    """Return the mean square of the activations of each channel over all calls, in f32, by the name of the weight.

    Weights of Gather layers and of group convolutions are left out.

    Args:
        progress: Called with the path of each layer.

    Raises:
        IRError: The errors of a run.
    """
    model, rows, _ = bind_calls(model, *calls)
    weights = {(weight.reader, weight.port): weight for weight in plain_weights(model)}
    readers = {reader for reader, _ in weights}
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        if visit.node not in readers or visit.where.scope:
            return
        for port in (0, 1):
            weight = weights.get((visit.node, port))
            if weight is None or visit.node.op is None:
                continue
            axis = visit.node.op.channel_axis(1 - port, visit.inputs[1 - port].ndim)
            if axis is None:
                continue
            data = convert(visit.inputs[1 - port], ElementType.f32)
            others = tuple([dim for dim in range(data.ndim) if dim != axis])
            total = np.square(data, dtype=np.float64).sum(axis=others)
            sums[weight.name] = sums.get(weight.name, np.zeros(1)) + total
            counts[weight.name] = counts.get(weight.name, 0) + data.size // max(data.shape[axis], 1)

    walker = Walker(model, precision="f32")
    for arrays in rows:
        walker.run(arrays, visit)
    return {name: (total / max(counts[name], 1)).astype(np.float32) for name, total in sums.items()}
