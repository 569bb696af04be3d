"""RegionYolo and ReorgYolo: shapes, and attributes that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import ShapeError
from ir_exec.ops import Op
from ir_exec.ops.detection.yolo import ReorgYolo
from ir_exec.types import TensorType
from tests.helpers.facts import facts, fault_with, mentions
from tests.helpers.operators import make, run
from tests.helpers.values import make_type


def test_region_with_too_few_channels() -> None:
    operator = make("RegionYolo", 1, axis=1, end_axis=3, coords=4, classes=3, num=2, do_softmax="true")
    with pytest.raises(ShapeError) as caught:
        operator.infer(make_type("1,15,2,2"))
    assert facts(caught.value.message) == ["1", "1", "15", "16"]


def test_channels_after_regions_are_unchanged() -> None:
    operator = make("RegionYolo", 1, axis=1, end_axis=3, coords=2, classes=1, num=1, do_softmax="true")
    data = np.arange(10, dtype=np.float32).reshape(2, 5, 1, 1)
    output = run(operator, data)
    logistic = 1 / (1 + np.exp(-data.reshape(2, 5)[:, :3]))
    assert output[:, :3] == pytest.approx(logistic)
    assert output[:, 3:].tolist() == [[1, 4], [1, 9]]


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (ReorgYolo(stride=(2,)), (make_type("1,3..8,4..7,?"),), "f32[1,12..32,2..3,?]"),
    ],
)
def test_shapes_from_bounds(operator: Op, inputs: tuple[TensorType, ...], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ShapeError):
            operator.infer(*inputs)
    else:
        assert str(operator.infer(*inputs)) == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "code", "fault"),
    [
        (ReorgYolo(stride=(2,)), (make_type("1,3,4,4"),), "IR505", fault_with("data", actual=3, expected="4 or more")),
        (ReorgYolo(stride=(2,)), (make_type("1,4,4,5"),), "IR505",
         fault_with("axis", 3, "data", actual=5, expected=mentions(2))),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(operator: Op, inputs: tuple[TensorType, ...], code: str, fault: fault_with) -> None:
    with pytest.raises(ShapeError) as error:
        operator.infer(*inputs)
    assert (error.value.code, error.value) == (code, fault)
