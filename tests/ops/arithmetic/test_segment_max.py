"""SegmentMax: types, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.arithmetic.segment_max import SegmentMax
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with

TABLE = np.arange(12, dtype=np.float64).reshape(4, 3) + 1


def make_type(text: str, element_type: str = "i32") -> TensorType:
    return TensorType(ElementType[element_type], Shape.parse(text))


def value(array: object) -> TensorType:
    return TensorType.of(np.array(array, np.int32))


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (SegmentMax(fill_mode="zero"), [make_type("4,2", "f32"), value([0, 1, 1, 4])], "f32[5,2]"),
        (SegmentMax(fill_mode="zero"), [make_type("4,2", "f32"), make_type("4"), value(3)], "f32[3,2]"),
        (SegmentMax(fill_mode="zero"), [make_type("4,2", "f32"), value([0, 1, 1, 4]), make_type("")], "f32[?,2]"),
    ],
)
def test_types(operator: Any, types: list[TensorType], expected: str) -> None:
    assert str(operator.infer(*types)) == expected


INDICES = np.array([0, 1, 2])
MAX = SegmentMax(fill_mode="zero")


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (MAX, (TABLE[:3], INDICES - 1), "IR701", fault_with("segment_ids", actual=-1, expected="0 to 1")),
        (
            MAX,
            (TABLE[:3], INDICES[::-1]),
            "IR704",
            fault_with("segment_ids", 2, actual=1, expected="ascending numbers"),
        ),
        (MAX, (TABLE[:3], INDICES, np.array(2)), "IR701", fault_with("segment_ids", actual=2, expected="0 to 1")),
    ],
)
def test_refused_values(operator: Any, inputs: tuple[Array, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(EvaluationError) as error:
        operator.evaluate(*inputs)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("operator", "types", "code", "words"),
    [
        (
            SegmentMax(fill_mode="zero"),
            [make_type("3,2"), make_type("2")],
            "IR502",
            fault_with("axis", 0, "data", "segment_ids", actual="3 and 2", expected="equal dims"),
        ),
        (
            SegmentMax(fill_mode="zero"),
            [make_type("3,2"), make_type("3"), value(-1)],
            "IR505",
            fault_with("num_segments", actual=-1, expected="0 or more"),
        ),
    ],
)
def test_refused_shapes(operator: Any, types: list[TensorType], code: str, words: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    assert error.value.code == code
    assert error.value == words


@pytest.mark.parametrize("block", [16, 2**18])
@pytest.mark.parametrize("width", [3, 64])
def test_short_segments_of_different_lengths(monkeypatch: pytest.MonkeyPatch, block: int, width: int) -> None:
    in_chunks(monkeypatch, "INTERMEDIATE_ELEMENTS", block)
    generator = np.random.default_rng(0)
    ids = np.sort(generator.integers(0, 70, 200))
    data = generator.standard_normal((200, width))
    data[7, 0] = np.nan
    result = MAX.evaluate(data, ids, np.array(80))
    for segment in range(80):
        rows = data[ids == segment]
        assert np.array_equal(result[segment], rows.max(axis=0) if len(rows) else np.zeros(width), equal_nan=True)
