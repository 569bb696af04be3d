"""The scatter family against plain loops, and its errors for wrong shapes, element types and values."""

from __future__ import annotations

import math
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, InvalidAttributeError, IRError
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.drawing import INDEX_TYPES, draw_data, draw_indices, draw_shape, plain
from tests.helpers.facts import facts, fault_with, naming
from tests.helpers.operators import error_facts, make, run
from tests.helpers.values import constant, make_type


def reduce_exactly(reduction: str, values: list[int]) -> int:
    """Of Python's integers, one after the other; the mean is rounded down."""
    first, *remaining = values
    if reduction == "none":
        return values[-1]
    if reduction == "mean":
        return math.floor(sum(values) / len(values))
    for value in remaining:
        first = {
            "sum": first + value,
            "sub": first - value,
            "prod": first * value,
            "min": min(first, value),
            "max": max(first, value),
        }[reduction]
    return first


@st.composite
def elements_updates(draw: st.DrawFn) -> tuple[Array, Array, Array, Array]:
    shape = draw_shape(draw)
    axis = draw(st.integers(0, len(shape) - 1))
    indices_shape = draw_shape(draw, 0, 2) if shape[axis] else (0,)
    indices = draw_indices(draw, indices_shape, 0, max(shape[axis], 1), draw(INDEX_TYPES))
    updates = -1 - draw_data(draw, shape[:axis] + indices_shape + shape[axis + 1 :])
    return draw_data(draw, shape), indices, updates, np.array(draw(st.sampled_from([axis, axis - len(shape)])))


@settings(max_examples=150)
@given(elements_updates())
def test_ScatterUpdate_is_a_loop(case: tuple[Array, Array, Array, Array]) -> None:
    data, indices, updates, axis = case
    position = int(axis) % data.ndim
    expected, numbers = data.copy(), plain(indices)
    for index in np.ndindex(indices.shape):
        to = (slice(None),) * position
        expected[(*to, numbers[index])] = updates[to + index]
    assert np.array_equal(run(make("ScatterUpdate", 3), data, indices, updates, axis), expected)


@st.composite
def nd_updates(draw: st.DrawFn) -> tuple[Array, Array, Array, Array]:
    shape = draw_shape(draw)
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = [draw(st.integers(0, size)) for size in shape]
    sizes[axis] = draw(st.integers(0, 6)) if shape[axis] else 0
    indices = draw_indices(draw, tuple(sizes), -shape[axis], max(shape[axis], 1), draw(INDEX_TYPES))
    updates = draw_data(draw, tuple(sizes)) % 11 - 5
    return (
        draw_data(draw, shape) % 7 - 3,
        indices,
        updates,
        np.array([draw(st.sampled_from([axis, axis - len(shape)]))]),
    )


@settings(max_examples=200)
@given(nd_updates(), st.sampled_from(["none", "sum", "prod", "min", "max", "mean"]), st.booleans())
def test_ScatterElementsUpdate_is_a_loop(
    case: tuple[Array, Array, Array, Array], reduction: str, use_init_val: bool
) -> None:
    data, indices, updates, axis = case
    position, numbers = int(axis[0]) % data.ndim, plain(indices)
    met: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for index in np.ndindex(indices.shape):
        to = list(index)
        to[position] = int(numbers[index]) % data.shape[position]
        if use_init_val and tuple(to) not in met:
            met[tuple(to)].append(int(data[tuple(to)]))
        met[tuple(to)].append(int(updates[index]))
    expected = data.copy()
    for to, values in met.items():
        expected[to] = reduce_exactly(reduction, values)
    for name in ("i32", "i64", "f32", "f64", "f16"):
        element_type = ElementType[name]
        if (reduction == "mean" and element_type.is_float) or (reduction == "prod" and name == "f16"):
            continue
        operator = make("ScatterElementsUpdate", 12, reduction=reduction, use_init_val=use_init_val)
        actual = run(operator, data.astype(element_type.dtype), indices, updates.astype(element_type.dtype), axis)
        assert np.array_equal(actual, expected.astype(element_type.dtype))
    if reduction == "none" and (numbers >= 0).all():
        assert np.array_equal(run(make("ScatterElementsUpdate", 3), data, indices, updates, axis), expected)


def test_sums_are_taken_one_after_the_other() -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=3).astype(np.float32)
    updates = (generator.normal(size=500) * 10.0 ** generator.integers(-6, 6, 500)).astype(np.float32)
    indices = generator.integers(0, 3, 500)
    expected = data.copy()
    for index, update in zip(indices, updates, strict=True):
        expected[index] += update
    elements = make("ScatterElementsUpdate", 12, reduction="sum")
    assert np.array_equal(elements.evaluate(data, indices, updates, np.array(0)), expected)
    slices = make("ScatterNDUpdate", 15, reduction="sum")
    assert np.array_equal(slices.evaluate(data, indices[:, np.newaxis], updates), expected)


def test_elements_without_updates_are_unchanged() -> None:
    data = np.array([7, np.nan, -0.0, np.inf], np.float16)
    for reduction in ("none", "sum", "prod", "min", "max", "mean"):
        operator = make("ScatterElementsUpdate", 12, reduction=reduction, use_init_val=False)
        result = operator.evaluate(data, np.array([0]), np.array([2], np.float16), np.array(0))
        assert result.tobytes()[2:] == data.tobytes()[2:]
        assert result[0] == 2


def test_the_last_one_wins_however_indices_lie() -> None:
    """NumPy iterates over arrays in the order of memory by default."""
    forward = np.tile([2, 0, 2, 1], 50)
    updates = np.arange(200, dtype=np.float32)
    expected = [197.0, 199.0, 198.0]
    for indices in (forward, np.flip(np.flip(forward).copy()), np.repeat(forward, 2)[::2]):
        for values in (updates, np.flip(np.flip(updates).copy())):
            data = np.zeros(3, np.float32)
            for operator, inputs in [
                (make("ScatterUpdate", 3), (indices, values, np.array(0))),
                (make("ScatterElementsUpdate", 3), (indices, values, np.array(0))),
                (make("ScatterNDUpdate", 4), (indices[:, np.newaxis], values)),
            ]:
                assert operator.evaluate(data, *inputs).tolist() == expected
    table = np.asarray(np.tile([[2, 0], [2, 2], [1, 0]], (20, 1)), order="F")
    rows = np.asarray(np.arange(120.0).reshape(60, 2, 1) * np.ones(4), order="F").astype(np.float32)
    result = make("ScatterUpdate", 3).evaluate(np.zeros((3, 4), np.float32), table, rows, np.array(0))
    assert result[:, 0].tolist() == [119, 118, 117]


FAR = [2**63 - 1, -(2**63), 2**62, 2**32, 2**31, -(2**31) - 1]
DATA = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize("index", [*FAR, 3, -4])
def test_no_index_is_too_far(index: int) -> None:
    axis, two = np.array(1), np.zeros((1, 2), np.float32)
    for operator, inputs, where, least in [
        (make("ScatterUpdate", 3), (DATA, np.array([1, index]), np.zeros((2, 2), np.float32), axis), "1", 0),
        (make("ScatterElementsUpdate", 3), (DATA, np.array([[1, index]]), two, axis), "0,1", 0),
        (make("ScatterElementsUpdate", 12, reduction="sum"), (DATA, np.array([[1, index]]), two, axis), "0,1", -3),
        (make("ScatterNDUpdate", 4), (DATA, np.array([[1, index]]), two[0, :1]), "0,1", -3),
        (make("ScatterNDUpdate", 15, reduction="max"), (DATA, np.array([[1, index]]), two[0, :1]), "0,1", -3),
    ]:
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(*inputs)
        assert (caught.value.code, caught.value.location.port) == ("IR701", "indices")
        assert caught.value == fault_with(
            f"indices[{where}]", "axis", 1, "data", 3, actual=index, expected=f"{least} to 2"
        )
    assert not DATA.any()


def test_negative_indices_are_an_error_if_specified() -> None:
    for operator, indices, updates in [
        (make("ScatterUpdate", 3), np.array([-1]), DATA[:, :1]),
        (make("ScatterElementsUpdate", 3), np.array([[-1]], np.int8), DATA[:1, :1]),
    ]:
        with pytest.raises(EvaluationError, match=naming("-1", "0", "1", "2", "3")):
            operator.evaluate(DATA, indices, updates, np.array(1))


def fault(operator: Op, *types: TensorType) -> tuple[str, IRError, str | None]:
    with pytest.raises(IRError) as caught:
        operator.infer(*types)
    return caught.value.code, caught.value, caught.value.location.port


def test_ScatterUpdate_shapes_that_contradict() -> None:
    operator = make("ScatterUpdate", 3)
    data, indices = make_type("[2,3,4]"), make_type("[5,6]", "i64")
    assert fault(operator, data, indices, make_type("[2,5,4]"), constant(1)) == (
        "IR501",
        fault_with("updates", actual=3, expected="rank(indices) + rank(data) - 1 = 4"),
        "updates",
    )
    assert fault(operator, data, indices, make_type("[2,5,3,4]"), constant(1)) == (
        "IR502",
        fault_with(
            "updates", actual="[2,5,3,4]", expected="data.shape[:1] + indices.shape + data.shape[2:] = [2,5,6,4]"
        ),
        "updates",
    )
    assert fault(operator, data, indices, make_type("[...]"), constant(3))[0] == "IR503"
    assert fault(operator, data, indices, make_type("[...]"), constant([0, 1]))[0] == "IR502"
    assert fault(operator, make_type("[]"), indices, make_type("[...]"), constant(0))[0] == "IR501"
    assert str(operator.infer(data, make_type("[...]", "i64"), make_type("[...]"), constant(0)).shape) == "[2,3,4]"
    assert str(operator.infer(make_type("[?,3]"), indices, make_type("[?,..9,6]"), constant(1))) == "f32[?,3]"


def test_ScatterElementsUpdate_shapes_that_contradict() -> None:
    operator = make("ScatterElementsUpdate", 12)
    data = make_type("[2,3]")
    assert fault(operator, data, make_type("[2,4]", "i64"), make_type("[2,3]"), constant(1)) == (
        "IR502",
        fault_with("indices", "updates", actual="[2,4] and [2,3]", expected="equal shapes"),
        "updates",
    )
    assert fault(operator, data, make_type("[2]", "i64"), make_type("[2]"), constant(1)) == (
        "IR501",
        fault_with("indices", "[2]", "data", actual=1, expected=2),
        "indices",
    )
    assert fault(operator, data, make_type("[3,9]", "i64"), make_type("[...]"), constant(-1)) == (
        "IR502",
        fault_with("axis", 0, "indices", "data", actual=3, expected="at most 2"),
        "indices",
    )
    assert fault(operator, data, make_type("[...]", "i64"), make_type("[4..,3]"), constant(1))[0] == "IR502"
    assert str(operator.infer(data, make_type("[2,9]", "i64"), make_type("[?,?]"), constant(1))) == "f32[2,3]"


def test_element_types_that_no_reduction_takes() -> None:
    for name in ("string", "u1", "u3", "u6", "nf4"):
        data, indices, updates = make_type("[3]", name), make_type("[2]", "i64"), make_type("[2]", name)
        error = fault(make("ScatterElementsUpdate", 12, reduction="sum"), data, indices, updates, constant(0))
        assert error == ("IR401", fault_with("data", name, "reduction", "sum"), "data")
        error = fault(make("ScatterNDUpdate", 15, reduction="min"), data, make_type("[2,1]", "i64"), updates)
        assert error == ("IR401", fault_with("data", name, "reduction", "min"), "data")
        make("ScatterElementsUpdate", 12).infer(data, indices, updates, constant(0))
    with pytest.raises(ElementTypeError, match=naming("data", "boolean", "reduction", "mean")):
        make("ScatterElementsUpdate", 12, reduction="mean").infer(
            make_type("[3]", "boolean"), make_type("[2]", "i64"), make_type("[2]", "boolean"), constant(0)
        )


def test_axis_known_at_run_time() -> None:
    axis, updates = np.array(0), np.zeros((1, 2), np.float32)
    with pytest.raises(EvaluationError) as caught:
        make("ScatterUpdate", 3).evaluate(DATA, np.array([0]), np.zeros((2, 1), np.float32), axis)
    assert facts(caught.value.message) == ["0", "[1, 3]", "[2, 1]"]
    with pytest.raises(EvaluationError) as caught:
        make("ScatterElementsUpdate", 12).evaluate(DATA, np.zeros((3, 1), int), np.zeros((3, 1)), np.array(1))
    assert facts(caught.value.message) == ["0", "2", "3"]
    for operator in (make("ScatterUpdate", 3), make("ScatterElementsUpdate", 12)):
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(DATA, np.array([[0, 0]]), updates, np.array([-3]))
        assert (caught.value.code, caught.value.location.port) == ("IR704", "axis")


def test_attributes() -> None:
    for type_name, opset, value in [("ScatterElementsUpdate", 12, "sub"), ("ScatterNDUpdate", 15, "mean")]:
        with pytest.raises(InvalidAttributeError) as caught:
            make(type_name, opset, reduction=value)
        assert caught.value.code == "IR302"
    operator = make("ScatterElementsUpdate", 12, reduction="MIN", use_init_val="0")
    assert vars(operator) == {"reduction": "min", "use_init_val": False}
    assert vars(make("ScatterElementsUpdate", 3, reduction="sum")) == {}


def test_bounds_pass_through() -> None:
    data = make_type("[3]", "i64").with_bounds(np.array([1, 2, 3]), np.array([9, 2, 2**63 - 1]))
    updates = make_type("[1]", "i64").with_bounds(np.array([4]), np.array([5]))
    for operator, others in [
        (make("ScatterUpdate", 3), (constant([1]), updates, constant(0))),
        (make("ScatterElementsUpdate", 12), (constant([1]), updates, constant(0))),
        (make("ScatterNDUpdate", 15), (constant([[1]]), updates)),
    ]:
        inputs = [data, *others]
        (output,) = with_known_values(operator, inputs, [operator.infer(*inputs)])
        assert output.bounds is not None
        assert [bound.tolist() for bound in output.bounds] == [[1, 4, 3], [9, 5, 2**63 - 1]]
    operator = make("ScatterNDUpdate", 15, reduction="sub")
    inputs = [data, constant([[1]]), updates]
    (output,) = with_known_values(operator, inputs, [operator.infer(*inputs)])
    assert output.bounds is None


def test_constant_indices_are_checked() -> None:
    error, warning = ("IR701", "error", "indices"), ("IR702", "warning", "indices")
    info = ("IR703", "info", "indices")
    data, updates = make_type("[2,3]"), make_type("[...]")
    for operator, indices, axis, expected in [
        (make("ScatterUpdate", 3), constant([0, 3]), constant(1), [error]),
        (make("ScatterUpdate", 3), constant([0, -1]), constant(1), [error]),
        (make("ScatterUpdate", 3), constant([0, 2]), constant(1), []),
        (make("ScatterUpdate", 3), constant([0, 2, 0]), constant(1), [info]),
        (make("ScatterUpdate", 3), make_type("[3]", "i64"), constant(1), []),
        (make("ScatterUpdate", 3), constant([7]), make_type("[]", "i64"), []),
        (make("ScatterElementsUpdate", 3), constant([[-1]]), constant(1), [error]),
        (make("ScatterElementsUpdate", 3), constant([[1, 1]]), constant(1), [info]),
        (make("ScatterElementsUpdate", 3), constant([[1, 1]]), constant(0), []),
        (make("ScatterElementsUpdate", 12), constant([[-1, 2]]), constant(1), [info]),
        (make("ScatterElementsUpdate", 12, reduction="sum"), constant([[-1, 2]]), constant(1), []),
        (make("ScatterElementsUpdate", 12, reduction="sum"), constant([[-4]]), constant(1), [error]),
    ]:
        assert error_facts(operator.check_values(data, indices, updates, axis)) == expected
    for operator, indices, expected in [
        (make("ScatterNDUpdate", 4), constant([[0, 3], [2, 0]]), [error, error]),
        (make("ScatterNDUpdate", 4), constant([[0, -1], [0, 2]]), [warning, info]),
        (make("ScatterNDUpdate", 4), constant([[0], [1]]), []),
        (make("ScatterNDUpdate", 15), constant([[0, -1], [0, 2]]), [info]),
        (make("ScatterNDUpdate", 15, reduction="max"), constant([[0, -1], [0, 2]]), []),
        (make("ScatterNDUpdate", 15), make_type("[4,2]", "i64"), []),
    ]:
        assert error_facts(operator.check_values(data, indices, updates)) == expected
    dynamic = make_type("[?,3]")
    assert error_facts(make("ScatterNDUpdate", 4).check_values(dynamic, constant([[9, 0], [0, 9]]), updates)) == [error]
    assert make("ScatterUpdate", 3).check_values(dynamic, constant([9]), updates, constant(0)) == []
    assert make("ScatterNDUpdate", 4).check_values(make_type("[...]"), constant([[9]]), updates) == []


def test_only_indices_are_decoded() -> None:
    def refuse() -> None:
        raise AssertionError("a tensor was decoded that need not be")

    data, updates = TensorType(ElementType.f32, Shape([3]), refuse), TensorType(ElementType.f32, Shape([1]), refuse)
    assert make("ScatterUpdate", 3).check_values(data, constant([0]), updates, constant(0)) == []
    assert make("ScatterElementsUpdate", 12).check_values(data, constant([0]), updates, constant(0)) == []
    assert make("ScatterNDUpdate", 4).check_values(data, constant([[0]]), updates) == []


def test_memory_follows_the_output() -> None:
    data = np.zeros((1000, 200), np.float32)
    axis = np.array(0)
    indices = np.arange(1000) % 7
    cases = [
        (make("ScatterUpdate", 3), (data, indices, data, axis)),
        (make("ScatterElementsUpdate", 12), (data, indices[:, np.newaxis], data[:, :1], axis)),
        (make("ScatterElementsUpdate", 12, reduction="sum"), (data, indices[:, np.newaxis], data[:, :1], axis)),
        (make("ScatterNDUpdate", 15, reduction="sum"), (data, indices[:, np.newaxis], data)),
    ]
    for operator, inputs in cases:
        tracemalloc.start()
        output = operator.evaluate(*inputs)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6 * output.nbytes


@pytest.mark.parametrize("element_type", ["i32", "i64"])
def test_negative_indices_of_either_type(element_type: str) -> None:
    """Version 3 refuses them, as specified; since version 12 they count from the end."""
    data, updates = np.zeros((3, 4), np.float32), np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    indices, expected = np.array([[-1, 0, -3], [2, -2, -1]], element_type.replace("i", "int")), data.copy()
    for row, column in np.ndindex(indices.shape):
        expected[indices[row, column], column] = updates[row, column]
    actual = make("ScatterElementsUpdate", 12).evaluate(data, indices, updates, np.array(0))
    np.testing.assert_array_equal(actual, expected)
    with pytest.raises(EvaluationError, match=naming("-1", "0", "2", "indices[0,0]")) as error:
        make("ScatterElementsUpdate", 3).evaluate(data, indices, updates, np.array(0))
    assert error.value.code == Code.index_out_of_range


@pytest.mark.parametrize("size", [3, 200_000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_last_of_duplicates_wins_on_a_long_axis(size: int, dtype: type) -> None:
    count = 150_000
    indices = np.random.default_rng(0).integers(0, min(size, 1000), count).astype(dtype)
    updates, expected = np.arange(count, dtype=np.float32), np.full(size, -1, np.float32)
    for index, update in zip(indices.tolist(), updates.tolist(), strict=True):
        expected[index] = update
    data = np.full(size, -1, np.float32)
    elements = make("ScatterElementsUpdate", 3).evaluate(data, indices, updates, np.array(0))
    np.testing.assert_array_equal(elements, expected)
    slices = make("ScatterUpdate", 3).evaluate(data, indices, updates, np.array(0))
    np.testing.assert_array_equal(slices, expected)
    tuples = make("ScatterNDUpdate", 4).evaluate(data, indices[:, np.newaxis], updates)
    np.testing.assert_array_equal(tuples, expected)


@pytest.mark.parametrize("size", [200, 230])
def test_short_indices_are_not_taken_for_unsigned_ones(size: int) -> None:
    """-100 as an unsigned number of 8 bits is 156, which would be on the axis."""
    data, updates = np.zeros(size, np.float32), np.ones(2, np.float32)
    with pytest.raises(EvaluationError, match=naming("indices[1]", -100, 0, size - 1)):
        make("ScatterUpdate", 3).evaluate(data, np.array([0, -100], np.int8), updates, np.array(0))
    result = make("ScatterUpdate", 3).evaluate(data, np.array([0, 156], np.uint8), updates, np.array(0))
    assert np.flatnonzero(result).tolist() == [0, 156]


@pytest.mark.parametrize(("index", "axis"), [(0, 1), ([2], 1), ([[1]], -1), (0, 0)])
def test_one_slice_is_put_by_one_assignment(index: object, axis: int) -> None:
    operator = make("ScatterUpdate", 3)
    data, indices, position = np.arange(12.0).reshape(1, 3, 4), np.array(index, np.int32), np.array(axis)
    updates = -np.ones(data.shape[: axis % 3] + indices.shape + data.shape[axis % 3 + 1 :])
    kernel = operator.kernel(*map(TensorType.of, (data, indices, updates)), constant(axis))
    assert kernel != operator.evaluate
    expected = operator.evaluate(data, indices, updates, position)
    np.testing.assert_array_equal(kernel(data, indices, updates, position), expected)
    assert data.min() == 0
    assert kernel(data, indices, updates, position, out=data) is data
    np.testing.assert_array_equal(data, expected)
    for wrong in (-1, 4):
        with pytest.raises(EvaluationError) as error:
            kernel(data, np.full_like(indices, wrong), updates, position)
        assert error.value.code is Code.index_out_of_range


@pytest.mark.parametrize("version", [3, 12])
@pytest.mark.parametrize("element_type", ["f32", "bf16", "i64", "boolean"])
@pytest.mark.parametrize("index", [0, 2, -1, 3, -4])
def test_one_element_of_a_vector(version: int, element_type: str, index: int) -> None:
    """A negative index counts from the end since version 12."""
    data = np.array([1, 0, 1]).astype(ElementType[element_type].dtype)
    update = np.array([index % 2 == 1]).astype(data.dtype)
    operator = make("ScatterElementsUpdate", version)
    put = operator.kernel(
        make_type("3", element_type), make_type("1", "i64"), make_type("1", element_type), constant(0)
    )
    assert put != operator.evaluate
    before = data.copy()
    if not (0 if version == 3 else -3) <= index < 3:
        with pytest.raises(EvaluationError) as caught:
            put(data, np.array([index]), update, np.array(0))
        assert caught.value.code == Code.index_out_of_range
        return
    expected = data.tolist()
    expected[index] = update.tolist()[0]
    assert put(data, np.array([index]), update, np.array(0)).tolist() == expected
    assert data.tolist() == before.tolist()
    assert put(data, np.array([index]), update, np.array(0), out=data) is data
    assert data.tolist() == expected


@pytest.mark.parametrize("size", [5, 2**15 + 5])
def test_one_update_of_few_and_many_elements(size: int) -> None:
    data = np.random.default_rng(0).uniform(size=size).astype(np.float32)
    expected = data.copy()
    expected[3] = 9
    update = np.array([9], np.float32)
    for operator, inputs in (
        (make("ScatterUpdate", 3), [data, np.array([3]), update, np.array(0)]),
        (make("ScatterElementsUpdate", 12), [data, np.array([3]), update, np.array(0)]),
        (make("ScatterNDUpdate", 15), [data, np.array([[3]]), update]),
    ):
        types = [TensorType.of(array) for array in inputs]
        kernel = operator.kernel(types[0].without_values(), types[1].without_values(), *types[2:])
        assert kernel != operator.evaluate
        np.testing.assert_array_equal(kernel(*inputs), expected, strict=True)
        assert data[3] < 9
