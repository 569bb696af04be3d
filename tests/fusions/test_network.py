"""The graph that patterns match: without constants, conversions between floats and reshapes without effect."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.fusions.network import FusionGraph
from tests.fusions.networks import decoder


def types_of(graph: FusionGraph) -> list[str]:
    return [node.type for node in graph.nodes]


def test_constants_are_values() -> None:
    x = build.parameter([2, 3], "f32", name="x")
    halves = build.multiply(build.constant(np.float32(3)), build.constant(np.float32(0.5)), name="halves")
    graph = FusionGraph(build.model([build.add(x, halves, name="sum")]))
    assert types_of(graph) == ["Parameter", "Add", "Result"]
    (constant,) = [value for node in graph.nodes if node.type == "Add" for value in node.values_in[1:]]
    assert graph.is_constant(constant)
    assert graph.known(constant) == np.float32(1.5)


def test_layers_without_effect() -> None:
    x = build.parameter([2, 3], "f16", name="x")
    value = build.reshape(build.convert(x, "f32"), np.array([2, 3]), special_zero=False)
    assert types_of(FusionGraph(build.model([build.relu(value)]))) == ["Parameter", "ReLU", "Result"]


def test_conversion_to_integers_remains() -> None:
    x = build.parameter([2, 3], "f32", name="x")
    assert "Convert" in types_of(FusionGraph(build.model([build.relu(build.convert(x, "i32"))])))


def test_unread_nodes_are_removed() -> None:
    graph = FusionGraph(decoder())
    assert graph.has_variables
    attention = next(node for node in graph.nodes if node.type == "ScaledDotProductAttention")
    graph.add_fused(attention, attention.op, attention.values_in[:1])  # type: ignore[arg-type]  # it has an operator
    graph.remove_unread()
    assert "mask" not in [node.name for node in graph.nodes]


def test_large_constants_are_not_computed() -> None:
    table = build.constant(np.zeros((1 << 22) + 1, np.int8))
    x = build.parameter([1], "i8", name="x")
    graph = FusionGraph(build.model([build.add(x, table, name="sum")]))
    (constant,) = [value for node in graph.nodes if node.type == "Add" for value in node.values_in[1:]]
    assert graph.is_constant(constant)
    assert graph.known(constant) is None
