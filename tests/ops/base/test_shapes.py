"""Values that no run takes, and that a check sees in constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_exec.codes import Code
from ir_exec.errors import ElementTypeError, EvaluationError
from ir_exec.ops import Op
from ir_exec.types import Array, Shape, TensorType
from tests.helpers.facts import naming
from tests.helpers.operators import bounds_of, infer_types, make, outputs
from tests.helpers.recurrent_cases import GATES, STATES
from tests.helpers.values import floats, ints, iota, make_type, scalar

INDEX, VALUE = Code.index_out_of_range, Code.bad_value

TABLE = iota(4, 2)
WITH_STEPS = iota(2, 3, 5)


def sequence(cell: str, *lengths: int) -> tuple[Op, list[Array], int]:
    """A sequence of these lengths, of three steps at most, and the position of the lengths."""
    gates, states = GATES[cell], STATES[cell]
    inputs = [WITH_STEPS, *[iota(2, 1, 4)] * states, ints(*lengths)]
    weights = [iota(1, gates * 4, 5), iota(1, gates * 4, 4), iota(1, gates * 4)]
    activations = {"RNN": "tanh", "GRU": "sigmoid,tanh", "LSTM": "sigmoid,tanh,tanh"}[cell]
    operator = make(f"{cell}Sequence", 5, hidden_size=4, direction="forward", activations=activations)
    return operator, [*inputs, *weights], 1 + states


def ctc(lengths: Array, counts: Array) -> list[Array]:
    return [WITH_STEPS, lengths, np.zeros((2, 3), np.int64), counts]


OFFSETS = make("EmbeddingBagOffsetsSum", 3)
SEGMENTS = make("EmbeddingSegmentsSum", 3)
SEGMENT_MAX = make("SegmentMax", 16, fill_mode="zero")

FAULTS: dict[str, tuple[Op, list[Array], set[int], Code]] = {
    **{f"{type} by 0": (make(type), [ints(1, 2), ints(3, 0)], {1}, VALUE) for type in ("Divide", "Mod", "FloorMod")},
    "a negative shift": (make("BitwiseLeftShift", 15), [ints(1, 2), ints(3, -1)], {1}, VALUE),
    "a shift by all bits": (make("BitwiseRightShift", 15), [ints(1, 2), ints(3, 64)], {1}, VALUE),
    **{
        f"{cell} of length {length}": (*sequence(cell, 1, length)[:2], {sequence(cell, 1)[2]}, VALUE)
        for cell in ("RNN", "GRU", "LSTM")
        for length in (-1, 4)
    },
    "a negative length to reverse": (make("ReverseSequence"), [iota(2, 3), ints(1, -1)], {1}, VALUE),
    "a length to reverse": (make("ReverseSequence"), [iota(2, 3), ints(1, 4)], {1}, VALUE),
    "a row of packed bags": (make("EmbeddingBagPackedSum", 3), [TABLE, ints([0, 4])], {1}, INDEX),
    "a negative row": (make("EmbeddingBagPacked", 15), [TABLE, ints([0, -1])], {1}, INDEX),
    "a row of bags": (OFFSETS, [TABLE, ints(0, 4), ints(0)], {1}, INDEX),
    "an offset": (OFFSETS, [TABLE, ints(0, 3), ints(0, 3)], {2}, INDEX),
    "offsets that fall": (make("EmbeddingBagOffsets", 15), [TABLE, ints(0, 3), ints(1, 0)], {2}, VALUE),
    "a row of segments": (SEGMENTS, [TABLE, ints(0, 4), ints(0, 1), scalar(2)], {1}, INDEX),
    "a segment": (SEGMENTS, [TABLE, ints(0, 1), ints(0, 2), scalar(2)], {2, 3}, INDEX),
    "a negative segment": (SEGMENTS, [TABLE, ints(0, 1), ints(0, -1), scalar(2)], {2}, INDEX),
    "segments that fall": (SEGMENT_MAX, [TABLE, ints(0, 2, 1, 3)], {1}, VALUE),
    "a segment of too few": (SEGMENT_MAX, [TABLE, ints(0, 1, 2, 3), scalar(3)], {1, 2}, INDEX),
    "a negative first segment": (SEGMENT_MAX, [TABLE, ints(-1, 1, 2, 3)], {1}, INDEX),
    "a length to decode": (make("CTCGreedyDecoderSeqLen", 6), [WITH_STEPS, ints(1, 4)], {1}, VALUE),
    "a negative length to decode": (make("CTCGreedyDecoderSeqLen", 6), [WITH_STEPS, ints(1, -1)], {1}, VALUE),
    "more steps than there are": (make("CTCLoss", 4), ctc(ints(1, 4), ints(1, 1)), {1}, VALUE),
    "a negative number of labels": (make("CTCLoss", 4), ctc(ints(1, 3), ints(1, -1)), {3}, VALUE),
    "more labels than steps": (make("CTCLoss", 4), ctc(ints(1, 2), ints(1, 3)), {1, 3}, VALUE),
}
"""Operator, inputs, the positions of those that are wrong, and the code."""

each = pytest.mark.parametrize("what", FAULTS)


def types_of(inputs: list[Array], constants: set[int], *, dims: Any = None) -> list[TensorType]:
    """Types with the values of these inputs alone; the others have the shape that `dims` makes of theirs."""
    return [
        TensorType.of(array)
        if position in constants
        else TensorType.of(array).with_shape(Shape(array.shape) if dims is None else dims(array))
        for position, array in enumerate(inputs)
    ]


@each
def test_check_reports_the_error_of_the_run(what: str) -> None:
    operator, inputs, wrong, code = FAULTS[what]
    with pytest.raises(EvaluationError) as error:
        outputs(operator, *inputs)
    (diagnostics,) = operator.check_values(*types_of(inputs, wrong))
    assert (diagnostics.code, diagnostics.severity, diagnostics.location.port) == (
        code,
        "error",
        error.value.location.port,
    )
    assert error.value.code == code


@each
def test_runtime_dependent_faults_are_not_reported(what: str) -> None:
    operator, inputs, wrong, _ = FAULTS[what]
    for position in wrong:
        assert operator.check_values(*types_of(inputs, wrong - {position})) == []


@each
@pytest.mark.parametrize(
    "dims", [lambda array: Shape.of_rank(array.ndim), lambda _: Shape.unknown()], ids=["dims", "rank"]
)
def test_open_dims_are_no_faults(what: str, dims: Any) -> None:
    """Sizes too large for the data of the case may fit other data; negative, falling or zero ones never do."""
    operator, inputs, wrong, _ = FAULTS[what]
    never_fits = (
        any((inputs[position] < 0).any() for position in wrong) or "fall" in what or "shift" in what or " 0" in what
    )
    never_fits |= what in ("a segment", "a segment of too few", "more labels than steps")
    assert len(operator.check_values(*types_of(inputs, wrong, dims=dims))) == never_fits


@each
def test_sound_inputs_have_no_fault(what: str) -> None:
    operator, inputs, wrong, _ = FAULTS[what]
    sound = [np.ones_like(array) if position in wrong else array for position, array in enumerate(inputs)]
    if what in ("a segment", "a segment of too few"):
        sound = [*sound[:-1], scalar(4)]
    assert operator.check_values(*types_of(sound, set(range(len(sound))))) == []
    outputs(operator, *sound)


@pytest.mark.parametrize("type", ["Divide", "Mod", "FloorMod"])
def test_zero_divides_floats_and_nothing(type: str) -> None:
    assert make(type).check_values(*map(TensorType.of, (floats(1), floats(0)))) == []
    assert make(type).check_values(*map(TensorType.of, (np.zeros(0, np.int64), ints(0)))) == []


ONE = (ints(1), ints(2), ints(1))
TWO = ints(7, 8, element_type="i32")


@pytest.mark.parametrize(("data", "updates"), [("string", "f32"), ("f32", "string"), ("string", "i64")])
def test_strings_and_numbers_do_not_mix(data: str, updates: str) -> None:
    slice_of_one = [TensorType.of(number) for number in ONE]
    with pytest.raises(ElementTypeError, match=naming("updates", updates, data, "data")) as error:
        make("SliceScatter", 15).infer(make_type("3", data), make_type("1", updates), *slice_of_one)
    assert error.value.code == Code.element_types_differ
    types = (make_type("2", data), make_type("2", "i64"), make_type("2,2", "i64"), make_type("", updates))
    with pytest.raises(ElementTypeError, match=naming("default_value", updates, data)):
        make("SparseFillEmptyRows", 16).infer(*types)


def test_an_unknown_type_may_be_any() -> None:
    slice_of_one = [TensorType.of(number) for number in ONE]
    (output,) = infer_types(
        make("SliceScatter", 15), make_type("3", "dynamic"), make_type("1", "string"), *slice_of_one
    )
    assert not output.element_type.is_known


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(ints(3), ints(5), ([7, 3], [7, 5])), (ints(3), ints(2**63 - 1), None), (ints(2**32), ints(2**32 + 5), None)],
)
def test_unfitting_bounds_are_not_converted(
    lower: Array, upper: Array, expected: tuple[list[int], list[int]] | None
) -> None:
    slice_of_one = [(number, number) for number in ONE]
    bounds = bounds_of(make("SliceScatter", 15), (TWO, TWO), (lower, upper), *slice_of_one)
    assert (bounds and tuple(bound.tolist() for bound in bounds)) == expected
    assert bounds is None or bounds[0].dtype == np.int32
