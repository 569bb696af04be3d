"""Ranges of slices and splits along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ir_exec import build
from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.transformations.slices import AxisRange, axis_range, part_of
from ir_exec.plan.patterns import Match, anything, explain

KINDS = "Slice|StridedSlice|VariadicSplit|Split"


def range_of(make: Callable[[Any], Any]) -> AxisRange | None:
    x = build.parameter([2, 3, 8], "f32", name="x")
    graph = FusionGraph(build.model([build.relu(make(x))]))
    reader = next(node for node in graph.nodes if node.type == "ReLU")
    value = reader.values_in[0]
    node = graph.producer(value)
    assert node is not None
    match = explain(part_of(anything("x"), KINDS), graph, node, value.position)
    assert isinstance(match, Match)
    return axis_range(match, value)


def numbers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: build.slice(x, numbers(2), numbers(6), numbers(1), numbers(2)), AxisRange(2, 2, 6, 1)),
        (lambda x: build.slice(x, numbers(1), numbers(2**31 - 1), numbers(2), numbers(-1)), AxisRange(-1, 1, None, 2)),
        (lambda x: build.slice(x, numbers(0, 0), numbers(1, 4), numbers(1, 1), numbers(0, 2)), None),
        (lambda x: build.variadic_split(x, 2, numbers(2, -1))[0], AxisRange(2, 0, 2, 1)),
        (lambda x: build.variadic_split(x, 2, numbers(2, -1))[1], AxisRange(2, 2, None, 1)),
        (lambda x: build.split(x, -1, num_splits=2)[0], AxisRange(-1, 0, 4, 1)),
        (lambda x: build.split(x, -1, num_splits=2)[1], AxisRange(-1, 4, None, 1)),
        (
            lambda x: build.strided_slice(
                x, numbers(0, 0, 2), numbers(0, 0, 6), numbers(1, 1, 1), begin_mask=[1, 1, 0], end_mask=[1, 1, 0]
            ),
            AxisRange(2, 2, 6, 1),
        ),
        (
            lambda x: build.strided_slice(
                x, numbers(0, 1, 2), numbers(0, 2, 6), numbers(1, 1, 1), begin_mask=[1, 0, 0], end_mask=[1, 0, 0]
            ),
            None,
        ),
    ],
)
def test_range(make: Callable[[Any], Any], expected: AxisRange | None) -> None:
    assert range_of(make) == expected
