"""From document to graph: order, ports, and every structural fault reported once."""

import pytest

from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import build_graph
from ir_exec.ir import Weights, read_document
from tests.helpers.facts import fault_with, mentions
from tests.helpers.ir_text import const, layer, net, parameter, port, result


def graph_of(xml):
    faults: list[IRError] = []
    document = read_document(xml, report=faults.append)
    graph = build_graph(document, None, report=faults.append)
    return graph, [fault for fault in faults if fault.severity == "error"]


def unary(id, *, name=None, type="ReLU", ports=(0, 1), opset="opset1", inner=""):
    inputs, outputs = [port(ports[0])], [port(ports[1])]
    return layer(id, type, name=name, opset=opset, inputs=inputs, outputs=outputs, inner=inner)


def add(id, *, name=None):
    return layer(id, "Add", name=name, inputs=[port(0), port(1)], outputs=[port(2)])


def test_layers_of_any_order_come_out_in_topological_order():
    xml = net(
        [result(9), unary(5, name="second"), unary(7, name="first"), parameter(3)],
        [(5, 1, 9, 0), (3, 0, 7, 0), (7, 1, 5, 0)],
    )
    graph, faults = graph_of(xml)
    assert not faults
    assert [node.type for node in graph.nodes] == ["Parameter", "ReLU", "ReLU", "Result"]
    assert [node.name for node in graph.nodes[1:3]] == ["first", "second"]


def test_a_topological_file_keeps_its_order():
    xml = net(
        [parameter(4), parameter(2), add(8), unary(3), result(1)],
        [(4, 0, 8, 0), (2, 0, 8, 1), (8, 2, 3, 0), (3, 1, 1, 0)],
    )
    graph, _ = graph_of(xml)
    assert [node.id for node in graph.nodes] == ["4", "2", "8", "3", "1"]


def test_ports_count_by_position():
    swapped = layer(2, "Subtract", inputs=[port(7), port(3)], outputs=[port(40)])
    xml = net(
        [parameter(0, name="a"), parameter(1, name="b"), swapped, result(3)],
        [(0, 0, 2, 3), (1, 0, 2, 7), (2, 40, 3, 0)],
    )
    graph, faults = graph_of(xml)
    assert not faults
    subtract = next(node for node in graph.nodes if node.type == "Subtract")
    assert [value.node.name for value in subtract.values_in] == ["b", "a"]


def test_one_value_may_feed_both_inputs():
    graph, faults = graph_of(net([parameter(0), add(1), result(2)], [(0, 0, 1, 0), (0, 0, 1, 1), (1, 2, 2, 0)]))
    assert not faults
    first, second = next(node for node in graph.nodes if node.type == "Add").values_in
    assert first is second


def test_layers_without_result_are_set_aside():
    graph, faults = graph_of(
        net([parameter(0), unary(1), unary(2), result(3)], [(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 3, 0)])
    )
    assert not faults
    assert [node.id for node in graph.unreachable] == ["2"]
    assert "2" not in [node.id for node in graph.nodes]


def test_names_need_not_be_unique():
    graph, faults = graph_of(
        net(
            [parameter(0), unary(1, name="same"), unary(2, name="same"), result(3)],
            [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)],
        )
    )
    assert not faults
    assert len(graph.nodes) == 4


@pytest.mark.parametrize(
    ("layers", "ends", "code", "layer_id", "words"),
    [
        (
            [parameter(0), unary(1), unary(1), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            Code.duplicate_layer_id,
            "1",
            fault_with("layer1", "ReLU", 9),
        ),
        (
            [parameter(0), unary(1), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0), (8, 0, 1, 0)],
            Code.dangling_edge,
            "1",
            fault_with(8),
        ),
        (
            [parameter(0), unary(1), result(2)],
            [(0, 5, 1, 0), (1, 1, 2, 0)],
            Code.wrong_port,
            "1",
            fault_with(5, 0),
        ),
        (
            [parameter(0), unary(1), result(2)],
            [(0, 0, 1, 0), (0, 0, 1, 4), (1, 1, 2, 0)],
            Code.wrong_port,
            "1",
            fault_with(4),
        ),
        (
            [parameter(0), unary(1), result(2)],
            [(0, 0, 1, 0), (0, 0, 1, 0), (1, 1, 2, 0)],
            Code.two_edges,
            "1",
            fault_with(0),
        ),
        (
            [parameter(0), add(1), result(2)],
            [(0, 0, 1, 0), (1, 2, 2, 0)],
            Code.input_without_edge,
            "1",
            fault_with(1),
        ),
        ([parameter(0), unary(1)], [(0, 0, 1, 0)], Code.no_result, None, fault_with("Result", expected=mentions())),
        (
            [parameter(0), unary(1, type="Frobnicate"), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            Code.unknown_type,
            "1",
            fault_with("Frobnicate"),
        ),
        (
            [parameter(0), unary(1, type="TensorIterator"), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            Code.body_port_map,
            "1",
            fault_with("TensorIterator"),
        ),
        (
            [parameter(0), unary(1, type="If", opset="opset8"), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            Code.body_port_map,
            "1",
            fault_with("then_body", "else_body"),
        ),
        (
            [parameter(0), unary(1, type="TensorIterator", inner="<port_map></port_map>"), result(2)],
            [(0, 0, 1, 0), (1, 1, 2, 0)],
            Code.body_port_map,
            "1",
            fault_with("<body>"),
        ),
    ],
)
def test_each_fault_is_one_error_at_its_layer(layers, ends, code, layer_id, words):
    _, faults = graph_of(net(layers, ends))
    assert [(fault.code, fault.location.layer_id) for fault in faults] == [(code, layer_id)]
    assert faults[0] == words


def test_a_cycle_is_shown_whole_and_once():
    layers = [parameter(0), add(1, name="a"), unary(2, name="b"), unary(3, name="c"), result(4)]
    _, faults = graph_of(net(layers, [(0, 0, 1, 0), (3, 1, 1, 1), (1, 2, 2, 0), (2, 1, 3, 0), (3, 1, 4, 0)]))
    assert [fault.code for fault in faults] == [Code.cycle]
    assert 'layer 1 "a" -> layer 2 "b" -> layer 3 "c" -> layer 1 "a"' in faults[0].message


def test_self_feeding_layer_is_a_cycle():
    _, faults = graph_of(net([parameter(0), add(1), result(2)], [(0, 0, 1, 0), (1, 2, 1, 1), (1, 2, 2, 0)]))
    assert [fault.code for fault in faults] == [Code.cycle]


@pytest.mark.broad
def test_a_long_chain_does_not_recurse():
    count = 5000
    layers = [parameter(0), *(unary(i) for i in range(1, count)), result(count)]
    ends = [(0, 0, 1, 0), *((i, 1, i + 1, 0) for i in range(1, count))]
    graph, faults = graph_of(net(reversed(layers), ends))
    assert not faults
    assert len(graph.nodes) == count + 1


def test_variables_come_in_pairs():
    read = layer(
        1, "ReadValue", opset="opset6", data='variable_id="v" variable_type="f32" variable_shape="2"', outputs=[port(0)]
    )
    _, faults = graph_of(net([read, result(2)], [(1, 0, 2, 0)]))
    assert [(fault.code, fault.location.layer_id) for fault in faults] == [(Code.variable_without_pair, "1")]


def variables(read, assigned):
    """A network that reads and assigns variables of these names."""
    declared = 'variable_type="f32" variable_shape="2"'
    layers = [
        layer(i, "ReadValue", opset="opset6", data=f'variable_id="{name}" {declared}', outputs=[port(0)])
        for i, name in enumerate(read)
    ]
    layers += [result(i) for i in range(10, 10 + len(read))]
    layers += [
        layer(i, "Assign", opset="opset6", data=f'variable_id="{name}"', inputs=[port(0)], outputs=[port(1)])
        for i, name in enumerate(assigned, 20)
    ]
    ends = [(i, 0, 10 + i, 0) for i in range(len(read))] + [(0, 0, 20 + i, 0) for i in range(len(assigned))]
    return net(layers, ends)


@pytest.mark.parametrize(
    ("read", "assigned", "expected"),
    [
        ("ab", "ab", []),
        ("ab", "a", [("1", None)]),
        ("a", "ab", [("21", None)]),
        ("ab", "ac", [("1", mentions("c"))]),
        ("abb", "ac", [("1", None), ("2", None), ("21", None)]),
        ("abd", "ac", [("1", None), ("2", None), ("21", None)]),
        ("abc", "a", [("1", None), ("2", None)]),
    ],
)
def test_a_renamed_variable_is_one_fault(read, assigned, expected):
    _, faults = graph_of(variables(read, assigned))
    faults = [fault for fault in faults if fault.code == Code.variable_without_pair]
    assert [(fault.location.layer_id, fault.hint) for fault in faults] == expected


@pytest.mark.parametrize(
    ("ids", "odd"),
    [
        ("0 1 2 1 4", "d"),
        ("0 3 2 3 4", "b"),
        # The first and the last layer have one neighbor.
        ("2 1 2 3", "a"),
        ("0 5 1 2 5", "b"),
        # The one before a layer counts as the one after it does, and those further away do not.
        ("5 2 6 1 2 3", "b"),
        ("3 4 5 1 2 4 7", "f"),
        ("8 3 4 5 2 4 7", "f"),
        ("0 3 4 5 4 6 1 7", "e"),
        ("0 3 2 9 1 3 4 1", "b"),
        # Where both or neither are in order it is the second.
        ("0 1 1 2", "c"),
        ("3 1 2 0 1 0", "e"),
        ("0 1 2 5 6 2 9", "f"),
        # Ids that are no numbers are no neighbors.
        ("5 3 x 2 3 y 4", "b"),
        ("0 1 x 2 1 4", "e"),
    ],
)
def test_duplicate_id_out_of_order_is_named(ids, odd):
    """Whichever of the two comes first in the file."""
    layers = zip("abcdefgh", ids.split(), strict=False)
    text = "".join(f'<layer id="{id}" name="{name}" type="Parameter" version="opset1"/>' for name, id in layers)
    report: list[IRError] = []
    document = read_document(f'<net version="11"><layers>{text}</layers><edges/></net>'.encode(), report=report.append)
    assert document is not None
    build_graph(document, None, report=report.append)
    fault = next(fault for fault in report if fault.code == Code.duplicate_layer_id)
    assert fault.location.layer_name == odd


@pytest.mark.parametrize("element_type", ["dynamic", "undefined"])
def test_constant_declares_its_storage(element_type):
    xml = net([const(0, element_type, [1], 0, 4), result(1)], [(0, 0, 1, 0)])
    faults: list[IRError] = []
    build_graph(read_document(xml), Weights.of_bytes(b"abcd"), report=faults.append)
    assert [(fault.code, fault.location.layer_id) for fault in faults] == [(Code.untyped_constant, "0")]
    assert faults[0].severity == "error"


def test_layers_with_equal_attributes_share_operator_unless_random():
    softmax = [
        unary(id, type="Softmax", opset="opset8", inner=f'<data axis="{axis}"/>')
        for id, axis in ((1, 0), (2, 0), (3, 1))
    ]
    random = [
        layer(
            id,
            "RandomUniform",
            opset="opset8",
            inputs=[port(0), port(1), port(2)],
            outputs=[port(3)],
            inner='<data output_type="f32" global_seed="1" op_seed="2"/>',
        )
        for id in (4, 5)
    ]
    graph, _ = graph_of(net([parameter(0), *softmax, *random], []))
    first, second, other, random_first, random_second = [node.op for node in graph.nodes[1:]]
    assert first is second
    assert other.axis == 1
    assert random_first == random_second
    assert random_first is not random_second


def test_every_layer_with_an_unknown_attribute_is_told():
    twins = [unary(id, inner='<data alpha="1"/>') for id in (1, 2)]
    faults: list[IRError] = []
    document = read_document(net([parameter(0), *twins, result(3)], [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)]))
    build_graph(document, None, report=faults.append)
    assert [(fault.code, fault.location.layer_id) for fault in faults] == [
        (Code.unknown_attribute, "1"),
        (Code.unknown_attribute, "2"),
    ]
