"""Differences of two networks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from lxml import etree
from onnx import helper, numpy_helper

import ir_exec
from ir_exec import IRError, build, read_model
from ir_exec.cli import main
from ir_exec.debug import NetworkDiff, diff
from ir_exec.debug.comparison.pairing import structure
from ir_exec.debug.diffs.listing import listed
from tests.conformance.networks import arrays
from tests.debug.comparison.planted import faults
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
SCHEMA = Path(__file__).parents[3] / "schemas" / "diff.schema.json"
NAMES = ["bert_tiny_fp16", "conv_zoo", "gnn_gcn_gat", "llama_stateful", "lstm", "script_if", "script_loop_seq"]


def in_another_case(xml: bytes) -> bytes:
    other = re.sub(rb'(<layer [^>]*type=")(\w+)', lambda match: match[1] + match[2].swapcase(), xml)
    assert other != xml
    return other


def exported_again(xml: bytes, seed: int) -> bytes:
    """The network with other ids, another order, other generated names, and defaults left out."""
    root = etree.fromstring(xml)
    random = Random(seed)
    for layers in root.iter("layers"):
        ids = [layer.get("id") for layer in layers]
        fresh = dict(zip(ids, random.sample(range(10_000), len(ids)), strict=True))
        owner = layers.getparent()
        assert owner is not None
        for layer in layers:
            layer.set("id", str(fresh[layer.get("id")]))
            name = re.sub(r"^([A-Za-z][A-Za-z0-9]*)_\d+$", rf"\1_{random.randrange(10_000)}", layer.get("name", ""))
            layer.set("name", name)
        for edge in owner.find("edges") if owner.find("edges") is not None else ():
            for end in ("from-layer", "to-layer"):
                edge.set(end, str(fresh[edge.get(end)]))
        holder = owner.getparent()
        if holder is not None:
            mark = "then_" if owner.tag == "then_body" else "else_" if owner.tag == "else_body" else ""
            for tied in holder.iterfind(f"{mark}port_map/*"):
                tied.set("internal_layer_id", str(fresh[tied.get("internal_layer_id")]))
            for edge in holder.iterfind("back_edges/edge"):
                for end in ("from-layer", "to-layer"):
                    edge.set(end, str(fresh[edge.get(end)]))
        inner = [layer for layer in layers if layer.get("type") not in ("Parameter", "Result", "Assign")]
        random.shuffle(inner)
        ends = [layer for layer in layers if layer not in inner]
        layers[:] = [*ends, *inner]
    for data in root.iter("data"):
        if data.get("auto_broadcast") == "numpy":
            del data.attrib["auto_broadcast"]
    return etree.tostring(root)


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_another_export_of_the_same_network(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    weights = path.with_suffix(".bin").read_bytes()
    for seed in range(3):
        again = exported_again(path.read_bytes(), seed)
        changes = diff(path, again, weights=(None, weights))
        assert changes.equal, str(changes)
        assert changes.unchanged == len(list(read_model(path).graph.all_nodes(unreachable=True)))
        assert not changes.consequences


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", ["conv_zoo", "gnn_gcn_gat", "lstm", "index_ops", "script_if"])
def test_only_changed_layers_are_named(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    inputs = arrays(path, "inputs")
    assert inputs is not None
    for fault in faults(xml, weights, inputs, count=8, seed=7):
        again = exported_again(fault.xml, 1)
        changes = diff(path, again, weights=(None, fault.weights))
        assert not changes.equal
        # The fault of a constant that layers share is in the constant itself.
        sources = {
            value.node.id
            for node in read_model(path).graph.all_nodes()
            if node.id in fault.ids
            for value in node.values_in
        }
        assert {layer.layer_id for layer in changes.changed} <= fault.ids | sources, (fault.ids, str(changes))
        assert len(changes.changed) <= 2, str(changes)
        assert len(changes.added) == len(changes.removed) <= 1, str(changes)


def network(
    *, bias: bool = False, scale: float = 2.0, axis: int = 1, act: str = "ReLU", name: str = "data"
) -> tuple[bytes, bytes]:
    net = NetworkText()
    x = net.parameter("2,3")
    y = net.op("Multiply", x, net.const(np.array([scale], np.float32)))
    if bias:
        y = net.op("Add", y, net.const(np.array([1, 2, 3], np.float32)))
    y = net.op(act, y)
    net.result(net.op("SoftMax", y, axis=axis))
    file = net.file()
    xml = re.sub(rb'name="([a-z]+)(\d+)"', rb'name="\1_\2"', file.xml)
    return xml.replace(b'name="parameter_0"', f'name="{name}"'.encode()), bytes(file.weights)


def changes(a: tuple[bytes, bytes], b: tuple[bytes, bytes]) -> NetworkDiff:
    return diff(a[0], b[0], weights=(a[1], b[1]))


def test_an_attribute() -> None:
    difference = changes(network(), network(axis=0))
    (layer,) = difference.changed
    assert layer.type == "SoftMax"
    assert [(change.what, change.before, change.after) for change in layer.changes] == [(mentions("axis"), "1", "0")]
    assert str(difference).splitlines()[0] == "different: layers: 0 added, 0 removed, 1 changed; 5 unchanged"


def test_constant_change_reports_distance() -> None:
    (layer,) = changes(network(), network(scale=2.5)).changed
    assert layer.type == "Const"
    assert layer.constant is not None
    assert (layer.constant.max_abs, layer.constant.beyond_count) == (0.5, 1)


def test_a_layer_between_two_others() -> None:
    difference = changes(network(), network(bias=True))
    assert sorted(layer.type for layer in difference.added) == ["Add", "Const"]
    assert not difference.removed
    (layer,) = difference.changed
    assert [(change.what, change.before, change.after) for change in layer.changes] == [
        ("input 0", "multiply_2", "add_4")
    ]
    back = changes(network(bias=True), network())
    assert sorted(layer.type for layer in back.removed) == ["Add", "Const"]


def test_another_operator_in_the_same_place() -> None:
    difference = changes(network(), network(act="Tanh"))
    (layer,) = difference.changed
    assert ("type", "ReLU", "Tanh") in [(change.what, change.before, change.after) for change in layer.changes]
    assert not difference.added


def test_a_name() -> None:
    (layer,) = changes(network(), network(name="image")).changed
    assert [(change.what, change.before, change.after) for change in layer.changes] == [("name", "data", "image")]
    assert changes(network(), network()).equal


def quantize_weight(weight: np.ndarray, bits: int) -> tuple[bytes, bytes]:
    net = NetworkText()
    x = net.parameter("1,4")
    scale = float(np.abs(weight).max()) / (2 ** (bits - 1) - 1)
    stored = net.const(np.round(weight / scale).astype(np.int8))
    restored = net.op("Convert", stored, destination_type="f32")
    restored = net.op("Multiply", restored, net.const(np.array(scale, np.float32)))
    net.result(net.op("MatMul", x, restored))
    file = net.file()
    return file.xml, bytes(file.weights)


def test_weights_in_fewer_bits() -> None:
    weight = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    difference = changes(quantize_weight(weight, 8), quantize_weight(weight, 4))
    layer = next(layer for layer in difference.changed if layer.type == "MatMul")
    (change,) = layer.changes
    error = re.search(r"max abs ([\d.]+), SQNR [\d.]+ dB", change.what)
    assert error is not None
    assert 0 < float(error[1]) < np.abs(weight).max() / 7
    net = NetworkText()
    x = net.parameter("1,4")
    net.result(net.op("MatMul", x, net.const(weight)))
    file = net.file()
    difference = changes((file.xml, bytes(file.weights)), quantize_weight(weight, 8))
    assert not difference.equal
    assert not (*difference.added, *difference.removed)
    (quantized,) = difference.quantized
    assert (quantized.path, quantized.partner, quantized.side, quantized.format, quantized.partner_format) == (
        "const1",
        "const1",
        "b",
        "int8_sym",
        "f32",
    )
    assert (quantized.bytes, quantized.partner_bytes, quantized.unexplained, quantized.is_fault) == (16, 48, 0, False)
    assert quantized.error.sqnr_db is not None
    assert quantized.error.sqnr_db > 40


def test_consequent_dims_are_listed_separately() -> None:
    path = NETWORKS.parents[1] / "samples" / "bert.xml"
    weights = path.with_suffix(".bin").read_bytes()
    model = read_model(path)
    model.reshape({port.name: [3, 17] for port in model.inputs})
    root = etree.parse(path).getroot()
    layers = {layer.get("id"): layer for layer in root.iterfind("layers/layer")}
    for node in model.graph.nodes:
        for value, port in zip(node.outputs, layers[node.id].iterfind("output/port"), strict=True):
            dims = model.types[value.number].shape.dims or ()
            for dim in port.findall("dim"):
                port.remove(dim)
            for dim in dims:
                etree.SubElement(port, "dim").text = str(dim.lo if dim.is_static else -1)
        if node.type == "Parameter":
            layers[node.id].find("data").set("shape", "3,17")  # type: ignore[union-attr]  # Parameters have attributes
    changes = diff(path, etree.tostring(root), weights=(None, weights))
    assert {layer.type for layer in changes.changed} == {"Parameter"}
    assert len(changes.consequences) > 10
    assert sum(line.startswith("~") for _, line in changes.lines()) == len(model.inputs)
    assert sum(line.startswith("~") for _, line in changes.lines(every=True)) > 10


def test_without_the_bin(tmp_path: Path) -> None:
    a, b = network(), network(scale=3.0, axis=0)
    (tmp_path / "a.xml").write_bytes(a[0])
    changes = diff(tmp_path / "a.xml", b[0], weights=(None, b[1]))
    assert [layer.type for layer in changes.changed] == ["SoftMax"]
    assert changes.constants_not_compared == 1
    assert changes.summary == mentions(1)
    assert any(".bin" in line for line in listed(tmp_path / "a.xml"))


def test_rt_info_is_compared_on_request() -> None:
    xml, weights = network()
    other = xml.replace(
        b'type="ReLU" version="opset1">',
        b'type="ReLU" version="opset1"><rt_info><attribute name="fused_names" value="x,y"/></rt_info>',
    )
    assert other != xml
    assert diff(xml, other, weights=(weights, weights)).equal
    changes = diff(xml, other, weights=(weights, weights), rt_info=True)
    (layer,) = changes.changed
    assert layer.changes[0].what == mentions("rt_info", "fused_names")
    other = xml.replace(b"</net>", b'<rt_info><conversion value="f16"/></rt_info></net>')
    assert diff(xml, other, weights=(weights, weights)).equal
    assert diff(xml, other, weights=(weights, weights), rt_info=True).order == (mentions("rt_info"),)


def test_lines_without_ids() -> None:
    path = NETWORKS / "script_if.xml"
    lines = list(listed(path))
    assert lines == list(listed(read_model(path)))
    assert any(line.strip().startswith("values = ") for line in lines)
    assert sum(" = opset" in line for line in lines) == len(list(read_model(path).graph.all_nodes(unreachable=True)))


def test_the_json_fits_its_schema() -> None:
    parsed = json.loads(changes(network(), network(scale=float("inf"), axis=0, bias=True)).model_dump_json())
    jsonschema.validate(parsed, json.loads(SCHEMA.read_text()))


def test_files_that_cannot_be_read() -> None:
    with pytest.raises(IRError):
        diff(b"<net", network()[0])


def test_the_order_of_inputs() -> None:
    def swap_names(first: str, second: str) -> bytes:
        net = NetworkText()
        x, y = net.parameter("2"), net.parameter("2")
        net.result(net.op("Subtract", *((x, y) if first == "a" else (y, x))))
        xml = net.file().xml.replace(b'name="parameter0"', f'name="{first}"'.encode())
        return xml.replace(b'name="parameter1"', f'name="{second}"'.encode())

    assert diff(swap_names("a", "b"), swap_names("a", "b")).equal
    changes = diff(swap_names("a", "b"), swap_names("b", "a"))
    assert changes.order == (mentions("inputs"),)
    assert not changes.equal
    assert not changes.changed


@pytest.mark.parametrize("name", NAMES)
def test_types_in_another_case(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    weights = path.with_suffix(".bin")
    changes = diff(path, in_another_case(path.read_bytes()), weights=(None, weights))
    assert changes.equal


def test_extensions_in_another_case() -> None:
    net = NetworkText()
    net.result(net.op("ReLU", net.op("Shine", net.parameter("3"), opset=1)))
    xml = net.file().xml.replace(b'type="Shine" version="opset1"', b'type="Shine" version="extension"')
    assert diff(read_model(xml), read_model(in_another_case(xml))).equal


@pytest.mark.parametrize("fold", [True, False])
def test_onnx_and_its_ir_are_equal(fold: bool, tmp_path: Path) -> None:
    """Scalars and bounded dims, which ports of IR do not store."""
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["m"]),
        helper.make_node("NonZero", ["m"], ["n"]),
        helper.make_node("ReduceMax", ["m"], ["r"], keepdims=0),
        helper.make_node("Add", ["r", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [3, "n"])],
        [helper.make_tensor_value_info("y", 1, []), helper.make_tensor_value_info("n", 7, None)],
        [numpy_helper.from_array(np.array(2, np.float32), "s")],
    )
    file = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    (tmp_path / "f.onnx").write_bytes(file.SerializeToString())
    options = [] if fold else ["--no-fold"]
    converted = CliRunner().invoke(main, ["convert", str(tmp_path / "f.onnx"), "-o", str(tmp_path / "f.xml"), *options])
    assert converted.exit_code == 0, converted.output
    report = diff(tmp_path / "f.onnx", tmp_path / "f.xml")
    assert not [change for layer in report.changed for change in layer.changes if change.what.startswith("output")]
    assert report.equal or fold


def test_another_element_type_and_static_dims_are_changes() -> None:
    def network(element_type: str, shape: list[int | None]) -> ir_exec.Model:
        x = build.parameter([2, None], "f32", name="x")
        return build.model([build.broadcast(build.constant(0, element_type, name="c"), shape_like(x, shape))], [x])

    def shape_like(x: build.Value, shape: list[int | None]) -> build.Value:
        return build.shape_of(x) if None in shape else build.constant(np.array(shape, np.int64))

    assert diff(network("f32", [2, None]), network("f32", [2, None])).equal
    assert not diff(network("f32", [2, None]), network("i32", [2, None])).equal
    assert not diff(network("f32", [2, 3]), network("f32", [2, 4])).equal


def test_models_with_equal_names_are_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(content: bytes) -> None:
        raise AssertionError(f"{len(content)} bytes are hashed")

    monkeypatch.setattr(structure, "sha256", refuse)
    for name, value in (("a", 1.0), ("b", 2.0)):
        x = build.parameter([4], "f32", name="x")
        weight = build.constant(np.full(4, value, np.float32), name="weight")
        build.model([build.relu(build.add(x, weight, name="sum"), name=f"{name}_relu")], [x]).save(
            tmp_path / f"{name}.xml"
        )
    differences = diff(tmp_path / "a.xml", tmp_path / "b.xml")
    assert [(layer.path, layer.path_b) for layer in differences.changed] == [
        ("weight", "weight"),
        ("a_relu", "b_relu"),
    ]
    assert differences.changed[0].constant is not None
