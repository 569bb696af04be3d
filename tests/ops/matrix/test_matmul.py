"""MatMul: shapes, errors, and products of all ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir_exec
from ir_exec.errors import ElementTypeError, ShapeError, raise_error
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.facts import fault_with
from tests.helpers.network_text import NetworkText
from tests.helpers.values import make_type


@pytest.mark.parametrize(
    ("a", "b", "turns", "code", "fault"),
    [
        (
            "2,3",
            "4,5",
            (False, False),
            "IR502",
            fault_with("[2,3]", "b", "[4,5]", actual="3 columns and 4 rows", expected="equal sizes"),
        ),
        (
            "2,3",
            "4,5",
            (True, True),
            "IR502",
            fault_with("[2,3]", "b", "[4,5]", actual="2 columns and 5 rows", expected="equal sizes"),
        ),
        (
            "1",
            "2..4,5",
            (True, False),
            "IR502",
            fault_with("[1]", "b", "[2..4,5]", actual="1 column and 2..4 rows", expected="equal sizes"),
        ),
        (
            "3",
            "4",
            (False, True),
            "IR502",
            fault_with("[3]", "b", "[4]", actual="3 columns and 4 rows", expected="equal sizes"),
        ),
        ("2,3,4", "3,4,5", (False, False), "IR504", fault_with("[2]", "[3]", 2, 3)),
        ("", "3", (False, False), "IR501", fault_with(actual=0, expected="1 or more")),
        ("...", "", (False, False), "IR501", fault_with("b", actual=0, expected="1 or more")),
    ],
)
def test_errors(a: str, b: str, turns: tuple[bool, bool], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        MatMul(transpose_a=turns[0], transpose_b=turns[1]).infer(make_type(a), make_type(b))
    assert (error.value.code, error.value) == (code, fault)


def test_both_inputs_share_one_element_type() -> None:
    with pytest.raises(ElementTypeError) as error:
        MatMul().check_inputs([make_type("2,3"), make_type("3,4", ElementType.f16)], raise_error)
    assert (error.value.code, error.value) == ("IR402", fault_with("b", actual="f16", expected="f32"))


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("...", "2,3", "..."),
        ("?,?", "3,4", "?,4"),
        ("2..5,3..4", "4..5,7", "2..5,7"),
        ("1..2,3,4", "3,4,5", "3,3,5"),
        ("?,3,4", "1..5,4,5", "?,3,5"),
        ("0..1,3,4", "1..5,4,5", "..5,3,5"),
        ("2..5,3,4", "3..7,4,5", "3..5,3,5"),
        ("1..5,3,4", "3..7,4,5", "3..7,3,5"),
        ("0..5,3,4", "0..7,4,5", "..7,3,5"),
        ("2..5,3,4", "?,4,5", "2..5,3,5"),
        ("1,3,4", "?,4,5", "?,3,5"),
        ("?", "2,?,5", "2,5"),
        ("2,3,?", "?", "2,3"),
        ("?", "?", ""),
    ],
)
def test_dynamic_shapes(a: str, b: str, expected: str) -> None:
    assert MatMul().infer(make_type(a), make_type(b)).shape == Shape.parse(expected)


def test_known_element_type_is_that_of_output() -> None:
    unknown = TensorType(ElementType.dynamic, Shape([2, 3]))
    assert MatMul().infer(unknown, make_type("3,4")).element_type is ElementType.f32


@st.composite
def products(draw: st.DrawFn) -> tuple[Array, Array]:
    rows, inner, columns = (draw(st.integers(0, 4)) for _ in range(3))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    batches = []
    for _ in range(2):
        own = [1 if draw(st.booleans()) else size for size in batch]
        batches.append(own[draw(st.integers(0, len(own))) :])
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return (
        generator.integers(-9, 9, (*batches[0], rows, inner)),
        generator.integers(-9, 9, (*batches[1], inner, columns)),
    )


@given(products(), st.sampled_from(["float32", "int64", "int8"]))
@settings(max_examples=80)
def test_the_same_as_a_plain_loop(pair: tuple[Array, Array], dtype: str) -> None:
    a, b = pair
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide_a = np.broadcast_to(a, batch + a.shape[-2:])
    wide_b = np.broadcast_to(b, batch + b.shape[-2:])
    expected = np.zeros((*batch, a.shape[-2], b.shape[-1]))
    for *leading, i, j in np.ndindex(expected.shape):
        at = tuple(leading)
        expected[(*at, i, j)] = sum(int(wide_a[(*at, i, k)]) * int(wide_b[(*at, k, j)]) for k in range(a.shape[-1]))
    if dtype == "int8":
        expected = expected.clip(-128, 127)
    actual = MatMul().evaluate(a.astype(dtype), b.astype(dtype))
    assert actual.dtype == dtype
    assert np.array_equal(actual, expected)


def test_a_constant_matrix_may_be_kept_transposed() -> None:
    generator = np.random.default_rng(0)
    a, b, other = (generator.uniform(-1, 1, shape).astype(np.float32) for shape in ((2, 3, 20), (30, 20), (30, 20)))
    operator = MatMul(transpose_b=True)
    for matrix in (b, b, other):
        multiply = operator.with_constants({1: matrix})
        assert multiply is not None
        assert np.allclose(multiply(a, matrix), a.astype(np.float64) @ matrix.T, atol=1e-6)
    assert operator.with_constants({0: a}) is None
    assert MatMul().with_constants({1: b}) is None


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_constant_matrix_with_every_transpose(*, transpose_a: bool, transpose_b: bool) -> None:
    net = NetworkText()
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    flags = {"transpose_a": str(transpose_a).lower(), "transpose_b": str(transpose_b).lower()}
    net.result(net.op("MatMul", net.parameter("?,?"), net.const(b.T.copy() if transpose_b else b), **flags))
    file = net.file()
    (actual,) = ir_exec.compile_model(file.xml, weights=file.weights)([a.T.copy() if transpose_a else a]).values()
    expected = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    np.testing.assert_array_equal(actual, expected)
