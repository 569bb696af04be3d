"""Windows: blocks that cover them, what they reach, and the view of all."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels.windows import SlidingAxis, block_sizes, blocks, padded_part, window_view


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=3), target=st.integers(0, 60))
def test_blocks_cover_all_windows_in_their_order(counts: list[int], target: int) -> None:
    numbers = np.arange(np.prod(counts, dtype=int)).reshape(counts)
    sizes = block_sizes(counts, target)
    flat = [number for block in blocks(counts, sizes) for number in numbers[block].ravel().tolist()]
    assert flat == list(range(numbers.size))
    assert np.prod(sizes) <= max(target, 1)


def places(axis: SlidingAxis) -> set[tuple[int, int]]:
    """The element of the data in each place of each window, by plain loops."""
    pairs = product(range(axis.count), range(axis.kernel))
    touched = {(i, i * axis.stride + k * axis.dilation - axis.pad) for i, k in pairs}
    return {(i, position) for i, position in touched if 0 <= position < axis.size}


@st.composite
def sliding(draw: st.DrawFn) -> SlidingAxis:
    size, kernel, stride, dilation = [draw(st.integers(1, most)) for most in (9, 12, 4, 3)]
    pad = draw(st.integers(-2, 20))
    return SlidingAxis(size, kernel, stride, dilation, pad, draw(st.integers(1, 8)))


@given(axis=sliding())
def test_what_windows_reach(axis: SlidingAxis) -> None:
    covered: dict[int, list[tuple[int, int]]] = {k: [] for k in range(axis.kernel)}
    for i, k in product(range(axis.count), range(axis.kernel)):
        position = i * axis.stride + k * axis.dilation - axis.pad
        if 0 <= position < axis.size:
            covered[k].append((i, position))
    positions = list(axis.positions())
    assert positions == sorted(set(positions))
    assert set(positions) >= {k for k, pairs in covered.items() if pairs}
    for k, pairs in covered.items():
        reach = axis.reach(k)
        reached = [] if reach is None else [list(range(axis.count))[reach[0]], list(range(axis.size))[reach[1]]]
        assert (list(zip(*reached, strict=True)) if reached else []) == pairs


@given(axes=st.lists(sliding(), min_size=1, max_size=2))
def test_the_view_of_all_windows(axes: list[SlidingAxis]) -> None:
    data = np.arange(1, 1 + np.prod([axis.size for axis in axes])).reshape([axis.size for axis in axes])
    windows = window_view(padded_part(data, axes), axes)
    for at in np.ndindex(*windows.shape):
        elements, numbers = at[: len(axes)], at[len(axes) :]
        source = [
            i * axis.stride + k * axis.dilation - axis.pad for axis, i, k in zip(axes, numbers, elements, strict=True)
        ]
        inside = all(0 <= index < axis.size for index, axis in zip(source, axes, strict=True))
        assert windows[at] == (data[tuple(source)] if inside else 0)


@given(axis=sliding())
def test_padding_only_elements_are_cut_at_both_ends(axis: SlidingAxis) -> None:
    elements, touching = axis.touching()
    assert places(touching) == places(axis)
    assert touching.kernel == elements.stop - elements.start
    if places(axis):
        assert touching.reach(0) is not None
        assert touching.reach(touching.kernel - 1) is not None


def test_dilated_kernel_beyond_data_keeps_the_middle() -> None:
    elements, touching = SlidingAxis(size=10, kernel=3, stride=1, dilation=12, pad=12, count=10).touching()
    assert elements == slice(1, 2)
    assert touching == SlidingAxis(size=10, kernel=1, stride=1, dilation=12, pad=0, count=10)
