"""Inputs and outputs of two models that are compared as wholes."""

from __future__ import annotations

from typing import Any

import pytest

from ir_exec import EvaluationError, build
from ir_exec.debug import compare
from ir_exec.debug.comparison.pairing.ends import require_same_ports
from ir_exec.model import Model
from tests.helpers.facts import coded, naming


def model(inputs: dict[str, Any], outputs: dict[str, Any], element_type: str = "f32") -> Model:
    """A model with a Relu of an input for each output: its name, and the name of the input."""
    parameters = {name: build.parameter(shape, element_type, name=name) for name, shape in inputs.items()}
    used = [build.result(build.relu(parameters[source]), name=name) for name, source in outputs.items()]
    return build.model(used, list(parameters.values()))


PLAIN = model({"a": [2, 3], "b": [None, 4]}, {"y": "a", "z": "b"})


@pytest.mark.parametrize(
    "other",
    [
        PLAIN,
        model({"b": [5, 4], "a": [2, 3]}, {"y": "a", "z": "b"}),
        model({"a": [2, 3], "b": [None, 4]}, {"other": "a", "names": "b"}),
        model({"c": [2, 3], "d": [None, 4]}, {"y": "c", "z": "d"}),
        model({"a": [2, 3], "b": [None, 4]}, {"y": "a", "z": "b"}, "f16"),
    ],
)
def test_the_same_ports(other: Model) -> None:
    require_same_ports(PLAIN, other, "M", "N")


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (model({"a": [2, 3], "b": [None, 4]}, {"y": "a"}), ("z", "N")),
        (model({"a": [2, 3]}, {"y": "a", "z": "a"}), ("b", "N")),
        (model({"a": [2, 3], "b": [None, 4], "c": [1]}, {"y": "a", "z": "b"}), ("c", "M")),
        (model({"a": [2, 5], "b": [None, 4]}, {"y": "a", "z": "b"}), ("a", "f32[2,3]", "f32[2,5]", "y")),
        (model({"a": [2, 3], "b": [None, 4]}, {"y": "b", "z": "a"}), ("y", "f32[?,4]", "z", "f32[2,3]")),
        (model({"a": [2, 3], "b": [None, 4]}, {"y": "a", "z": "b"}, "i32"), ("a", "i32[2,3]", "b", "y", "z")),
    ],
)
def test_all_differences_are_named(other: Model, names: tuple[str, ...]) -> None:
    with pytest.raises(EvaluationError, match=naming(*names), check=coded("IR705")):
        require_same_ports(PLAIN, other, "M", "N")


def test_impossible_comparison_names_the_ports() -> None:
    other = model({"a": [2, 5], "b": [None, 4]}, {"y": "a", "z": "b"})
    with pytest.raises(EvaluationError, match=naming("a", "f32[2,3]", "f32[2,5]"), check=coded("IR705")):
        compare(PLAIN, other)
