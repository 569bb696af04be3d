"""Broadcast and Tile: inference with little information, and errors for shapes that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.ops import Op
from ir_exec.types import ElementType, TensorType
from tests.helpers.drawing import draw_data, draw_shape, draw_unsure, draw_wider
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.operators import assert_holds, make, run
from tests.helpers.values import between, constant, make_type

NUMPY, EXPLICIT = make("Broadcast", 3, mode="numpy"), make("Broadcast", 3, mode="explicit")
BIDIRECTIONAL, PDPD = make("Broadcast", 3, mode="bidirectional"), make("Broadcast", 3, mode="pdpd")
PDPD1 = make("Broadcast", 1, **{"mode": "pdpd", "mode.auto_broadcast_axis": 1})
TILE = make("Tile", 1)


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (NUMPY, ["[?,3]", constant([2, 3])], "[2,3]"),
        (NUMPY, ["[2..5,3]", constant([4, 3])], "[4,3]"),
        (NUMPY, ["[..5,3]", constant([8, 3])], "[8,3]"),
        (NUMPY, ["[...]", constant([2, 3])], "[2,3]"),
        (NUMPY, ["[3]", make_type("[?]", "i64")], "[...]"),
        (NUMPY, ["[3]", make_type("[...]", "i64")], "[...]"),
        (NUMPY, ["[1,3]", between([2, 3], [9, 3])], "[2..9,3]"),
        (NUMPY, ["[?,3]", between([0, 3], [2**31 - 1, 3], "i32")], "[?,3]"),
        (EXPLICIT, ["[...]", constant([2, 3]), constant([1])], "[2,3]"),
        (EXPLICIT, ["[?]", constant([2, 3]), constant([0])], "[2,3]"),
        (EXPLICIT, ["[3]", constant([2, 3]), make_type("[1]", "i64")], "[2,3]"),
        (EXPLICIT, ["[3]", constant([2, 3]), make_type("[?]", "i64")], "[2,3]"),
        (BIDIRECTIONAL, ["[2..5,3]", constant([1, 3])], "[2..5,3]"),
        (BIDIRECTIONAL, ["[..5,3]", constant([8, 3])], "[8,3]"),
        (BIDIRECTIONAL, ["[?,3]", constant([2, 3])], "[2,3]"),
        (BIDIRECTIONAL, ["[...]", constant([2, 3])], "[...]"),
        (BIDIRECTIONAL, ["[3]", make_type("[2]", "i64")], "[?,3]"),
        (BIDIRECTIONAL, ["[2,3]", make_type("[1]", "i64")], "[2,3]"),
        (BIDIRECTIONAL, ["[3]", make_type("[?]", "i64")], "[...]"),
        (PDPD, ["[2..5,3]", constant([1, 3])], "[2..5,3]"),
        (PDPD, ["[?,3]", constant([2, 3])], "[2,3]"),
        (PDPD, ["[3]", make_type("[?]", "i64")], "[...]"),
        (PDPD1, ["[3,1]", constant([2, 3, 4])], "[2,3,4]"),
        (TILE, ["[?,3]", constant([2, 2])], "[?,6]"),
        (TILE, ["[2..4,3]", constant([3, 1])], "[6..12,3]"),
        (TILE, ["[?]", constant([0])], "[0]"),
        (TILE, ["[...]", constant([2, 2])], "[...]"),
        (TILE, ["[2,3]", make_type("[1]", "i64")], "[?,?]"),
        (TILE, ["[2,3]", make_type("[3]", "i64")], "[?,?,?]"),
        (TILE, ["[2,3]", make_type("[?]", "i64")], "[...]"),
        (TILE, ["[2,3]", constant([-1, 1])], "[0,3]"),
        (TILE, ["[2,3]", between([-5, 1], [2, 4])], "[..4,3..12]"),
    ],
)
def test_what_OpenVINO_infers_too(operator: Op, types: list[str | TensorType], expected: str) -> None:
    inputs = [make_type(type_) if isinstance(type_, str) else type_ for type_ in types]
    assert str(operator.infer(*inputs)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        # Known from data as well; OpenVINO infers [?,?] for these three.
        (NUMPY, ["[3]", make_type("[2]", "i64")], "[?,3]"),
        (EXPLICIT, ["[3]", make_type("[2]", "i64"), constant([1])], "[?,3]"),
        (PDPD, ["[3]", make_type("[2]", "i64")], "[3,?]"),
        # And of these the target.
        (NUMPY, ["[5]", between([1], [9])], "[5]"),
        (EXPLICIT, ["[2..5]", between([1, 1], [9, 3]), constant([0])], "[2..5,1..3]"),
        (PDPD, ["[...]", constant([2, 1])], "[2,?]"),
        # A scalar fits everywhere; OpenVINO requires a target of 1 there.
        (EXPLICIT, ["[]", constant([2, 3]), constant([0])], "[2,3]"),
        # OpenVINO lets pdpd fill all axes up to the last one only.
        (PDPD, ["[2]", constant([2, 3])], "[2,3]"),
    ],
)
def test_where_we_infer_more_than_OpenVINO(operator: Op, types: list[str | TensorType], expected: str) -> None:
    inputs = [make_type(type_) if isinstance(type_, str) else type_ for type_ in types]
    assert str(operator.infer(*inputs)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "types", "code", "fault"),
    [
        (
            NUMPY,
            ["[3]", constant([2, 4])],
            "IR504",
            fault_with("data", "[3]", "[2,4]", 3, 1, 4),
        ),
        (NUMPY, ["[2,3]", constant([3])], "IR504", fault_with("data", "[2,3]", "target_shape", "[3]")),
        (NUMPY, ["[3]", constant([2, -3])], "IR505", fault_with("target_shape", actual="[2, -3]", expected=mentions())),
        (NUMPY, ["[3]", constant(3)], "IR501", fault_with("target_shape", "[]", actual=0, expected=1)),
        (BIDIRECTIONAL, ["[3]", constant([2, 4])], "IR504", fault_with("[3]", "[2,4]", 3, 4)),
        (EXPLICIT, ["[3]", constant([2, 3, 4]), constant([0])], "IR504", None),
        (
            EXPLICIT,
            ["[3,4]", constant([2, 3, 4]), constant([2, 1])],
            "IR503",
            fault_with("axes_mapping", actual="[2, 1]", expected=mentions(3)),
        ),
        # OpenVINO takes this and reads beyond data.
        (
            EXPLICIT,
            ["[3,3]", constant([2, 3, 4]), constant([1, 1])],
            "IR503",
            fault_with("axes_mapping", actual="[1, 1]", expected=mentions(3)),
        ),
        (
            EXPLICIT,
            ["[3]", constant([2, 3]), constant([-1])],
            "IR503",
            fault_with("axes_mapping", actual="[-1]", expected=mentions(2)),
        ),
        (
            EXPLICIT,
            ["[3]", constant([2, 3]), constant([0, 1])],
            "IR504",
            fault_with("axes_mapping", actual=2, expected=mentions(1)),
        ),
        (
            EXPLICIT,
            ["[3]", constant([2, 3]), constant(1)],
            "IR501",
            fault_with("axes_mapping", "[]", actual=0, expected=1),
        ),
        (PDPD, ["[3]", constant([2, 3])], "IR504", fault_with("[3,1]", "[2,3]", 3, 2)),
        (PDPD, ["[2,3]", constant([2])], "IR504", fault_with("data", "[2,3]", "axis", 0, "[2]")),
        (PDPD1, ["[3]", constant([3])], "IR504", fault_with("data", "[3]", "axis", 1)),
        (TILE, ["[2,3]", constant(2)], "IR501", fault_with("repeats", "[]", actual=0, expected=1)),
    ],
)
def test_shapes_that_do_not_fit(operator: Op, types: list[str | TensorType], code: str, fault: str | None) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(*[make_type(type_) if isinstance(type_, str) else type_ for type_ in types])
    assert caught.value.code == code
    assert fault is None or caught.value == fault


def test_axes_mapping_goes_with_explicit() -> None:
    with pytest.raises(GraphError, match=naming("axes_mapping")) as caught:
        EXPLICIT.infer(make_type("[3]"), constant([2, 3]))
    assert caught.value.code == "IR106"
    with pytest.raises(GraphError, match=naming("axes_mapping")):
        NUMPY.infer(make_type("[3]"), constant([2, 3]), constant([1]))
    with pytest.raises(InvalidAttributeError, match=naming("mode", "'bidirectional'")):
        make("Broadcast", 1, mode="bidirectional")


@pytest.mark.parametrize(
    ("operator", "shape", "values"),
    [
        (NUMPY, (3,), [[2, 4]]),
        (NUMPY, (2, 3), [[3]]),
        (NUMPY, (3,), [[-1, 3]]),
        (BIDIRECTIONAL, (3,), [[2, 4]]),
        (BIDIRECTIONAL, (3,), [[-1]]),
        (EXPLICIT, (3,), [[3, 2], [1]]),
        (EXPLICIT, (3,), [[3, 2], [2]]),
        (EXPLICIT, (3,), [[3, 2], [0, 1]]),
        (EXPLICIT, (2, 2), [[2, 2], [1, 0]]),
        (PDPD, (3,), [[2, 3]]),
        (PDPD, (3, 1), [[3]]),
    ],
)
def test_values_that_only_the_run_knows(operator: Op, shape: tuple[int, ...], values: list[list[int]]) -> None:
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(np.zeros(shape, np.float32), *[np.array(value) for value in values])
    assert (caught.value.code, caught.value.location.port) == ("IR704", "target_shape")


def test_ranks_beyond_array_limits() -> None:
    for operator in (NUMPY, TILE):
        with pytest.raises(UnsupportedError, match=naming(65)):
            operator.infer(make_type("[1]"), constant(np.ones(65)))


@st.composite
def broadcasts(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int]]:
    """A target, and the axes of it that data has."""
    target = draw_shape(draw, 0)
    return target, [axis for axis in range(len(target)) if draw(st.booleans())]


@settings(max_examples=100)
@given(broadcasts(), st.data())
def test_Broadcast_is_a_loop(case: tuple[tuple[int, ...], list[int]], data: st.DataObject) -> None:
    target, axes = case
    shape = tuple([data.draw(st.sampled_from([1, target[axis]])) for axis in axes])
    array = draw_data(data.draw, shape)
    output = run(EXPLICIT, array, np.array(target, np.int64), np.array(axes, np.int64))
    assert output.shape == target
    for index in np.ndindex(target):
        assert output[index] == array[tuple(0 if shape[i] == 1 else index[axis] for i, axis in enumerate(axes))]
    unsure = draw_unsure(data.draw, np.array(target, np.int64))
    tensor_type = TensorType(ElementType.i32, draw_wider(data.draw, shape))
    arrays = [array, np.array(target, np.int64), np.array(axes, np.int64)]
    assert_holds(EXPLICIT, [tensor_type, unsure, TensorType.of(arrays[2])], arrays)
    spread = np.array(array).reshape([shape[axes.index(i)] if i in axes else 1 for i in range(len(target))])
    tensor_type = TensorType(ElementType.i32, draw_wider(data.draw, spread.shape))
    for operator in (NUMPY, BIDIRECTIONAL, PDPD):
        assert np.array_equal(run(operator, spread, arrays[1]), output)
        assert_holds(operator, [tensor_type, unsure], [spread, arrays[1]])


@settings(max_examples=100)
@given(st.data())
def test_Tile_is_a_loop(data: st.DataObject) -> None:
    array = draw_data(data.draw, draw_shape(data.draw, 0, 3))
    repeats = np.array(data.draw(st.lists(st.integers(-1, 3), max_size=3)), np.int64)
    output = run(TILE, array, repeats)
    shape = (1,) * (output.ndim - array.ndim) + array.shape
    times = [1] * (output.ndim - repeats.size) + [max(times, 0) for times in repeats.tolist()]
    assert output.shape == tuple([size * count for size, count in zip(shape, times, strict=True)])
    for index in np.ndindex(output.shape):
        assert output[index] == array.reshape(shape)[tuple(i % size for i, size in zip(index, shape, strict=True))]
    tensor_type = TensorType(ElementType.i32, draw_wider(data.draw, array.shape))
    assert_holds(TILE, [tensor_type, draw_unsure(data.draw, repeats)], [array, repeats])
