"""Numbers rounded to evenly spaced levels between limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels.elementwise import clip_elements
from ir_exec.kernels.parallel import for_each
from ir_exec.tuning import thresholds
from ir_exec.types import Array

__all__ = ["Levels", "level_numbers"]

_Place: TypeAlias = tuple[slice, ...]


class Levels(NamedTuple):
    """Precomputed values for the limits of a quantization: arrays that broadcast to the data, or scalars.

    Attributes:
        least: The lower limit of the input.
        most: The upper limit of the input.
        low: The number that is subtracted from the input.
        span: The divisor of this difference, which is then multiplied by `steps`, the number of levels without the
            first.
        step: The distance of the levels of the output.
        first: The first level of the output; None, like `low`, for 0.
        last: None, or the limits of the output if ranges of the input are reversed, empty or infinite, where the
            formula gives the other end or NaN.
    """

    least: Any
    most: Any
    low: Any | None
    span: Any
    steps: Any
    step: Any
    first: Any | None
    last: tuple[Any, Any] | None

    def quantize(self, data: Array, out: Array | None = None) -> Array:
        """The data, f32 or f64, rounded; the levels are in its dtype.

        Args:
            out: The data, if there is no `last` and its memory may be reused.
        """
        result = np.empty(data.shape, data.dtype) if out is None else out
        if data.size <= thresholds.CHUNK_ELEMENTS:
            self._write(data, result)
            return result
        source, target = data, result
        if self._is_one:
            source, target = data.reshape(-1), result.reshape(-1)
        places = _parts(target.shape, thresholds.CHUNK_ELEMENTS)

        def work(number: int) -> None:
            block = places[number]
            self._cut(block)._write(source[block], target[block])

        for_each(len(places), lambda: work, nanoseconds=data.size * thresholds.ELEMENT_NANOSECONDS)
        return result

    @property
    def _is_one(self) -> bool:
        """Return True if there is one range for all data."""
        arrays = (self.low, self.span, self.step, self.first)
        ends = () if self.last is None else (self.least, self.most, *self.last)
        return all(array is None or not array.ndim for array in (*arrays, *ends))

    def _cut(self, block: _Place) -> Levels:
        """The levels for a block of the data."""
        if self._is_one:
            return self
        low, span, step, first = [
            array if array is None or not array.ndim else _cut(array, block)
            for array in (self.low, self.span, self.step, self.first)
        ]
        cut = self._replace(low=low, span=span, step=step, first=first)
        if self.last is None:
            return cut
        least, most, *last = [_cut(array, block) for array in (self.least, self.most, *self.last)]
        return cut._replace(least=least, most=most, last=(last[0], last[1]))

    def _write(self, data: Array, out: Array) -> None:
        # Clipped after the division, where the limits are two numbers for all ranges: np.clip is eight times slower
        # with arrays of limits. The formula is increasing, and exact at both ends.
        source = data if self.low is None else np.subtract(data, self.low, out)
        np.divide(source, self.span, out)
        np.multiply(out, self.steps, out)
        clip_elements(out, lowest=0, highest=self.steps, out=out)
        np.rint(out, out)
        np.multiply(out, self.step, out)
        if self.first is not None:
            np.add(out, self.first, out)
        if self.last is not None:
            np.copyto(out, self.last[0], where=data <= self.least)
            np.copyto(out, self.last[1], where=data > self.most)

    def _with_scalars(self) -> Levels:
        """Convert the numbers, including those equal for all ranges, to scalar arrays, which NumPy accepts faster."""
        arrays = (self.low, self.span, self.step, self.first)
        low, span, step, first = [None if array is None else _without_axes(array) for array in arrays]
        return self._replace(low=low, span=span, step=step, first=first)


def _without_axes(array: Any) -> Array:
    first = np.asarray(array).reshape(-1)[:1]
    return first.reshape(()) if first.size and np.all(array == first) else np.asarray(array)


def level_numbers(limits: Sequence[Array], steps: int, rank: int) -> Levels:
    """The levels for data of this rank, from input_low, input_high, output_low and output_high of one float dtype.

    The limits broadcast to the data, but may have more axes, of one element, before those of the data.
    """
    is_one = all(limit.size == 1 for limit in limits)
    input_low, input_high, output_low, output_high = [
        limit.reshape(-1)[0] if is_one else _of_rank(limit, rank) for limit in limits
    ]
    count = limits[0].dtype.type(steps)
    with np.errstate(all="ignore"):
        span = input_high - input_low
        is_usual = np.all((input_low < input_high) & np.isfinite(span))
        return Levels(
            least=np.minimum(input_low, input_high),
            most=np.maximum(input_low, input_high),
            low=input_low if np.any(input_low) else None,
            span=span,
            steps=np.asarray(count),
            step=(output_high - output_low) / count,
            first=output_low if np.any(output_low) else None,
            last=None if is_usual else (output_low, output_high),
        )._with_scalars()


def _of_rank(limit: Array, rank: int) -> Array:
    dims = limit.shape[max(limit.ndim - rank, 0) :]
    return limit.reshape((1,) * (rank - len(dims)) + dims)


_ALL = slice(None)


def _cut(array: Array, block: _Place) -> Array:
    """The block of an array for this place of the data; it has the rank of the data and broadcasts to it."""
    sizes = array.shape
    return array[tuple([_ALL if size == 1 else some for size, some in zip(sizes, block, strict=True)])]


@lru_cache(256)
def _parts(shape: tuple[int, ...], most: int) -> tuple[_Place, ...]:
    """Blocks of a tensor of at most this many elements, split along the first axis whose slices fit."""
    axis = next(axis for axis in range(len(shape)) if prod(shape[axis + 1 :]) <= most)
    return tuple(_places(shape, axis, max(most // max(prod(shape[axis + 1 :]), 1), 1)))


def _places(shape: tuple[int, ...], axis: int, step: int) -> Iterator[_Place]:
    for outer in np.ndindex(*shape[:axis]):
        before = tuple([slice(index, index + 1) for index in outer])
        for start in range(0, shape[axis], step):
            yield (*before, slice(start, start + step), *[_ALL] * (len(shape) - axis - 1))
