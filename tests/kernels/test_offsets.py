"""Offsets of tuples of indices and of indices along an axis, against NumPy's and loops."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels.indices import OutOfRangeError
from ir_exec.kernels.offsets import AxisOffsets, TupleOffsets

# NumPy holds no tensor whose offsets are beyond i64.
SIZES = st.lists(st.sampled_from([1, 2, 7, 2**15, 2**20, 2**30]), min_size=1, max_size=3).filter(
    lambda sizes: prod(sizes) < 2**63
)


@given(
    sizes=SIZES,
    count=st.integers(0, 5),
    negative=st.booleans(),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 99),
)
def test_offsets_of_tuples_are_those_of_numpy(
    sizes: list[int], count: int, negative: bool, dtype: type, seed: int
) -> None:
    random = np.random.default_rng(seed)
    tuples = np.array([random.integers(-size if negative else 0, size, count) for size in sizes]).T
    tuples = tuples.reshape(count, len(sizes)).astype(dtype)
    original = tuples.copy()
    actual = TupleOffsets(max(count, 1), sizes, negative)(tuples)
    wrapped = np.where(tuples < 0, tuples + np.array(sizes), tuples).astype(np.int64)
    expected = [sum(int(i) * int(np.prod(sizes[k + 1 :])) for k, i in enumerate(index)) for index in wrapped]
    assert actual.tolist() == expected
    assert np.array_equal(tuples, original)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize(
    ("one", "is_sound"),
    [((2, 4), True), ((3, 0), False), ((0, 5), False), ((-1, -5), None), ((-4, 0), False), ((0, -6), False)],
)
def test_tuples_beyond_the_axes(dtype: type, negative: bool, pair: tuple[int, int], is_sound: bool | None) -> None:
    """None: where negative indices are allowed."""
    offsets = TupleOffsets(2, (3, 5), negative)
    tuples = np.array([(0, 0), pair], dtype)
    if is_sound or (is_sound is None and negative):
        assert offsets(tuples).tolist() == [0, pair[0] % 3 * 5 + pair[1] % 5]
    else:
        with pytest.raises(OutOfRangeError):
            offsets(tuples)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(1, 3)),
    size=st.sampled_from([1, 3, 2**16, 2**30, 2**31 - 1]),
    negative=st.booleans(),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 99),
)
def test_offsets_along_an_axis(shape: tuple[int, int, int], size: int, negative: bool, dtype: type, seed: int) -> None:
    indices = np.random.default_rng(seed).integers(-size if negative else 0, size, shape).astype(dtype)
    actual = AxisOffsets(indices.size, size, negative)(indices, shape[2])
    expected = [(b * size + int(indices[b, j, k]) % size) * shape[2] + k for b, j, k in np.ndindex(*shape)]
    assert actual.reshape(-1).tolist() == expected


@pytest.mark.parametrize(("index", "negative"), [(4, True), (-5, True), (-1, False), (4, False)])
def test_indices_beyond_the_axis(index: int, negative: bool) -> None:
    with pytest.raises(OutOfRangeError):
        AxisOffsets(2, 4, negative)(np.array([[[0], [index]]]), 1)


LAST = 2**31


@pytest.mark.parametrize("size", [LAST // 2 - 1, LAST // 2, LAST // 2 + 1, LAST - 1])
@pytest.mark.parametrize("columns", [1, 2])
def test_offsets_along_an_axis_do_not_wrap(size: int, columns: int) -> None:
    indices = np.full((2, 1, columns), size - 1, np.int32)
    actual = AxisOffsets(indices.size, size, negative=True)(indices, columns)
    expected = [[[(row * size + size - 1) * columns + k for k in range(columns)]] for row in range(2)]
    assert actual.tolist() == expected


@pytest.mark.parametrize("sizes", [(2**15, 2**16), (2**15, 2**16 - 1), (2**16, 2**16), (2**31 - 1, 3)])
def test_offsets_of_tuples_do_not_wrap(sizes: tuple[int, int]) -> None:
    indices = np.array([[0, 0], [sizes[0] - 1, sizes[1] - 1], [1, 0], [-1, -1]], np.int32)
    actual = TupleOffsets(len(indices), sizes, negative=True)(indices)
    last = sizes[0] * sizes[1] - 1
    assert actual.tolist() == [0, last, sizes[1], last]
