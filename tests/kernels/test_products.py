"""Products in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.kernels.costs import SINGLE_PRODUCT_MULTIPLICATIONS
from ir_exec.kernels.products import matrix_product, product_in_pieces


def test_layouts_that_blas_does_not_take() -> None:
    spaced = np.arange(48, dtype=np.float32).reshape(4, 12)[:, ::2]
    repeated = np.broadcast_to(np.arange(6, dtype=np.float32)[:, np.newaxis], (6, 5))
    found = matrix_product(spaced, repeated)
    # The rows of `spaced` are 12 * r + 0, 2, 4, ...; 0 * 0 + 2 * 1 + ... + 10 * 5 = 110, and 0 + 1 + ... + 5 = 15.
    assert found.tolist() == [[110 + 15 * 12 * row] * 5 for row in range(4)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((32, 128), (128, 512)),
        ((2, 3, 48, 40), (1, 3, 40, 1200)),
        ((2, 1009, 31), (2, 31, 1013)),
        ((64, 2000), (2000, 64)),
        ((640, 1), (1, 3200)),
    ],
)
def test_products_in_pieces_are_the_products(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    left, right = (generator.integers(-8, 9, shape) for shape in (a, b))
    wanted = left @ right
    assert left.shape[-2] * right.size > SINGLE_PRODUCT_MULTIPLICATIONS
    # Rows of the output that do not follow each other, as in a part of a larger one.
    out = np.zeros((*wanted.shape[:-1], wanted.shape[-1] + 5), np.float32)[..., 2:-3]
    product_in_pieces(left.astype(np.float32), right.astype(np.float32), out)
    assert np.array_equal(out, wanted)
