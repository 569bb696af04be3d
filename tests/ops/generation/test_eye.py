"""Eye: shapes, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError, raise_error
from ir_exec.ops.generation.eye import Eye
from ir_exec.types import ElementType, TensorType
from tests.helpers.facts import fault_with, mentions
from tests.helpers.values import between, constant, make_type

EYE = Eye(output_type=ElementType.f32)


INTEGER = make_type("", ElementType.i64)


def test_sizes_between_bounds() -> None:
    batch = between([0, 2], [3, 2**63 - 1])
    output_type = EYE.infer(between(1, 4), between(-5, 7), INTEGER, batch)
    assert output_type == make_type("..3,2..,1..4,..7")


@pytest.mark.parametrize(
    ("types", "code", "fault"),
    [
        ((constant(-1), INTEGER, INTEGER), "IR505", fault_with("num_rows", actual=-1, expected="0 or more")),
        ((INTEGER, constant([-2]), INTEGER), "IR505", fault_with("num_columns", actual=-2, expected="0 or more")),
        (
            (INTEGER, INTEGER, constant([1, 2])),
            "IR502",
            fault_with("diagonal_index", actual="[2]", expected="one element"),
        ),
        ((constant([[1]]), INTEGER, INTEGER), "IR501", fault_with("num_rows", "[1,1]", actual=2, expected="0 or 1")),
        (
            (INTEGER, INTEGER, INTEGER, constant([2, -1])),
            "IR505",
            fault_with("batch_shape", actual="[2, -1]", expected=mentions()),
        ),
        ((INTEGER, INTEGER, INTEGER, INTEGER), "IR501", fault_with("batch_shape", "[]", actual=0, expected=1)),
    ],
)
def test_errors_of_eye(types: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        EYE.infer(*types)
    assert (error.value.code, error.value) == (code, fault)


@pytest.mark.parametrize(
    ("inputs", "port"), [((-1, 2, 0), "num_rows"), ((1, -2, 0), "num_columns"), ((1, 2, 0, [2, -1]), "batch_shape")]
)
def test_negative_sizes_of_a_run(inputs: tuple[object, ...], port: str) -> None:
    with pytest.raises(EvaluationError) as error:
        EYE.evaluate(*[np.array(value) for value in inputs])
    assert (error.value.code, error.value.location.port) == ("IR704", port)


def test_eye_of_strings() -> None:
    with pytest.raises(InvalidAttributeError) as error:
        Eye.parse({"output_type": "string"}, raise_error)
    assert error.value.code == "IR302"
