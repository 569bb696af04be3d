"""Einsum: the grammar of equations, errors, dynamic shapes, and a plain loop beside it."""

from __future__ import annotations

import string
from collections.abc import Iterable
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import GraphError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.matrix import einsum
from ir_exec.ops.matrix.einsum import Einsum
from ir_exec.types import Array, Shape, TensorType
from tests.helpers.operators import make
from tests.helpers.values import typed


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("i1->i", "the input subscript 'i1' is not letters with at most one '...'"),
        ("i.j->i", "the input subscript 'i.j' is not letters with at most one '...'"),
        ("i...j...->i", "the input subscript 'i...j...' is not letters with at most one '...'"),
        ("ij,j->i,j", "the output subscript 'i,j' is not letters with at most one '...'"),
        ("ij->ik->k", "the output subscript 'ik->k' is not letters with at most one '...'"),
        ("ij->ik", "the output has the label k, which no input has"),
        ("ij->ii", "the output has the label i more than once"),
    ],
)
def test_a_bad_equation_is_an_error(equation: str, reason: str) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Einsum.parse({"equation": equation}, raise_error)
    assert (error.value.code, error.value.message) == ("IR302", f"attribute equation={equation!r}: {reason}")


def test_the_equation_must_be_there() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Einsum.parse({}, raise_error)
    assert (error.value.code, error.value.message) == ("IR301", "attribute equation is missing")


def test_one_input_for_each_subscript() -> None:
    with pytest.raises(GraphError) as error:
        Einsum(equation="ij,jk").infer(typed("2,3"))
    message = "equation 'ij,jk' has 2 input subscripts, expected 1, one for each input"
    assert (error.value.code, error.value.message) == ("IR106", message)


@pytest.mark.parametrize(
    ("equation", "shapes", "code", "message"),
    [
        ("ijk->ij", ["2,3"], "IR501", "inputs[0] [2,3] has rank 2, expected 3 as in the subscript 'ijk'"),
        ("i->i", ["2,3"], "IR501", "inputs[0] [2,3] has rank 2, expected 1 as in the subscript 'i'"),
        (
            "i,i...jk",
            ["2", "2,3"],
            "IR501",
            "inputs[1] [2,3] has rank 2, expected at least 3 as in the subscript 'i...jk'",
        ),
        ("ii->i", ["1,3"], "IR502", "the axes of inputs[0] with label i must be equal, found 1 and 3"),
        ("ii->i", ["1..3,4..5"], "IR502", "the axes of inputs[0] with label i must be equal, found 1..3 and 4..5"),
        ("i,i->i", ["2..3", "4..5"], "IR504", "the axes with label i do not broadcast: 2..3 meets 4..5"),
        ("...,...->...", ["2,3", "4"], "IR504", "the shapes [2,3] and [4] do not broadcast: 3 meets 4"),
    ],
)
def test_shapes_that_do_not_fit(equation: str, shapes: list[str], code: str, message: str) -> None:
    with pytest.raises(ShapeError) as error:
        Einsum(equation=equation).infer(*map(typed, shapes))
    assert (error.value.code, error.value.message) == (code, message)


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
    assert Einsum(equation=equation).infer(*map(typed, shapes)).shape == Shape.parse(expected)


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
    known = sorted(set("".join(subscripts)))
    output = "".join(draw(st.permutations(known))[: draw(st.integers(0, len(known)))])
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
    found = operator.evaluate(*arrays)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)


def test_the_order_of_products_keeps_intermediates_small() -> None:
    # From left to right, the outer product of both vectors would take 10^10 elements.
    vector = np.ones(100_000, np.float32)
    found = Einsum(equation="i,j,i,j->").evaluate(vector, vector, vector, vector)
    assert found == 1e10


@pytest.mark.parametrize("count", [17, 40, 160])
def test_the_order_of_many_operands_is_found_by_few_comparisons(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 51 matrices at most, there being 52 letters, and vectors that scale its labels."""
    compared = 0

    def counted(factors: Iterable[int]) -> int:
        nonlocal compared
        compared += 1
        return prod(factors)

    monkeypatch.setattr(einsum, "prod", counted)
    letters = string.ascii_letters
    names = [letters[i] for i in range(min(count, 51) + 1)]
    chain = [names[i] + names[i + 1] for i in range(len(names) - 1)]
    subscripts = [*chain, *[names[i % len(names)] for i in range(count - len(chain))]]
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(0.5, 1, (2,) * len(labels)) for labels in subscripts]
    operator = make("Einsum", 7, equation=",".join(subscripts) + f"->{names[0]}{names[len(chain)]}")
    found = operator.evaluate(*arrays)
    expected = np.eye(2)
    vectors = dict.fromkeys(names, np.ones(2))
    for labels, array in zip(subscripts, arrays, strict=True):
        if len(labels) == 1:
            vectors[labels] = vectors[labels] * array
    for labels, array in zip(chain, arrays, strict=False):
        expected = (expected * vectors[labels[0]]) @ array
    np.testing.assert_allclose(found, expected * vectors[chain[-1][1]], rtol=1e-12)
    assert compared < 4 * count**2
