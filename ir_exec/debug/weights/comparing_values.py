"""Complete comparison of a weight with a tensor, in chunks of rows, with the error that each format allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log10
from typing import Literal

import numpy as np

from ir_exec.debug.weights.model_weights import ModelWeight
from ir_exec.debug.weights.readers.tensors import count_rows
from ir_exec.debug.weights.tolerances import find_differences
from ir_exec.types import Array

__all__ = ["PLAIN", "Relation", "ValueComparison", "compare_values", "expected_values"]

_CHUNK = 2**18
"""Elements that are compared at a time."""

_LOST = 0.5
_NEGLIGIBLE = 1e-6
_LEAST_WIDTH = 8
"""Share of the power of a row that rounding removes at most, for rows of some length that are not almost zero."""

_MANY = 0.5
"""Share of elements off by rounding to the type of the checkpoint that shows the model to be more precise than it."""


@dataclass(frozen=True)
class Relation:
    """A change of the numbers of a tensor that gives the numbers of a weight.

    Attributes:
        form: As they are, plus one, times a number, or times a number for each row or column.
        factor: The number of a scaled weight.
        factors: The numbers of rows or columns; None for those that fit the weight best.
    """

    form: Literal["none", "plus one", "scaled", "scaled rows", "scaled columns"] = "none"
    factor: float = 1.0
    factors: Array | None = None

    @property
    def is_exact(self) -> bool:
        """Return True if the numbers are those of the tensor."""
        return self.form == "none"


PLAIN = Relation()


@dataclass
class ValueComparison:
    """The difference of a weight from a tensor.

    Attributes:
        different: The number of elements that differ by more than the formats allow.
        beyond_half: The number of elements of a quantized weight beyond half a step, and within a step.
        clipped: The number of elements beyond the last level.
        positions: The first flat positions of elements that differ.
        by_row: The number of elements that differ, by row.
        by_column: The number of elements that differ, by column of the flattened rows; None for very wide rows.
        products: For each row, the sums of x*x, x*y and y*y, x of the weight and y of the tensor.
        sums: The sums of x and y.
        noise: The sum of the squared differences.
        is_scaled: True if the tensor is scaled before the difference.
        not_finite: The number of NaN or infinite elements of the weight, where the tensor has none.
        range: The least and the greatest element of the weight.
        factors: The factors of rows or columns of a scaled weight.
    """

    elements: int = 0
    different: int = 0
    loosely_different: int = 0
    beyond_half: int = 0
    clipped: int = 0
    positions: list[int] = field(default_factory=list)
    by_row: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    by_column: Array | None = None
    products: Array = field(default_factory=lambda: np.zeros((3, 0)))
    sums: tuple[float, float] = (0.0, 0.0)
    noise: float = 0.0
    is_scaled: bool = False
    not_finite: int = 0
    range: tuple[float, float] = (np.inf, -np.inf)
    factors: Array | None = None

    @property
    def is_explained(self) -> bool:
        """Return True if every difference is within the tolerance of the formats."""
        return self.different == 0

    @property
    def sqnr_db(self) -> float | None:
        """The signal to noise ratio in decibels; None without noise or signal."""
        signal = float(self.products[0 if self.is_scaled else 2].sum())
        return 10 * log10(signal / self.noise) if signal > 0 and self.noise > 0 else None

    @property
    def correlation(self) -> float:
        """The correlation of the weight with the tensor; 0 if one of them is constant."""
        xx, xy, yy = self.products.sum(axis=1)
        x, y = self.sums
        variance = (xx - x * x / self.elements) * (yy - y * y / self.elements)
        if not variance > 1e-12 * xx * yy:
            return 0.0
        return float((xy - x * y / self.elements) / np.sqrt(variance))

    @property
    def slope(self) -> float:
        """The factor of the tensor that is closest to the weight."""
        _, xy, yy = self.products.sum(axis=1)
        return float(xy / yy) if yy else 0.0


Reader = Callable[[int, int], Array]


def compare_values(
    weight: ModelWeight,
    read_tensor: Reader,
    tensor_format: str,
    relation: Relation = PLAIN,
    *,
    is_computed: bool = False,
) -> ValueComparison:
    """Compare a weight with the rows of a tensor in the order of the weight.

    Args:
        read_tensor: Returns rows of the weight's shape as f32.
        tensor_format: The format of the tensor's elements.
        is_computed: True if the tensor's elements are computed from others, which is never exact.
    """
    rows, width = weight.matrix_shape
    outputs = rows // max(count_rows(weight.shape), 1)
    comparison = ValueComparison(elements=weight.elements, is_scaled=not relation.is_exact)
    comparison.by_row = np.zeros(rows, np.int64)
    comparison.products = np.zeros((3, rows))
    by_column = np.zeros(width, np.int64) if width <= _CHUNK else None
    loose_rows, loose_positions = np.zeros(rows, np.int64), list[int]()
    tight_positions: list[int] = []
    loose_columns = None if by_column is None else np.zeros(width, np.int64)
    column_factors = relation.factors
    if relation.form == "scaled columns" and column_factors is None:
        column_factors = _column_factors(weight, read_tensor)
    row_factors: list[Array] = []
    chunk = max(_CHUNK // (width * outputs), 1)
    for first in range(0, rows // outputs, chunk):
        last = min(first + chunk, rows // outputs)
        start, stop = first * outputs, last * outputs
        x = weight.read(first, last).reshape(stop - start, width)
        y = read_tensor(first, last).reshape(stop - start, width)
        _add_sums(comparison, x, y, start, stop)
        if relation.is_exact and weight.rows is None and np.array_equal(x, y):
            comparison.products[:, start:stop] = np.einsum("ij,ij->i", x, x)
            continue
        original = y
        with np.errstate(all="ignore"):
            if relation.form == "scaled rows":
                if relation.factors is None:
                    factors = (x * y).sum(axis=1) / np.square(y).sum(axis=1)
                    row_factors.append(factors)
                else:
                    factors = relation.factors[start:stop]
                y = y * factors[:, None]
            elif relation.form == "scaled columns":
                y = y * column_factors
            else:
                y = expected_values(relation, y)
            error = np.subtract(x, y)
            np.abs(error, out=error)
            comparison.noise += _add_products(comparison, x, original, error, (start, stop), is_exact=relation.is_exact)
            far, beyond, clipped = find_differences(
                weight, tensor_format, (x, y, error), (first, last), is_computed=is_computed or not relation.is_exact
            )
        comparison.clipped += clipped
        for mask, by_rows, columns, positions in (
            (far, comparison.by_row, by_column, tight_positions),
            (beyond, loose_rows, loose_columns, loose_positions),
        ):
            if mask is not None:
                by_rows[start:stop] += mask.sum(axis=1)
                if columns is not None:
                    columns += mask.sum(axis=0)
                if len(positions) < 8:
                    positions += [int(start * width + at) for at in np.flatnonzero(mask)[:8]]
    comparison.by_column = by_column
    tightly = int(comparison.by_row.sum())
    comparison.different, comparison.positions = tightly, tight_positions
    comparison.loosely_different = int(loose_rows.sum())
    if weight.rows is not None or tightly > _MANY * weight.elements:
        comparison.beyond_half = tightly - comparison.loosely_different
        comparison.different, comparison.positions = comparison.loosely_different, loose_positions
        comparison.by_row, comparison.by_column = loose_rows, loose_columns
    if weight.rows is not None and relation.is_exact:
        _add_lost_rows(comparison, width)
    comparison.positions = comparison.positions[:8]
    comparison.factors = np.concatenate(row_factors) if row_factors else column_factors
    return comparison


def _add_lost_rows(comparison: ValueComparison, width: int) -> None:
    """Count rows of a quantized weight without the numbers of the tensor, which have steps larger than its numbers."""
    xx, xy, yy = comparison.products
    is_lost = (xx - 2 * xy + yy > _LOST * yy) & (yy > _NEGLIGIBLE * yy.mean()) & (comparison.by_row == 0)
    if width < _LEAST_WIDTH or not is_lost.any():
        return
    comparison.by_row = np.where(is_lost, width, comparison.by_row)
    comparison.different = int(comparison.by_row.sum())
    comparison.positions += [int(row) * width for row in np.flatnonzero(is_lost)[:8]]


def expected_values(relation: Relation, numbers: Array) -> Array:
    """Apply a relation to the numbers of a tensor."""
    if relation.form == "plus one":
        return numbers + np.float32(1)
    if relation.form == "scaled":
        return numbers * np.float32(relation.factor)
    return numbers


def _column_factors(weight: ModelWeight, read_tensor: Reader) -> Array:
    width = weight.matrix_shape[1]
    rows = min(count_rows(weight.shape), max(_CHUNK * count_rows(weight.shape) // weight.elements, 1))
    x, y = (read(0, rows).reshape(-1, width) for read in (weight.read, read_tensor))
    with np.errstate(all="ignore"):
        return np.asarray((x * y).sum(axis=0) / np.square(y).sum(axis=0))


def _add_sums(comparison: ValueComparison, x: Array, y: Array, start: int, stop: int) -> None:
    with np.errstate(all="ignore"):
        x_sum, y_sum = float(x.sum(axis=1).sum(dtype=np.float64)), float(y.sum(axis=1).sum(dtype=np.float64))
        low, high = float(x.min()), float(x.max())
    comparison.sums = comparison.sums[0] + x_sum, comparison.sums[1] + y_sum
    if not np.isfinite(x_sum) or not np.isfinite(y_sum):
        x_bad, y_bad = ~np.isfinite(x), ~np.isfinite(y)
        comparison.not_finite += int(np.count_nonzero(x_bad & ~y_bad))
    comparison.range = min(comparison.range[0], low), max(comparison.range[1], high)


def _add_products(
    comparison: ValueComparison, x: Array, y: Array, error: Array, rows: tuple[int, int], *, is_exact: bool
) -> float:
    """Add the products of rows, and return the sum of the squared differences."""
    start, stop = rows
    products = comparison.products
    noise = np.einsum("ij,ij->i", error, error)
    products[0, start:stop] = np.einsum("ij,ij->i", x, x)
    products[2, start:stop] = np.einsum("ij,ij->i", y, y)
    if is_exact:
        products[1, start:stop] = (products[0, start:stop] + products[2, start:stop] - noise) / 2
    else:
        products[1, start:stop] = np.einsum("ij,ij->i", x, y)
    return float(np.nansum(noise, dtype=np.float64))
