"""Bags of embeddings, segments and sparse rows: against plain loops, types, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, InvalidAttributeError, IRError, ShapeError
from ir_exec.ops.sparse import (
    EmbeddingBagOffsets,
    EmbeddingBagOffsetsSum,
    EmbeddingBagPacked,
    EmbeddingSegmentsSum,
    SparseFillEmptyRows,
)
from ir_exec.types import Array, ElementType, Shape, TensorType
from tests.helpers.chunks import in_chunks
from tests.helpers.facts import fault_with, mentions

TABLE = np.arange(12, dtype=np.float64).reshape(4, 3) + 1


def bags_one_by_one(bags: list[list[int]], weights: list[list[float]] | None, default: int, mean: bool) -> Array:
    """The snippet of the specification, in other words."""
    result = np.zeros((len(bags), 3))
    for i, bag in enumerate(bags):
        if bag:
            factors = weights[i] if weights else [1.0] * len(bag)
            result[i] = sum(TABLE[index] * factor for index, factor in zip(bag, factors, strict=True))
            result[i] /= len(bag) if mean else 1
        elif default != -1:
            result[i] = TABLE[default]
    return result


BAGS = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=6)


@settings(max_examples=40)
@given(
    bags=BAGS,
    default=st.integers(-1, 3),
    mean=st.booleans(),
    weighted=st.booleans(),
    block=st.sampled_from([1, 7, 2**18]),
    by_place=st.booleans(),
)
def test_bags_are_summed_one_by_one(
    bags: list[list[int]], default: int, mean: bool, weighted: bool, block: int, by_place: bool
) -> None:
    weights = [[0.5 * i - j for j in range(len(bag))] for i, bag in enumerate(bags)] if weighted and not mean else None
    # Wide rows are added place by place.
    copies = 300 if by_place else 1
    table = np.tile(TABLE, copies)
    expected = np.tile(bags_one_by_one(bags, weights, default, mean), copies)
    indices = np.array([index for bag in bags for index in bag], np.int64)
    offsets = np.cumsum([0, *(len(bag) for bag in bags[:-1])])
    given_weights = () if weights is None else (np.array([w for ws in weights for w in ws]),)
    with pytest.MonkeyPatch.context() as patch:
        in_chunks(patch, "INTERMEDIATE_ELEMENTS", block)
        actual = EmbeddingBagOffsets(reduction="mean" if mean else "sum").evaluate(
            table, indices, offsets, np.array(default), *given_weights
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
        if not mean:
            ids = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
            actual = EmbeddingSegmentsSum().evaluate(
                table, indices, ids, np.array(len(bags)), np.array(default), *given_weights
            )
            np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_elements_before_first_offset_are_in_no_bag() -> None:
    inputs = (TABLE, np.array([3, 0, 1]), np.array([1, 2]), np.array(-1), np.array([9.0, 1.0, 2.0]))
    assert EmbeddingBagOffsetsSum().evaluate(*inputs).tolist() == [TABLE[0].tolist(), (2 * TABLE[1]).tolist()]


@pytest.mark.parametrize("values", [(-7, -2), (7, 2)])
def test_means_of_integers_are_cut_off(values: tuple[int, int]) -> None:
    table = np.array(values, np.int32)
    result = EmbeddingBagPacked(reduction="mean").evaluate(table, np.array([[0, 1]]))
    assert result.tolist() == [int(sum(values) / 2)]


def make_type(text: str, element_type: str = "i32") -> TensorType:
    return TensorType(ElementType[element_type], Shape.parse(text))


def value(array: object) -> TensorType:
    return TensorType.of(np.array(array, np.int32))


@pytest.mark.parametrize(
    ("operator", "types", "expected"),
    [
        (EmbeddingBagOffsetsSum(), [make_type("5,2", "f32"), make_type("?"), make_type("3..4")], "f32[3..4,2]"),
        (EmbeddingBagOffsetsSum(), [make_type("...", "f32"), make_type("?"), make_type("3")], "f32[...]"),
        (EmbeddingBagPacked(), [make_type("?,2", "f32"), make_type("?,3"), make_type("4,?", "f32")], "f32[4,2]"),
        (EmbeddingSegmentsSum(), [make_type("5,2", "f32"), make_type("4"), make_type("4"), value(7)], "f32[7,2]"),
        (EmbeddingSegmentsSum(), [make_type("5,2", "f32"), make_type("4"), make_type("4"), make_type("")], "f32[?,2]"),
    ],
)
def test_types(operator: Any, types: list[TensorType], expected: str) -> None:
    assert str(operator.infer(*types)) == expected


@pytest.mark.parametrize(
    ("shape", "indices", "expected"),
    [
        (make_type("2"), make_type("4,2"), ["[4..,2]", "[4..]", "[?]"]),
        (value([5, 6]), make_type("4,2"), ["[4..9,2]", "[4..9]", "[5]"]),
        (value([5, 6]), value([[0, 1], [0, 2], [3, 3], [4, 0]]), ["[6,2]", "[6]", "[5]"]),
        (value([5, 6]), make_type("?,2"), ["[4..9,2]", "[4..9]", "[5]"]),
    ],
)
def test_types_of_sparse_rows(shape: TensorType, indices: TensorType, expected: list[str]) -> None:
    output_types = SparseFillEmptyRows().infer(make_type("4", "f32"), shape, indices, make_type("", "f32"))
    assert [str(type.shape) for type in output_types] == expected
    assert [type.element_type.name for type in output_types] == ["i32", "f32", "boolean"]


INDICES, OFFSETS = np.array([0, 1, 2]), np.array([0, 2])
EMPTY = np.array([0, 0])
BAGS_OF = EmbeddingBagOffsetsSum()
SUM = EmbeddingSegmentsSum()
FILL = SparseFillEmptyRows()
AXIS = "expected 0 to 3: axis 0 of data has size 4"


def matrix(*numbers: int) -> Array:
    return np.array(numbers).reshape(-1, 2)


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (BAGS_OF, (TABLE, INDICES + 2, OFFSETS), "IR701", fault_with("indices[2]", AXIS, actual=4, expected="0 to 3")),
        (BAGS_OF, (TABLE, INDICES - 1, OFFSETS), "IR701", fault_with("indices[0]", AXIS, actual=-1, expected="0 to 3")),
        (BAGS_OF, (TABLE, INDICES, OFFSETS + 2), "IR701", fault_with(actual=4, expected="0 to 3")),
        (
            BAGS_OF,
            (TABLE, INDICES, OFFSETS[::-1]),
            "IR704",
            fault_with("offsets", 2, actual=0, expected="ascending numbers"),
        ),
        (
            BAGS_OF,
            (TABLE, INDICES, EMPTY, np.array(4)),
            "IR701",
            fault_with("default_index", actual=4, expected="0 to 3"),
        ),
        (
            BAGS_OF,
            (TABLE, INDICES, EMPTY, np.array(-2)),
            "IR701",
            fault_with("default_index", actual=-2, expected="0 to 3"),
        ),
        (
            EmbeddingBagPacked(),
            (TABLE, matrix(0, 7)),
            "IR701",
            fault_with("indices[1]", AXIS, actual=7, expected="0 to 3"),
        ),
        (SUM, (TABLE, INDICES, INDICES, np.array(2)), "IR701", fault_with("segment_ids", actual=2, expected="0 to 1")),
        (
            SUM,
            (TABLE, INDICES, INDICES, np.array(-2)),
            "IR704",
            fault_with("num_segments", actual=-2, expected="0 or more"),
        ),
        (
            FILL,
            (np.ones(1), np.array([2, 2]), matrix(0, 2), np.array(0.0)),
            "IR701",
            fault_with("indices", actual=2, expected="0 to 1"),
        ),
        (
            FILL,
            (np.ones(1), np.array([0, 2]), matrix(0, 1), np.array(0.0)),
            "IR701",
            fault_with("indices", actual=0, expected="none"),
        ),
        (
            FILL,
            (np.ones(0), np.array([-1, 2]), matrix(), np.array(0.0)),
            "IR704",
            fault_with("dense_shape", actual="[-1, 2]", expected=mentions()),
        ),
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
            EmbeddingBagOffsetsSum(),
            [make_type("", "f32"), make_type("3"), make_type("2")],
            "IR501",
            fault_with("emb_table", actual=0, expected="1 or more"),
        ),
        (
            EmbeddingBagOffsetsSum(),
            [make_type("5", "f32"), make_type("3,1"), make_type("2")],
            "IR501",
            fault_with("indices", actual=2, expected=1),
        ),
        (
            EmbeddingSegmentsSum(),
            [make_type("5", "f32"), make_type("3"), make_type("2"), make_type("")],
            "IR502",
            fault_with("num_indices", "segment_ids", actual="3 and 2", expected="equal dims"),
        ),
        (
            SparseFillEmptyRows(),
            [make_type("3"), make_type("3"), make_type("3,2"), make_type("")],
            "IR502",
            fault_with("dense_shape", actual="2 and 3", expected="equal dims"),
        ),
    ],
)
def test_refused_shapes(operator: Any, types: list[TensorType], code: str, words: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*types)
    assert error.value.code == code
    assert error.value == words


@pytest.mark.parametrize(
    ("operator", "types"),
    [
        (EmbeddingBagPacked(reduction="mean"), [make_type("5", "f32"), make_type("3,1"), make_type("3,1", "f32")]),
        (
            EmbeddingBagOffsets(reduction="mean"),
            [make_type("5", "f32"), make_type("3"), make_type("2"), make_type(""), make_type("3", "f32")],
        ),
    ],
)
def test_means_have_no_weights(operator: Any, types: list[TensorType]) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        operator.infer(*types)
    assert (error.value.code, error.value) == ("IR302", fault_with("reduction", "mean", "per_sample_weights"))


def test_indices_share_an_element_type() -> None:
    faults: list[IRError] = []
    types = [make_type("5", "f32"), make_type("3", "i64"), make_type("2"), make_type("", "i64"), make_type("3", "f16")]
    assert not EmbeddingBagOffsetsSum().check_inputs(types, faults.append)
    assert list(faults) == [
        fault_with("offsets", "indices", actual="i32", expected="i64"),
        fault_with("per_sample_weights", "emb_table", actual="f16", expected="f32"),
    ]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=8))
def test_no_row_stays_empty(places: list[tuple[int, int]]) -> None:
    values = np.arange(len(places)) + 1.0
    indices = np.array(places, np.int32).reshape(-1, 2)
    result, filled, empty = SparseFillEmptyRows().evaluate(values, np.array([5, 3], np.int32), indices, np.array(-1.0))
    rows = {row for row, _ in places}
    entries = [(row, column, number) for number, (row, column) in enumerate(places)]
    entries += [(row, 0, len(places)) for row in range(5) if row not in rows]
    entries.sort()
    assert result.tolist() == [[row, column] for row, column, _ in entries]
    assert filled.tolist() == [number + 1.0 if number < len(places) else -1.0 for _, _, number in entries]
    assert empty.tolist() == [row not in rows for row in range(5)]
