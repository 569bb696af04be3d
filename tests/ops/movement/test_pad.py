"""Pad: errors, intervals, element types, memory."""

from __future__ import annotations

import numpy as np
import pytest

import ir_exec
from ir_exec.errors import ElementTypeError, EvaluationError, InvalidAttributeError, IRError, ShapeError, raise_error
from ir_exec.ops.movement.pad import Pad
from ir_exec.types import ElementType, Shape, TensorType
from tests.conformance.compare import type_faults
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.facts import fault_with
from tests.helpers.network_text import NetworkText
from tests.helpers.values import between, constant, ints, make_type

I64_MIN, I64_MAX = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("data", "begin", "end", "expected"),
    [
        ("?,?", constant([1, -1]), constant([2, -5]), "3..,?"),
        ("2..5,3..9", constant([1, -1]), constant([2, -5]), "5..8,..3"),
        ("1..,..4", constant([1, -1]), constant([2, -5]), "4..,0"),
        ("...", constant([1, -1]), constant([2, -5]), "..."),
        ("3,4", TensorType(ElementType.i64, Shape([2])), constant([0, 0]), "?,?"),
        ("4", between([2], [5]), constant([2]), "8..11"),
        ("4", between([0], [I64_MAX]), constant([2]), "6.."),
        ("4", between([3], [I64_MAX]), constant([2]), "9.."),
        ("9..", constant([0]), between([I64_MIN], [20]), "9.."),
        ("9..", between([I64_MIN], [20]), constant([-2]), "7.."),
        ("4", between([I64_MIN], [20]), between([I64_MIN], [20]), "4..44"),
        ("4", between([I64_MIN], [0]), constant([0]), "..4"),
        ("4", between([I64_MIN], [-3]), constant([0]), "..1"),
        ("3,4", constant([-2, 0]), constant([-2, 0]), "0,4"),
        ("?", constant([I64_MAX]), constant([I64_MAX]), str(I64_MAX)),
    ],
)
def test_shapes(data: str, begin: TensorType, end: TensorType, expected: str) -> None:
    assert Pad(pad_mode="constant").infer(make_type(data), begin, end) == make_type(expected)


@pytest.mark.parametrize(
    ("mode", "size", "begin", "end", "port", "fault"),
    [
        ("edge", 0, 0, 1, "pads_end", fault_with("pads_end[0]", "axis", 0, actual=1, expected="at most 0")),
        (
            "reflect",
            3,
            3,
            0,
            "pads_begin",
            fault_with("pads_begin[0]", "reflect", "axis", actual=3, expected="at most 2"),
        ),
        (
            "reflect",
            0,
            1,
            0,
            "pads_begin",
            fault_with("pads_begin[0]", "reflect", "axis", 0, actual=1, expected="at most 0"),
        ),
        (
            "symmetric",
            3,
            0,
            4,
            "pads_end",
            fault_with("pads_end[0]", "symmetric", "axis", 3, actual=4, expected="at most 3"),
        ),
    ],
)
def test_more_pads_than_elements(mode: str, size: int, begin: int, end: int, port: str, fault: fault_with) -> None:
    layer = Pad.parse({"pad_mode": mode}, raise_error)
    assert layer is not None
    with pytest.raises(ShapeError) as inferred:
        layer.infer(make_type(f"..{size}"), constant([begin]), constant([end]))
    assert (inferred.value.code, inferred.value.location.port, inferred.value) == ("IR505", port, fault)
    with pytest.raises(EvaluationError) as evaluated:
        layer.evaluate(np.zeros(size, np.float32), ints(begin), ints(end))
    assert (evaluated.value.code, evaluated.value.location.port, evaluated.value) == ("IR704", port, fault)
    # Nothing is wrong where the axis may be longer.
    layer.infer(make_type("?"), constant([begin]), constant([end]))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_empty_axes_without_pads(mode: str) -> None:
    layer = Pad.parse({"pad_mode": mode}, raise_error)
    assert layer is not None
    assert layer.infer(make_type("0,3"), constant([0, 1]), constant([0, -1])) == make_type("0,3")
    assert layer.evaluate(np.zeros((0, 3), np.float32), ints(0, 1), ints(0, -1)).shape == (0, 3)
    assert layer.evaluate(np.zeros((0, 3), np.float32), ints(-1, 1), ints(-1, -1)).shape == (0, 3)


@pytest.mark.parametrize(
    ("inputs", "error", "code", "port", "fault"),
    [
        (
            [make_type("2,3"), constant([0]), constant([0, 0])],
            ShapeError,
            "IR502",
            "pads_begin",
            fault_with("data", "pads_begin", actual="2 and 1", expected="equal dims"),
        ),
        (
            [make_type("2"), constant([0]), TensorType.of(np.array(0))],
            ShapeError,
            "IR501",
            "pads_end",
            fault_with("pads_end", "[]", actual=0, expected=1),
        ),
        (
            [make_type("2"), constant([0]), constant([0]), make_type("1")],
            ShapeError,
            "IR501",
            "pad_value",
            fault_with("pad_value", "[1]", actual=1, expected=0),
        ),
        (
            [make_type("2"), constant([0]), constant([0]), TensorType.of(np.array(1))],
            ElementTypeError,
            "IR402",
            "pad_value",
            fault_with("pad_value", "data", actual="i64", expected="f32"),
        ),
    ],
)
def test_errors(inputs: list[TensorType], error: type[IRError], code: str, port: str, fault: fault_with) -> None:
    with pytest.raises(error) as raised:
        Pad(pad_mode="constant").infer(*inputs)
    assert (raised.value.code, raised.value.location.port, raised.value) == (code, port, fault)


def test_modes() -> None:
    assert Pad.parse({"pad_mode": "REFLECT"}, raise_error) == Pad(pad_mode="reflect")
    for attributes, code in (({}, "IR301"), ({"pad_mode": "mirror"}, "IR302")):
        with pytest.raises(InvalidAttributeError) as raised:
            Pad.parse(attributes, raise_error)
        assert raised.value.code == code


def test_pad_value_unused_by_mode() -> None:
    output_type = Pad(pad_mode="edge").infer(
        make_type("2"), constant([1]), constant([0]), TensorType.of(np.array([1, 2]))
    )
    assert output_type == make_type("3")


def test_nothing_between_is_larger_than_data_and_output() -> None:
    # 100,000 by 100,000 elements would be needed in between, if the growing axis were the first.
    data = np.zeros((1, 100_000), np.uint8)
    result = Pad(pad_mode="edge").evaluate(data, ints(99_999, 0), ints(0, -99_999))
    assert result.shape == (100_000, 1)


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1"])
def test_element_types_that_openvino_cannot_pad(name: str) -> None:
    codes = np.array([[1, 0], [1, 1]], np.uint8)
    data = codes.view(ElementType[name].dtype)
    result = Pad(pad_mode="constant").evaluate(data, ints(1, 0), ints(0, -1))
    assert result.dtype == data.dtype
    assert result.view(np.uint8).tolist() == [[0], [1], [1]]
    result = Pad(pad_mode="constant").evaluate(data, ints(1, 0), ints(0, -1), data[0, 0, ...])
    assert result.view(np.uint8).tolist() == [[1], [1], [1]]
    result = Pad(pad_mode="symmetric").evaluate(data, ints(1, 0), ints(0, 1))
    assert result.view(np.uint8).tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("data", ["1,?,16", "1,9..,16", "1,3..7,16", "1,4,16"])
@pytest.mark.parametrize("other", ["?", "9..", "..30", "3..7"])
def test_pads_keep_lower_bound_of_data(data: str, other: str, oracle: Oracle) -> None:
    net = NetworkText()
    size = net.op("ShapeOf", net.parameter(other), opset=3, output_type="i64")
    zero = net.const(ints(0))
    ends = net.op("Concat", zero, net.op("Subtract", net.const(ints(20)), size), zero, axis=0)
    padded = net.op("Pad", net.parameter(data), net.const(ints(0, 0, 0)), ends, opset=12, pad_mode="constant")
    net.result(padded)
    file = net.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    (node,) = (node for node in model.graph.nodes if node.type == "Pad")
    answer = oracle.types(file)
    assert not isinstance(answer, Refused), answer.reason
    theirs = next(layer.outputs for layer in answer if layer.type == "Pad")
    assert type_faults([model.types[node.outputs[0].number]], theirs, None) == []


@pytest.mark.parametrize(("begin", "end"), [([0, 2], [1, 0]), ([-1, 1], [0, -2]), ([0, 0], [-3, 0])])
def test_known_pads_are_placed_once(begin: list[int], end: list[int]) -> None:
    operator, data, value = Pad(pad_mode="constant"), np.arange(6.0).reshape(2, 3), np.array(7.0)
    pads = ints(*begin), ints(*end)
    kernel = operator.kernel(TensorType.of(data), constant(begin), constant(end), make_type("", "f64"))
    assert kernel != operator.evaluate
    np.testing.assert_array_equal(kernel(data, *pads, value), operator.evaluate(data, *pads, value), strict=True)
    np.testing.assert_array_equal(kernel(data, *pads), operator.evaluate(data, *pads), strict=True)
    assert operator.kernel(TensorType.of(data), constant(begin), make_type("2")) == operator.evaluate
