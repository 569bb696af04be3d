"""Offsets of i32 within their range, and of i64 beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.kernels.offsets import AxisOffsets, TupleOffsets

LAST = 2**31


@pytest.mark.parametrize("size", [LAST // 2 - 1, LAST // 2, LAST // 2 + 1, LAST - 1])
@pytest.mark.parametrize("columns", [1, 2])
def test_offsets_along_an_axis_do_not_wrap(size: int, columns: int) -> None:
    indices = np.full((2, 1, columns), size - 1, np.int32)
    found = AxisOffsets(indices.size, size, negative=True)(indices, columns)
    expected = [[[(row * size + size - 1) * columns + k for k in range(columns)]] for row in range(2)]
    assert found.tolist() == expected


@pytest.mark.parametrize("sizes", [(2**15, 2**16), (2**15, 2**16 - 1), (2**16, 2**16), (2**31 - 1, 3)])
def test_offsets_of_tuples_do_not_wrap(sizes: tuple[int, int]) -> None:
    indices = np.array([[0, 0], [sizes[0] - 1, sizes[1] - 1], [1, 0], [-1, -1]], np.int32)
    found = TupleOffsets(len(indices), sizes, negative=True)(indices)
    last = sizes[0] * sizes[1] - 1
    assert found.tolist() == [0, last, sizes[1], last]
