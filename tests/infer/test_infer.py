"""The pass over a graph: what `settle` is called with, and what becomes of its answer."""

from __future__ import annotations

import pytest

from ir_exec.codes import Code
from ir_exec.errors import IRError, ShapeError
from ir_exec.graph import Graph, Node, build_graph
from ir_exec.infer import infer_types, inferred_or_declared
from ir_exec.ir import read_document
from ir_exec.types import ElementType, Shape, TensorType
from tests.helpers.ir_text import layer, net, parameter, port, result


def graph() -> Graph:
    """An Add of shapes that do not broadcast, and a ReLU of what it declares, [2,5]."""
    add = layer(2, "Add", name="sum", inputs=[port(0), port(1)], outputs=[port(2, "f32", (2, 5))])
    relu = layer(3, "ReLU", inputs=[port(0)], outputs=[port(1, "f32", (2, 5))])
    text = net(
        [parameter(0, "f32", (2, 3), "x"), parameter(1, "f32", (2, 4), "w"), add, relu, result(4)],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (3, 1, 4, 0)],
    )
    document = read_document(text)
    assert document is not None
    return build_graph(document, None)


def test_settle_is_called_per_node_with_its_faults() -> None:
    calls: list[tuple[str, bool, list[str]]] = []

    def settle(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        assert all(fault.location.layer_id == node.id for fault in faults)
        calls.append((node.type, inferred is None, [fault.code for fault in faults]))
        return inferred_or_declared(node, inferred, faults)

    infer_types(graph(), settle=settle)
    assert calls == [
        ("Parameter", False, []),
        ("Parameter", False, []),
        ("Add", True, [Code.no_broadcast]),
        ("ReLU", False, []),
        ("Result", False, []),
    ]


def test_later_layers_use_settled_types() -> None:
    def settle(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        if node.type == "Add":
            return [TensorType(ElementType.f16, Shape([7]))]
        return inferred_or_declared(node, inferred, faults)

    network = graph()
    types = infer_types(network, settle=settle)
    relu = next(node for node in network.nodes if node.type == "ReLU")
    assert str(types[relu.outputs[0].number]) == "f16[7]"


def test_faults_may_be_ignored() -> None:
    network = graph()
    types = infer_types(network, settle=inferred_or_declared)
    assert [str(types[value.number]) for node in network.nodes for value in node.outputs][2:4] == ["f32[2,5]"] * 2


def test_first_error_is_raised_by_default() -> None:
    with pytest.raises(ShapeError) as caught:
        infer_types(graph())
    assert (caught.value.code, caught.value.location.layer_name) == (Code.no_broadcast, "sum")


def test_known_types_are_reused_for_equal_inputs() -> None:
    network = graph()
    earlier = infer_types(network, settle=inferred_or_declared)
    x, w = (node.outputs[0] for node in network.parameters)
    called: list[str] = []

    def settle(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
        called.append(node.name)
        return inferred_or_declared(node, inferred, faults)

    same = {x: earlier[x.number], w: earlier[w.number]}
    assert infer_types(network, overrides=same, settle=settle, earlier=earlier) == earlier
    assert called == ["x", "w"]
    called.clear()
    # Both have one shape now, so the sum and what follows are others.
    other = same | {w: TensorType(ElementType.f32, Shape([2, 3]))}
    types = infer_types(network, overrides=other, settle=settle, earlier=earlier)
    assert types == infer_types(network, overrides=other, settle=inferred_or_declared)
    assert called == ["x", "w", "sum", "layer3", "layer4"]
