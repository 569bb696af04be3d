"""Transpose: what is inferred where little is known, errors, and a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops import Op
from ir_exec.types import TensorType
from tests.helpers.drawing import draw_data, draw_shape
from tests.helpers.facts import fault_with, mentions
from tests.helpers.operators import make, run
from tests.helpers.values import constant, make_type

TRANSPOSE = make("Transpose", 1)


# What OpenVINO 2026.4.1 infers.
@pytest.mark.parametrize(
    ("operator", "shape", "value", "expected"),
    [
        (TRANSPOSE, "[?,2..3]", constant([1, 0]), "[2..3,?]"),
        (TRANSPOSE, "[...]", constant([1, 0]), "[?,?]"),
        (TRANSPOSE, "[2,3,4]", make_type("[?]", "i64"), "[?,?,?]"),
        (TRANSPOSE, "[2,3]", make_type("[0]", "i64"), "[?,?]"),
    ],
)
def test_what_OpenVINO_infers_too(operator: Op, shape: str, value: TensorType, expected: str) -> None:
    assert str(operator.infer(make_type(shape), value)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "shape", "value", "expected"),
    [
        # OpenVINO infers 1.., as if a tensor of unknown rank could not be empty.
        # OpenVINO refuses what holds where the unknown dim is 0.
        # OpenVINO infers [], [...], [...].
        (TRANSPOSE, "[...]", constant(np.zeros(0)), "[...]"),
        (TRANSPOSE, "[...]", make_type("[3]", "i64"), "[?,?,?]"),
    ],
)
def test_where_we_infer_other_than_OpenVINO(operator: Op, shape: str, value: TensorType, expected: str) -> None:
    assert str(operator.infer(make_type(shape), value)) == f"f32{expected}"


@pytest.mark.parametrize(
    ("operator", "shape", "value", "code", "fault"),
    [
        # OpenVINO takes this and reads two elements beyond the tensor.
        (
            TRANSPOSE,
            "[2,3]",
            constant([0, 0]),
            "IR503",
            fault_with("input_order", actual="[0, 0]", expected=mentions(0, 1)),
        ),
        (
            TRANSPOSE,
            "[2,3]",
            constant([-1, 0]),
            "IR503",
            fault_with("input_order", actual="[-1, 0]", expected=mentions(0, 1)),
        ),
        (
            TRANSPOSE,
            "[2,3]",
            make_type("[3..]", "i64"),
            "IR503",
            fault_with("input_order", actual="3..", expected=mentions(2)),
        ),
        (TRANSPOSE, "[2,3]", constant(1), "IR501", fault_with("input_order", "[]", actual=0, expected=1)),
    ],
)
def test_shapes_that_cannot_be(operator: Op, shape: str, value: TensorType, code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as caught:
        operator.infer(make_type(shape), value)
    assert (caught.value.code, caught.value) == (code, fault)


@pytest.mark.parametrize(
    ("operator", "shape", "value", "port"),
    [
        (TRANSPOSE, (2, 3), [0, 2], "input_order"),
        (TRANSPOSE, (2, 3), [1, 1], "input_order"),
        (TRANSPOSE, (2, 3), [0], "input_order"),
    ],
)
def test_values_that_only_the_run_knows(operator: Op, shape: tuple[int, ...], value: list[int], port: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(np.zeros(shape, np.float32), np.array(value))
    assert caught.value.code == "IR704"
    assert caught.value.location.port == port


@settings(max_examples=100)
@given(st.data())
def test_Transpose_is_a_loop(data: st.DataObject) -> None:
    arg = draw_data(data.draw, draw_shape(data.draw, 0))
    order = data.draw(st.permutations(range(arg.ndim)))
    output = run(TRANSPOSE, arg, np.array(order, np.int64))
    for index in np.ndindex(*arg.shape):
        assert output[tuple(index[axis] for axis in order)] == arg[index]
