"""Concat and the splits: inference with little information, and errors for impossible parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir_exec
from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.infer.known import with_known_values
from ir_exec.ops import Op
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.drawing import draw_data, draw_shape, draw_wider
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.network_text import NetworkText
from tests.helpers.operators import assert_holds, infer_types, make, outputs
from tests.helpers.values import constant, make_type

SPLIT, VARIADIC_SPLIT = make("Split", 1, num_splits=2), make("VariadicSplit", 1)


def shapes(operator: Op, *types: TensorType) -> str:
    return " ".join(str(output.shape) for output in infer_types(operator, *types))


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("axis", "inputs", "expected"),
    [
        (1, ["[2,?]", "[?,3]"], "[2,3..]"),
        (0, ["[...]", "[2,3]"], "[2..,3]"),
        (0, ["[2,3]", "[...]"], "[2..,3]"),
        (-1, ["[...]", "[2,3]"], "[2,3..]"),
        (0, ["[...]", "[...]"], "[...]"),
        (0, ["[1..3,2]", "[2..4,?]"], "[3..7,2]"),
    ],
)
def test_Concat_of_dynamic_shapes(axis: int, inputs: list[str], expected: str) -> None:
    assert shapes(make("Concat", 1, axis=axis), *[make_type(shape) for shape in inputs]) == expected


def test_Concat_knows_bounds() -> None:
    size = make("ShapeOf", 1).infer(make_type("[2..5]"))
    operator = make("Concat", 1, axis=0)
    types = [size, constant([7]), make("ShapeOf", 1).infer(make_type("[?]"))]
    (output,) = with_known_values(operator, types, [operator.infer(*types)])
    lower, upper = output.bounds
    assert lower.tolist() == [2, 7, 0]
    assert upper.tolist() == [5, 7, 2**63 - 1]


def test_Concat_takes_the_known_element_type() -> None:
    unknown = TensorType(ElementType.dynamic, Shape([1]))
    assert str(make("Concat", 1, axis=0).infer(unknown, make_type("[2]", "f16"))) == "f16[3]"


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (SPLIT, ["[?,3]", constant(0)], "[?,3] [?,3]"),
        (SPLIT, ["[2,3]", make_type("[]", "i64")], "[?,?] [?,?]"),
        (SPLIT, ["[...]", constant(0)], "[...] [...]"),
        (VARIADIC_SPLIT, ["[?,2]", constant(0), constant([1, 2])], "[1,2] [2,2]"),
        (VARIADIC_SPLIT, ["[3..8,2]", constant(0), constant([1, 2])], "[1,2] [2,2]"),
        (VARIADIC_SPLIT, ["[6,2]", make_type("[]", "i64"), constant([1, 2])], "[?,?] [?,?]"),
        (VARIADIC_SPLIT, ["[...]", constant(0), constant([1, 2])], "[...] [...]"),
        # Narrower than OpenVINO's 1..4, ?, ?.
        (SPLIT, ["[3..9,3]", constant(0)], "[2..4,3] [2..4,3]"),
        (VARIADIC_SPLIT, ["[3..8,2]", constant(0), constant([1, -1])], "[1,2] [2..7,2]"),
        (VARIADIC_SPLIT, ["[6,2]", constant(0), make_type("[2]", "i64")], "[..6,2] [..6,2]"),
        # One type for as many outputs as there turn out to be.
        (VARIADIC_SPLIT, ["[6,2]", constant(0), make_type("[?]", "i64")], "[..6,2]"),
        (VARIADIC_SPLIT, ["[...]", constant(0), make_type("[...]", "i64")], "[...]"),
    ],
)
def test_parts_of_dynamic_shapes(operator: Op, types: list[str | TensorType], expected: str) -> None:
    assert shapes(operator, *[make_type(type_) if isinstance(type_, str) else type_ for type_ in types]) == expected


@pytest.mark.parametrize(
    ("operator", "types", "code", "fault"),
    [
        (make("Concat", 1, axis=2), ["[2,3]"], "IR503", fault_with("axis", actual=2, expected="-2 to 1")),
        (
            make("Concat", 1, axis=0),
            ["[]", "[]"],
            "IR503",
            fault_with("axis", "scalar", actual=0, expected="none"),
        ),
        (
            make("Concat", 1, axis=0),
            ["[2,3]", "[2,4]"],
            "IR502",
            fault_with("axis", 1, actual="3 and 4", expected="equal dims"),
        ),
        (
            make("Concat", 1, axis=0),
            ["[...]", "[2,3]", "[2]"],
            "IR501",
            fault_with("inputs[2]", "[2]", "inputs[1]", actual=1, expected=2),
        ),
        (SPLIT, ["[3,1]", constant(0)], "IR505", fault_with("axis", 0, "data", actual=3, expected=mentions(2))),
        (SPLIT, ["[1..1,3]", constant(0)], "IR505", fault_with("axis", 0, "data", actual=1, expected=mentions(2))),
        (SPLIT, ["[2,3]", constant([0])], "IR501", fault_with("axis", "[1]", actual=1, expected=0)),
        (SPLIT, ["[2,3]", constant(-3)], "IR503", fault_with("axis", 2, actual=-3, expected="-2 to 1")),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), constant([-1, -1])],
            "IR505",
            fault_with("split_lengths", actual="[-1, -1]", expected=mentions(-1)),
        ),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), constant([-2, 8])],
            "IR505",
            fault_with("split_lengths", actual="[-2, 8]", expected=mentions(-1)),
        ),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), constant([1, 2])],
            "IR505",
            fault_with("split_lengths", "[1, 2]", "axis", actual=3, expected=6),
        ),
        # OpenVINO takes this for a part of any length.
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), constant([-1, 7])],
            "IR505",
            fault_with("split_lengths", "[-1, 7]", "axis", actual=7, expected=6),
        ),
        (
            VARIADIC_SPLIT,
            ["[3..8,2]", constant(0), constant([1, 1])],
            "IR505",
            fault_with("split_lengths", "[1, 1]", "axis", actual=2, expected="3..8"),
        ),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant([0, 1]), constant(6)],
            "IR501",
            fault_with("axis", actual="[2]", expected=mentions("[1]")),
        ),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), make_type("[70000]", "i64")],
            "IR505",
            fault_with(70000, 65536),
        ),
        (
            VARIADIC_SPLIT,
            ["[6,2]", constant(0), constant(6)],
            "IR501",
            fault_with("split_lengths", "[]", actual=0, expected=1),
        ),
    ],
)
def test_parts_that_cannot_be(operator: Op, types: list[str | TensorType], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(*[make_type(type_) if isinstance(type_, str) else type_ for type_ in types])
    assert (caught.value.code, caught.value) == (code, fault)


def test_values_that_only_the_run_knows() -> None:
    data = np.zeros((3, 4), np.float32)
    for operator, values, port in [
        (SPLIT, [0], "data"),
        (VARIADIC_SPLIT, [0, [1, 1]], "split_lengths"),
        (VARIADIC_SPLIT, [0, [-1, -1, 3]], "split_lengths"),
        (VARIADIC_SPLIT, [0, [-1, 4]], "split_lengths"),
        (VARIADIC_SPLIT, [0, [5, -2]], "split_lengths"),
        (VARIADIC_SPLIT, [[0, 1], [3]], "axis"),
    ]:
        with pytest.raises(EvaluationError) as caught:
            operator.evaluate(data, *[np.array(value) for value in values])
        assert (caught.value.code, caught.value.location.port) == ("IR704", port)


def test_attributes_and_types() -> None:
    with pytest.raises(InvalidAttributeError, match=naming("num_splits", "'0'")):
        make("Split", 1, num_splits=0)
    with pytest.raises(InvalidAttributeError, match=naming("num_splits", "'9223372036854775807'")):
        make("Split", 1, num_splits=2**63 - 1)
    with pytest.raises(InvalidAttributeError, match=naming("axis")):
        make("Concat", 1)
    with pytest.raises(ElementTypeError, match="f16"):
        make("Concat", 1, axis=0).check_inputs([make_type("[1]"), make_type("[1]", "f16")], raise_error)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Array, int, list[int]]:
    """A tensor, an axis, and lengths that make it up."""
    data = draw_data(draw, draw_shape(draw))
    axis = draw(st.integers(-data.ndim, data.ndim - 1))
    ends = sorted(draw(st.lists(st.integers(0, data.shape[axis]), max_size=3)))
    return data, axis, np.diff([0, *ends, data.shape[axis]]).tolist()


@settings(max_examples=100)
@given(cuts(), st.booleans(), st.data())
def test_Concat_puts_together_what_VariadicSplit_took_apart(
    case: tuple[Array, int, list[int]], is_open: bool, data: st.DataObject
) -> None:
    array, axis, lengths = case
    given_lengths = list(lengths)
    if is_open:
        given_lengths[data.draw(st.integers(0, len(lengths) - 1))] = -1
    arrays = [array, np.array(axis), np.array(given_lengths)]
    parts = outputs(VARIADIC_SPLIT, *arrays)
    assert [part.shape[axis] for part in parts] == lengths
    concat = make("Concat", 1, axis=axis)
    assert np.array_equal(concat.evaluate(*parts), array)
    unsure = [TensorType.of(value) for value in arrays[1:]]
    unsure = [data.draw(st.sampled_from([type_, type_.without_values()])) for type_ in unsure]
    element_type = ElementType.of(array)
    assert_holds(VARIADIC_SPLIT, [TensorType(element_type, draw_wider(data.draw, array.shape)), *unsure], arrays)
    assert_holds(concat, [TensorType(element_type, draw_wider(data.draw, part.shape)) for part in parts], list(parts))


@settings(max_examples=50)
@given(cuts(), st.integers(1, 4), st.data())
def test_Split_makes_equal_parts(case: tuple[Array, int, list[int]], count: int, data: st.DataObject) -> None:
    array, axis, _ = case
    array = np.concatenate([array] * count, axis)
    operator, arrays = make("Split", 1, num_splits=count), [array, np.array(axis)]
    for part, expected in zip(outputs(operator, *arrays), np.split(array, count, axis), strict=True):
        assert np.array_equal(part, expected)
    along = data.draw(st.sampled_from([TensorType.of(arrays[1]), make_type("[]", "i64")]))
    assert_holds(operator, [TensorType(ElementType.i32, draw_wider(data.draw, array.shape)), along], arrays)


@pytest.mark.parametrize(("ports", "count"), [(2, 3), (4, 3), (1, 2), (3, 2)])
@pytest.mark.parametrize("shape", ["?", "static", "..."])
def test_wrong_number_of_parts_is_an_error(ports: int, count: int, shape: str) -> None:
    net = NetworkText()
    lengths = net.parameter(str(count) if shape == "static" else shape, "i64")
    parts = net.outputs(ports, "VariadicSplit", net.parameter("?,6"), net.const(np.array(1)), lengths)
    for part in parts:
        net.result(part)
    file = net.file()
    inputs = [np.full(count, 6 // count), np.zeros((2, 6), np.float32)]
    with pytest.raises(IRError, match=naming(ports)) as error:
        ir_exec.compile_model(file.xml, weights=file.weights)(inputs)
    assert error.value.code in (Code.too_many_outputs, Code.impossible_shape, Code.bad_value)


@pytest.mark.parametrize("shape", ["?", "..."])
def test_the_number_of_parts_may_come_of_a_run(shape: str) -> None:
    net = NetworkText()
    mask = net.parameter("?", "i64")
    split = net.op(
        "Reshape", net.op("NonZero", mask, opset=3, output_type="i64"), net.const(np.array([-1])), special_zero="false"
    )
    lengths = net.op("Add", split, net.const(np.array([1])))
    for part in net.outputs(2, "VariadicSplit", net.parameter(shape), net.const(np.array(0)), lengths):
        net.result(part)
    file = net.file()
    compiled, data = ir_exec.compile_model(file.xml, weights=file.weights), np.arange(4)
    two = compiled([np.array([1, 0, 1]), data.astype(np.float32)])
    assert [two[0].tolist(), two[1].tolist()] == [[0], [1, 2, 3]]
    for mask_of_run in ([1, 1, 1], [0, 0, 0, 1]):
        with pytest.raises(EvaluationError, match=naming("split_lengths", 2)):
            compiled([np.array(mask_of_run), np.arange(sum(np.flatnonzero(mask_of_run) + 1)).astype(np.float32)])


@pytest.mark.parametrize("type", ["VariadicSplit", "Split"])
def test_surplus_outputs_are_refused_on_reading(type: str) -> None:
    net = NetworkText()
    lengths = [net.const(np.array([2, -1]))] if type == "VariadicSplit" else []
    attributes = {} if lengths else {"num_splits": 2}
    for part in net.outputs(3, type, net.parameter("6"), net.const(np.array(0)), *lengths, **attributes):
        net.result(part)
    file = net.file()
    with pytest.raises(ShapeError, match=naming(3, type, 2)) as error:
        ir_exec.read_model(file.xml, weights=file.weights)
    assert error.value.code == Code.too_many_outputs
    assert error.value.location.port == "output[2]"


def test_undeclared_parts_are_dropped_like_openvino(oracle: Oracle) -> None:
    net = NetworkText()
    parts = net.outputs(2, "VariadicSplit", net.parameter("6"), net.const(np.array(0)), net.const(np.array([2, -1, 1])))
    for part in parts:
        net.result(part)
    file = net.file(np.arange(6, dtype=np.float32))
    outputs = ir_exec.compile_model(file.xml, weights=file.weights)(file.inputs)
    answer = oracle.values(file)
    assert not isinstance(answer, Refused), answer.reason
    assert [outputs[0].tolist(), outputs[1].tolist()] == [array.tolist() for array in answer] == [[0, 1], [2, 3, 4]]


def test_no_parts_of_no_elements() -> None:
    operator, nothing = make("VariadicSplit"), np.zeros(0, np.int64)
    assert operator.evaluate(np.zeros((2, 0), np.float32), np.array(1), nothing) == ()
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(np.zeros((2, 3), np.float32), np.array(1), nothing)
    assert error.value.location.port == "split_lengths"


@pytest.mark.parametrize("axis", [1, -1])
def test_split_facts_are_used_once(axis: int) -> None:
    data = np.arange(24.0).reshape(4, 6)
    for operator, numbers in (
        (make("Split", 1, num_splits=3), [np.array(axis)]),
        (make("VariadicSplit", 1), [np.array([axis]), np.array([1, -1, 2])]),
    ):
        kernel = operator.kernel(TensorType.of(data), *[TensorType.of(number) for number in numbers])
        assert kernel != operator.evaluate
        parts, expected = kernel(data, *numbers), operator.evaluate(data, *numbers)
        assert len(parts) == len(expected) == 3
        for part, other in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(part, other)
            assert np.shares_memory(part, data)
        unknown = [TensorType.of(number).without_values() for number in numbers]
        assert operator.kernel(TensorType.of(data), *unknown) == operator.evaluate
