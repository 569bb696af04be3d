"""Layers with steps that make a large difference of one that is within the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ir_exec.debug.facts import Number, Record, as_numbers
from ir_exec.debug.metrics import Difference, Tolerance, difference, same_bits
from ir_exec.graph import Node
from ir_exec.types import Array, ElementType

__all__ = ["Jump", "jump_of"]


class Jump(Record):
    """What a layer with steps, right by itself, makes of inputs that differ within the tolerance.

    count: of `elements` those beyond the tolerance. input: the position of the input that differs most; max_abs,
    max_ulp: by how much at most, at the elements beyond the tolerance where the output has the shape of that input.
    made_by: the path of the layer whose own rounding the difference comes from, the nearest one above; None where that
    is not known.
    """

    count: int
    elements: int
    input: int
    max_abs: Number
    max_ulp: Number
    made_by: str | None = None

    def __str__(self) -> str:
        what = f"{self.count:,} of {self.elements:,} elements fall on the other side of a step"
        maker = "" if self.made_by is None else f', made by layer "{self.made_by}"'
        return f"{what}; input {self.input} differs there by {_ulps(self.max_ulp)} at most ({self.max_abs:.2g}){maker}"


def _ulps(count: float) -> str:
    return f"{max(count, 1):,.0f} ulp" if np.isfinite(count) else "infinity"


def jump_of(
    node: Node,
    inputs: Sequence[Array],
    theirs: Sequence[Array],
    output: Array,
    wanted: Array,
    carried: Difference,
    within: Callable[[Sequence[ElementType]], Tolerance],
    made_by: str | None,
) -> Jump | None:
    """What to say of an output that differs from the one wanted by `carried`, though the layer makes it of `theirs`.

    None where this output has no steps, or where an input is beyond the tolerance, `within` for its element types.
    """
    if ElementType.of(output).is_float and not (node.op is not None and node.op.jumps):
        return None
    apart = [
        (position, *pair) for position, pair in enumerate(zip(inputs, theirs, strict=True)) if not same_bits(*pair)
    ]
    if not apart:
        return None
    for _, mine, other in apart:
        if not difference(mine, other, within((ElementType.of(mine), ElementType.of(other)))).is_within:
            return None
    beyond = _beyond(output, wanted, carried)
    found = []
    for position, mine, other in apart:
        if beyond is not None and mine.shape == beyond.shape:
            mine, other = mine[beyond], other[beyond]
        error = difference(mine, other, Tolerance())
        found.append((error.max_ulp, error.max_abs, position))
    max_ulp, max_abs, position = max(found)
    return Jump(
        count=carried.beyond_count,
        elements=carried.elements,
        input=position,
        max_abs=max_abs,
        max_ulp=max_ulp,
        made_by=made_by,
    )


def _beyond(output: Array, wanted: Array, carried: Difference) -> Array | None:
    """Which elements are beyond the tolerance; None where the shapes differ."""
    if output.shape != wanted.shape:
        return None
    a, b = as_numbers(output), as_numbers(wanted)
    with np.errstate(all="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        return np.asarray(~(np.abs(a - b) <= carried.atol + carried.rtol * np.abs(b)) & ~equal)
