"""The elements of any array as numbers that NumPy calculates with, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.types import STRING, Array, ElementType, convert

__all__ = ["PIECE", "as_numbers", "pieces"]

PIECE = 2**18
"""How many elements are looked at together: what is made of them takes little memory."""


def as_numbers(array: Array) -> Array:
    """The elements as f64; those of 64-bit integers that it cannot hold are rounded. ValueError for strings."""
    kind = ElementType.of(array)
    if kind in STRING:
        raise ValueError("strings are no numbers")
    return convert(array, ElementType.f64)


def pieces(*arrays: Array) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Parts of flattened arrays of one shape, and where each begins."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, PIECE):
        yield start, tuple([one[start : start + PIECE] for one in flat])
