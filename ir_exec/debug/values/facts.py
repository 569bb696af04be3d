"""Statistics of a value: range, mean, deviation and non-finite elements; its elements as numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from ir_exec.ir.packing import encode
from ir_exec.report.records import Record
from ir_exec.types import STRING, Array, ElementType, convert

__all__ = ["PIECE", "Facts", "as_numbers", "digest", "facts_of", "not_finite_in", "pieces"]


class Facts(Record):
    """Statistics of a value.

    Attributes:
        min: The minimum of the finite elements; None, like the next three, without such elements and for strings.
        max: The maximum of the finite elements.
        mean: The mean of the finite elements.
        std: The population standard deviation of the finite elements.
        nans: The number of NaN elements.
        infinities: The number of infinite elements.
    """

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    nans: int = 0
    infinities: int = 0


def facts_of(array: Array) -> Facts:
    """Return the statistics of an array; the mean and the standard deviation are computed in f64."""
    if ElementType.of(array) in STRING or not array.size:
        return Facts()
    least, most, total, squares, count, nans, infinities = np.inf, -np.inf, 0.0, 0.0, 0, 0, 0
    with np.errstate(all="ignore"):
        for _, (part,) in pieces(array):
            numbers = as_numbers(part)
            # A NaN or infinite element is the minimum or the maximum.
            low, high = float(numbers.min()), float(numbers.max())
            if not (np.isfinite(low) and np.isfinite(high)):
                finite = np.isfinite(numbers)
                nans_here = int(np.count_nonzero(np.isnan(numbers)))
                nans += nans_here
                infinities += int(numbers.size - np.count_nonzero(finite)) - nans_here
                numbers = numbers[finite]
                if not numbers.size:
                    continue
                low, high = float(numbers.min()), float(numbers.max())
            least, most = min(least, low), max(most, high)
            # Chan's algorithm merges the moments of two chunks without cancellation of large squares.
            total_here = float(numbers.sum())
            deviations = numbers - total_here / numbers.size
            squares_here = float(np.square(deviations, out=deviations).sum())
            if count:
                step = total_here / numbers.size - total / count
                squares += step * step * count * numbers.size / (count + numbers.size)
            squares += squares_here
            total += total_here
            count += numbers.size
    if not count:
        return Facts(nans=nans, infinities=infinities)
    std = float(np.sqrt(squares / count))
    return Facts(
        min=least,
        max=most,
        mean=_finite(total / count),
        std=_finite(std),
        nans=nans,
        infinities=infinities,
    )


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


def not_finite_in(array: Array) -> int:
    """Return the number of elements that are NaN or infinite; 0 for integers, booleans and strings."""
    if array.dtype.kind not in "fV" or not ElementType.of(array).is_float:
        return 0
    count = 0
    with np.errstate(all="ignore"):
        for _, (part,) in pieces(array):
            numbers = part if part.dtype.kind == "f" else as_numbers(part)
            count += part.size - int(np.count_nonzero(np.isfinite(numbers)))
    return count


def digest(array: Array) -> str:
    """Return a digest of 32 hexadecimal digits of the element type, shape and bits of an array."""
    element_type = ElementType.of(array)
    hashed = hashlib.blake2b(f"{element_type}{list(array.shape)}".encode(), digest_size=16)
    if element_type in STRING:
        hashed.update(encode(array))
    else:
        for _, (part,) in pieces(array):
            hashed.update(np.ascontiguousarray(part).view(np.uint8).data)
    return hashed.hexdigest()


PIECE = 2**18
"""Number of elements in a chunk, to limit the memory for intermediate results."""


def as_numbers(array: Array) -> Array:
    """Return the elements as f64, with large 64-bit integers rounded; raises ValueError for strings."""
    if array.dtype == np.float32 or array.dtype == np.float64:
        return array.astype(np.float64, copy=False)
    element_type = ElementType.of(array)
    if element_type in STRING:
        raise ValueError("element type is string, expected numbers")
    return convert(array, ElementType.f64)


def pieces(*arrays: Array) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Yield the start and the chunks of flattened arrays of the same shape."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, PIECE):
        yield start, tuple([elements[start : start + PIECE] for elements in flat])
