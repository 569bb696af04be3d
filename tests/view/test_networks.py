"""The content of a page about a network: keys, types, findings, source lines, all of it printable and not too long."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import ir_exec
from ir_exec.check import check_model
from ir_exec.cli.commands.schema import MODELS
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.view import PageView, html_of, page_of_reports, view
from ir_exec.view.data import GraphView, LayerView
from ir_exec.view.text import LONGEST_NAME
from tests.debug.comparison.test_by_node import write as write_gemm
from tests.helpers.deep_network import deep_network
from tests.helpers.ir_text import layer, net, parameter, port, result

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
FILES = sorted(
    [*SAMPLES.glob("*.xml"), *(ROOT / "tests" / "networks").glob("*.xml"), *(ROOT / "tests" / "bad").glob("*.xml")]
)


def layers_in(graph: GraphView) -> list[LayerView]:
    return [
        inner_layer
        for layer in graph.layers
        for inner_layer in (layer, *(inner for body in layer.bodies for inner in layers_in(body.graph)))
    ]


@pytest.mark.broad(keep=50)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pages_of_all_files_satisfy_the_schema(path: Path) -> None:
    report = check_model(path)
    try:
        page = view(path)
    except IRError:
        assert report.errors
        page = page_of_reports([report])
    schema = json.loads((ROOT / "schemas" / "view.schema.json").read_text())
    jsonschema.validate(json.loads(page.model_dump_json(exclude_defaults=True)), schema)
    (network,) = page.networks
    keys = [layer.key for layer in layers_in(network.graph)]
    assert len(keys) == len(set(keys))
    assert [diagnostic.code for diagnostic in network.findings] == [
        diagnostic.code for diagnostic in report.diagnostics
    ]
    # Of layers that share an id, the graph holds one.
    placed = [
        diagnostic
        for diagnostic in report.diagnostics
        if diagnostic.location.layer_id and diagnostic.code != Code.duplicate_layer_id
    ]
    if keys:
        assert sum(diagnostic.layer is not None for diagnostic in network.findings) >= len(placed)
    assert {diagnostic.layer for diagnostic in network.findings} <= {*keys, None}


def test_the_schema_of_a_page_is_listed() -> None:
    assert MODELS["view"] is PageView


def test_declared_and_inferred_types() -> None:
    relu = layer(1, "ReLU", inputs=[port(0, dims=(2, 3))], outputs=[port(1, dims=(2, 4))])
    page = view(net([parameter(0, dims=(2, 3)), relu, result(2, dims=(2, 4))], [(0, 0, 1, 0), (1, 1, 2, 0)]))
    first, second, _ = page.networks[0].graph.layers
    assert (first.outputs[0].declared, first.outputs[0].inferred) == ("f32[2,3]", "f32[2,3]")
    assert (second.outputs[0].declared, second.outputs[0].inferred) == ("f32[2,4]", "f32[2,3]")
    assert (second.inputs[0].layer, second.inputs[0].declared) == (0, "f32[2,3]")
    (finding,) = [shown_finding for shown_finding in page.networks[0].findings if shown_finding.severity == "error"]
    assert (finding.layer, finding.code, finding.rule) == ("1", "IR601", "declared-dims")
    assert finding.means


def test_known_and_constant_values() -> None:
    layers = {layer.key: layer for layer in view(SAMPLES / "gnn_step.xml").networks[0].graph.layers}
    assert layers["6"].outputs[0].known == "[1, 0]"
    assert {key for key, layer_view in layers.items() if layer_view.constant} == {"2", "4", "6", "14"}
    assert layers["6"].source is not None
    lines = (SAMPLES / "gnn_step.xml").read_text().split("\n")
    shown = layers["6"].source.split("\n")
    assert shown[0] == lines[(layers["6"].line or 0) - 1].strip()
    assert shown[-1] == "</layer>"


def test_long_and_unseen_texts_are_cut_and_escaped() -> None:
    name = "a\u202eb" + "x" * 100_000
    page = view(net([parameter(0, dims=(1,), name=name), result(1)], [(0, 0, 1, 0)]))
    layer = page.networks[0].graph.layers[0]
    assert layer.name.startswith("a\\u202ebxxx")
    assert layer.name.endswith("... (100,003 characters)")
    assert len(layer.name) < LONGEST_NAME + 50
    assert len(html_of(page)) < 300_000


def test_page_of_a_thousand_layers_is_small() -> None:
    assert len(html_of(view(deep_network(1000, grouped=True))).encode()) < 2_000_000


def test_page_of_several_files_shows_one_at_a_time() -> None:
    reports = [check_model(SAMPLES / name) for name in ("broken.xml", "gnn_step.xml")]
    page = page_of_reports([*reports, check_model(SAMPLES / "nothing.xml")])
    assert page.arrangement == "one"
    assert [network.title for network in page.networks] == ["broken.xml", "gnn_step.xml", "nothing.xml"]
    assert [finding.code for finding in page.networks[2].findings] == ["IR001"]
    assert page.networks[2].graph.layers == ()


def test_model_in_memory_has_page_of_its_file() -> None:
    ours, theirs = view(ir_exec.read_model(SAMPLES / "gnn_step.xml")), view(SAMPLES / "gnn_step.xml")
    assert ours.networks[0].findings == theirs.networks[0].findings
    for first, other in zip(ours.networks[0].graph.layers, theirs.networks[0].graph.layers, strict=True):
        assert first.outputs == other.outputs
        assert first.source is None


def test_layers_of_an_onnx_file_name_their_nodes(tmp_path: Path) -> None:
    """A node that became several layers is named by each of them."""
    path = write_gemm(tmp_path / "net.onnx")
    layers = layers_in(view(path).networks[0].graph)
    nodes = {layer.name: layer.attributes.get("ONNX node") for layer in layers}
    assert nodes["norm"] == nodes["norm/MVN"] == "norm (LayerNormalization)"
    assert nodes["x"] is None
    assert not any("ONNX node" in layer.attributes for layer in layers_in(view(FILES[0]).networks[0].graph))
