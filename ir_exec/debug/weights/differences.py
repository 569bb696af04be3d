"""Descriptions of the differences of a weight from the expected tensor."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.debug.weights.comparing_values import Relation, ValueComparison
from ir_exec.debug.weights.matching import Matcher, WeightMatch
from ir_exec.debug.weights.readers.tensors import count_rows
from ir_exec.debug.weights.records import FaultCategory
from ir_exec.debug.weights.row_alignment import match_rows
from ir_exec.report.numbers import format_count, format_number_pair
from ir_exec.report.text import list_names
from ir_exec.types import Array

__all__ = ["DescribedFault", "describe_difference"]

_RELATED = 0.5
"""Minimum correlation of a weight with an earlier or later state of itself."""

_OPPOSITE = -0.9
_PROPORTIONAL = 0.9
_FEW_VALUES = 16
_MOST_SHARE = 0.5
"""Maximum share of rows with differences for a fault of rows."""

_DENSE = 0.2
"""Minimum share of the elements of wrong rows that differ."""

_MOST_ROWS = 4096
_SLOPE = 0.01


class DescribedFault(NamedTuple):
    """A category of fault, and its description."""

    category: FaultCategory
    message: str


def describe_difference(match: WeightMatch, matcher: Matcher) -> DescribedFault:
    """Describe the differences of a weight from the tensors that it should be."""
    comparison = match.comparison
    tensors = list_names([source.name for source in match.sources], 3)
    if comparison.not_finite:
        values = format_count(comparison.not_finite, "value", ",")
        return DescribedFault(
            "not finite", f"{values} of {comparison.elements:,} are NaN or infinite, expected {tensors}"
        )
    low, high = comparison.range
    if low == high:
        if low == 0:
            return DescribedFault("zero", f"all {comparison.elements:,} values are 0, expected {tensors}")
        message = f"all {comparison.elements:,} values are {low:.6g}, expected {tensors}"
        return DescribedFault("constant", message)
    proportional = _describe_proportion(match, matcher, tensors)
    if proportional is not None:
        return proportional
    if comparison.different <= _FEW_VALUES and comparison.different < _MOST_SHARE * comparison.elements:
        return DescribedFault("values", _describe_values(match, tensors))
    by_rows = _describe_rows(match, tensors)
    if by_rows is not None:
        return by_rows
    share = comparison.different / comparison.elements
    correlation = comparison.correlation
    if correlation >= _RELATED:
        message = (
            f"{share:.1%} of the values differ from {tensors}, expected equal ones: correlation {correlation:.4f}, "
            "like another state of its training"
        )
        return DescribedFault("stale", message)
    message = f"the values are those of no tensor, expected {tensors} (correlation {correlation:.2f})"
    return DescribedFault("other values", message)


def _describe_proportion(match: WeightMatch, matcher: Matcher, tensors: str) -> DescribedFault | None:
    """A weight that is a multiple of the tensor."""
    comparison = match.comparison
    slope, correlation = comparison.slope, comparison.correlation
    is_far = abs(slope - 1) > _SLOPE and comparison.different > _MOST_SHARE * 0.1 * comparison.elements
    if not is_far or match.layout is None or not match.relation.is_exact:
        return None
    if correlation > _OPPOSITE and correlation < _PROPORTIONAL:
        return None
    scaled = matcher.compare(match.weight, match.sources[0], match.layout, Relation("scaled", slope))
    if scaled.comparison.different > 0.02 * comparison.elements:
        return None
    if abs(slope + 1) <= _SLOPE * 3:
        return DescribedFault("sign", f"the sign of all values is wrong, expected {tensors}")
    return DescribedFault("scale", f"the values are {slope:.6g} times those of {tensors}, expected 1 time")


def _describe_values(match: WeightMatch, tensors: str) -> str:
    comparison, weight = match.comparison, match.weight
    width = max(prod(weight.shape[1:]), 1)
    parts = []
    for position in comparison.positions[:3]:
        row = position // width
        actual = float(weight.read(row, row + 1).reshape(-1)[position - row * width])
        expected = _expected_value(match, row, position - row * width)
        index = ",".join(str(int(part)) for part in np.unravel_index(position, weight.shape)) if weight.shape else "0"
        texts = format_number_pair(actual, expected)
        parts.append(f"[{index}] is {texts[0]}, expected {texts[1]}")
    count = comparison.different
    more = f"; {count - len(parts):,} more" if count > len(parts) else ""
    noun = format_count(count, "value", ",") + (" differs" if count == 1 else " differ")
    return f"{noun} from {tensors}: {'; '.join(parts)}{more}"


def _expected_value(match: WeightMatch, row: int, column: int) -> float:
    assert match.read is not None, "every match reads the tensors"
    numbers = match.read(row, row + 1).reshape(-1)
    value = float(numbers[column])
    relation = match.relation
    if relation.form == "plus one":
        return value + 1
    if relation.form == "scaled":
        return value * relation.factor
    factors = match.comparison.factors if relation.factors is None else relation.factors
    if relation.form == "scaled rows" and factors is not None:
        return value * float(factors[row])
    if relation.form == "scaled columns" and factors is not None:
        return value * float(factors[column])
    return value


def _describe_rows(match: WeightMatch, tensors: str) -> DescribedFault | None:
    """Differences in a part of the rows or columns."""
    comparison, weight = match.comparison, match.weight
    rows, width = count_rows(weight.shape), max(prod(weight.shape[1:]), 1)
    for axis, counts, size in (("rows", comparison.by_row, width), ("columns", comparison.by_column, rows)):
        if counts is None or len(counts) < 2:
            continue
        wrong = np.flatnonzero(counts)
        is_part = 0 < len(wrong) <= max(_MOST_SHARE * len(counts), 1)
        if not is_part or counts[wrong].mean() < _DENSE * size:
            continue
        names = list_names([str(int(position)) for position in wrong], 4)
        noun = axis if len(wrong) > 1 else axis[:-1]
        detail = _describe_row_values(match, wrong) if axis == "rows" and len(wrong) <= _MOST_ROWS else ""
        verb = "differ" if len(wrong) > 1 else "differs"
        return DescribedFault(axis, f"{noun} {names} of {len(counts):,} {verb} from {tensors}{detail}")  # type: ignore[arg-type]
    return None


def _describe_row_values(match: WeightMatch, wrong: Array) -> str:
    """Describe wrong rows: zeros, other rows, or multiples."""
    weight = match.weight
    assert match.read is not None, "every match reads the tensors"
    x = np.concatenate([weight.read(int(row), int(row) + 1).reshape(1, -1) for row in wrong])
    y = np.concatenate([match.read(int(row), int(row) + 1).reshape(1, -1) for row in wrong])
    if not x.any():
        return ": zeros"
    with np.errstate(all="ignore"):
        slopes = (x * y).sum(axis=1) / np.square(y).sum(axis=1)
        errors = np.square(x - slopes[:, None] * y).sum(axis=1) / np.square(x).sum(axis=1)
    if (errors < 0.1).all():
        if (np.abs(slopes + 1) < 0.05).all():
            return ": the sign is wrong"
        return f": {slopes[0]:.4g} times the values" if len(wrong) == 1 else ": multiples of the values"
    partners = match_rows(x, y)
    if (partners >= 0).all() and (partners != np.arange(len(wrong))).any():
        return ": they are in another order"
    return ""


def is_slightly_off(comparison: ValueComparison, usual: float) -> bool:
    """Return True if more elements of a quantized weight are beyond half a step than rounding explains.

    Args:
        usual: The median share of such elements over all quantized weights.
    """
    share = comparison.beyond_half / max(comparison.elements, 1)
    return usual <= 0.005 and share > max(0.02, 10 * usual) and comparison.elements >= 256
