"""Einsum: the grammar of equations, errors, dynamic shapes, and a comparison with a plain loop."""

from __future__ import annotations

import string
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import GraphError, InvalidAttributeError, ResourceError, ShapeError, raise_error
from ir_exec.kernels.limits import LIMITS, Budget, Limits
from ir_exec.ops.matrix import einsum
from ir_exec.ops.matrix.einsum import Einsum
from ir_exec.types import Array, Shape, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import make_type


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("i1->i", mentions("i1", "...")),
        ("i.j->i", mentions("i.j", "...")),
        ("i...j...->i", mentions("i...j...", "...")),
        ("ij,j->i,j", mentions("i,j", "...")),
        ("ij->ik->k", mentions("ik->k", "...")),
        ("ij->ik", mentions("k")),
        ("ij->ii", mentions("i")),
    ],
)
def test_a_bad_equation_is_an_error(equation: str, reason: fault_with) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Einsum.parse({"equation": equation}, raise_error)
    assert (error.value.code, error.value) == ("IR302", fault_with(f"equation={equation!r}", *reason.names))


def test_the_equation_must_be_there() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Einsum.parse({}, raise_error)
    assert (error.value.code, error.value) == ("IR301", fault_with("equation"))


def test_one_input_for_each_subscript() -> None:
    with pytest.raises(GraphError) as error:
        Einsum(equation="ij,jk").infer(make_type("2,3"))
    fault = fault_with("equation", "ij,jk", actual=2, expected=1)
    assert (error.value.code, error.value) == ("IR106", fault)


@pytest.mark.parametrize(
    ("equation", "shapes", "code", "fault"),
    [
        ("ijk->ij", ["2,3"], "IR501", fault_with("inputs[0]", "[2,3]", "ijk", actual=2, expected=3)),
        ("i->i", ["2,3"], "IR501", fault_with("inputs[0]", "[2,3]", "i", actual=2, expected=1)),
        (
            "i,i...jk",
            ["2", "2,3"],
            "IR501",
            fault_with("inputs[1]", "[2,3]", "i...jk", actual=2, expected="at least 3"),
        ),
        ("ii->i", ["1,3"], "IR502", fault_with("inputs[0]", actual="1 and 3", expected="equal dims")),
        ("ii->i", ["1..3,4..5"], "IR502", fault_with("inputs[0]", actual="1..3 and 4..5", expected="equal dims")),
        ("i,i->i", ["2..3", "4..5"], "IR504", fault_with(2, 3, 4, 5)),
        ("...,...->...", ["2,3", "4"], "IR504", fault_with("[2,3]", "[4]", 3, 4)),
    ],
)
def test_shapes_that_do_not_fit(equation: str, shapes: list[str], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        Einsum(equation=equation).infer(*map(make_type, shapes))
    assert (error.value.code, error.value) == (code, fault)


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,jk->ik", ["?,?", "3,4"], "?,4"),
        ("ij,jk->ik", ["...", "3,4"], "?,4"),
        ("ij,jk->ik", ["2,3..4", "4..5,7"], "2,7"),
        ("ij,jk->ik", ["2,3", "..2,4"], "2,4"),
        ("ij,jk->ki", ["...", "..."], "?,?"),
        ("...ij,jk->...ik", ["...", "3,4"], "..."),
        ("ii->i", ["1..3,2..4"], "2..3"),
        ("i,i->i", ["1..3", "4..5"], "4..5"),
        ("i,i->i", ["?", "4"], "4"),
        ("i,i->i", ["1", "?"], "?"),
    ],
)
def test_dynamic_shapes(equation: str, shapes: list[str], expected: str) -> None:
    assert Einsum(equation=equation).infer(*map(make_type, shapes)).shape == Shape.parse(expected)


@pytest.mark.parametrize(("equation", "expected"), [("ii", 15.0), ("iij", [15.0, 0.0]), ("jii", [15.0, 0.0])])
def test_the_implicit_output_has_no_repeated_label(equation: str, expected: object) -> None:
    square = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.float32)
    array = {"ii": square, "iij": np.stack([square, 0 * square], -1), "jii": np.stack([square, 0 * square])}[equation]
    operator = Einsum(equation=equation)
    assert operator.infer(TensorType.of(array)).shape == np.shape(expected)
    assert operator.evaluate(array).tolist() == expected


@st.composite
def summations(draw: st.DrawFn) -> tuple[str, list[Array]]:
    sizes = {label: draw(st.integers(0, 3)) for label in "abcd"}
    subscripts = draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=3))
    symbols = sorted(set("".join(subscripts)))
    output = "".join(draw(st.permutations(symbols))[: draw(st.integers(0, len(symbols)))])
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [generator.integers(-3, 4, [sizes[label] for label in subscript]) for subscript in subscripts]
    return f"{','.join(subscripts)}->{output}", arrays


@given(summations())
@settings(max_examples=100)
def test_the_same_as_a_plain_loop(summation: tuple[str, list[Array]]) -> None:
    equation, arrays = summation
    left, output = equation.split("->")
    subscripts = left.split(",")
    sizes = {
        label: size
        for subscript, array in zip(subscripts, arrays, strict=True)
        for label, size in zip(subscript, array.shape, strict=True)
    }
    expected = np.zeros([sizes[label] for label in output], np.int64)
    for values in product(*map(range, sizes.values())):
        at = dict(zip(sizes, values, strict=True))
        term = 1
        for subscript, array in zip(subscripts, arrays, strict=True):
            term *= int(array[tuple(at[label] for label in subscript)])
        expected[tuple(at[label] for label in output)] += term
    operator = Einsum(equation=equation)
    assert operator.infer(*map(TensorType.of, arrays)).shape == expected.shape
    actual = operator.evaluate(*arrays)
    assert actual.dtype == np.int64
    assert np.array_equal(actual, expected)


def test_the_order_of_products_keeps_intermediates_small() -> None:
    # From left to right, the outer product of both vectors would take 10^10 elements.
    vector = np.ones(100_000, np.float32)
    result = Einsum(equation="i,j,i,j->").evaluate(vector, vector, vector, vector)
    assert result == 1e10


def test_product_order_search_time_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A chain of 160 matrices; pairing all of them again for each product would look at 700,000 pairs."""
    looked_at = []
    monkeypatch.setattr(
        einsum, "combinations", lambda of, count: looked_at.extend(p := [*combinations(of, count)]) or p
    )
    letters = string.ascii_letters
    subscripts = [letters[i % 52] + letters[(i + 1) % 52] for i in range(160)]
    turn = np.array([[0, 1], [1, 0]], np.float32)
    result = Einsum(equation=f"{','.join(subscripts[:50])}->{subscripts[0][0]}{subscripts[49][1]}").evaluate(
        *[turn] * 50
    )
    assert result.tolist() == np.eye(2).tolist()
    result = Einsum(equation=f"{','.join(subscripts)}->").evaluate(*[np.eye(2, dtype=np.float32)] * 160)
    assert result == 2
    assert len(looked_at) < (50 + 160) * einsum.MOST_PAIRED**2 / 2


def test_product_memory_is_counted_in_advance() -> None:
    vectors = [np.ones(1000, np.float32)] * 3
    token = LIMITS.set(Limits(Budget(10**6)))
    try:
        with pytest.raises(ResourceError):
            Einsum(equation="i,j,k->ijk").evaluate(*vectors)
    finally:
        LIMITS.reset(token)
