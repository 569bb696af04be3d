"""The gather family against plain loops, and its errors for wrong shapes and values."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError
from ir_exec.infer.known import with_known_values
from ir_exec.kernels.indices import OutOfRangeError
from ir_exec.kernels.offsets import table_offsets
from ir_exec.ops import Op, resolve
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.drawing import INDEX_TYPES, draw_data, draw_indices, draw_shape, plain
from tests.helpers.facts import facts, fault_with, naming
from tests.helpers.operators import error_facts, make, run
from tests.helpers.values import constant, make_type


@st.composite
def gathers(draw: st.DrawFn) -> tuple[Array, Array, Array, int]:
    """data, indices and axis of a Gather, and its batch_dims."""
    shape = draw_shape(draw)
    axis = draw(st.integers(0, len(shape) - 1))
    batch = draw(st.integers(0, axis))
    indices_shape = shape[:batch] + draw_shape(draw, 0, 2)
    element_type = draw(INDEX_TYPES)
    indices = draw_indices(draw, indices_shape, -shape[axis] - 2, shape[axis] + 2, element_type)
    given_axis = np.array(draw(st.sampled_from([axis, axis - len(shape)])), draw(st.sampled_from(["i1", "i4", "i8"])))
    if draw(st.booleans()):
        given_axis = given_axis.reshape(1)
    return draw_data(draw, shape), indices, given_axis, batch


@settings(max_examples=150)
@given(gathers(), st.booleans())
def test_Gather_is_a_loop(case: tuple[Array, Array, Array, int], from_the_end: bool) -> None:
    data, indices, axis, batch = case
    position = int(axis.reshape(-1)[0]) % data.ndim
    numbers, size = plain(indices), data.shape[position]
    expected = np.zeros(data.shape[:position] + indices.shape[batch:] + data.shape[position + 1 :], data.dtype)
    inside = True
    for output_index in np.ndindex(expected.shape):
        before, behind = output_index[:position], output_index[position + indices.ndim - batch :]
        index = numbers[output_index[:batch] + output_index[position : position + indices.ndim - batch]]
        if -size <= index < size:
            expected[output_index] = data[(*before, index, *behind)]
        else:
            inside = False
    written = batch - indices.ndim if from_the_end and batch < indices.ndim else batch
    assert np.array_equal(run(make("Gather", 8, batch_dims=written), data, indices, axis), expected)
    if inside and ((-size <= numbers) & (numbers < size)).all():
        assert np.array_equal(run(make("Gather", 7, batch_dims=written), data, indices, axis), expected)
        if not batch:
            assert np.array_equal(run(make("Gather", 1), data, indices, axis), expected)
    elif not inside:
        with pytest.raises(EvaluationError) as caught:
            run(make("Gather", 7, batch_dims=written), data, indices, axis)
        assert caught.value.code == "IR701"


@st.composite
def elements(draw: st.DrawFn) -> tuple[Array, Array, int]:
    shape = draw_shape(draw)
    axis = draw(st.integers(0, len(shape) - 1))
    size = draw(st.integers(0, 6)) if shape[axis] else 0
    indices_shape = (*shape[:axis], size, *shape[axis + 1 :])
    element_type = draw(st.sampled_from([ElementType.i32, ElementType.i64]))
    indices = draw_indices(draw, indices_shape, -shape[axis], shape[axis], element_type)
    return draw_data(draw, shape), indices, draw(st.sampled_from([axis, axis - len(shape)]))


@settings(max_examples=100)
@given(elements())
def test_GatherElements_is_a_loop(case: tuple[Array, Array, int]) -> None:
    data, indices, axis = case
    expected = np.zeros(indices.shape, data.dtype)
    for index in np.ndindex(indices.shape):
        source = list(index)
        source[axis] = indices[index]
        expected[index] = data[tuple(source)]
    assert np.array_equal(run(make("GatherElements", 6, axis=axis), data, indices), expected)


@st.composite
def tuples(draw: st.DrawFn) -> tuple[Array, Array, int]:
    shape = draw_shape(draw)
    batch = draw(st.integers(0, len(shape) - 1))
    length = draw(st.integers(0, len(shape) - batch))
    sizes = shape[batch : batch + length]
    leading = shape[:batch] + (draw_shape(draw, 0, 2) if 0 not in sizes else (0,))
    element_type = draw(INDEX_TYPES)
    columns = [plain(draw_indices(draw, leading, -size, max(size, 1), element_type)) for size in sizes]
    indices = np.stack(columns, -1) if columns else np.zeros((*leading, 0), np.int64)
    if element_type.dtype.names:
        return draw_data(draw, shape), indices.astype(np.uint8)[..., np.newaxis].view(element_type.dtype)[..., 0], batch
    return draw_data(draw, shape), indices.astype(element_type.dtype), batch


@settings(max_examples=150)
@given(tuples())
def test_GatherND_is_a_loop(case: tuple[Array, Array, int]) -> None:
    data, indices, batch = case
    numbers = plain(indices)
    leading, trailing = indices.shape[:-1], data.shape[batch + indices.shape[-1] :]
    expected = np.zeros(leading + trailing, data.dtype)
    for index in np.ndindex(leading):
        expected[index] = data[index[:batch] + tuple(numbers[index])]
    assert np.array_equal(run(make("GatherND", 8, batch_dims=batch), data, indices), expected)
    if batch > 1:
        expected = expected.reshape(int(np.prod(leading[:batch])), *leading[batch:], *trailing)
    assert np.array_equal(run(make("GatherND", 5, batch_dims=batch), data, indices), expected)


FAR = [2**63 - 1, -(2**63), 2**62, -(2**62) - 1, 2**32, 2**31]
DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("index", [*FAR, 3, -4])
def test_no_index_is_too_far(index: int) -> None:
    data, indices, axis = DATA, np.array([[1, index]]), np.array(1)
    for operator, inputs, where in [
        (make("Gather", 1), (data, indices, axis), "0,1"),
        (make("Gather", 7), (data, indices, axis), "0,1"),
        (make("Gather", 7, batch_dims=1), (data, indices.T[::1], axis), "1,0"),
        (make("GatherElements", 6, axis=1), (data[:1], indices), "0,1"),
        (make("GatherND", 5), (data, indices), "0,1"),
        (make("GatherND", 8), (data, indices), "0,1"),
    ]:
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(*inputs)
        assert caught.value == fault_with(
            f"indices[{where}]", "axis", 1, 3, code="IR701", port="indices", actual=index, expected="-3 to 2"
        )
    assert make("Gather", 8).evaluate(data, indices, axis).tolist() == [[[1.0, 0.0]], [[4.0, 0.0]]]


@pytest.mark.parametrize("shape", [(2, 0), (2, 0, 3), (0, 2), (0, 0)])
def test_batches_without_indices(shape: tuple[int, ...]) -> None:
    data = np.zeros((shape[0], 5, 3), np.float32)
    assert run(make("Gather", 8, batch_dims=1), data, np.zeros(shape, np.int64), np.array(1)).shape == (*shape, 3)


def test_offsets_of_few_indices_into_a_large_tensor() -> None:
    # Far beyond what the i32 of the indices holds.
    shape, indices = (1, 70_000, 70_000), np.full((1, 1, 2), 69_999, np.int32)
    offsets = table_offsets(shape, indices, 1)
    assert offsets.tolist() == [[[69_999 * 70_000, 69_999 * 70_000 + 1]]]
    with pytest.raises(OutOfRangeError):
        table_offsets(shape, indices + 1, 1)


def test_unsigned_indices_are_never_negative() -> None:
    indices = np.array([2**64 - 1, 1], np.uint64)
    with pytest.raises(EvaluationError, match=naming("-2", "1", "18446744073709551615", "indices[0]")):
        make("Gather", 7).evaluate(DATA, indices, np.array(0))
    assert make("Gather", 8).evaluate(DATA, indices, np.array(0)).tolist() == [[0, 0, 0], [3, 4, 5]]


def test_messages_count_and_name_scalars() -> None:
    with pytest.raises(EvaluationError) as caught:
        make("Gather", 7).evaluate(DATA, np.array([[5, 0], [1, 9]], np.int8), np.array(-1))
    assert facts(caught.value.message) == ["-3", "1", "2", "2", "3", "4", "5", "indices[0,0]"]
    with pytest.raises(EvaluationError) as caught:
        make("Gather", 1).evaluate(np.zeros((2, 0)), np.array(0), np.array(1))
    assert facts(caught.value.message) == ["0", "0", "1"]


@pytest.mark.parametrize(
    ("operator", "types", "code", "fault"),
    [
        (make("GatherElements", 6, axis=1), ("[2,3]", "[2]"), "IR501",
         fault_with("indices", "[2]", "data", actual=1, expected=2)),
        (make("GatherElements", 6, axis=1), ("[2,3]", "[3,3]"), "IR502",
         fault_with("axis", 0, "data", "indices", actual="2 and 3", expected="equal dims")),
        (make("GatherElements", 6, axis=2), ("[2,3]", "[2,3]"), "IR503",
         fault_with("axis", actual=2, expected="-2 to 1")),
        (make("GatherElements", 6, axis=0), ("[]", "[...]"), "IR501",
         fault_with("data", actual=0, expected="1 or more")),
        (make("GatherND", 8), ("[2,3]", "[2,3]"), "IR505",
         fault_with("axis", "indices", actual=3, expected="at most rank(data) - batch_dims = 2")),
        (make("GatherND", 8, batch_dims=2), ("[2,3]", "[2,3]"), "IR501",
         fault_with("data", "batch_dims", actual=2, expected="3 or more")),
        (make("GatherND", 5, batch_dims=1), ("[2,3]", "[3,1]"), "IR502",
         fault_with("axis", 0, "data", "indices", actual="2 and 3", expected="equal dims")),
        (make("GatherND", 5), ("[2,3]", "[]"), "IR501",
         fault_with("indices", "batch_dims", actual=0, expected="1 or more")),
    ],
)  # fmt: skip
def test_shapes_that_contradict(operator: Op, types: tuple[str, str], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(make_type(types[0]), make_type(types[1], "i64"))
    assert (caught.value.code, caught.value) == (code, fault)


@pytest.mark.parametrize(
    ("batch", "types", "axis", "code", "fault"),
    [
        (0, ("[2,3]", "[2]"), constant([0, 1]), "IR502", fault_with("axis", actual="[2]", expected="one element")),
        (0, ("[2,3]", "[2]"), constant([[0]]), "IR501", fault_with("axis", "[1,1]", actual=2, expected="0 or 1")),
        (0, ("[2,3]", "[2]"), constant(2), "IR503", fault_with("axis", actual=2, expected="-2 to 1")),
        (0, ("[]", "[2]"), constant(0), "IR501", fault_with("data", actual=0, expected="1 or more")),
        (1, ("[2,3]", "[2]"), constant(0), "IR503", fault_with("batch_dims", "axis", actual=1, expected="at most 0")),
        (2, ("[2,3]", "[2]"), constant(1), "IR503",
         fault_with("batch_dims", "indices", 1, actual=2, expected="-1 to 1")),
        (-2, ("[2,3]", "[2]"), constant(1), "IR503",
         fault_with("batch_dims", "indices", 1, actual=-2, expected="-1 to 1")),
        (1, ("[2,3]", "[3]"), constant(1), "IR502",
         fault_with("axis", 0, "data", "indices", actual="2 and 3", expected="equal dims")),
        (2, ("[2,3]", "[2,3]"), make_type("[]", "i64"), "IR503",
         fault_with("batch_dims", "axis", actual=2, expected="at most 1")),
    ],
)  # fmt: skip
def test_Gather_shapes_that_contradict(
    batch: int, types: tuple[str, str], axis: TensorType, code: str, fault: fault_with
) -> None:
    with pytest.raises(ShapeError) as caught:
        make("Gather", 8, batch_dims=batch).infer(make_type(types[0]), make_type(types[1], "i64"), axis)
    assert (caught.value.code, caught.value) == (code, fault)


def test_axis_known_at_run_time() -> None:
    with pytest.raises(EvaluationError) as caught:
        make("Gather", 8).evaluate(DATA, np.array([0]), np.array(2))
    assert (caught.value.code, caught.value.location.port) == ("IR704", "axis")
    with pytest.raises(EvaluationError, match=naming("0", "1", "batch_dims")):
        make("Gather", 8, batch_dims=1).evaluate(DATA, np.array([[0], [1]]), np.array(0))


def test_attributes() -> None:
    with pytest.raises(InvalidAttributeError) as caught:
        make("GatherElements", 6)
    assert caught.value.code == "IR301"
    with pytest.raises(InvalidAttributeError) as caught:
        make("GatherND", 8, batch_dims=-1)
    assert caught.value.code == "IR302"
    assert resolve("Gather", "opset1").unknown_attributes({"batch_dims": "1"}) == ["batch_dims"]


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (make("Gather", 8), ("[2..5,?,7]", "[?,3]", constant(1)), "[2..5,?,3,7]"),
        (make("Gather", 8), ("[2..5,?,7]", "[]", constant(-1)), "[2..5,?]"),
        (make("Gather", 8), ("[2,3]", "[4]", make_type("[]", "i64")), "[?,?]"),
        (make("Gather", 8, batch_dims=1), ("[2..5,3]", "[..4,6]", constant(1)), "[2..4,6]"),
        (make("Gather", 8), ("[...]", "[4]", constant(0)), "[...]"),
        (make("Gather", 8), ("[2]", "[...]", constant(0)), "[...]"),
        (make("GatherElements", 6, axis=0), ("[2,3]", "[...]"), "[?,3]"),
        (make("GatherElements", 6, axis=0), ("[...]", "[4,?]"), "[4,?]"),
        (make("GatherElements", 6, axis=-2), ("[9,?,2..]", "[?,3,..5]"), "[9,3,2..5]"),
        (make("GatherND", 8, batch_dims=2), ("[2,?,4]", "[?,3,5,1]"), "[2,3,5]"),
        (make("GatherND", 5, batch_dims=2), ("[2,?,4]", "[?,3,5,1]"), "[6,5]"),
        (make("GatherND", 5, batch_dims=2), ("[2,?,4]", "[?,?,5,1]"), "[?,5]"),
        (make("GatherND", 8), ("[2,3]", "[4,?]"), "[...]"),
    ],
)
def test_dynamic_shapes(operator: Op, types: tuple[str | TensorType, ...], expected: str) -> None:
    kinds = ("f32", "i64")
    inputs = [type_ if isinstance(type_, TensorType) else make_type(type_, kinds[i]) for i, type_ in enumerate(types)]
    assert str(operator.infer(*inputs).shape) == expected


def test_bounds_pass_through() -> None:
    lower, upper = np.array([1, 5, 0]), np.array([1, 9, 2**63 - 1])
    data = make_type("[3]", "i64").with_bounds(lower, upper)
    inputs = [data, constant([-1, 1]), constant(0)]
    operator = make("Gather", 8)
    (output,) = with_known_values(operator, inputs, [operator.infer(*inputs)])
    assert output.bounds is not None
    assert [bound.tolist() for bound in output.bounds] == [[0, 5], [2**63 - 1, 9]]


def test_constant_indices_are_checked() -> None:
    error, warning = ("IR701", "error", "indices"), ("IR702", "warning", "indices")
    data = make_type("[2,3]")
    for operator, indices, axis, expected in [
        (make("Gather", 7), constant([0, 3]), constant(1), [error]),
        (make("Gather", 7), constant([0, -1]), constant(1), [warning]),
        (make("Gather", 7), constant([0, 2]), constant(-1), []),
        (make("Gather", 1), constant([-3]), constant(0), [error]),
        (make("Gather", 8), constant([9, -9]), constant(0), [("IR701", "warning", "indices")]),
        (make("Gather", 8), constant([1, -2]), constant(0), []),
        (make("Gather", 8, out_of_range="error"), constant([9, -9]), constant(0), [error]),
        (make("Gather", 7), make_type("[2]", "i64"), constant(0), []),
        (make("Gather", 7), constant([5]), make_type("[]", "i64"), []),
    ]:
        assert error_facts(operator.check_values(data, indices, axis)) == expected
    for operator, indices, expected in [
        (make("GatherElements", 6, axis=-1), constant([[0, 3], [1, 1]]), [error]),
        (make("GatherElements", 6, axis=-1), constant([[0, 2], [1, -1]]), [warning]),
        (make("GatherElements", 6, axis=0), constant([[0, 1, 1]]), []),
        (make("GatherND", 5), constant([[0, 3], [2, 0]]), [error, error]),
        (make("GatherND", 5), constant([[0, -1]]), [warning]),
        (make("GatherND", 8), constant([[0, -1]]), []),
        (make("GatherND", 8), make_type("[1,2]", "i64"), []),
    ]:
        assert error_facts(operator.check_values(data, indices)) == expected
    assert make("GatherND", 8).check_values(make_type("[...]"), constant([[0]])) == []
    assert error_facts(make("GatherND", 8).check_values(make_type("[?,3]"), constant([[9, 0], [0, 9]]))) == [error]


def test_only_indices_are_decoded() -> None:
    def refuse() -> None:
        raise AssertionError("data was decoded")

    data = TensorType(ElementType.f32, Shape([2, 3]), refuse)
    assert make("Gather", 7).check_values(data, constant([0]), constant(0)) == []
    assert make("GatherElements", 6, axis=0).check_values(data, constant([[0, 0, 0]])) == []
    assert make("GatherND", 8).check_values(data, constant([[0]])) == []


def test_memory_follows_the_output() -> None:
    table = np.zeros((20_000, 64), np.float32)
    few = np.array([1, 5, 19_999])
    cases = [
        (make("Gather", 8), (table, few, np.array(0))),
        (make("Gather", 8), (table.T, few, np.array(1))),
        (make("GatherElements", 6, axis=0), (table, np.zeros((2, 64), np.int64))),
        (make("GatherElements", 6, axis=1), (table.T, np.zeros((64, 2), np.int64))),
        (make("GatherND", 8), (table, few[:, np.newaxis])),
    ]
    for operator, inputs in cases:
        tracemalloc.start()
        output = operator.evaluate(*inputs)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * output.nbytes + 20_000


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_short_indices_on_a_longer_axis(dtype: type) -> None:
    """-56 as an unsigned number of 8 bits is 200, which must not be taken for one."""
    data = np.arange(230, dtype=np.float32)
    indices = np.array([-128, -56, -1, 0, 127] if dtype is np.int8 else [0, 127, 200, 255 - 26], dtype)
    expected = [data[index] for index in indices.tolist()]
    np.testing.assert_array_equal(make("Gather", 8).evaluate(data, indices, np.array(0)), expected)
    stacked = np.stack([data] * 2)
    rows = np.stack([indices] * 2)
    actual = make("GatherElements", 6, axis=1).evaluate(stacked, rows.astype(np.int32))
    np.testing.assert_array_equal(actual, [expected] * 2)


@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_slice_of_data_in_another_order(index: int) -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 3, 2).transpose(1, 2, 0)
    take = make("Gather", 8).kernel(make_type("3,2,4"), constant(index), constant(0))
    actual = take(data, np.array(index), np.array(0))
    np.testing.assert_array_equal(actual, data[index])
    assert actual.flags.c_contiguous
    assert not np.shares_memory(actual, data)
    np.testing.assert_array_equal(take(data, np.array(3), np.array(0)), np.zeros((2, 4)))


@pytest.mark.parametrize("element_type", ["f32", "f16", "bf16", "i64", "u8", "boolean", "nf4"])
@pytest.mark.parametrize("index", [0, 4, -1, -5, 5, -6])
def test_one_element_of_a_vector_is_an_array(element_type: str, index: int) -> None:
    """NumPy's function returns a number, and raises for what Gather-8 defines as zero."""
    dtype = ElementType[element_type].dtype
    data = np.arange(1, 6, dtype=np.uint8).view(dtype) if element_type == "nf4" else np.arange(1, 6).astype(dtype)
    expected = data[index] if -5 <= index < 5 else None
    operator = make("Gather", 8)
    kernel = operator.kernel(make_type("5", element_type), make_type("", "i64"), constant(0))
    for take in (kernel, operator.evaluate):
        result = take(data, np.array(index), np.array(0))
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype) == ((), dtype)
        assert expected is None or result == expected
    with pytest.raises((EvaluationError, OutOfRangeError)) if expected is None else nullcontext():
        make("Gather", 8, out_of_range="error").evaluate(data, np.array(index), np.array(0))
