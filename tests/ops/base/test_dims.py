"""Lengths of slices of which only bounds are known, against all slices within them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ir_exec.ops.base.dims import sliced_dim
from ir_exec.types import Dim

STEPS = [-3, -2, -1, 1, 2, 3]


def length_of(size: int, start: int, stop: int, step: int) -> int:
    """Python's, but that a backward slice that starts before the axis starts at its first element, as in OpenVINO."""
    if step < 0 and size and start < -size:
        start = 0
    return len(range(size)[slice(start, None if step < 0 and stop < -size else stop, step)])


def intervals(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(0, 6)).map(lambda pair: (pair[0], min(sum(pair), high)))


@given(sizes=intervals(1, 12), start=intervals(-14, 14), stop=intervals(-14, 14), step=st.sampled_from(STEPS))
def test_length_interval_is_tight(
    sizes: tuple[int, int], start: tuple[int, int], stop: tuple[int, int], step: int
) -> None:
    lengths = {
        length_of(size, first, end, step)
        for size in range(sizes[0], sizes[1] + 1)
        for first in range(start[0], start[1] + 1)
        for end in range(stop[0], stop[1] + 1)
    }
    interval = sliced_dim(Dim(*sizes), start, stop, step)
    assert interval.lo <= min(lengths)
    assert interval.hi >= max(lengths)
    if start[0] == start[1] and stop[0] == stop[1]:
        assert (interval.lo, interval.hi) == (min(lengths), max(lengths))
