"""Reductions: errors, unknown axes, bounds of values, and a comparison with a plain loop."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec import build, compile_model
from ir_exec.errors import EvaluationError, IRError, ShapeError, raise_error
from ir_exec.infer import infer_node
from ir_exec.ops.reduction import (
    ReduceL1,
    ReduceL2,
    ReduceLogicalAnd,
    ReduceLogicalOr,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
)
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType
from tests.helpers.facts import fault_with

UNBOUNDED = np.iinfo(np.int64).max


def f32(*dims: int | tuple[int, int] | None) -> TensorType:
    return TensorType(ElementType.f32, Shape(list(dims)))


def axes(*values: int) -> TensorType:
    return TensorType.of(np.array(values, np.int64))


UNKNOWN_AXES = TensorType(ElementType.i64, Shape([None]))
ONE_UNKNOWN_AXIS = TensorType(ElementType.i64, Shape([1]))


@pytest.mark.parametrize(
    ("axis", "rank", "fault"),
    [
        (2, 2, fault_with("axis", actual=2, expected="-2 to 1")),
        (-3, 2, fault_with("axis", 2, actual=-3, expected="-2 to 1")),
        (0, 0, fault_with("axis", "scalar", actual=0, expected="none")),
    ],
)
def test_out_of_range_axis_is_an_error(axis: int, rank: int, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        ReduceSum(keep_dims=True).infer(f32(*[3] * rank), axes(axis))
    assert (error.value.code, error.value) == ("IR503", fault)


def test_out_of_range_runtime_axis_is_an_error() -> None:
    with pytest.raises(EvaluationError) as error:
        ReduceSum().evaluate(np.zeros((2, 3), np.float32), np.array([2], np.int64))
    assert (error.value.code, error.value.location.port) == ("IR701", "axes")


def test_a_matrix_of_axes_is_an_error() -> None:
    with pytest.raises(ShapeError) as error:
        ReduceMax().infer(f32(2, 3), TensorType.of(np.zeros((1, 1), np.int64)))
    assert (error.value.code, error.value.location.port) == ("IR501", "axes")


def test_scalar_has_an_axis_to_reduce() -> None:
    assert ReduceSum().infer(f32(), axes(-1)).shape == []
    assert ReduceSum().evaluate(np.float32(3).reshape(()), np.array([0])) == 3


# What OpenVINO 2026.4.1 infers, or a narrower interval that holds the same sizes.
@pytest.mark.parametrize(
    ("data", "which", "keep_dims", "expected"),
    [
        (f32(None, (2, 5), 4), axes(1), False, Shape([None, 4])),
        (f32(None, (2, 5), 4), axes(-1, 0), True, Shape([1, (2, 5), 1])),
        (f32(2, (3, 4), None), UNKNOWN_AXES, True, Shape([(1, 2), (1, 4), None])),
        (f32(2, 3, 4), UNKNOWN_AXES, False, Shape.unknown()),
        (f32(2, 3, 4), ONE_UNKNOWN_AXIS, False, Shape.of_rank(2)),
        (TensorType(ElementType.f32, Shape.unknown()), axes(0), True, Shape.unknown()),
        (f32(2, 3, 4), axes(1, -2), False, Shape([2, 4])),
    ],
)
def test_known_shape_facts(data: TensorType, which: TensorType, keep_dims: bool, expected: Shape) -> None:
    assert ReduceSum(keep_dims=keep_dims).infer(data, which) == data.with_shape(expected)


@pytest.mark.parametrize(
    ("operator", "lower", "upper", "expected"),
    [
        (ReduceProd(), [2, 0, 3], [2, 4, 5], (0, 40)),
        (ReduceProd(), [2, 1], [2, UNBOUNDED], (2, UNBOUNDED)),
        (ReduceProd(), [1, 0], [UNBOUNDED, 0], (0, 0)),
        (ReduceSum(), [2, 1], [2, 4], (3, 6)),
        (ReduceSum(), [2, 1], [2, UNBOUNDED], (3, UNBOUNDED)),
        (ReduceSum(), [-2, -1], [2, 4], (-3, 6)),
        (ReduceMax(), [2, 1], [2, UNBOUNDED], (2, UNBOUNDED)),
        (ReduceMin(), [2, 1], [2, UNBOUNDED], (1, 2)),
    ],
)
def test_bounds_of_sizes(operator: ReduceSum, lower: list[int], upper: list[int], expected: tuple[int, int]) -> None:
    data = TensorType.of(np.array(lower)).with_bounds(np.array(lower), np.array(upper))
    outputs = infer_node(operator, [data, axes(0)], {}, raise_error)
    assert outputs is not None
    assert outputs[0].bounds == expected


def test_product_of_unknown_sign_has_no_bounds() -> None:
    data = axes(0, 0).with_bounds(np.array([-3, -1]), np.array([2, 2]))
    outputs = infer_node(ReduceProd(), [data, axes(0)], {}, raise_error)
    assert outputs is not None
    assert outputs[0].bounds is None


def test_sub_byte_integers_saturate() -> None:
    data = np.array([[7, 7, -8], [1, 2, -8]]).astype(ElementType.i4.dtype)
    assert ReduceSum().evaluate(data, np.array([1])).astype(int).tolist() == [6, -5]
    assert ReduceSum().evaluate(data, np.array([0])).astype(int).tolist() == [7, 7, -8]


def _cut_mean(elements: list[int]) -> int:
    return int(sum(elements) / len(elements)) if elements else 0


PLAIN = {
    ReduceSum: sum,
    ReduceProd: lambda elements: int(np.prod(elements, dtype=np.int64)),
    ReduceMean: _cut_mean,
    ReduceMax: lambda elements: max(elements, default=np.iinfo(np.int32).min),
    ReduceMin: lambda elements: min(elements, default=np.iinfo(np.int32).max),
    ReduceL1: lambda elements: sum(map(abs, elements)),
    ReduceL2: lambda elements: int(sum(element * element for element in elements) ** 0.5),
}


@st.composite
def reductions(draw: st.DrawFn) -> tuple[Array, list[int]]:
    shape = draw(st.lists(st.integers(0, 3), max_size=4))
    values = st.lists(st.integers(-3, 3), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    data = np.array(draw(values), np.int32).reshape(shape)
    return data, draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=4)) if shape else []


@given(reductions(), st.sampled_from(sorted(PLAIN, key=lambda function: function.__name__)))
@settings(max_examples=100)
def test_the_same_as_a_plain_loop(reduction: tuple[Array, list[int]], operator: type[ReduceSum]) -> None:
    data, which = reduction
    reduced = {axis % data.ndim for axis in which}
    output_ranges = [range(1) if axis in reduced else range(size) for axis, size in enumerate(data.shape)]
    expected = [
        PLAIN[operator](
            [
                int(data[index])
                for index in np.ndindex(data.shape)
                if all(axis in reduced or index[axis] == position[axis] for axis in range(data.ndim))
            ]
        )
        for position in product(*output_ranges)
    ]
    actual = operator(keep_dims=True).evaluate(data, np.array(which, np.int64))
    assert actual.shape == tuple(map(len, output_ranges))
    assert actual.ravel().tolist() == expected


@pytest.mark.parametrize("operator", [ReduceLogicalAnd, ReduceLogicalOr])
def test_truth_of_numbers_is_not_asked_for(operator: type[ReduceSum]) -> None:
    errors: list[IRError] = []
    types = [TensorType(ElementType[element_type], Shape([2])) for element_type in ("f32", "i64")]
    assert not operator().check_inputs(types, errors.append)
    assert [(error.code, error.location.port) for error in errors] == [("IR401", "data")]


def test_booleans_keep_their_type() -> None:
    output_type = ReduceLogicalAnd().infer(TensorType(ElementType.boolean, Shape([2, None])), axes(0))
    assert output_type == TensorType(ElementType.boolean, Shape([Dim.any()]))


@pytest.mark.parametrize("element_type", ["u8", "i32", "i64", "f16", "f32"])
@pytest.mark.parametrize("name", ["ReduceSum", "ReduceProd", "ReduceMean", "ReduceMax"])
def test_constants_are_reduced_to_scalars(name: str, element_type: str) -> None:
    constant = build.constant([2, 4], element_type)
    model = build.model([build.result(build.op(name, constant, np.array(0), keep_dims=False))], [])
    expected = {"ReduceSum": 6, "ReduceProd": 8, "ReduceMean": 3, "ReduceMax": 4}[name]
    assert compile_model(model)([])[0].tolist() == expected
