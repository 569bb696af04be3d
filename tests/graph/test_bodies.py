"""Port maps: every fault once, at its own line, and what a sound one ties together."""

from __future__ import annotations

import pytest

from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import Graph, build_graph
from ir_exec.ir import read_document
from ir_exec.ops.base.bodies import BodyInput, BodyOutput, FedBackValue, Part
from tests.helpers.facts import fault_with, mentions
from tests.helpers.ir_text import edges, layer, net, parameter, port, result

MAP = """<port_map>
<input external_port_id="0" internal_layer_id="3" axis="1"/>
<input external_port_id="1" internal_layer_id="4"/>
<output external_port_id="2" internal_layer_id="6"/>
<output external_port_id="3" internal_layer_id="7" axis="0" start="-1" end="0" stride="-1" part_size="1"/>
</port_map>
<back_edges>
<edge from-layer="6" to-layer="4"/>
</back_edges>
"""


def iterator(port_map: str) -> bytes:
    """A TensorIterator: Parameters 3 and 4 inside, their sum, and Results 6 and 7."""
    total = layer(5, "Add", inputs=[port(0), port(1)], outputs=[port(2)])
    inside = "".join([parameter(3), parameter(4), total, result(6), result(7)])
    ends = edges([(3, 0, 5, 0), (4, 0, 5, 1), (5, 2, 6, 0), (5, 2, 7, 0)])
    body = f"{port_map}<body><layers>{inside}</layers>{ends}</body>"
    outer = layer(2, "TensorIterator", inputs=[port(0), port(1)], outputs=[port(2), port(3)], inner=body)
    layers = [parameter(0, dims=[2, 3]), parameter(1, dims=[2, 1]), outer, result(8), result(9)]
    return net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 8, 0), (2, 3, 9, 0)])


def build(raw: bytes) -> tuple[Graph, list[IRError]]:
    faults: list[IRError] = []
    document = read_document(raw, report=faults.append)
    assert document is not None
    return build_graph(document, None, report=faults.append), faults


def test_ties_of_a_sound_port_map() -> None:
    graph, faults = build(iterator(MAP))
    assert faults == []
    (body,) = next(node for node in graph.nodes if node.type == "TensorIterator").bodies
    assert body.ties is not None
    assert body.ties.parameters == 2
    assert body.ties.inputs == (
        BodyInput(parameter=0, position=0, part=Part(axis=1, start=0, end=-1, stride=1, part_size=1)),
        BodyInput(parameter=1, position=1),
    )
    assert body.ties.outputs == (
        BodyOutput(result=0, position=0),
        BodyOutput(result=1, position=1, part=Part(axis=0, start=-1, end=0, stride=-1, part_size=1)),
    )
    assert body.ties.back_edges == (FedBackValue(0, 1),)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('input external_port_id="0"', 'input external_port_id="7"',
         fault_with(7)),
        ('output external_port_id="2"', 'output external_port_id="0"',
         fault_with(0)),
        ('external_port_id="2"', 'external_port_id="-1"',
         fault_with(6)),
        ('internal_layer_id="6"', 'internal_layer_id="5"',
         fault_with(2, actual=5, expected=mentions())),
        ('internal_layer_id="3"', 'internal_layer_id="6"',
         fault_with(0, actual=6, expected=mentions())),
        ('stride="-1"', 'stride="0"',
         fault_with(actual="1 and 0", expected="size >= 1 and stride != 0")),
        ('part_size="1"', 'part_size="0"',
         fault_with(actual="0 and -1", expected="size >= 1 and stride != 0")),
        ('from-layer="6"', 'from-layer="5"', fault_with(actual=5, expected="a Result of body")),
        ('to-layer="4"', 'to-layer="5"', fault_with(actual=5, expected="a Parameter of body")),
    ],
)  # fmt: skip
def test_fault_is_reported_once_at_its_line(before: str, after: str, message: fault_with) -> None:
    broken = iterator(MAP.replace(before, after, 1))
    _, faults = build(broken)
    line = next(number for number, text in enumerate(broken.decode().splitlines(), 1) if after in text and number > 1)
    of_map = [fault for fault in faults if fault.code == Code.body_port_map]
    assert message in list(of_map)
    (fault,) = [fault for fault in of_map if fault == message]
    assert fault.location.line == line
    assert fault.location.layer_id == "2"


@pytest.mark.parametrize(
    ("line", "message", "told_at"),
    [
        (1, fault_with(0), '<port id="0" precision="FP32"></port>'),
        (3, fault_with(2), '<port id="2" precision="FP32"></port>'),
    ],
)
def test_ports_without_an_entry(line: int, message: fault_with, told_at: str) -> None:
    lines = MAP.splitlines(keepends=True)
    broken = iterator("".join([*lines[:line], *lines[line + 1 :]]))
    _, faults = build(broken)
    (fault,) = [fault for fault in faults if fault == message]
    assert told_at in broken.decode().splitlines()[(fault.location.line or 0) - 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (1, fault_with("Parameter", 3)),
        (3, fault_with(2)),
    ],
)
def test_entries_that_stand_twice(line: int, message: fault_with) -> None:
    lines = MAP.splitlines(keepends=True)
    _, faults = build(iterator("".join([*lines[:line], lines[line], *lines[line:]])))
    assert list(faults) == [message]


def test_a_parameter_that_nothing_feeds() -> None:
    spare = parameter(10, name="spare")
    _, faults = build(iterator(MAP).replace(b'<layer id="5"', f'{spare}<layer id="5"'.encode()))
    expected = fault_with("Parameter", 10, "spare")
    assert list(faults) == [expected]


def test_scopes_and_paths() -> None:
    """Outer graphs come first; each body adds the names of its layer and of itself."""
    graph, _ = build(iterator(MAP))
    (holder,) = [node for node in graph.nodes if node.bodies]
    (body,) = holder.bodies
    assert list(graph.scopes()) == [((), graph), ((holder.name, body.name), body.graph)]
    paths = graph.node_paths()
    assert paths[holder] == holder.name
    assert {paths[node] for node in body.graph.nodes} == {
        f"{holder.name}/{body.name}/{node.name}" for node in body.graph.nodes
    }
    assert len(paths) == len(list(graph.all_nodes()))
