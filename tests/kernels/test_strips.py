"""Products in strips are the products, whichever strips they are cut into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.kernels import costs, strips
from ir_exec.kernels.blas import CLAIM, Claim, takes_strips, works_alone
from ir_exec.kernels.strips import multiply, tile_of


def whole_numbers(*shape: int) -> np.ndarray:
    """Products of these are exact in every order of adding."""
    return np.random.default_rng(len(shape)).integers(-8, 9, shape).astype(np.float32)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "takes_strips", lambda: True)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1000, 256), (256, 8)),
        ((8, 256), (256, 1000)),
        ((2, 768), (768, 1800)),
        ((64, 64), (64, 780)),
        ((1, 3, 500, 70), (1, 1, 70, 49)),
        ((3, 30, 200), (2, 1, 200, 500)),
        ((300, 900), (900, 300)),
        ((197, 400), (400, 197)),
        ((2, 60, 700), (2, 700, 200)),
    ],
)
def test_strips_make_the_product(a: tuple[int, ...], b: tuple[int, ...], turned: str) -> None:
    left, right = whole_numbers(*a), whole_numbers(*b)
    if "a" in turned:
        left = np.ascontiguousarray(left.swapaxes(-1, -2)).swapaxes(-1, -2)
    if "b" in turned:
        right = np.ascontiguousarray(right.swapaxes(-1, -2)).swapaxes(-1, -2)
    wanted = np.matmul(left.astype(np.float64), right)
    around = np.zeros((*wanted.shape[:-1], wanted.shape[-1] + 5), np.float32)
    for out in (np.empty(wanted.shape, np.float32), around[..., 2:-3]):
        assert np.array_equal(multiply(left, right, out), wanted)
        assert np.array_equal(out, wanted)
    assert not around[..., :2].any()
    assert not around[..., -3:].any()


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(1, 5000), st.booleans())
def test_a_tile_is_a_product_that_is_not_copied(rows: int, inner: int, columns: int, is_turned: bool) -> None:
    tile = tile_of(rows, inner, columns, 0 if is_turned else 4 * columns)
    if tile is None:
        return
    assert tile.rows % 8 == 0 or tile.rows == rows
    assert tile.columns % 16 == 0 or tile.columns == columns
    assert 0 < tile.rows <= rows
    assert 0 < tile.columns <= columns
    assert tile.rows * tile.columns * inner <= costs.STRIP_MULTIPLICATIONS
    assert not is_turned or tile.rows * tile.columns <= costs.TURNED_STRIP_ELEMENTS


def test_outside_of_a_run_nothing_is_cut() -> None:
    assert not takes_strips()


def test_strips_are_for_a_blas_that_works_alone() -> None:
    claim = Claim()
    token = CLAIM.set(claim)
    try:
        assert works_alone() or not takes_strips()
    finally:
        CLAIM.reset(token)
        claim.release()
