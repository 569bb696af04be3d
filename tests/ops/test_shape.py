"""Shape operators: what is inferred where little is known, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.ops import Op
from ir_exec.types import UNBOUNDED, Array, Shape, TensorType
from tests.helpers.drawing import draw_data, draw_shape, draw_unsure, draw_wider
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.operators import assert_holds, make, run
from tests.helpers.values import between, constant, make_type

RESHAPE, COPYING = make("Reshape", 1, special_zero="false"), make("Reshape", 1, special_zero="true")
SQUEEZE, SQUEEZE15 = make("Squeeze", 1), make("Squeeze", 15)
SKIPPING = make("Squeeze", 15, allow_axis_skip="true")
UNSQUEEZE, TRANSPOSE = make("Unsqueeze", 1), make("Transpose", 1)


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("operator", "shape", "value", "expected"),
    [
        (RESHAPE, "[?,4,8]", constant([-1, 8]), "[?,8]"),
        (RESHAPE, "[2..5,4,8]", constant([-1, 8]), "[8..20,8]"),
        (RESHAPE, "[2..5,3,4]", constant([-1, 6, 2]), "[2..5,6,2]"),
        (RESHAPE, "[2..5,3,4]", constant([-1, 7]), "[4..8,7]"),
        (RESHAPE, "[3..7]", constant([2, -1]), "[2,2..3]"),
        (RESHAPE, "[3..7]", constant([2, 2]), "[2,2]"),
        (RESHAPE, "[0,3]", constant([5, 0, -1]), "[5,0,1]"),
        (RESHAPE, "[0,5]", constant([0, -1]), "[0,1]"),
        (RESHAPE, "[2,3]", make_type("[2]", "i64"), "[?,?]"),
        (RESHAPE, "[2,3]", make_type("[1..3]", "i64"), "[...]"),
        (RESHAPE, "[2,3]", make_type("[...]", "i64"), "[...]"),
        (RESHAPE, "[...]", constant([2, 3]), "[2,3]"),
        (COPYING, "[?,5]", constant([0, -1]), "[?,5]"),
        (COPYING, "[3..7,4]", constant([-1, 0]), "[3..7,4]"),
        (COPYING, "[...]", constant([0, -1]), "[?,?]"),
        (COPYING, "[0]", constant([0, -1]), "[0,1]"),
        (SQUEEZE, "[?,3]", constant([0]), "[3]"),
        (SQUEEZE, "[2..5,3]", constant([0]), "[2..5,3]"),
        (SQUEEZE, "[..5,3]", constant([0]), "[3]"),
        (SQUEEZE, "[?,3]", constant(np.zeros(0)), "[...]"),
        (SQUEEZE, "[1,3,1]", make_type("[1]", "i64"), "[?,?]"),
        (SQUEEZE, "[2,3]", make_type("[]", "i64"), "[2,3]"),
        (SQUEEZE, "[1,3,1]", make_type("[2]", "i64"), "[...]"),
        (SQUEEZE, "[...]", constant([0]), "[...]"),
        (SQUEEZE15, "[?,3]", constant([0]), "[3]"),
        (SQUEEZE15, "[1,3,1]", make_type("[1]", "i64"), "[...]"),
        (SQUEEZE15, "[2,3]", make_type("[1]", "i64"), "[2,3]"),
        (SKIPPING, "[?,3]", constant([0]), "[...]"),
        (SKIPPING, "[2..5,3]", constant([0]), "[2..5,3]"),
        (SKIPPING, "[?,1]", constant([1]), "[?]"),
        (UNSQUEEZE, "[?,2..3]", constant([-1, 0]), "[1,?,2..3,1]"),
        (UNSQUEEZE, "[...]", constant([0]), "[...]"),
        (UNSQUEEZE, "[2,3]", make_type("[2]", "i64"), "[...]"),
    ],
)
def test_what_OpenVINO_infers_too(operator: Op, shape: str, value: TensorType, expected: str) -> None:
    assert str(operator.infer(make_type(shape), value)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "shape", "value", "expected"),
    [
        # OpenVINO infers 1.., as if a tensor of unknown rank could not be empty.
        (RESHAPE, "[...]", constant([-1, 4]), "[?,4]"),
        # OpenVINO refuses what holds where the unknown dim is 0.
        (RESHAPE, "[?,5]", constant([0, -1]), "[0,?]"),
        # OpenVINO infers [], [...], [...].
        (UNSQUEEZE, "[2,3]", make_type("[1]", "i64"), "[?,?,?]"),
        (UNSQUEEZE, "[2,3]", make_type("[]", "i64"), "[?,?,?]"),
    ],
)
def test_where_we_infer_other_than_OpenVINO(operator: Op, shape: str, value: TensorType, expected: str) -> None:
    assert str(operator.infer(make_type(shape), value)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "shape", "pattern", "expected"),
    [
        (RESHAPE, "[?,64]", between([0, 8, 8], [UNBOUNDED, 8, 8]), "[?,8,8]"),
        (RESHAPE, "[?,64]", between([1, 4], [10, 4], "i32"), "[1..10,4]"),
        (RESHAPE, "[?,64]", between([0, 4], [2**31 - 1, 4], "i32"), "[?,4]"),
        (RESHAPE, "[2..4,6]", between([-1, 1], [-1, 3]), "[4..24,1..3]"),
        (RESHAPE, "[2..4,6]", between([-1, 0], [-1, UNBOUNDED]), "[1..,?]"),
        (COPYING, "[2..4,6,5]", between([0, -1, 1], [0, -1, 3]), "[2..4,10..30,1..3]"),
        # It may be -1, and then any size.
        (RESHAPE, "[2..4,6]", between([-1, 2], [5, 2]), "[?,2]"),
        (RESHAPE, "[2..4,6]", between([-(2**63), 2], [UNBOUNDED, 2]), "[?,2]"),
    ],
)
def test_patterns_known_in_part(operator: Op, shape: str, pattern: TensorType, expected: str) -> None:
    assert str(operator.infer(make_type(shape), pattern)) == f"f32{expected}"


def test_ShapeOf_knows_bounds() -> None:
    shape = Shape([(2, 4), None, 7])
    lower, upper = make("ShapeOf", 1).infer(TensorType(constant([0]).element_type, shape)).bounds
    assert lower.tolist() == [2, 0, 7]
    assert upper.tolist() == [4, UNBOUNDED, 7]
    assert lower.dtype == upper.dtype == np.int64
    lower, upper = (
        make("ShapeOf", 3, output_type="i32").infer(make_type("[3..2147483648,?,2147483648..]", "string")).bounds
    )
    assert lower.tolist() == [3, 0, 2**31 - 1]
    assert upper.tolist() == [2**31 - 1] * 3
    assert lower.dtype == upper.dtype == np.int32
    assert make("ShapeOf", 3).infer(make_type("[2,3]")).value.tolist() == [2, 3]
    assert make("ShapeOf", 3).infer(make_type("[]")).value.tolist() == []
    unknown = make("ShapeOf", 3).infer(make_type("[...]"))
    assert str(unknown) == "i64[?]"
    assert unknown.bounds is None


@pytest.mark.parametrize(
    ("operator", "shape", "value", "code", "fault"),
    [
        (RESHAPE, "[2,3]", constant([-1, 4]), "IR505", fault_with(6, "data", "[2,3]", 4)),
        (RESHAPE, "[5..7]", constant([4, 2, -1]), "IR505", fault_with("data", "[5..7]", 8)),
        (RESHAPE, "[2,3]", constant([0, 0, 0]), "IR505", fault_with("data", "[2,3]", "[0,0,0]")),
        (RESHAPE, "[2,3]", constant([-1, 2, -1]), "IR505", fault_with(-1, actual="0 and 2", expected=mentions(-1))),
        (RESHAPE, "[2,3]", constant([6, -2]), "IR505", fault_with(1, actual=-2, expected="-1 or more")),
        (RESHAPE, "[2,3]", constant(6), "IR501", fault_with("[]", actual=0, expected=1)),
        (RESHAPE, "[2,3]", constant(np.zeros(0)), "IR505", fault_with("data", "[2,3]", "[]")),
        (RESHAPE, "[3..7]", constant([2, 4]), "IR505", fault_with("data", "[3..7]", "[2,4]")),
        (RESHAPE, "[2,3]", constant([0, -1]), "IR505", fault_with(0, "data", "[2,3]")),
        (
            COPYING,
            "[2,3]",
            constant([1, 2, 0]),
            "IR505",
            fault_with(0, 2, "data", "[2,3]"),
        ),
        # OpenVINO takes this and reads two elements beyond the tensor.
        (COPYING, "[2,3]", constant([0, 4]), "IR505", fault_with("data", "[2,3]", "[2,4]")),
        (SQUEEZE, "[1,3,1]", constant([3]), "IR503", fault_with(actual=3, expected="-3 to 2")),
        (SQUEEZE, "[1,3,1]", constant([-4]), "IR503", fault_with(3, actual=-4, expected="-3 to 2")),
        (SQUEEZE, "[]", constant([1]), "IR503", fault_with(actual=1, expected="-1 to 0")),
        (SQUEEZE15, "[1]", constant([[0]]), "IR501", fault_with("[1,1]", actual=2, expected="0 or 1")),
        (UNSQUEEZE, "[2,3]", constant([3]), "IR503", fault_with(actual=3, expected="-3 to 2")),
        (UNSQUEEZE, "[2,3]", constant([-1, 5]), "IR503", fault_with(4, actual=5, expected="-4 to 3")),
        (UNSQUEEZE, "[2,3]", constant(np.zeros(0)), "IR505", fault_with("axes", actual="empty", expected=mentions())),
    ],
)
def test_shapes_that_cannot_be(operator: Op, shape: str, value: TensorType, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(make_type(shape), value)
    assert (caught.value.code, caught.value) == (code, fault)


@pytest.mark.parametrize(
    ("operator", "shape", "value", "port"),
    [
        (RESHAPE, (2, 3), [-2, 3], "shape"),
        (RESHAPE, (2, 3), [4, -1], "shape"),
        (RESHAPE, (2, 3), [7], "shape"),
        (RESHAPE, (0, 3), [2, 3], "shape"),
        (RESHAPE, (2, 3), [2**62, 2**62], "shape"),
        (COPYING, (2, 3), [6, 1, 0], "shape"),
        (COPYING, (2, 3), [0, 4], "shape"),
    ],
)
def test_values_that_only_the_run_knows(operator: Op, shape: tuple[int, ...], value: list[int], port: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(np.zeros(shape, np.float32), np.array(value))
    assert caught.value.code == "IR704"
    assert caught.value.location.port == port


def test_ranks_beyond_array_limits() -> None:
    with pytest.raises(UnsupportedError, match=naming(65)):
        RESHAPE.infer(make_type("[1]"), constant(np.ones(65)))
    with pytest.raises(UnsupportedError, match=naming(66)):
        UNSQUEEZE.infer(make_type("[1]"), constant(np.arange(65)))
    assert RESHAPE.infer(make_type("[1]"), make_type("[4000000000000]", "i64")).shape == Shape.unknown()


def test_attributes() -> None:
    with pytest.raises(InvalidAttributeError, match=naming("special_zero")):
        make("Reshape", 1)
    with pytest.raises(InvalidAttributeError, match=naming("i32", "i64", "output_type", "u8")):
        make("ShapeOf", 3, output_type="u8")


def test_Squeeze_leaves_other_dims_alone() -> None:
    data = np.arange(3.0).reshape(1, 3, 1)
    assert run(SQUEEZE, data, np.array([0, 1])).shape == (3, 1)
    assert run(SQUEEZE, data, np.array([1])).shape == (1, 3, 1)
    assert run(SQUEEZE15, data, np.array([-2, 2])).shape == (1, 3)


@settings(max_examples=100)
@given(st.data())
def test_Squeeze_takes_back_what_Unsqueeze_puts_in(data: st.DataObject) -> None:
    arg = draw_data(data.draw, draw_shape(data.draw, 0, 3))
    rank = arg.ndim + data.draw(st.integers(1, 3))
    axes = data.draw(st.permutations(range(rank)))[: rank - arg.ndim]
    spelled = np.array([axis - data.draw(st.sampled_from([0, rank])) for axis in axes])
    wider = run(UNSQUEEZE, arg, spelled)
    assert all(wider.shape[axis] == 1 for axis in axes)
    assert np.array_equal(run(SQUEEZE, wider, spelled), arg)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[Op, Array, Array]:
    """Reshape, data and a pattern that fits it."""
    shape = draw_shape(draw, 0)
    data = draw_data(draw, shape)
    factors = [factor for size in shape for factor in ((2, 2) if size == 4 else (size,))]
    sizes: list[int] = []
    for factor in draw(st.permutations(factors)):
        if sizes and draw(st.booleans()):
            sizes[-1] *= factor
        else:
            sizes.append(factor)
    pattern = list(sizes)
    copying = draw(st.booleans())
    if copying:
        pattern = [0 if axis < len(shape) and shape[axis] == size else size for axis, size in enumerate(sizes)]
        # A dim of 0 that is not copied cannot be written where zeros copy.
        copying = all(size != 0 for size, expected in zip(pattern, sizes, strict=True) if expected == 0 and size != 0)
    if pattern and data.size and draw(st.booleans()):
        pattern[draw(st.integers(0, len(pattern) - 1))] = -1
    elif not copying:
        pattern = sizes
    if copying and any(not size and not (i < len(shape) and shape[i] == sizes[i]) for i, size in enumerate(pattern)):
        copying, pattern = False, sizes
    return (COPYING if copying else RESHAPE), data, np.array(pattern, draw(st.sampled_from(["int32", "int64"])))


@settings(max_examples=200)
@given(reshapes(), st.data())
def test_reshape_keeps_order_within_inferred_shape(case: tuple[Op, Array, Array], data: st.DataObject) -> None:
    operator, array, pattern = case
    output = run(operator, array, pattern)
    assert output.ravel().tolist() == array.ravel().tolist()
    # As OpenVINO does, inference takes a size that may be 0 for a size, though it would copy a dim.
    unsure = draw_unsure(data.draw, pattern, zero_is_known=operator is COPYING)
    shape = draw_wider(data.draw, array.shape)
    assert_holds(operator, [TensorType(unsure.element_type, shape), unsure], [array.astype(pattern.dtype), pattern])


@settings(max_examples=100)
@given(st.data())
def test_other_outputs_match_inferred_types(data: st.DataObject) -> None:
    array = np.zeros(draw_shape(data.draw, 0), np.int64)
    tensor_type = TensorType(constant([0]).element_type, draw_wider(data.draw, array.shape))
    order = np.array(data.draw(st.permutations(range(array.ndim))), np.int64)
    assert_holds(
        TRANSPOSE, [tensor_type, draw_unsure(data.draw, order) if array.ndim else constant(np.zeros(0))], [array, order]
    )
    axes = np.array([data.draw(st.integers(-1, array.ndim))])
    assert_holds(
        UNSQUEEZE,
        [tensor_type, data.draw(st.sampled_from([TensorType.of(axes), make_type("[1]", "i64")]))],
        [array, axes],
    )
    assert_holds(SQUEEZE, [tensor_type], [array])
    assert_holds(SQUEEZE15, [tensor_type], [array])
    assert_holds(make("ShapeOf", 3), [tensor_type], [array])
