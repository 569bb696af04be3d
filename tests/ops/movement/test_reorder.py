"""Roll, Reverse, ReverseSequence: errors, and sequences against a plain loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import ElementTypeError, EvaluationError, IRError, ShapeError
from ir_exec.ops.movement.reorder import Reverse, ReverseSequence, Roll
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import constant, ints, make_type

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def vector(length: int | None, element_type: ElementType = ElementType.i64) -> TensorType:
    return TensorType(element_type, Shape([length]))


ONE = TensorType.of(np.array(1))


@pytest.mark.parametrize(
    ("infer", "error", "code", "port", "fault"),
    [
        (
            lambda: Roll().infer(make_type("2,3"), constant([1]), ONE),
            ShapeError,
            "IR501",
            "axes",
            fault_with("shift", actual="[1] and []", expected="equal shapes"),
        ),
        (
            lambda: Roll().infer(make_type("2,3"), constant([1]), constant([0, 1])),
            ShapeError,
            "IR502",
            "axes",
            fault_with("shift", actual="[1] and [2]", expected="equal shapes"),
        ),
        (
            lambda: Roll().infer(make_type("2,3"), make_type("1,1"), constant([0])),
            ShapeError,
            "IR501",
            "shift",
            fault_with("shift", "[1,1]", actual=2, expected="0 or 1"),
        ),
        (
            lambda: Roll().infer(make_type("2,3"), ONE, constant([0, 2])),
            ShapeError,
            "IR503",
            None,
            fault_with(actual=2, expected="-2 to 1"),
        ),
        (
            lambda: Reverse(mode="index").infer(make_type("2,3"), constant([-3])),
            ShapeError,
            "IR503",
            None,
            fault_with("axis", 2, actual=-3, expected="-2 to 1"),
        ),
        (
            lambda: Reverse(mode="mask").infer(make_type("2,3"), vector(3, ElementType.boolean)),
            ShapeError,
            "IR502",
            "axis",
            fault_with("data", "axis", actual="2 and 3", expected="equal dims"),
        ),
        (
            lambda: Reverse(mode="mask").infer(make_type("2,3"), constant([0, 1])),
            ElementTypeError,
            "IR401",
            "axis",
            fault_with("axis", actual="i64", expected=mentions()),
        ),
        (
            lambda: Reverse(mode="index").infer(make_type("2,3"), vector(2, ElementType.boolean)),
            ElementTypeError,
            "IR401",
            "axis",
            fault_with("axis", actual="boolean", expected=mentions()),
        ),
        (
            lambda: ReverseSequence().infer(make_type("2"), constant([1, 1])),
            ShapeError,
            "IR501",
            "data",
            fault_with("data", actual=1, expected="2 or more"),
        ),
        (
            lambda: ReverseSequence().infer(make_type("2,3"), constant([1, 1, 1])),
            ShapeError,
            "IR502",
            "seq_lengths",
            fault_with("batch_axis", "data", "seq_lengths", actual="2 and 3", expected="equal dims"),
        ),
        (
            lambda: ReverseSequence(seq_axis=2).infer(make_type("2,3"), constant([1, 1])),
            ShapeError,
            "IR503",
            None,
            fault_with("seq_axis", actual=2, expected="-2 to 1"),
        ),
        (
            lambda: ReverseSequence(batch_axis=-1).infer(make_type("2,3"), constant([1, 1, 1])),
            ShapeError,
            "IR503",
            None,
            fault_with("batch_axis", "seq_axis", "axis", 1, expected="two axes"),
        ),
    ],
)
def test_errors(
    infer: Callable[[], TensorType], error: type[IRError], code: str, port: str | None, fault: fault_with
) -> None:
    with pytest.raises(error) as raised:
        infer()
    assert (raised.value.code, raised.value.location.port, raised.value) == (code, port, fault)


def test_the_length_of_the_sequences_tells_the_batch() -> None:
    assert ReverseSequence().infer(make_type("?,?"), vector(3)) == make_type("3,?")
    assert ReverseSequence().infer(make_type("..."), vector(3)) == make_type("...")


def test_axes_that_come_at_run_time() -> None:
    for name, evaluate in (
        ("axes", lambda: Roll().evaluate(CUBE, ints(1), ints(3))),
        ("axis", lambda: Reverse(mode="index").evaluate(CUBE, ints(3))),
    ):
        with pytest.raises(EvaluationError) as raised:
            evaluate()
        assert (raised.value.code, raised.value.location.port) == ("IR704", name)
        assert raised.value == fault_with(name, actual=3, expected="-3 to 2")


def test_shifts_beyond_64_bits_in_sum() -> None:
    shifts = ints(*[2**62] * 3)
    assert Roll().evaluate(CUBE, shifts, ints(1, 1, 1)).tolist() == CUBE.tolist()
    result = Roll().evaluate(CUBE, ints(2**63 - 1, 2**63 - 1), ints(2, 2))
    assert result.tolist() == np.concatenate([CUBE[..., 2:], CUBE[..., :2]], 2).tolist()


def test_reverse_is_a_view() -> None:
    assert np.shares_memory(Reverse(mode="index").evaluate(CUBE, ints(0)), CUBE)


@pytest.mark.parametrize("length", [-1, 4, float("nan"), float("inf"), -1.0, 4.0])
def test_impossible_sequence_lengths(length: float) -> None:
    data = np.zeros((2, 3), np.float32)
    with np.errstate(all="ignore"), pytest.raises(EvaluationError) as raised:
        ReverseSequence().evaluate(data, np.array([1, length]))
    assert raised.value == fault_with(
        "seq_lengths[1]", "seq_axis", code="IR704", port="seq_lengths", actual=mentions(), expected="0 to 3"
    )


@settings(max_examples=60)
@given(data=st.data(), batch=st.integers(0, 2), sequence=st.integers(0, 2))
def test_sequences_as_the_specification_describes_them(data: st.DataObject, batch: int, sequence: int) -> None:
    if batch == sequence:
        return
    sizes = st.integers(0, CUBE.shape[sequence])
    lengths = data.draw(st.lists(sizes, min_size=CUBE.shape[batch], max_size=CUBE.shape[batch]))
    expected = CUBE.copy()
    for i, length in enumerate(lengths):
        row = np.moveaxis(expected, (batch, sequence), (0, 1))[i]
        row[:length] = row[:length][::-1].copy()
    actual = ReverseSequence(batch_axis=batch - 3, seq_axis=sequence).evaluate(CUBE, ints(*lengths))
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["u1", "u3", "u4", "u6", "i4", "nf4", "f4e2m1", "string"])
def test_element_types_that_openvino_cannot_move(name: str) -> None:
    codes = np.array([[1, 0, 0], [1, 1, 0]], np.uint8)
    element_type = ElementType[name]
    data = codes.astype(str).astype(object) if name == "string" else codes.view(element_type.dtype)
    moved = {
        (1, 0): Roll().evaluate(data, np.array(1), np.array(0)),
        (0, 1): Reverse(mode="index").evaluate(data, ints(1)),
        (2, 2): ReverseSequence().evaluate(data, ints(3, 2)),
    }
    expected = {
        (1, 0): [[1, 1, 0], [1, 0, 0]],
        (0, 1): [[0, 0, 1], [0, 1, 1]],
        (2, 2): [[0, 0, 1], [1, 1, 0]],
    }
    for key, output in moved.items():
        assert ElementType.of(output) is element_type
        numbers = output.astype(int) if name == "string" else output.view(np.uint8)
        assert numbers.tolist() == expected[key]
