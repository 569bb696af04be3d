"""Interval arithmetic, against the sizes themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.errors import ShapeError
from ir_exec.types import UNBOUNDED, Dim
from tests.helpers.facts import naming


@st.composite
def dims(draw):
    lo = draw(st.integers(0, 12))
    return Dim(lo, draw(st.one_of(st.integers(lo, lo + 6), st.just(UNBOUNDED))))


def sizes(dim):
    """The sizes of a dim; of an unbounded one the first few."""
    return range(dim.lo, min(dim.hi, dim.lo + 8) + 1)


@given(dims(), dims())
def test_every_sum_difference_and_product_lies_in_the_result(a, b):
    for x in sizes(a):
        for y in sizes(b):
            assert x + y in a + b
            assert x * y in a * b
            if x >= y:
                assert x - y in a - b


@given(dims(), st.integers(1, 7))
def test_quotients_are_within_tight_bounds(dim, divisor):
    for x in sizes(dim):
        assert x // divisor in dim // divisor
        assert -(-x // divisor) in dim.ceil_div(divisor)
    assert (dim // divisor).lo == dim.lo // divisor
    assert (dim // divisor).is_bounded == dim.is_bounded


@given(dims(), dims())
def test_meet_and_hull_equal_those_of_sets(a, b):
    met = a & b
    common = set(sizes(a)) & set(sizes(b))
    assert (met is not None) or not common
    assert all(x in met for x in common)
    assert all(x in (a | b) for x in [*sizes(a), *sizes(b)])
    if met is not None:
        assert met.lo in a
        assert met.lo in b
        assert met.hi in a
        assert met.hi in b


@given(dims(), dims())
def test_broadcast_covers_all_sizes_and_is_tight(a, b):
    out = {
        max(x, y) if 1 not in (x, y) else (y if x == 1 else x)
        for x in sizes(a)
        for y in sizes(b)
        if x == y or 1 in (x, y)
    }
    result = a.broadcast(b)
    if result is None:
        assert not out
        return
    assert all(x in result for x in out)
    if a.is_bounded and b.is_bounded:
        assert (result.lo, result.hi) == (min(out), max(out))


def test_arithmetic_saturates():
    assert (Dim.any() + 3).hi == UNBOUNDED
    assert (Dim.any() * 2).hi == UNBOUNDED
    assert (Dim.any() - 5) == Dim(0, UNBOUNDED)
    assert (Dim(2**62) * Dim(2**62)) == Dim(UNBOUNDED)
    assert (Dim.any() // 4) == Dim.any()


def test_a_static_dim_is_its_size():
    assert Dim(3) == 3
    assert hash(Dim(3)) == hash(3)
    assert Dim(3).size == 3
    assert Dim(2, 3) != 3
    with pytest.raises(ValueError, match=naming("2", "3")):
        _ = Dim(2, 3).size


def test_static_dims_compare_like_integers():
    assert [Dim(3) < 4, Dim(3) <= 3, Dim(3) > Dim(2), Dim(3) <= 2] == [True, True, True, False]
    assert [10, 11, 12, 13][Dim(2)] == 12
    with pytest.raises(ShapeError, match=naming("2", "3")):
        _ = Dim(2, 3) < 4


@pytest.mark.parametrize(("lo", "hi"), [(-1, 3), (4, 3), (-2, None)])
def test_impossible_dims_are_refused(lo, hi):
    with pytest.raises(ValueError, match=naming(lo)):
        Dim(lo, hi)


@pytest.mark.parametrize(
    ("dim", "text"), [(Dim(3), "3"), (Dim.any(), "?"), (Dim(1, 10), "1..10"), (Dim(0, 5), "..5"), (Dim(3, None), "3")]
)
def test_written_as_in_files(dim, text):
    assert str(dim) == text


def test_lower_bound_alone():
    assert str(Dim(3, UNBOUNDED)) == "3.."
