"""Slices against a walk over their places, and errors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError
from ir_exec.ops.base.dims import slice_length, sliced_dim
from ir_exec.ops.movement.slice import Slice, SliceScatter, StridedSlice
from ir_exec.types import Dim, ElementType, Shape, TensorType
from tests.helpers.facts import facts, fault_with, mentions, naming
from tests.helpers.values import between, constant, ints, make_type

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I64_MIN, I64_MAX = -(2**63), 2**63 - 1


def vector(length: int | None) -> TensorType:
    return TensorType(ElementType.i64, Shape([length]))


def walk_positions(size: int, start: int, stop: int, step: int) -> list[int]:
    """The places that a slice takes, one step after the other."""
    start += size if start < 0 else 0
    stop += size if stop < 0 else 0
    # OpenVINO's departure from Python: a backward slice never starts before the axis.
    position = max(start, 0)
    places = []
    if step < 0:
        position = min(position, size - 1)
        while position > max(stop, -1):
            places.append(position)
            position += step
    while step > 0 and position < min(stop, size):
        places.append(position)
        position += step
    return places


indices = st.integers(-12, 12)
steps = st.integers(-4, 4).filter(bool)


@settings(max_examples=200)
@given(size=st.integers(0, 9), start=indices, stop=indices, step=steps)
@example(size=0, start=0, stop=-1, step=-1)
@example(size=5, start=-9, stop=-9, step=-1)
def test_a_slice_takes_the_places_of_a_walk(size: int, start: int, stop: int, step: int) -> None:
    places = walk_positions(size, start, stop, step)
    assert slice_length(size, start, stop, step) == len(places)
    result = Slice().evaluate(np.arange(size), ints(start), ints(stop), ints(step))
    assert result.tolist() == places
    result = StridedSlice().evaluate(np.arange(size), ints(start), ints(stop), ints(step))
    assert result.tolist() == places


@settings(max_examples=200)
@given(
    sizes=st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted),
    start=st.tuples(indices, indices).map(sorted),
    stop=st.tuples(indices, indices).map(sorted),
    step=steps,
)
@example(sizes=[2, 8], start=[-3, -3], stop=[4, 4], step=1)
@example(sizes=[2, 8], start=[8, 8], stop=[-3, -3], step=-1)
def test_length_interval_is_tight(sizes: list[int], start: list[int], stop: list[int], step: int) -> None:
    lengths = {
        len(walk_positions(size, first, end, step))
        for size, first, end in product(*(range(low, high + 1) for low, high in (sizes, start, stop)))
    }
    interval = sliced_dim(Dim(*sizes), (start[0], start[1]), (stop[0], stop[1]), step)
    assert (interval.lo, interval.hi) == (min(lengths), max(lengths))


@pytest.mark.parametrize(
    ("dim", "start", "stop", "step", "expected"),
    [
        ("?", (1, 1), (I64_MAX, I64_MAX), 1, "?"),
        ("2..8", (1, 1), (I64_MAX, I64_MAX), 1, "1..7"),
        ("3..", (1, 1), (I64_MAX, I64_MAX), 1, "2.."),
        ("?", (-3, -3), (I64_MAX, I64_MAX), 1, "..3"),
        ("3..", (-3, -3), (-1, -1), 1, "2"),
        ("2..8", (0, 0), (5, 5), 2, "1..3"),
        ("3..", (2, 2), (I64_MAX, I64_MAX), 3, "1.."),
        ("2..8", (-1, -1), (I64_MIN, I64_MIN), -1, "2..8"),
        ("?", (5, 5), (1, 1), -2, "..2"),
        ("2..20", (0, I64_MAX), (I64_MAX, I64_MAX), 1, "..20"),
        ("2..20", (2, 8), (I64_MAX, I64_MAX), 1, "..18"),
        ("2..20", (1, 1), (2, 8), 1, "1..7"),
        ("10", (1, 1), (3, I64_MAX), 1, "2..9"),
        ("?", (1, 1), (3, I64_MAX), 1, "?"),
    ],
)
def test_intervals_as_openvino_infers_them(
    dim: str, start: tuple[int, int], stop: tuple[int, int], step: int, expected: str
) -> None:
    output_type = Slice().infer(
        make_type(dim), between([start[0]], [start[1]]), between([stop[0]], [stop[1]]), constant([step])
    )
    assert output_type == make_type(expected)
    output_type = StridedSlice().infer(
        make_type(dim), between([start[0]], [start[1]]), between([stop[0]], [stop[1]]), constant([step])
    )
    assert output_type == make_type(expected)


def test_i32_maximum_is_end_of_axis() -> None:
    start, stop, step = (TensorType.of(np.array([value], np.int32)) for value in (0, 2**31 - 1, 1))
    assert Slice().infer(make_type("3.."), start, stop, step) == make_type("3..")


@pytest.mark.parametrize(
    ("count", "axes", "expected"),
    [
        (1, None, "..2,3,4"),
        (None, None, "..2,..3,..4"),
        (1, vector(1), "..2,..3,..4"),
        (2, constant([-1, 0]), "..2,3,..4"),
    ],
)
def test_slice_with_unknown_bounds(count: int | None, axes: TensorType | None, expected: str) -> None:
    bounds = [vector(count)] * 3
    assert Slice().infer(make_type("2,3,4"), *bounds, *([] if axes is None else [axes])) == make_type(expected)
    assert Slice().infer(make_type("..."), *bounds, *([] if axes is None else [axes])) == make_type("...")


@pytest.mark.parametrize(
    ("inputs", "code", "port", "fault"),
    [
        (
            [make_type(""), constant([0]), constant([1]), constant([1])],
            "IR501",
            "data",
            fault_with("data", actual=0, expected="1 or more"),
        ),
        (
            [make_type("2"), TensorType.of(np.array(0)), constant([1]), constant([1])],
            "IR501",
            "start",
            fault_with("start", "[]", actual=0, expected=1),
        ),
        (
            [make_type("2,3"), constant([0]), constant([1, 1]), constant([1])],
            "IR502",
            "stop",
            fault_with("start", "step", "stop", actual="1 and 2", expected="equal dims"),
        ),
        (
            [make_type("2,3"), constant([0]), constant([1]), constant([1]), constant([0, 1])],
            "IR502",
            "axes",
            fault_with("start", "stop", "step", actual="1 and 2", expected="equal dims"),
        ),
        (
            [make_type("2"), constant([0, 0]), constant([1, 1]), constant([1, 1])],
            "IR502",
            "start",
            fault_with("start", 2, "data", 1),
        ),
        (
            [make_type("2"), vector(1), vector(1), constant([0])],
            "IR505",
            "step",
            fault_with("step", actual=0, expected=mentions()),
        ),
        (
            [make_type("2,3"), vector(1), vector(1), vector(1), constant([2])],
            "IR503",
            None,
            fault_with(actual=2, expected="-2 to 1"),
        ),
        (
            [make_type("2,3"), vector(2), vector(2), vector(2), constant([1, -1])],
            "IR503",
            None,
            fault_with(actual="[1, 1]", expected="distinct axes"),
        ),
    ],
)
def test_slice_errors(inputs: list[TensorType], code: str, port: str | None, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as raised:
        Slice().infer(*inputs)
    assert (raised.value.code, raised.value.location.port, raised.value) == (code, port, fault)


@pytest.mark.parametrize(
    ("step", "axes", "port", "fault"),
    [
        (0, 0, "step", fault_with("step", actual=0, expected=mentions())),
        (1, 3, "axes", fault_with(actual=3, expected="-3 to 2")),
    ],
)
def test_values_that_come_at_run_time(step: int, axes: int, port: str, fault: fault_with) -> None:
    bounds = (ints(0), ints(1), ints(step), ints(axes))
    for evaluate in (
        lambda: Slice().evaluate(CUBE, *bounds),
        lambda: SliceScatter().evaluate(CUBE, CUBE[:1], *bounds),
    ):
        with pytest.raises(EvaluationError) as raised:
            evaluate()
        assert (raised.value.code, raised.value.location.port, raised.value) == ("IR704", port, fault)


def test_axes_that_repeat_at_run_time() -> None:
    with pytest.raises(EvaluationError, match=naming("[2, 2]")):
        Slice().evaluate(CUBE, ints(0, 0), ints(1, 1), ints(1, 1), ints(2, -1))


def test_scatter_refuses_updates_of_another_shape() -> None:
    bounds = [constant([0]), constant([2]), constant([1]), constant([1])]
    with pytest.raises(ShapeError) as raised:
        SliceScatter().infer(make_type("2,3,4"), make_type("2,3,4"), *bounds)
    assert (raised.value.code, raised.value.location.port) == ("IR502", "updates")
    assert facts(raised.value.message) == ["[2,2,4]", "[2,3,4]"]
    with pytest.raises(ShapeError) as raised:
        SliceScatter().infer(make_type("2,3,4"), make_type("2,3"), *bounds)
    assert (raised.value.code, raised.value.location.port) == ("IR501", "updates")
    with pytest.raises(EvaluationError) as evaluated:
        # NumPy would broadcast these.
        SliceScatter().evaluate(CUBE, CUBE[:1, :2], ints(0), ints(2), ints(1), ints(1))
    assert (evaluated.value.code, evaluated.value.location.port) == ("IR704", "updates")
    assert facts(evaluated.value.message) == ["[1, 2, 4]", "[2, 2, 4]"]


def test_scatter_takes_the_rank_from_updates() -> None:
    output_type = SliceScatter().infer(make_type("..."), make_type("2,3"), vector(1), vector(1), vector(1))
    assert output_type == make_type("?,?")


def parse(**masks: str) -> StridedSlice | None:
    faults: list[IRError] = []
    operator = StridedSlice.parse(masks, faults.append)
    if faults:
        raise faults[0]
    return operator


@pytest.mark.parametrize(
    ("masks", "fault"),
    [
        ({"begin_mask": "0,2"}, fault_with("begin_mask", actual="'0,2'", expected=mentions(0, 1))),
        ({"ellipsis_mask": "1,0,1"}, fault_with("ellipsis_mask", "1,0,1")),
        ({"end_mask": "a"}, fault_with("end_mask", actual="'a'", expected="an integer")),
    ],
)
def test_masks_that_cannot_be(masks: dict[str, str], fault: fault_with) -> None:
    with pytest.raises(InvalidAttributeError) as raised:
        parse(**masks)
    assert (raised.value.code, raised.value) == ("IR302", fault)


@pytest.mark.parametrize(("masks", "count"), [({}, 3), ({"new_axis_mask": (1,)}, 4), ({"ellipsis_mask": (0, 1)}, 4)])
def test_positions_that_name_too_many_axes(masks: dict[str, Any], count: int) -> None:
    positions = constant([*[0] * count])
    with pytest.raises(ShapeError) as raised:
        StridedSlice(**masks).infer(make_type("2,3"), positions, positions, constant([*[1] * count]))
    assert (raised.value.code, raised.value.location.port) == ("IR501", "begin")
    assert facts(raised.value.message) == ["2", "3"]


def test_strides_of_0() -> None:
    with pytest.raises(ShapeError, match=naming("0")):
        StridedSlice().infer(make_type("2"), vector(1), vector(1), constant([0]))
    with pytest.raises(EvaluationError, match=naming("0")):
        StridedSlice().evaluate(CUBE, ints(0), ints(1), ints(0))
    # Where the axis goes or is new, the stride means nothing.
    assert StridedSlice(shrink_axis_mask=(1,)).evaluate(CUBE, ints(1), ints(1), ints(0)).tolist() == CUBE[1].tolist()


@pytest.mark.parametrize("begin", [2, -3])
def test_a_single_index_must_lie_on_its_axis(begin: int) -> None:
    layer = StridedSlice(shrink_axis_mask=(1,))
    fault = fault_with("begin[0]", "axis", 0, 2, code="IR701", port="begin", actual=begin, expected="-2 to 1")
    with pytest.raises(EvaluationError) as raised:
        layer.evaluate(CUBE, ints(begin), ints(0), ints(1))
    assert raised.value == fault
    assert layer.check_values(make_type("2,3,4"), constant([begin]), constant([0]), constant([1])) == [fault]
    assert layer.check_values(make_type("4,3,4"), constant([begin]), constant([0]), constant([1])) == []
    assert layer.check_values(make_type("?,3,4"), constant([begin]), constant([0]), constant([1])) == []


@pytest.mark.parametrize(
    ("begin", "end", "stride", "masks", "expected"),
    [
        (vector(2), vector(2), constant([1, 1]), {}, "..2,..3,4"),
        (vector(2), vector(2), constant([1, 1]), {"begin_mask": (0, 1), "end_mask": (0, 1)}, "..2,3,4"),
        (vector(2), vector(2), constant([2, 1]), {"end_mask": (1,)}, "..1,..3,4"),
        (constant([0, 1]), constant([2, 2]), vector(2), {}, "..2,..3,4"),
        (vector(None), vector(None), vector(None), {}, "..."),
        (vector(None), vector(2), vector(None), {"shrink_axis_mask": (1,)}, "..3,4"),
        (vector(3), vector(3), constant([1, 1, 1]), {"ellipsis_mask": (1,), "new_axis_mask": (0, 1)}, "2,3,1,..4"),
    ],
)
def test_strided_slice_with_unknown_bounds(
    begin: TensorType, end: TensorType, stride: TensorType, masks: dict[str, Any], expected: str
) -> None:
    assert StridedSlice(**masks).infer(make_type("2,3,4"), begin, end, stride) == make_type(expected)


def test_slices_are_views_and_scatter_copies() -> None:
    assert np.shares_memory(Slice().evaluate(CUBE, ints(1), ints(2), ints(1)), CUBE)
    assert np.shares_memory(StridedSlice().evaluate(CUBE, ints(1), ints(2), ints(1)), CUBE)
    before = CUBE.copy()
    result = SliceScatter().evaluate(CUBE, -CUBE[1:], ints(1), ints(2), ints(1))
    assert CUBE.tolist() == before.tolist()
    assert result[1].tolist() == (-before[1]).tolist()


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1", "string"])
def test_element_types_that_openvino_cannot_slice(name: str) -> None:
    codes = (np.arange(12, dtype=np.uint8) % 2).reshape(3, 4)
    element_type = ElementType[name]
    data = codes.astype(str).astype(object) if name == "string" else codes.view(element_type.dtype)
    for result in (
        Slice().evaluate(data, ints(2, 0), ints(-9, 3), ints(-1, 2)),
        StridedSlice().evaluate(data, ints(2, 0), ints(-9, 3), ints(-1, 2)),
    ):
        assert ElementType.of(result) is element_type
        assert result.tolist() == data[::-1, 0:3:2].tolist()
    result = SliceScatter().evaluate(data, data[:1, ::-1].copy(), ints(2), ints(3), ints(1))
    assert result.tolist() == [*data[:2].tolist(), data[0, ::-1].tolist()]


@pytest.mark.parametrize("operator", [Slice(), StridedSlice(shrink_axis_mask=(0, 1))])
def test_slice_facts_are_used_once(operator: Slice | StridedSlice) -> None:
    bounds = [ints(0, 1), ints(2, 2), ints(1, 1)]
    kernel = operator.kernel(TensorType.of(CUBE), *map(TensorType.of, bounds))
    result = kernel(CUBE, *bounds)
    assert result.tolist() == operator.evaluate(CUBE, *bounds).tolist()
    assert np.shares_memory(result, CUBE)
    assert kernel != operator.evaluate
    assert operator.kernel(TensorType.of(CUBE), make_type("2"), *map(TensorType.of, bounds[1:])) == operator.evaluate


@pytest.mark.parametrize("axes", [[1], [-1], [0, 2], [2, -2, 0], None])
def test_views_for_bounds_of_any_value(axes: list[int] | None) -> None:
    """Bounds that Python's slices treat alike are views; for the others inference decides."""
    data = np.arange(60).reshape(3, 4, 5)
    operator = Slice()
    count = 1 if axes is None else len(axes)
    steps = np.ones(count, np.int64)
    others = [steps] if axes is None else [steps, np.array(axes)]
    unknown = TensorType.of(steps).without_values()
    view = operator.view_kernel(TensorType.of(data), unknown, unknown, *map(TensorType.of, others))
    assert view is not None
    views = 0
    for start in range(-6, 7):
        for stop in (*range(-6, 7), 2**63 - 1, -(2**63)):
            bounds = [np.full(count, start), np.full(count, stop)]
            actual = view(data, *bounds, *others)
            expected = operator.evaluate(data, *bounds, *others)
            if actual is not None:
                np.testing.assert_array_equal(actual, expected, strict=True)
                assert np.shares_memory(actual, data)
                views += 1
    assert views >= 3


def test_slices_without_views() -> None:
    operator = Slice()
    two, unknown = constant([2]), make_type("1", "i64")
    assert operator.view_kernel(make_type("3,4"), unknown, unknown, two, constant([0])) is None
    assert operator.view_kernel(make_type("3,4"), unknown, unknown, unknown, constant([0])) is None
    assert operator.view_kernel(make_type("3,4"), unknown, unknown, constant([1]), unknown) is None
