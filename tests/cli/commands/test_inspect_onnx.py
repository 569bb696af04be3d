"""`ir-exec inspect` of ONNX files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import numpy_helper

from ir_exec.cli import main
from ir_exec.cli.output.onnx_facts import OnnxFacts
from ir_exec.onnx.reading.files import read_proto
from ir_exec.onnx.reading.listing import Listing, type_text
from tests.onnx.files import external, model, write_model

SCHEMA = Path(__file__).parents[3] / "schemas" / "summary.schema.json"

GRAPH = """g (float[N,2,4,4] x, bool c) => (float[N,3,4,4] y) {
    [conv] h = Conv <dilations = [1, 1]> (x, w, b)
    [choice] y = If (c) <
        then_branch = t () => (float[N,3,4,4] p) { [left] p = Abs(h) },
        else_branch = e () => (float[N,3,4,4] q) { [right] q = Neg(h) }
    >
}"""


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def proto() -> onnx.ModelProto:
    graph = model(GRAPH)
    graph.producer_name, graph.producer_version = "tests", "1.0"
    graph.metadata_props.add(key="a", value="b")
    graph.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2, 1, 1), np.float32), "w"))
    graph.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "b"))
    return graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_model(tmp_path, proto())


def rows(result: Result, title: str) -> list[list[str]]:
    """The rows of the first table of this title."""
    lines = result.stdout.splitlines()
    start = lines.index(title)
    end = next((at for at in range(start, len(lines)) if not lines[at]), len(lines))
    return [line.split() for line in lines[start + 3 : end]]


def test_summary_equals_the_file(path: Path) -> None:
    result = inspect(path)
    assert result.exit_code == 0, result.output
    assert rows(result, "Inputs") == [["x", "f32[N,2,4,4]"], ["c", "boolean[]"]]
    assert rows(result, "Outputs") == [["y", "f32[N,3,4,4]"]]
    assert rows(result, "Operators") == [["Abs", "1"], ["Conv", "1"], ["If", "1"], ["Neg", "1"]]
    assert rows(result, "Initializers") == [["f32", "2", "36"]]
    assert "tests 1.0" in result.stdout.splitlines()[0]


def test_the_summary_in_json(path: Path) -> None:
    result = inspect(path, "--format", "json", "--summary")
    summary = json.loads(result.stdout)
    jsonschema.validate(summary, json.loads(SCHEMA.read_text("utf-8")))
    facts = OnnxFacts.model_validate(summary["onnx"])
    assert (facts.ir_version, facts.opsets, facts.producer, facts.metadata) == (9, {"ai.onnx": 17}, "tests 1.0", 1)
    assert [
        (initializer.name, initializer.type, initializer.bytes, initializer.external)
        for initializer in facts.initializers
    ] == [
        ("w", "f32[3,2,1,1]", 24, None),
        ("b", "f32[3]", 12, None),
    ]


def test_a_node_with_its_layers(path: Path) -> None:
    for name in ("conv", "h"):
        result = inspect(path, "--layer", name)
        assert result.exit_code == 0, result.output
        assert rows(result, "Attributes") == [["dilations", "1,1"]]
        assert rows(result, "Outputs") == [["h", "f32[?,3,4,4]"]]
        assert [row[1:3] for row in rows(result, "IR layers")] == [
            ["Convolution", "conv/WithoutBiases"],
            ["Const", "conv/Const"],
            ["Reshape", "conv/Reshape"],
            ["Add", "conv"],
        ]


def test_layers_with_their_node(path: Path) -> None:
    result = inspect(path, "--layer", "conv/WithoutBiases", "--layer", "left", "--format", "json")
    layers = json.loads(result.stdout)
    assert [(layer["type"], layer["node"]["name"]) for layer in layers] == [("Convolution", "conv"), ("Abs", "left")]
    assert layers[1]["node"]["body"] == ["choice"]
    assert len(layers[0]["node"]["layers"]) == 4
    result = inspect(path, "--layer", "conv", "--format", "json")
    assert [layer["id"] for layer in json.loads(result.stdout)] == layers[0]["node"]["layers"]


def test_all_nodes_and_layers(path: Path) -> None:
    result = inspect(path, "--layers")
    assert [row[0] for row in rows(result, "Nodes")] == ["conv", "choice", "choice/left", "choice/right"]
    assert "conv/WithoutBiases" in result.stdout


def test_missing_names_are_reported(path: Path) -> None:
    result = inspect(path, "--layer", "con")
    assert result.exit_code == 2
    assert "conv" in result.output


def test_layers_without_ir_equivalent_are_shown(tmp_path: Path) -> None:
    unknown = model("g (float[2] x) => (float[2] y) { y = own.Mine(x) }", further='"own" : 3')
    result = inspect(write_model(tmp_path, unknown))
    assert result.exit_code == 1
    assert rows(result, "Operators") == [["own.Mine", "1"]]


def test_external_data_is_named_and_not_read(tmp_path: Path) -> None:
    network = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    network.graph.initializer.append(external(np.ones(2, np.float32), "w", location="far.bin"))
    (only,) = Listing(network, "model.onnx").initializers
    assert (only.type, only.bytes, only.external) == ("f32[2]", 8, "far.bin")


def test_large_tensors_stay_on_the_disk(tmp_path: Path) -> None:
    network = model("g (float[1,2000000] x) => (float[1,2000000] y) { y = Add(x, w) }")
    network.graph.initializer.append(numpy_helper.from_array(np.ones((1, 2_000_000), np.float32), "w"))
    path = write_model(tmp_path, network)
    loaded, _ = read_proto(path)
    assert loaded.ByteSize() < 1000
    (only,) = Listing(loaded, str(path)).initializers
    assert (only.bytes, only.external) == (8_000_000, None)


def test_types_of_lists_and_optionals() -> None:
    network = model(
        "g (seq(float[N]) x, optional(int64[2]) z) => (float[N] y) { y = ConcatFromSequence <axis = 0> (x) }"
    )
    assert [type_text(port.type) for port in network.graph.input] == ["sequence(f32[N])", "optional(i64[2])"]
