"""Odd files that OpenVINO reads: read here as well, with a warning, and with OpenVINO's values."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import ir_exec
from ir_exec.codes import Code
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.facts import naming
from tests.helpers.ir_text import const, layer, net, parameter, port, result

DIMS = (2, 3)


def findings_of(xml: bytes, weights: bytes = b"") -> list[tuple[str, Code, str | None]]:
    report = ir_exec.check_model(xml, weights=weights)
    return [(diagnostic.severity, diagnostic.code, diagnostic.location.layer_id) for diagnostic in report.diagnostics]


def assert_runs_as_in_openvino(oracle: Oracle, xml: bytes, weights: bytes, *inputs: np.ndarray) -> None:
    expected = oracle.values(IRFile(xml, weights, inputs))
    assert not isinstance(expected, Refused), expected
    actual = ir_exec.compile_model(ir_exec.read_model(xml, weights=weights))(list(inputs))
    assert len(expected) == len(actual)
    for position, array in enumerate(expected):
        assert actual[position].dtype == array.dtype
        np.testing.assert_array_equal(actual[position], array)


def choice(then_ids: tuple[int, int], else_ids: tuple[int, int], port_ids: tuple[int, int] = (2, 3)) -> bytes:
    """An If of the outputs x+x, x*x or x*x, x+x; the Results of its bodies are in a different order."""

    def body(name: str, first: str, second: str, ids: tuple[int, int]) -> str:
        layers = [
            parameter(0, dims=DIMS),
            layer(1, first, inputs=[port(0, dims=DIMS), port(1, dims=DIMS)],
                  outputs=[port(2, dims=DIMS)]),
            layer(2, second, inputs=[port(0, dims=DIMS), port(1, dims=DIMS)], outputs=[port(2, dims=DIMS)]),
            result(4, dims=DIMS),
            result(3, dims=DIMS),
        ]  # fmt: skip
        ends = [(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 2, 0), (0, 0, 2, 1), (1, 2, 3, 0), (2, 2, 4, 0)]
        inside = net(layers, ends).decode()
        inside = inside[inside.index("<layers>") : inside.index("</net>")]
        tied = '<input external_port_id="1" internal_layer_id="0"/>'
        tied += "".join(f'<output external_port_id="{id}" internal_layer_id="{3 + i}"/>' for i, id in enumerate(ids))
        return f"<{name}_port_map>{tied}</{name}_port_map><{name}_body>{inside}</{name}_body>"

    bodies = body("then", "Add", "Multiply", then_ids) + body("else", "Multiply", "Add", else_ids)
    both = layer(
        2,
        "If",
        opset="opset8",
        inputs=[port(0, "boolean"), port(1, dims=DIMS)],
        outputs=[port(id, dims=DIMS) for id in port_ids],
        inner=bodies,
    )
    layers = [parameter(0, "boolean"), parameter(1, dims=DIMS), both, result(3, dims=DIMS), result(4, dims=DIMS)]
    return net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, port_ids[0], 3, 0), (2, port_ids[1], 4, 0)])


class TestOutputsCountedFrom0:
    @pytest.mark.parametrize("condition", [True, False])
    @pytest.mark.parametrize(
        ("then_ids", "else_ids", "port_ids"),
        [((0, 1), (0, 1), (2, 3)), ((1, 0), (0, 1), (2, 3)), ((2, 3), (1, 0), (2, 3)), ((1, 0), (0, 1), (1, 2))],
    )
    def test_they_are_an_order(
        self,
        oracle: Oracle,
        then_ids: tuple[int, int],
        else_ids: tuple[int, int],
        port_ids: tuple[int, int],
        condition: bool,
    ) -> None:
        xml = choice(then_ids, else_ids, port_ids)
        odd = [ids for ids in (then_ids, else_ids) if set(ids) != set(port_ids)]
        assert findings_of(xml) == [("warning", Code.body_port_map, "2")] * len(odd)
        image = np.arange(6, dtype=np.float32).reshape(DIMS)
        assert_runs_as_in_openvino(oracle, xml, b"", np.array(condition), image)

    @pytest.mark.parametrize("ids", [(0, 0), (0, 2), (0, 9)])
    def test_other_ids_are_wrong(self, ids: tuple[int, int]) -> None:
        assert ("error", Code.body_port_map, "2") in findings_of(choice(ids, (0, 1)))


def variable(data: str) -> bytes:
    read = layer(1, "ReadValue", opset="opset6", data=data, inputs=[port(0, dims=DIMS)], outputs=[port(1, dims=DIMS)])
    add = layer(2, "Add", inputs=[port(0, dims=DIMS), port(1, dims=DIMS)], outputs=[port(2, dims=DIMS)])
    assign = layer(
        3, "Assign", opset="opset6", data='variable_id="v"', inputs=[port(0, dims=DIMS)], outputs=[port(1, dims=DIMS)]
    )
    layers = [parameter(0, dims=DIMS), read, add, assign, result(4, dims=DIMS)]
    return net(layers, [(0, 0, 1, 0), (1, 1, 2, 0), (0, 0, 2, 1), (2, 2, 3, 0), (2, 2, 4, 0)])


class TestVariables:
    def test_type_and_shape_come_from_first_value(self, oracle: Oracle) -> None:
        xml = variable('variable_id="v"')
        assert findings_of(xml) == [("warning", Code.missing_attribute, "1")] * 2
        assert_runs_as_in_openvino(oracle, xml, b"", np.arange(6, dtype=np.float32).reshape(DIMS))
        assert str(ir_exec.read_model(xml).outputs[0].shape) == "[2,3]"

    def test_assign_needs_no_output_port(self, oracle: Oracle) -> None:
        xml = variable('variable_id="v" variable_type="f32" variable_shape="2,3"')
        start = xml.index(b"<output>", xml.index(b'type="Assign"'))
        xml = xml[:start] + xml[xml.index(b"</output>", start) + len(b"</output>") :]
        assert not findings_of(xml)
        assert_runs_as_in_openvino(oracle, xml, b"", np.arange(6, dtype=np.float32).reshape(DIMS))

    def test_variable_without_type_and_first_value_is_refused(self) -> None:
        xml = variable('variable_id="v"')
        start, end = xml.index(b"<input>"), xml.index(b"</input>") + len(b"</input>")
        xml = (xml[:start] + xml[end:]).replace(b'<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>', b"")
        with pytest.raises(ir_exec.EvaluationError, match=naming("init_value")):
            ir_exec.compile_model(xml)([np.zeros(DIMS, np.float32)])

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            ('variable_id="v" variable_type="flt" variable_shape="2,3"', Code.invalid_attribute),
            ('variable_type="f32" variable_shape="2,3"', Code.missing_attribute),
        ],
    )
    def test_reader_with_another_fault_is_still_a_reader(self, data: str, code: Code) -> None:
        assert findings_of(variable(data)) == [("error", code, "1")]

    def test_misspelled_reader_is_still_a_reader(self) -> None:
        xml = variable('variable_id="v"').replace(b'"ReadValue"', b'"ReadValu"')
        assert findings_of(xml) == [("error", Code.unknown_type, "1")]

    def test_of_other_variables_the_pair_is_missed(self) -> None:
        xml = variable('variable_id="w" variable_type="flt" variable_shape="2,3"')
        assert ("error", Code.variable_without_pair, "3") in findings_of(xml)


class TestSpareBytes:
    def network(self, element_type: str, dims: tuple[int, ...], size: int) -> bytes:
        convert = layer(
            1,
            "Convert",
            data='destination_type="i32"',
            inputs=[port(0, element_type, dims)],
            outputs=[port(1, "i32", dims)],
        )
        layers = [const(0, element_type, dims, 4, size), convert, result(2, "i32", dims)]
        return net(layers, [(0, 0, 1, 0), (1, 1, 2, 0)])

    @pytest.mark.parametrize(("element_type", "dims", "size"), [("i32", (3,), 16), ("i4", (3,), 4), ("i32", (), 6)])
    def test_they_are_not_read(self, oracle: Oracle, element_type: str, dims: tuple[int, ...], size: int) -> None:
        xml, weights = self.network(element_type, dims, size), bytes(range(40))
        assert ("warning", Code.constant_size, "0") in findings_of(xml, weights)
        assert_runs_as_in_openvino(oracle, xml, weights)

    def test_spare_bytes_beyond_weights_are_a_fault(self, oracle: Oracle) -> None:
        xml, weights = self.network("i32", (3,), 16), bytes(16)
        assert findings_of(xml, weights) == [("error", Code.constant_size, "0")]
        assert isinstance(oracle.values(IRFile(xml, weights, ())), Refused)


class TestLastInput:
    def net_with_open_ports(self, edges: tuple[int, ...]) -> tuple[bytes, bytes]:
        inputs = [port(0, dims=DIMS), port(1, "i64", (2,)), port(2, "i64", (2,)), port(3)]
        pad = layer(2, "Pad", data='pad_mode="constant"', inputs=inputs, outputs=[port(4, dims=(4, 5))])
        layers = [parameter(0, dims=DIMS), const(1, "i64", (2,), 0, 16), pad, result(3, dims=(4, 5))]
        sources = {0: 0, 1: 1, 2: 1}
        ends = [(sources[position], 0, 2, position) for position in edges]
        return net(layers, [*ends, (2, 4, 3, 0)]), struct.pack("2q", 1, 1)

    def test_an_optional_one_needs_no_edge(self, oracle: Oracle) -> None:
        xml, weights = self.net_with_open_ports((0, 1, 2))
        assert findings_of(xml, weights) == [("warning", Code.input_without_edge, "2")]
        assert_runs_as_in_openvino(oracle, xml, weights, np.ones(DIMS, np.float32))

    def test_layer_inputs_follow_edges(self) -> None:
        xml, weights = self.net_with_open_ports((0, 1, 2))
        (pad,) = [node for node in ir_exec.read_model(xml, weights).graph.nodes if node.type == "Pad"]
        assert [port.id for port in pad.layer.inputs] == ["0", "1", "2"]
        assert len(pad.inputs) == len(pad.declared_inputs) == 3

    @pytest.mark.parametrize("edges", [(0, 1), (1, 2), (0, 2)])
    def test_others_do(self, oracle: Oracle, edges: tuple[int, ...]) -> None:
        xml, weights = self.net_with_open_ports(edges)
        assert {*findings_of(xml, weights)} == {("error", Code.input_without_edge, "2")}
        assert isinstance(oracle.values(IRFile(xml, weights, (np.ones(DIMS, np.float32),))), Refused)

    def test_dangling_edge_counts_as_missing_input(self) -> None:
        xml, weights = self.net_with_open_ports((0, 1, 2))
        xml = xml.replace(b"</edges>", b'<edge from-layer="1" from-port="0" to-layer="9" to-port="3"/></edges>')
        assert findings_of(xml, weights) == [("error", Code.dangling_edge, "2")]
