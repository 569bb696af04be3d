"""Select: inference with little information, and errors for shapes that do not broadcast."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir_exec
from ir_exec.errors import ElementTypeError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op
from ir_exec.ops.condition import Bucketize, NonZero
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.drawing import draw_shape, draw_wider
from tests.helpers.facts import fault_with, naming
from tests.helpers.network_text import NetworkText, tied_input, tied_output
from tests.helpers.operators import assert_holds, make, run
from tests.helpers.values import constant, make_type

NUMPY, NONE, PDPD = (make("Select", 1, auto_broadcast=mode) for mode in ("numpy", "none", "pdpd"))
PDPD1 = make("Select", 1, **{"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": 1})


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("operator", "cond", "then", "else_", "expected"),
    [
        (NUMPY, "[?,3]", "[2,3]", "[1]", "[2,3]"),
        (NUMPY, "[2,3]", "[?,3]", "[1,3]", "[2,3]"),
        (NUMPY, "[2,3]", "[1,3]", "[2..5,3]", "[2,3]"),
        (NUMPY, "[...]", "[2,3]", "[3]", "[...]"),
        (NUMPY, "[4,2,3]", "[2,3]", "[1]", "[4,2,3]"),
        (NONE, "[2,?]", "[?,3]", "[...]", "[2,3]"),
        (PDPD, "[?,3]", "[2,3]", "[1]", "[2,3]"),
        (PDPD, "[2]", "[2,3]", "[2,1]", "[2,3]"),
        (PDPD, "[2,3]", "[?,3]", "[1,3]", "[2,3]"),
        (PDPD1, "[3]", "[2,3,4]", "[3]", "[2,3,4]"),
    ],
)
def test_what_OpenVINO_infers_too(operator: Op, cond: str, then: str, else_: str, expected: str) -> None:
    types = [make_type(cond, "boolean"), make_type(then), make_type(else_)]
    assert str(operator.infer(*types)) == f"f32{expected}"


def test_the_known_element_type_is_taken() -> None:
    unknown = TensorType(ElementType.dynamic, Shape([2]))
    assert str(NUMPY.infer(make_type("[2]", "boolean"), unknown, make_type("[2]", "f16"))) == "f16[2]"


def test_bounds_pass_for_known_condition() -> None:
    size = make("ShapeOf", 1).infer(make_type("[2..5,?]"))
    cond = TensorType.of(np.array([True, False]))
    (output,) = with_known_values(NUMPY, [cond, size, constant([7, 9])], [NUMPY.infer(cond, size, constant([7, 9]))])
    lower, upper = output.bounds
    assert (lower.tolist(), upper.tolist()) == ([2, 9], [5, 9])


@pytest.mark.parametrize(
    ("operator", "cond", "then", "else_", "code", "fault"),
    [
        (NUMPY, "[2,3]", "[3]", "[4]", "IR504", fault_with("[3]", "[4]", 3, 4)),
        (NUMPY, "[2]", "[2,3]", "[2,3]", "IR504", fault_with("[2,3]", "[2]", 3, 2)),
        (
            NONE,
            "[2]",
            "[2]",
            "[1]",
            "IR502",
            fault_with(actual="[2] and [1]", expected="equal shapes"),
        ),
        (
            NONE,
            "[]",
            "[2]",
            "[2]",
            "IR501",
            fault_with(actual="[2] and []", expected="equal shapes"),
        ),
        (PDPD, "[4,2,3]", "[2,3]", "[1]", "IR504", fault_with("[4,2,3]", "axis", 0, "[2,3]")),
        (PDPD, "[3]", "[2,1]", "[3]", "IR504", fault_with("[3]", "[2,1]", 3, 2)),
        (PDPD1, "[3]", "[2,3,4]", "[2]", "IR504", fault_with("[2]", "[2,3,4]", 2, 3)),
    ],
)
def test_shapes_that_do_not_broadcast(
    operator: Op, cond: str, then: str, else_: str, code: str, fault: fault_with
) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(make_type(cond, "boolean"), make_type(then), make_type(else_))
    assert (caught.value.code, caught.value) == (code, fault)


def test_element_types_and_attributes() -> None:
    for types in [("u8", "f32", "f32"), ("boolean", "f32", "f16")]:
        with pytest.raises(ElementTypeError):
            NUMPY.check_inputs([make_type("[2]", element_type) for element_type in types], raise_error)
    with pytest.raises(InvalidAttributeError, match=naming("auto_broadcast", "explicit")):
        make("Select", 1, auto_broadcast="explicit")


@settings(max_examples=100)
@given(st.data())
def test_Select_is_a_loop(data: st.DataObject) -> None:
    shape = draw_shape(data.draw, 0, 3)
    parts = []
    for _ in range(3):
        dims = [data.draw(st.sampled_from([size, 1])) for size in shape]
        parts.append(tuple(dims[data.draw(st.integers(0, len(dims))) :]))
    count = int(np.prod(parts[0]))
    cond = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(parts[0])
    then = np.arange(np.prod(parts[1], dtype=int)).reshape(parts[1])
    else_ = -1 - np.arange(np.prod(parts[2], dtype=int)).reshape(parts[2])
    output = run(NUMPY, cond, then, else_)
    views = [np.broadcast_to(array, output.shape) for array in (cond, then, else_)]
    for index in np.ndindex(output.shape):
        assert output[index] == (views[1][index] if views[0][index] else views[2][index])
    types = [TensorType(ElementType.of(array), draw_wider(data.draw, array.shape)) for array in (cond, then, else_)]
    assert_holds(NUMPY, types, [cond, then, else_])
    copies = [view.copy() for view in views]
    assert np.array_equal(run(NONE, *copies), output)
    assert np.array_equal(run(PDPD, *copies), output)


NUMBERS = st.integers(-5, 5)


@given(boundaries=st.lists(NUMBERS, max_size=9), data=st.lists(NUMBERS, max_size=9), right=st.booleans())
def test_buckets_are_those_of_bisection(boundaries: list[int], data: list[int], right: bool) -> None:
    boundaries = sorted(set(boundaries))
    result = Bucketize(with_right_bound=right).evaluate(np.array(data, np.int32), np.array(boundaries, np.float32))
    search = bisect_left if right else bisect_right
    assert result.tolist() == [search(boundaries, value) for value in data]


def test_boundaries_are_a_vector() -> None:
    with pytest.raises(ShapeError) as error:
        Bucketize().infer(make_type("2,3"), make_type("2,3"))
    assert (error.value.code, error.value) == ("IR501", fault_with("buckets", "[2,3]", actual=2, expected=1))


def test_places_are_i32_or_i64() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Bucketize.parse({"output_type": "f32"}, raise_error)
    assert error.value.code == "IR302"


def i64(text: str) -> TensorType:
    return make_type(text, ElementType.i64)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("2,3", "2,..6"),
        ("?,3", "2,?"),
        ("2..4,3", "2,..12"),
        ("0,3", "2,0"),
        ("...", "?,?"),
        ("", "..1,..1"),
    ],
)
def test_non_zero_shapes(data: str, expected: str) -> None:
    assert NonZero().infer(make_type(data)) == i64(expected)


@pytest.mark.parametrize(("value", "expected"), [(0, "0,0"), (5, "1,1"), ([1, 0, 2], "1,2"), ([[0, 0]], "2,0")])
def test_non_zero_of_known_values(value: object, expected: str) -> None:
    assert NonZero().infer(constant(value)) == i64(expected)


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "f4e2m1", "f8e4m3", "f8e5m2"])
def test_non_zero_of_small_types(name: str) -> None:
    data = np.array([[0, 1], [1, 0]], np.uint8).view(ElementType[name].dtype)
    assert NonZero().evaluate(data).tolist() == [[0, 1], [1, 0]]
    assert NonZero().evaluate(data[1, 0, ...]).tolist() == [[0]]


def test_non_zero_of_nf4_and_f8e8m0() -> None:
    codes = np.array([0, 7, 15], np.uint8)
    assert NonZero().evaluate(codes.view(ElementType.nf4.dtype)).tolist() == [[0, 2]]
    assert NonZero().evaluate(codes.view(ElementType.f8e8m0.dtype)).tolist() == [[0, 1, 2]]


def of_branches(then: str, else_: str) -> TensorType:
    """The type of an If whose bodies give inputs of these types, `f32:2,?`."""
    net = NetworkText()
    inputs = [net.parameter("", "boolean")]
    for text in (then, else_):
        element_type, _, shape = text.partition(":")
        inputs.append(net.parameter(shape, element_type))
    ties, parts = [], [NetworkText(net), NetworkText(net)]
    for position, body in enumerate(parts, start=1):
        x = body.parameter("...", "dynamic")
        ties.append([tied_input(position, x), tied_output(3, body.result(x))])
    (output,) = net.branch(1, inputs, parts[0], ties[0], parts[1], ties[1])
    net.result(output)
    (result,) = ir_exec.read_model(net.file().xml, weights=b"").outputs
    return TensorType(result.element_type, result.shape)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("f32:2,3", "f32:2,3", "f32[2,3]"),
        ("f32:2,3", "f32:5,3", "f32[2..5,3]"),
        ("f32:2,?", "f32:2,3", "f32[2,?]"),
        ("f32:2,3", "f32:2", "f32[...]"),
        # A scalar is a vector of one element where the other body gives a vector, and nowhere else.
        ("f32:", "f32:", "f32[]"),
        ("f32:", "f32:3", "f32[1..3]"),
        ("f32:", "f32:1", "f32[1]"),
        ("f32:", "f32:?", "f32[?]"),
        ("f32:", "f32:1,1", "f32[...]"),
        ("f32:", "f32:...", "f32[...]"),
    ],
)
def test_an_If_gives_outputs_of_either_body(left: str, right: str, expected: str) -> None:
    assert str(of_branches(left, right)) == str(of_branches(right, left)) == expected


def test_the_bodies_of_an_If_give_one_element_type() -> None:
    with pytest.raises(ElementTypeError, match=naming("0", "else_body", "f16", "f32", "then_body")) as caught:
        of_branches("f32:2", "f16:2")
    assert caught.value.code == "IR402"
    with pytest.raises(ElementTypeError, match=naming("0", "else_body", "i32", "i64", "then_body")):
        of_branches("i64:", "i32:3")
