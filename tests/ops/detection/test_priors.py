"""Errors of prior boxes for wrong sizes and attributes, and the types of those whose sizes are not known."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec.errors import EvaluationError, InvalidAttributeError, ShapeError
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.facts import fault_with, mentions, naming
from tests.helpers.operators import make, run
from tests.helpers.values import constant, make_type


def test_a_box_at_the_center_of_the_image() -> None:
    operator = make("PriorBox", 8, min_size=10, offset=0.5)
    output = run(operator, np.array([1, 1]), np.array([20, 40]))
    assert output.tolist() == [[0.375, 0.25, 0.625, 0.75], [np.float32(0.1)] * 4]


def test_bounds_of_the_grid_bound_the_output() -> None:
    grid = TensorType(ElementType.i64, Shape([2])).with_bounds(np.array([2, 3]), np.array([4, 2**63 - 1]))
    operator = make("PriorBoxClustered", 1, width="1,2", height="3,4", offset=0.5)
    assert operator.infer(grid, constant([10, 10])).shape == [2, (48, 2**63 - 1)]
    assert operator.infer(make_type("2", "i64"), constant([10, 10])).shape == [2, None]
    assert operator.infer(constant([2, 3]), make_type("?", "i64")).shape == [2, 48]


def test_empty_grid_has_no_boxes() -> None:
    operator = make("PriorBox", 1, fixed_size=10, density=1000000, offset=0.5)
    assert run(operator, np.array([0, 5]), np.array([20, 40])).shape == (2, 0)


@pytest.mark.parametrize("attributes", [{}, {"scale_all_sizes": "false"}, {"scale_all_sizes": "false", "flip": "true"}])
def test_no_sizes_no_boxes(attributes: dict[str, str]) -> None:
    operator = make("PriorBox", 8, offset=0.5, **attributes)
    assert operator.infer(constant([2, 3]), constant([10, 10])).shape == [2, 0]
    assert run(operator, np.array([2, 3]), np.array([10, 10])).shape == (2, 0)


def test_sizes_below_0() -> None:
    operator = make("PriorBox", 1, min_size=3)
    with pytest.raises(ShapeError, match=naming("-1", "0", "output_size")):
        operator.infer(constant([-1, 3]), constant([10, 10]))
    with pytest.raises(EvaluationError) as caught:
        operator.evaluate(np.array([1, 3]), np.array([-10, 10]))
    assert (caught.value.code, caught.value.location.port) == ("IR704", "image_size")


def test_shapes_that_do_not_fit() -> None:
    operator = make("PriorBox", 1, min_size=3)
    for grid, image, code in (("1,2", "2", "IR501"), ("2", "", "IR501"), ("3", "2", "IR502"), ("2", "1", "IR502")):
        with pytest.raises(ShapeError) as caught:
            operator.infer(make_type(grid, "i64"), make_type(image, "i64"))
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("type_name", "attributes", "fault"),
    [
        ("PriorBox", {"variance": "1,2"}, fault_with("variance", actual="'1,2'", expected=mentions("four"))),
        (
            "PriorBox",
            {"fixed_size": "8,9", "density": "1"},
            fault_with("density", "fixed_size", actual=1, expected="2 or more"),
        ),
        ("PriorBox", {"fixed_size": "8", "density": "0.5"}, fault_with("density", actual="0.5", expected="1 or more")),
        ("PriorBox", {"aspect_ratio": "0"}, fault_with(actual="0.0", expected=mentions(0))),
        (
            "PriorBoxClustered",
            {"width": "8,9", "height": "1"},
            fault_with("width", "height", actual="2 and 1", expected="equal numbers"),
        ),
    ],
)
def test_attributes_that_do_not_fit_together(type_name: str, attributes: dict[str, str], fault: fault_with) -> None:
    with pytest.raises(InvalidAttributeError) as caught:
        make(type_name, 1, **attributes)
    assert caught.value.code == "IR302"
    assert caught.value == fault
