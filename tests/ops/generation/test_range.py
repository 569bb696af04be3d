"""Range: element types, lengths, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import ElementTypeError, EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.generation.range import Range, Range1
from ir_exec.types import UNBOUNDED, Dim, ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.values import between, constant, scalar

I64_MAX = 2**63 - 1


def unknown(element_type: str = "i64") -> TensorType:
    return TensorType(ElementType[element_type], Shape([]))


@pytest.mark.parametrize(
    ("start", "stop", "step", "message"),
    [
        (0, 5, 0, fault_with("step", actual=0, expected=mentions())),
        (0, 0, 0, fault_with("step", actual=0, expected=mentions())),
        (0, float("inf"), 1, fault_with("stop", actual="inf", expected=mentions())),
        (float("nan"), 1, 1, fault_with("start", actual="nan", expected=mentions())),
        (0, 1, float("-inf"), fault_with("step", actual="-inf", expected=mentions())),
    ],
)
def test_numbers_that_make_no_range(start: float, stop: float, step: float, message: fault_with) -> None:
    port = message.names[0]
    for layer in (Range1(), Range(output_type="f32")):
        numbers = [start, stop, step]
        with pytest.raises(ShapeError) as inferred:
            layer.infer(*(constant(number, "f32") for number in numbers))
        assert (inferred.value.code, inferred.value.location.port, inferred.value) == ("IR505", port, message)
        with pytest.raises(EvaluationError) as evaluated:
            layer.evaluate(*(scalar(number, "f32") for number in numbers))
        assert (evaluated.value.code, evaluated.value.location.port) == ("IR704", port)
        assert evaluated.value == message


def test_fractional_step_truncates_to_zero() -> None:
    with pytest.raises(ShapeError, match=naming("step", 0)):
        Range(output_type="i32").infer(constant(1), constant(5), constant(0.5, "f32"))
    with pytest.raises(EvaluationError, match=naming("step", 0)):
        Range(output_type="i32").evaluate(scalar(1), scalar(5), scalar(0.5, "f32"))


@pytest.mark.parametrize(
    ("start", "stop", "step", "element_type", "length"),
    [
        (0, 2**62, 1, "i64", 2**62),
        (0, 10**15, 3, "i64", 333333333333334),
        (-(2**63), I64_MAX, 1, "i64", UNBOUNDED),
        (0, 2**64 - 1, 1, "u64", UNBOUNDED),
        (0, 1e30, 1e-30, "f32", UNBOUNDED),
        (-1.7e308, 1.7e308, 1, "f64", UNBOUNDED),
        # Doubles, with which OpenVINO counts, make 2 and 4 of these.
        (2**53, 2**53 + 5, 2, "i64", 3),
        (2**53, 2**53 + 3, 1, "i64", 3),
    ],
)
def test_length_is_exact_without_allocation(
    start: float, stop: float, step: float, element_type: str, length: int
) -> None:
    numbers = [TensorType.of(np.array(number, ElementType[element_type].dtype)) for number in (start, stop, step)]
    for layer in (Range1(), Range(output_type=element_type)):
        assert layer.infer(*numbers) == TensorType(ElementType[element_type], Shape([length]))


def test_integers_beyond_doubles() -> None:
    for element_type in ("i64", "u64"):
        numbers = [np.array(number, ElementType[element_type].dtype) for number in (2**53, 2**53 + 5, 2)]
        assert Range1().evaluate(*numbers).tolist() == [2**53, 2**53 + 2, 2**53 + 4]
    result = Range1().evaluate(*(np.array(number, np.uint64) for number in (2**64 - 3, 2**64 - 1, 1)))
    assert result.tolist() == [2**64 - 3, 2**64 - 2]


@pytest.mark.parametrize(
    ("start", "stop", "step", "expected"),
    [
        (constant(0), between(2, 7), constant(1), Dim(2, 7)),
        (constant(0), between(2, 7), constant(3), Dim(1, 3)),
        (between(0, 3), between(2, 7), constant(1), Dim(0, 7)),
        (constant(10), between(2, 7), constant(-2), Dim(2, 4)),
        (constant(0), constant(12), between(2, 4), Dim(3, 6)),
        (constant(0), between(3, I64_MAX), constant(1), Dim(3, UNBOUNDED)),
        (constant(0), between(0, I64_MAX), constant(7), Dim.any()),
        (constant(0), constant(5), between(-1, 1), Dim.any()),
        (constant(0), unknown(), constant(1), Dim.any()),
    ],
)
def test_lengths_from_bounds(start: TensorType, stop: TensorType, step: TensorType, expected: Dim) -> None:
    for layer in (Range1(), Range(output_type="i64")):
        assert layer.infer(start, stop, step) == TensorType(ElementType.i64, Shape([expected]))


@pytest.mark.parametrize("element_type", ["i4", "u2", "u4", "f8e4m3", "f8e5m2", "f4e2m1"])
def test_ranges_of_small_types(element_type: str) -> None:
    result = Range(output_type=element_type).evaluate(scalar(0), scalar(3), scalar(1))
    assert ElementType.of(result) is ElementType[element_type]
    assert result.astype(int).tolist() == [0, 1, 2]


def test_range_attributes_and_types() -> None:
    for attributes, code in (
        ({}, "IR301"),
        ({"output_type": "string"}, "IR302"),
        ({"output_type": "boolean"}, "IR302"),
        ({"output_type": "nf4"}, "IR302"),
    ):
        with pytest.raises(InvalidAttributeError) as raised:
            Range.parse(attributes, raise_error)
        assert raised.value.code == code
    with pytest.raises(ElementTypeError) as mixed:
        Range1().check_inputs([constant(0), constant(5, "i32"), constant(1)], raise_error)
    assert (mixed.value.code, mixed.value) == ("IR402", fault_with("stop", "start", actual="i32", expected="i64"))
    with pytest.raises(ShapeError) as ranked:
        Range1().infer(constant(0), TensorType.of(np.array([5])), constant(1))
    assert (ranked.value.code, ranked.value) == ("IR501", fault_with("stop", "[1]", actual=1, expected=0))
    nothing = TensorType(ElementType.dynamic, Shape([]))
    assert Range1().infer(nothing, nothing, nothing) == TensorType(ElementType.dynamic, Shape([None]))
