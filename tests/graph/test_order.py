"""The order of nodes, and when values are read for the last time."""

from __future__ import annotations

import pytest

from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import Graph, build_graph, last_uses
from ir_exec.ir import read_document
from tests.helpers.ir_text import layer, net, parameter, port, result


def graph_of(xml: bytes) -> Graph:
    document = read_document(xml)
    assert document is not None
    return build_graph(document, None)


def split(id: int, parts: int) -> str:
    inputs, outputs = [port(0), port(1, "i64")], [port(2 + part) for part in range(parts)]
    return layer(id, "Split", data=f'num_splits="{parts}"', inputs=inputs, outputs=outputs)


def test_value_dies_at_last_reader() -> None:
    add = layer(3, "Add", inputs=[port(0), port(1)], outputs=[port(2)])
    relu = layer(2, "ReLU", inputs=[port(0)], outputs=[port(1)])
    layers = [parameter(0, dims=(2,)), relu, add, result(4)]
    graph = graph_of(net(layers, [(0, 0, 2, 0), (2, 1, 3, 0), (0, 0, 3, 1), (3, 2, 4, 0)]))
    names = {value.number: value.node.type for value in graph.values}
    dying = [sorted(names[number] for number in numbers) for numbers in last_uses(graph.nodes)]
    assert dying == [[], [], ["Parameter", "ReLU"], ["Add"]]


def test_unread_outputs_die_at_their_node() -> None:
    layers = [parameter(0, dims=(6,)), parameter(1, "i64"), split(2, 3), result(3)]
    graph = graph_of(net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 3, 3, 0)]))
    places = {value.number: (value.node.type, value.position) for value in graph.values}
    dying = [sorted(places[number] for number in numbers) for numbers in last_uses(graph.nodes)]
    assert dying[2] == [("Parameter", 0), ("Parameter", 0), ("Split", 0), ("Split", 2)]
    assert dying[3] == [("Split", 1)]


def cyclic(count: int, first: int = 0) -> bytes:
    """Layers in a circle, of which each takes the output of the one before."""
    relus = [layer(id, "ReLU", inputs=[port(0)], outputs=[port(1)]) for id in range(first, first + count)]
    edges = [(first + index, 1, first + (index + 1) % count, 0) for index in range(count)]
    return net([*relus, result(99)], [*edges, (first + count - 1, 1, 99, 0)])


@pytest.mark.parametrize("count", [1, 2, 12, 13, 20])
def test_cycle_is_reported_from_its_first_layer(count: int) -> None:
    """Of more than twelve layers the first six and the last five."""
    document = read_document(cyclic(count, first=3))
    assert document is not None
    errors: list[IRError] = []
    build_graph(document, None, report=errors.append)
    (fault,) = [error for error in errors if error.code == Code.cycle]
    ids = [str(id) for id in range(3, 3 + count)]
    shown = [f'layer {id} "layer{id}"' for id in ids]
    if count > 12:
        shown[6:-5] = [f"... {count - 11} more ..."]
    assert " -> ".join([*shown, shown[0]]) in fault.message
    assert fault.location.layer_id == "3"


def test_layers_run_in_file_order_if_inputs_allow() -> None:
    relus = [layer(id, "ReLU", inputs=[port(0)], outputs=[port(1)]) for id in (6, 5, 4, 3)]
    results = [result(id) for id in (9, 8)]
    # 6 waits for 3; 5 and 4 need the Parameter alone.
    edges = [(3, 1, 6, 0), (1, 0, 5, 0), (1, 0, 4, 0), (1, 0, 3, 0), (6, 1, 9, 0), (5, 1, 8, 0)]
    layers = [*results, relus[0], relus[1], relus[2], relus[3], parameter(1, dims=(2,)), result(7)]
    graph = graph_of(net(layers, [*edges, (4, 1, 7, 0)]))
    assert [node.id for node in graph.nodes] == ["1", "5", "8", "4", "3", "6", "9", "7"]
