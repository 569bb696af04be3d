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
def test_unreached_limit(values: list[float], verdict: str) -> None:
    report = compare(network(6.0), network(5.0), [np.float32(values)])
    assert report.verdict == verdict
    (limited,) = (layer for layer in report.layers if layer.path == "limited")
    assert limited.other_attributes == (("max",) if verdict == "equal" else ())
    assert (str(report).splitlines()[0] == mentions("max", "limited")) or verdict == "different"


def test_equal_attributes() -> None:
    report = compare(network(6.0), network(6.0), [np.zeros(4, np.float32)])
    assert not any(layer.other_attributes for layer in report.layers)


@pytest.mark.parametrize(("values", "most"), [([1, 2], 6.0), ([1, 2], 5.0), ([-1, -2], 5.0)])
def test_attributes_of_inactive_branch(values: list[float], most: float) -> None:
    def branches(most: float) -> Model:
        x = build.parameter([2], name="x")
        is_positive = build.greater(build.reduce_sum(x, [0]), np.float32(0))
        chosen = build.if_(
            is_positive,
            lambda: build.relu(x, name="positive"),
            lambda: build.clamp(x, -10.0, most, name="limited"),
            name="if",
        )
        return build.model(build.result(chosen, name="y"))

    report = compare(branches(6.0), branches(most), [np.float32(values)])
    assert (report.verdict, report.not_run) == ("equal", 2 if values[0] < 0 else report.not_run)
    differing = {layer.layer_name: layer.other_attributes for layer in report.layers if layer.other_attributes}
    assert differing == ({} if most == 6.0 else {"limited": ("max",)})
    if differing:
        assert str(report).splitlines()[0] == mentions("max", "limited")
