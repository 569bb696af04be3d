"""ScatterNDUpdate against loops, its rules and its shortcuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import IRError
from ir_exec.types import Array, ElementType, TensorType
from tests.helpers.drawing import draw_data, draw_indices, draw_shape
from tests.helpers.facts import facts, fault_with
from tests.helpers.operators import make, run
from tests.helpers.values import constant, make_type
from tests.ops.movement.test_scatter import fault, reduce_exactly


@st.composite
def chosen(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    shape = draw_shape(draw)
    length = draw(st.integers(0, len(shape)))
    sizes = shape[:length]
    leading = draw_shape(draw, 0, 2) if 0 not in sizes else (0,)
    element_type = draw(st.sampled_from([ElementType.i32, ElementType.i64]))
    columns = [draw_indices(draw, leading, -size, max(size, 1), element_type) for size in sizes]
    indices = np.stack(columns, -1) if columns else np.zeros((*leading, 0), element_type.dtype)
    return draw_data(draw, shape) % 7 - 3, indices, draw_data(draw, leading + shape[length:]) % 11 - 5


@settings(max_examples=200)
@given(chosen(), st.sampled_from(["none", "sum", "sub", "prod", "min", "max"]))
def test_ScatterNDUpdate_is_a_loop(case: tuple[Array, Array, Array], reduction: str) -> None:
    data, indices, updates = case
    expected = data.astype(object)
    for index in np.ndindex(indices.shape[:-1]):
        for offset in np.ndindex(data.shape[indices.shape[-1] :]):
            to = (*indices[index], *offset)
            expected[to] = reduce_exactly(reduction, [expected[to], int(updates[index + offset])])
    for name in ("i64", "f64"):
        dtype = ElementType[name].dtype
        actual = run(
            make("ScatterNDUpdate", 15, reduction=reduction), data.astype(dtype), indices, updates.astype(dtype)
        )
        assert np.array_equal(actual, expected.astype(dtype))
    if reduction == "none":
        assert np.array_equal(run(make("ScatterNDUpdate", 4), data, indices, updates), expected.astype(data.dtype))


@pytest.mark.parametrize("reduction", ["sum", "sub", "prod"])
@pytest.mark.parametrize("length", [2, 3, 64, 700])
def test_slices_are_reduced_one_after_the_other(length: int, reduction: str) -> None:
    rng = np.random.default_rng(length)
    data = rng.normal(size=(5, length)).astype(np.float32)
    # Some slices meet hundreds of updates, others one or none.
    rows = np.concatenate([rng.integers(0, 2, 600), [3]])
    updates = (1 + rng.normal(size=(len(rows), length)) / 100).astype(np.float32)
    apply = {"sum": np.add, "sub": np.subtract, "prod": np.multiply}[reduction]
    expected = data.copy()
    for row, update in zip(rows, updates, strict=True):
        expected[row] = apply(expected[row], update)
    actual = run(make("ScatterNDUpdate", 15, reduction=reduction), data, rows[:, np.newaxis], updates)
    assert np.array_equal(actual, expected)


def test_ScatterNDUpdate_shapes_that_contradict() -> None:
    operator = make("ScatterNDUpdate", 15)
    data = make_type("[2,3]")
    assert fault(operator, data, make_type("[5,3]", "i64"), make_type("[...]")) == (
        "IR505",
        fault_with("axis", "indices", actual=3, expected="at most rank(data) = 2"),
        "indices",
    )
    assert fault(operator, data, make_type("[5,1]", "i64"), make_type("[5]")) == (
        "IR501",
        fault_with("updates", "[5]", actual=1, expected="indices.shape[:-1] + data.shape[1:] = [5,3]"),
        "updates",
    )
    assert fault(operator, data, make_type("[5,1]", "i64"), make_type("[4,3]")) == (
        "IR502",
        fault_with("updates", actual="[4,3]", expected="indices.shape[:-1] + data.shape[1:] = [5,3]"),
        "updates",
    )
    assert fault(operator, data, make_type("[2]", "i64"), make_type("[2]"))[0] == "IR501"
    assert fault(operator, make_type("[]"), make_type("[2]", "i64"), make_type("[...]"))[0] == "IR501"
    assert fault(operator, data, make_type("[]", "i64"), make_type("[...]"))[2] == "indices"
    for updates in ("[]", "[1]", "[1,1]", "[?]", "[...]"):
        assert str(operator.infer(data, make_type("[2]", "i64"), make_type(updates))) == "f32[2,3]"
    assert str(operator.infer(data, make_type("[5,?]", "i64"), make_type("[7]"))) == "f32[2,3]"


def test_messages_of_constant_indices() -> None:
    (warning, info) = make("ScatterNDUpdate", 4).check_values(
        make_type("[4]"), constant([[0], [-1], [0], [3]]), make_type("[4]")
    )
    assert facts(warning.message) == ["1", "4"]
    assert facts(info.message) == ["2", "4"]


@pytest.mark.parametrize(
    ("reduction", "reduce"),
    [("sum", np.add), ("sub", np.subtract), ("prod", np.multiply), ("min", np.minimum), ("max", np.maximum)],
)
@pytest.mark.parametrize("width", [1, 3])
def test_reductions_of_many_rows(reduction: str, reduce: np.ufunc, width: int) -> None:
    count = 2**16 + 7
    generator = np.random.default_rng(1)
    indices = np.append(generator.integers(0, 50, count), [0, 49])
    data = np.ones((50, width))
    updates = generator.choice([-1.0, 1.0], (count + 2, width)) * (1 if reduction == "prod" else 3)
    expected = data.copy()
    for index, row in zip(indices.tolist(), updates, strict=True):
        expected[index] = reduce(expected[index], row)
    actual = make("ScatterNDUpdate", 15, reduction=reduction).evaluate(data, indices[:, np.newaxis], updates)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("version", [4, 15])
@pytest.mark.parametrize("index", [[0, 2], [1, 0], [-1, -3], [1], [-2]])
def test_one_tuple_is_one_assignment(version: int, index: list[int]) -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected, updates = data.copy(), np.full((1, *data.shape[len(index) :]), 9, np.float32)
    expected[tuple(index)] = 9
    inputs = [data, np.array([index]), updates]
    kernel = make("ScatterNDUpdate", version).kernel(*[TensorType.of(array).without_values() for array in inputs])
    np.testing.assert_array_equal(kernel(*inputs), expected, strict=True)
    assert data[tuple(index)].max() < 9
    assert kernel(*inputs, out=data) is data
    np.testing.assert_array_equal(data, expected)


@pytest.mark.parametrize("index", [[2, 0], [0, 3], [-3, 0], [0, -4]])
def test_one_tuple_out_of_range(index: list[int]) -> None:
    inputs = [np.zeros((2, 3)), np.array([index]), np.ones(1)]
    kernel = make("ScatterNDUpdate", 15).kernel(*[TensorType.of(array).without_values() for array in inputs])
    with pytest.raises(IRError) as caught:
        kernel(*inputs)
    assert caught.value.code == "IR701"
