"""Arrays in another order in memory."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from ir_exec.kernels import costs
from ir_exec.kernels.views import by_rows

ROWS, COLUMNS = costs.COLUMNS_OF_A_COPY, costs.LONG_ROW + 3


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("sizes", [(2, 9, ROWS, COLUMNS), (1, ROWS + 1, 3, COLUMNS), (COLUMNS, 1, 2, ROWS)])
def test_arrays_with_axes_in_any_order(sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    array = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes).transpose(order)
    found = by_rows(array)
    assert np.array_equal(found, array)
    assert found is array or found.flags.c_contiguous


def test_long_rows_of_a_transposed_array_are_copied() -> None:
    array = np.zeros((COLUMNS, ROWS), np.float32).T
    assert by_rows(array) is not array
    image = np.zeros((1, 32, 32, ROWS), np.float32).transpose(0, 3, 1, 2)
    assert by_rows(image).flags.c_contiguous


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((ROWS, COLUMNS)),
        np.zeros((ROWS, 2 * COLUMNS))[:, :COLUMNS],
        np.zeros((costs.LONG_ROW - 1, 4 * ROWS)).T,
        np.zeros((COLUMNS, ROWS - 1)).T,
        np.broadcast_to(np.zeros((ROWS, 1)), (ROWS, COLUMNS)),
        np.zeros((2 * COLUMNS, 2 * ROWS))[::2, ::2].T,
    ],
)
def test_other_arrays_stay_as_they_are(array: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    assert by_rows(array) is array
