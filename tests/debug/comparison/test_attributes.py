"""Attributes of another file that the inputs of a comparison do not show."""

from __future__ import annotations

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import compare
from tests.helpers.facts import mentions


def network(most: float, *, is_last: bool = True) -> Model:
    x = build.parameter([4], name="x")
    limited = build.clamp(x, 0.0, most, name="limited")
    return build.model(build.result(limited if is_last else build.relu(limited), name="y"))


@pytest.mark.parametrize(("values", "verdict"), [([0, 1, 2, 3], "equal"), ([0, 1, 2, 7], "different")])
def test_a_limit_that_is_not_reached(values: list[float], verdict: str) -> None:
    report = compare(network(6.0), network(5.0), [np.float32(values)])
    assert report.verdict == verdict
    (limited,) = (layer for layer in report.layers if layer.path == "limited")
    assert limited.other_attributes == (("max",) if verdict == "equal" else ())
    assert (str(report).splitlines()[0] == mentions("max", "limited")) or verdict == "different"


def test_equal_attributes() -> None:
    report = compare(network(6.0), network(6.0), [np.zeros(4, np.float32)])
    assert not any(layer.other_attributes for layer in report.layers)
