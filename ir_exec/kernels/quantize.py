"""Numbers rounded to evenly spaced levels between limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.kernels import costs
from ir_exec.kernels.elementwise import clip_elements
from ir_exec.kernels.parallel import for_each
from ir_exec.types import Array

__all__ = ["Levels", "level_numbers"]

_Place: TypeAlias = tuple[slice, ...]


class Levels(NamedTuple):
    """What the limits of a quantization come to; arrays that broadcast to the data, scalars where all have one element.

    least, most: of the input. low, span: what is subtracted from the input, which is then divided by the span and
    multiplied by `steps`, the number of levels without the first. bottom, top: what is clipped to, and rounded behind
    it. step, first: the distance of the levels of the output, and what is added to their multiples of it. low and first
    are None where they are 0, span and step where they are 1, and nothing is multiplied by `steps` then. last: None, or
    the limits of the output where ranges of the input are reversed, empty or infinite, so that the formula gives the
    other end or NaN there.
    """

    least: Any
    most: Any
    low: Any | None
    span: Any | None
    steps: Any
    bottom: Any
    top: Any
    step: Any | None
    first: Any | None
    last: tuple[Any, Any] | None

    def quantized(self, data: Array, out: Array | None = None) -> Array:
        """The data, f32 or f64, rounded; the levels are in its dtype. out: an array for the result, perhaps the data
        where there is no `last`."""
        result = np.empty(data.shape, data.dtype) if out is None else out
        if data.size <= costs.PIECE_ELEMENTS:
            self._write(data, result)
            return result
        source, target = data, result
        if self._is_one:
            source, target = data.reshape(-1), result.reshape(-1)
        places = _parts(target.shape, costs.PIECE_ELEMENTS)

        def work(number: int) -> None:
            place = places[number]
            self._cut(place)._write(source[place], target[place])

        for_each(len(places), lambda: work, nanoseconds=data.size * costs.ELEMENT_NANOSECONDS)
        return result

    @property
    def _is_one(self) -> bool:
        """Whether there is one range for all data."""
        arrays = (self.low, self.span, self.step, self.first)
        return all(array is None or not array.ndim for array in arrays)

    def _cut(self, place: _Place) -> Levels:
        """The levels for a part of the data."""
        if self._is_one:
            return self
        low, span, step, first = [
            array if array is None or not array.ndim else _cut(array, place)
            for array in (self.low, self.span, self.step, self.first)
        ]
        cut = self._replace(low=low, span=span, step=step, first=first)
        if self.last is None:
            return cut
        least, most, *last = [_cut(array, place) for array in (self.least, self.most, *self.last)]
        return cut._replace(least=least, most=most, last=(last[0], last[1]))

    def _write(self, data: Array, out: Array) -> None:
        # Clipped behind the division, where the limits are two numbers for all ranges: np.clip takes eight times as
        # long with arrays of limits. The formula rises, and is exact at both ends.
        source = data if self.low is None else np.subtract(data, self.low, out)
        if self.span is not None:
            source = np.divide(source, self.span, out)
            np.multiply(source, self.steps, out)
        clip_elements(source, lowest=self.bottom, highest=self.top, out=out)
        np.rint(out, out)
        if self.step is not None:
            np.multiply(out, self.step, out)
        if self.first is not None:
            np.add(out, self.first, out)
        if self.last is not None:
            np.copyto(out, self.last[0], where=data <= self.least)
            np.copyto(out, self.last[1], where=data > self.most)

    def unscaled(self) -> Levels:
        """The same levels divided by their distance, which is a positive number."""
        first = None if self.first is None else _snapped(self.first / self.step, self.steps)
        return self._replace(step=None, first=first if first is not None and np.any(first) else None)._settled()

    def of_scaled(self, offset: Array | None = None) -> Levels:
        """The levels of data that has been multiplied by steps / span, without an offset that was added to it before;
        within rounding."""
        low = None if self.low is None else _snapped(self.low / self.span * self.steps, self.steps)
        moved = self._without_low(low)
        if offset is not None:
            added = offset / self.span * self.steps
            moved = moved._replace(low=-added if moved.low is None else moved.low - added)
        return moved._replace(span=None)._settled()

    def _without_low(self, low: Any | None) -> Levels:
        """The levels behind the division, of which `low` is subtracted. One even number is not: the next even number
        stays the next even one without it, so that ties are rounded to the same level."""
        number = None if low is None else low.reshape(-1)[0]
        if number is None or np.any(low != number) or number % 2:
            return self._replace(low=low)
        first = self._step_or_1() * -number
        first = first if self.first is None else self.first + first
        is_none = np.all(np.abs(first) <= self._step_or_1() * _tolerance(self.steps))
        return self._replace(low=None, bottom=number, top=number + self.steps, first=None if is_none else first)

    def _settled(self) -> Levels:
        """The same levels, their numbers as arrays without axes, which NumPy takes sooner than numbers, also those that
        are the same for all ranges."""
        arrays = (self.low, self.span, self.bottom, self.top, self.step, self.first)
        low, span, bottom, top, step, first = [None if array is None else _without_axes(array) for array in arrays]
        return self._replace(low=low, span=span, bottom=bottom, top=top, step=step, first=first)

    def _step_or_1(self) -> Any:
        return self.steps.dtype.type(1) if self.step is None else self.step


def _without_axes(array: Any) -> Array:
    first = np.asarray(array).reshape(-1)[:1]
    return first.reshape(()) if first.size and np.all(array == first) else np.asarray(array)


def _tolerance(steps: Any) -> float:
    """By how much the place of zero among the levels, in steps, is off by the rounding of the limits."""
    return float(2 * steps * np.finfo(steps.dtype).eps)


def _snapped(places: Any, steps: Any) -> Any:
    """Places among the levels; integers where they are no others but for the rounding of the limits."""
    whole = np.rint(places)
    return np.where(np.abs(places - whole) <= _tolerance(steps), whole, places)


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
            bottom=count.dtype.type(0),
            top=count,
            step=(output_high - output_low) / count,
            first=output_low if np.any(output_low) else None,
            last=None if is_usual else (output_low, output_high),
        )._settled()


def _of_rank(limit: Array, rank: int) -> Array:
    dims = limit.shape[max(limit.ndim - rank, 0) :]
    return limit.reshape((1,) * (rank - len(dims)) + dims)


_ALL = slice(None)


def _cut(array: Array, place: _Place) -> Array:
    """The part of an array at this place of the data that it is broadcast to, whose rank it has."""
    sizes = array.shape
    return array[tuple([_ALL if size == 1 else some for size, some in zip(sizes, place, strict=True)])]


@lru_cache(256)
def _parts(shape: tuple[int, ...], most: int) -> tuple[_Place, ...]:
    """Parts of a tensor of at most so many elements, cut across the first axis behind which a part can hold all."""
    axis = next(axis for axis in range(len(shape)) if prod(shape[axis + 1 :]) <= most)
    return tuple(_places(shape, axis, max(most // max(prod(shape[axis + 1 :]), 1), 1)))


def _places(shape: tuple[int, ...], axis: int, step: int) -> Iterator[_Place]:
    for outer in np.ndindex(*shape[:axis]):
        before = tuple([slice(index, index + 1) for index in outer])
        for start in range(0, shape[axis], step):
            yield (*before, slice(start, start + step), *[_ALL] * (len(shape) - axis - 1))
