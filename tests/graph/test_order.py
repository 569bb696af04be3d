"""The order of nodes, and when values are read for the last time."""

from __future__ import annotations

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


def test_each_value_dies_at_the_last_node_that_reads_it() -> None:
    add = layer(3, "Add", inputs=[port(0), port(1)], outputs=[port(2)])
    relu = layer(2, "ReLU", inputs=[port(0)], outputs=[port(1)])
    layers = [parameter(0, dims=(2,)), relu, add, result(4)]
    graph = graph_of(net(layers, [(0, 0, 2, 0), (2, 1, 3, 0), (0, 0, 3, 1), (3, 2, 4, 0)]))
    names = {value.number: value.node.type for value in graph.values}
    dying = [sorted(names[number] for number in numbers) for numbers in last_uses(graph.nodes)]
    assert dying == [[], [], ["Parameter", "ReLU"], ["Add"]]


def test_outputs_that_no_node_reads_die_where_they_are_made() -> None:
    layers = [parameter(0, dims=(6,)), parameter(1, "i64"), split(2, 3), result(3)]
    graph = graph_of(net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 3, 3, 0)]))
    places = {value.number: (value.node.type, value.position) for value in graph.values}
    dying = [sorted(places[number] for number in numbers) for numbers in last_uses(graph.nodes)]
    assert dying[2] == [("Parameter", 0), ("Parameter", 0), ("Split", 0), ("Split", 2)]
    assert dying[3] == [("Split", 1)]
