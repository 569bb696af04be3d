"""Products, whole and in chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.kernels.gemm import product, tiles
from ir_exec.kernels.gemm.blas import CLAIM, BlasThreadLimit, blas_is_single_threaded, prefers_tiles
from ir_exec.kernels.gemm.panels import PackedMatrix
from ir_exec.kernels.gemm.product import matrix_product, product_for
from ir_exec.kernels.gemm.tiles import multiply_in_tiles, tile_size
from ir_exec.kernels.parallel import THREADS
from ir_exec.runtime.threads import RunThreads
from ir_exec.tuning import thresholds
from tests.helpers.chunks import in_chunks


@pytest.fixture
def blas_limit() -> Iterator[BlasThreadLimit]:
    claim = BlasThreadLimit()
    token = CLAIM.set(claim)
    yield claim
    CLAIM.reset(token)
    claim.release()


def whole_numbers(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """Products of these are exact in every order of adding."""
    return np.random.default_rng(len(shape)).integers(-8, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 3), (3, 1, 1), (1, 2, 1), (2, 2, 1), (1, 2, 2), (4, 3, 5)])
def test_zero_times_infinity_is_no_number(shape: tuple[int, int, int], dtype: type) -> None:
    rows, between, columns = shape
    zeros, infinities = np.zeros((rows, between), dtype), np.full((between, columns), np.inf, dtype)
    with np.errstate(invalid="ignore"):
        assert np.isnan(matrix_product(zeros, infinities)).all()
        assert np.isnan(matrix_product(infinities.T, zeros.T)).all()
        assert np.isnan(matrix_product(zeros[np.newaxis], infinities[np.newaxis])).all()
        multiply = product_for(zeros.shape, infinities.shape, np.dtype(dtype))
        assert np.isnan(multiply(zeros, infinities, np.empty((rows, columns), dtype))).all()


def test_layouts_that_blas_does_not_take() -> None:
    spaced = np.arange(48, dtype=np.float32).reshape(4, 12)[:, ::2]
    repeated = np.broadcast_to(np.arange(6, dtype=np.float32)[:, np.newaxis], (6, 5))
    actual = matrix_product(spaced, repeated)
    # The rows of `spaced` are 12 * r + 0, 2, 4, ...; 0 * 0 + 2 * 1 + ... + 10 * 5 = 110, and 0 + 1 + ... + 5 = 15.
    assert actual.tolist() == [[110 + 15 * 12 * row] * 5 for row in range(4)]


@pytest.mark.broad(keep=18)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((200, 150), (150, 800)),
        ((1000, 300), (300, 70)),
        ((1, 2000), (2000, 3000)),
        ((2, 3, 48, 40), (1, 3, 40, 1200)),
        ((3, 1, 400, 31), (5, 31, 113)),
        ((2, 1009, 31), (31, 513)),
        ((3000,), (3000, 1700)),
        ((1700, 3000), (3000,)),
        ((600_000,), (600_000,)),
        ((700, 1), (1, 4000)),
        ((3, 600), (600, 900)),
        ((2, 1, 600), (600, 900)),
    ],
)
def test_long_products_are_the_products(
    blas_limit: BlasThreadLimit, a: tuple[int, ...], b: tuple[int, ...], dtype: type
) -> None:
    left, right = whole_numbers(*a), whole_numbers(*b)
    expected = np.matmul(left.astype(np.float64), right.astype(np.float64))
    actual = matrix_product(left.astype(dtype), right.astype(dtype))
    assert actual.dtype == dtype
    assert actual.shape == expected.shape
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 40, 64, 65])
@pytest.mark.parametrize("columns", [31, 90, 1300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_few_rows_by_transposed_matrix(blas_limit: BlasThreadLimit, rows: int, columns: int, dtype: type) -> None:
    left, right = whole_numbers(rows, 700).astype(dtype), whole_numbers(columns, 700).astype(dtype).T
    for a in (left, left.reshape(rows, 1, 700), np.asfortranarray(left)):
        actual = matrix_product(a, right)
        assert actual.dtype == dtype
        assert actual.flags.c_contiguous
        assert np.array_equal(actual, np.matmul(a.astype(np.float64), right))


def test_long_products_into_strided_rows(blas_limit: BlasThreadLimit) -> None:
    left, right = whole_numbers(2, 300, 200), whole_numbers(2, 200, 400)
    out = np.zeros((2, 300, 405), np.float32)
    matrix_product(left, right, out[..., 2:-3])
    assert np.array_equal(out[..., 2:-3], np.matmul(left.astype(np.float64), right))
    assert not out[..., :2].any()
    assert not out[..., -3:].any()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((130, 700), (700, 900)),
        ((12, 128, 64), (12, 64, 300)),
        ((2000, 64), (64, 64)),
        ((1, 3000), (3000, 900)),
        ((3, 3000), (3000, 900)),
    ],
)
def test_threads_change_no_digit(blas_limit: BlasThreadLimit, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    left, right = generator.standard_normal(a, np.float32), generator.standard_normal(b, np.float32)
    results = []
    for threads in (1, 2, 5):
        token = THREADS.set(threads)
        results.append(matrix_product(left, right))
        THREADS.reset(token)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@given(
    batch=st.lists(st.integers(1, 20), max_size=3),
    rows=st.integers(1, 3000),
    columns=st.integers(1, 3000),
    chunks=st.integers(2, 8),
)
def test_chunks_cover_everything_once(batch: list[int], rows: int, columns: int, chunks: int) -> None:
    shape = (*batch, rows, columns)
    cut = product.cut_into_chunks(shape, chunks)
    size = shape[cut.axis] if batch else 1
    groups, remainder = divmod(cut.chunks, cut.down * cut.along)
    assert remainder == 0
    for total, each, count in (
        (size, cut.batches, groups),
        (rows, cut.rows, cut.down),
        (columns, cut.columns, cut.along),
    ):
        assert (count - 1) * each < total <= count * each


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((4000, 900), (2, 1)),
        ((900, 4000), (1, 2)),
        ((197, 192), (2, 1)),
        ((190, 192), (1, 2)),
        ((100, 130), (1, 1)),
        ((10, 1100), (1, 2)),
        ((10, 1000), (1, 1)),
    ],
)
def test_longer_side_is_cut_unless_chunks_are_short(shape: tuple[int, int], chunks: tuple[int, int]) -> None:
    cut = product.cut_into_chunks(shape, 2)
    assert (cut.down, cut.along) == chunks


def test_large_products_are_not_filled_with_zeros_first() -> None:
    dtype = np.dtype(np.float32)
    for rows, function in ((127, np.dot), (128, np.matmul)):
        assert product_for((rows, 9), (9, 128), dtype) is function
        assert product.way_of((rows, 9), (9, 128), dtype).are_matrices == (function is np.dot)


def test_outside_of_a_run_blas_shares_its_products_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "for_each", None)
    left, right = whole_numbers(300, 200), whole_numbers(200, 900)
    assert np.array_equal(matrix_product(left, right), np.matmul(left.astype(np.float64), right))


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        *[(rows, 96, 200) for rows in (0, 1, 2, 8, 48, 49, 197)],
        (30, 1, 64),
        (20, 2500, 130),
        (17, 3906, 64),
        (130, 1953, 65),
    ],
)
def test_a_packed_matrix_makes_the_product(rows: int, inner: int, columns: int, is_transposed: bool) -> None:
    a, matrix = whole_numbers(rows, inner), whole_numbers(inner, columns)
    if is_transposed:
        matrix = np.asfortranarray(matrix)
    packed = PackedMatrix.of(matrix)
    assert packed.shape == matrix.shape
    actual = packed.product(a)
    assert actual.dtype == np.float32
    assert np.array_equal(actual, a.astype(np.float64) @ matrix)


@settings(max_examples=50)
@given(st.integers(0, 60), st.integers(1, 70), st.integers(64, 300), st.integers(1, 4))
def test_packed_matrices_of_any_size(rows: int, inner: int, columns: int, step: int) -> None:
    a, matrix = whole_numbers(rows, inner * step)[:, ::step], whole_numbers(inner, columns * step)[:, ::step]
    assert np.array_equal(PackedMatrix.of(matrix).product(a), a.astype(np.float64) @ matrix)


def test_threads_change_no_product_of_a_packed_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, "SHARED_PRODUCT_NANOSECONDS", 1)
    random = np.random.default_rng(0)
    a, matrix = random.standard_normal((50, 300), np.float32), random.standard_normal((300, 333), np.float32)
    results = []
    for threads in (1, 2, 3):
        with RunThreads(threads):
            results.append(PackedMatrix.of(matrix).product(a))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "prefers_tiles", lambda: True)


@pytest.mark.broad(keep=18)
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
def test_tiles_make_the_product(a: tuple[int, ...], b: tuple[int, ...], turned: str) -> None:
    left, right = whole_numbers(*a), whole_numbers(*b)
    if "a" in turned:
        left = np.ascontiguousarray(left.swapaxes(-1, -2)).swapaxes(-1, -2)
    if "b" in turned:
        right = np.ascontiguousarray(right.swapaxes(-1, -2)).swapaxes(-1, -2)
    expected = np.matmul(left.astype(np.float64), right)
    padded = np.zeros((*expected.shape[:-1], expected.shape[-1] + 5), np.float32)
    for out in (np.empty(expected.shape, np.float32), padded[..., 2:-3]):
        assert np.array_equal(multiply_in_tiles(left, right, out), expected)
        assert np.array_equal(out, expected)
    assert not padded[..., :2].any()
    assert not padded[..., -3:].any()


@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(1, 5000), st.booleans())
def test_tile_is_a_product_without_copy(rows: int, inner: int, columns: int, is_transposed: bool) -> None:
    tile = tile_size(rows, inner, columns, is_transposed=is_transposed)
    if tile is None:
        return
    assert tile.rows % 8 == 0 or tile.rows == rows
    assert tile.columns % 16 == 0 or tile.columns == columns
    assert 0 < tile.rows <= rows
    assert 0 < tile.columns <= columns
    assert tile.rows * tile.columns * inner <= thresholds.TILE_MULTIPLICATIONS
    assert not is_transposed or tile.rows * tile.columns <= thresholds.TRANSPOSED_TILE_ELEMENTS


def test_outside_of_a_run_nothing_is_cut() -> None:
    assert not prefers_tiles()


def test_tiles_require_single_threaded_blas() -> None:
    claim = BlasThreadLimit()
    token = CLAIM.set(claim)
    try:
        assert blas_is_single_threaded() or not prefers_tiles()
    finally:
        CLAIM.reset(token)
        claim.release()
