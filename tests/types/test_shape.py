"""Shapes: the grammar of files, and what two allow together; types without values."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir_exec.errors import ShapeError
from ir_exec.types import UNBOUNDED, Dim, ElementType, Shape, TensorType
from tests.helpers.facts import coded, naming
from tests.types.test_dim import dims

shapes = st.one_of(st.just(Shape.unknown()), st.lists(dims(), max_size=4).map(Shape))


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("", []),
        ("[]", []),
        ("2,3", [2, 3]),
        ("[1, 3 ,?]", [1, 3, None]),
        ("1..10,?,..5,3..,7", [(1, 10), None, (0, 5), (3, UNBOUNDED), 7]),
        ("-1,0", [None, 0]),
        ("..", [None]),
        (" 4 ", [4]),
    ],
)
def test_grammar(text, dims):
    assert Shape.parse(text).dims == Shape(dims).dims


@pytest.mark.parametrize("text", ["...", "[...]", " ... "])
def test_unknown_rank(text):
    assert Shape.parse(text).dims is None


@pytest.mark.parametrize("text", ["a", "1,,2", "-2", "1.5", "5..2", "1..2..3", "[1", ",", str(2**63), "1 2", "--1"])
def test_invalid_shape_is_refused(text):
    with pytest.raises(ValueError, match=naming("a")):
        Shape.parse(text)


@given(shapes)
def test_printed_shape_is_parsed_back(shape):
    assert Shape.parse(str(shape)) == shape


@given(shapes, shapes)
def test_meet_is_symmetric_and_within_both(a, b):
    met = a & b
    assert met == (b & a)
    if met is not None and met.dims is not None:
        for shape in (a, b):
            if shape.dims is not None:
                assert all(part.lo >= dim.lo and part.hi <= dim.hi for part, dim in zip(met, shape, strict=True))


@given(shapes, shapes)
def test_hull_holds_both(a, b):
    hull = a | b
    assert (hull & a) == a
    assert (hull & b) == b


def test_size_counts_elements():
    assert Shape([2, 3]).size == 6
    assert Shape([]).size == 1
    assert Shape([2, None]).size == Dim(0, UNBOUNDED)
    assert Shape([(1, 2), 3]).size == Dim(3, 6)
    assert Shape([10**9, 10**9, 10**9]).size == Dim(UNBOUNDED)
    assert Shape.unknown().size == Dim.any()


def test_static_and_dynamic():
    assert Shape([2, 3]).static == (2, 3)
    assert Shape([2, 3]) == (2, 3)
    assert Shape([2, 3]) == [2, 3]
    assert not Shape([2, None]).is_static
    with pytest.raises(ValueError, check=coded("IR506")):
        _ = Shape.unknown().static
    with pytest.raises(ValueError, check=coded("IR506")):
        len(Shape.unknown())


CREATE = [np.zeros, np.ones, np.empty, lambda shape: np.full(shape, 7), lambda shape: np.broadcast_to(7, shape)]
ALTER = [np.arange(6).reshape, lambda shape: np.random.default_rng(0).normal(size=shape)]


@pytest.mark.parametrize("use", CREATE + ALTER)
def test_numpy_takes_static_shapes(use):
    assert use(Shape([2, 3])).shape == (2, 3)


@pytest.mark.parametrize("use", CREATE + ALTER)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (Shape([2, None]), naming("?")),
        (Shape([(2, 8), 3]), naming("2..8")),
        (Shape.unknown(), naming("rank")),
    ],
)
def test_numpy_reports_errors_of_other_shapes(use, shape, message):
    with pytest.raises(ShapeError, match=message) as raised:
        use(shape)
    assert raised.value.code == "IR506"


def test_a_shape_is_a_sequence_of_sizes():
    shape = Shape([2, 3])
    assert [int(dim) for dim in shape] == [2, 3]
    assert (len(shape), math.prod(shape), [*range(shape[1])]) == (2, 6, [0, 1, 2])
    assert np.zeros((1, *shape, 4)).shape == (1, 2, 3, 4)
    with pytest.raises(TypeError):
        operator.index(shape)


def test_without_values_the_type_is_the_same() -> None:
    type_ = TensorType.of(np.array([1, 2]))
    without = type_.without_values()
    assert type_.value is not None
    assert (without.value, without.bounds) == (None, None)
    assert (without.element_type, without.shape) == (type_.element_type, type_.shape)


def test_type_without_values_is_unchanged() -> None:
    unknown = TensorType(ElementType.f32, Shape([2, None]))
    assert unknown.without_values() is unknown
