"""OneHot: shapes, errors, and what counts as on."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, raise_error
from ir_exec.ops.sequence.one_hot import OneHot, OneHot1
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, naming
from tests.helpers.values import between, constant, scalar

I64_MAX = 2**63 - 1


def unknown(element_type: str = "i64") -> TensorType:
    return TensorType(ElementType[element_type], Shape([]))


ON, OFF = constant(1, "f32"), constant(0, "f32")


def indices(shape: str) -> TensorType:
    return TensorType(ElementType.i64, Shape.parse(shape))


@pytest.mark.parametrize(
    ("shape", "depth", "axis", "expected"),
    [
        ("2", unknown(), 0, "?,2"),
        ("2", between(2, 7), 0, "2..7,2"),
        ("2", between(3, I64_MAX), 0, "3..,2"),
        ("2,?", constant(3), -2, "2,3,?"),
        ("", constant(3), 0, "3"),
        ("...", constant(3), 9, "..."),
    ],
)
def test_one_hot_shapes(shape: str, depth: TensorType, axis: int, expected: str) -> None:
    output_type = OneHot1(axis=axis).infer(indices(shape), depth, ON, OFF)
    assert output_type == TensorType(ElementType.f32, Shape.parse(expected))


@pytest.mark.parametrize(
    ("axis", "depth", "code", "fault"),
    [
        (2, constant(3), "IR503", fault_with("axis", actual=2, expected="-2 to 1")),
        (0, constant(-1), "IR505", fault_with(actual=-1, expected="0 or more")),
        (0, TensorType.of(np.array([3])), "IR501", fault_with("[1]", actual=1, expected=0)),
    ],
)
def test_one_hot_errors(axis: int, depth: TensorType, code: str, fault: fault_with) -> None:
    with pytest.raises(IRError) as raised:
        OneHot1(axis=axis).infer(indices("2"), depth, ON, OFF)
    assert (raised.value.code, raised.value) == (code, fault)


def test_one_hot_depth_at_run_time() -> None:
    with pytest.raises(EvaluationError) as raised:
        OneHot1(axis=0).evaluate(np.array([0]), scalar(-1), scalar(1), scalar(0))
    assert (raised.value.code, raised.value.location.port) == ("IR704", "depth")


def test_negative_indices_mode() -> None:
    for text in ("ignore_negative", "ignore-negative", "IGNORE_NEGATIVE"):
        parsed = OneHot.parse({"axis": "0", "negative_indices_mode": text}, raise_error)
        assert parsed == OneHot(axis=0)
    with pytest.raises(InvalidAttributeError, match=naming("negative_indices_mode")):
        OneHot.parse({"axis": "0", "negative_indices_mode": "wrap"}, raise_error)


@pytest.mark.parametrize("name", ["u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1", "f8e8m0", "string"])
def test_one_hot_of_types_unsupported_by_openvino(name: str) -> None:
    element_type = ElementType[name]
    if name == "string":
        on, off = np.array("on", object), np.array("off", object)
    else:
        on, off = (np.array(code, np.uint8).view(element_type.dtype) for code in (1, 0))
    result = OneHot1(axis=-1).evaluate(np.array([2, 0, 7]), scalar(3), on, off)
    assert ElementType.of(result) is element_type
    assert (result == on).tolist() == [[False, False, True], [True, False, False], [False, False, False]]
    assert (result == off).tolist() == [[True, True, False], [False, True, True], [True, True, True]]


def test_one_hot_of_indices_near_the_ends_of_their_type() -> None:
    ends = np.array([-(2**63), 2**63 - 1, -1], np.int64)
    result = OneHot(axis=0, negative_indices_mode="normalize").evaluate(ends, scalar(2), scalar(1), scalar(0))
    assert result.tolist() == [[0, 0, 0], [0, 0, 1]]
    large = np.array([2**64 - 1, 1], np.uint64)
    assert OneHot1(axis=0).evaluate(large, scalar(2), scalar(1), scalar(0)).tolist() == [[0, 0], [0, 1]]
