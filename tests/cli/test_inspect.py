"""`ir-exec inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.ir import Document, read_document
from tests.helpers.ir_text import layer, net, port

NETWORKS = Path(__file__).parents[1] / "networks"
SCHEMA = Path(__file__).parents[2] / "schemas" / "document.schema.json"
BAD = Path(__file__).parents[1] / "bad"


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def table(result: Result, title: str) -> list[list[str]]:
    lines = result.stdout.splitlines()
    start = lines.index(title)
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start + 3 : end]]


def test_a_network_with_bodies() -> None:
    result = inspect(NETWORKS / "script_if.xml")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "Model2: IR version 11, 33 layers, written by OpenVINO 2026.4"
    assert table(result, "Inputs") == [["x.1", "f32", "[3,8]"]]
    assert table(result, "Outputs") == [["aten::mul/Multiply", "f32", "[3,8]", "Result_68"]]
    operators = {row[0]: row[1:] for row in table(result, "Operators")}
    assert operators["Const"] == ["opset1", "10"]
    assert operators["If"] == ["opset8", "1"]
    assert sum(int(row[1]) for row in operators.values()) == 33
    assert ["f32", "5", "145", "580"] in table(result, "Weights")
    layers = {row[0]: row for row in table(result, "Layers")}
    assert len(layers) == 33
    assert layers["16"] == ["16", "If", "prim::If/If", "15,", "0", "f32[3,8]"]
    assert layers["16/then/2"] == ["16/then/2", "MatMul", "aten::linear/MatMul", "0,", "1", "f32[3,8]"]


def test_inferred_types_go_beyond_the_declared_ones() -> None:
    """Dims that the file leaves open are shown as intervals."""
    result = inspect(NETWORKS / "index_ops.xml")
    assert result.exit_code == 0, result.output
    assert table(result, "Inputs")[0][:3] == ["x", "f32", "[?,?]"]


def test_operators_that_are_missing() -> None:
    result = inspect(BAD / "IR902-extension-operator.xml")
    assert result.exit_code == 0
    assert ["MyOp", "my_extension", "1", "not", "implemented"] in table(result, "Operators")


def test_json_is_the_document() -> None:
    path = NETWORKS / "script_if.xml"
    result = inspect(path, "--format", "json")
    assert result.exit_code == 0, result.output
    assert Document.model_validate_json(result.stdout) == read_document(path)


def test_json_keeps_to_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(inspect(NETWORKS / "script_if.xml", "--format", "json").stdout)
    validator.validate(document)
    for field, wrong in (("version", 12), ("name", 1), ("layers", [{"id": "0"}]), ("statistics", {})):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**document, field: wrong})


def test_the_schema_is_current() -> None:
    printed = CliRunner().invoke(main, ["schema", "document"]).stdout
    assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema document > schemas/document.schema.json"


def test_json_of_a_broken_file() -> None:
    result = inspect(BAD / "IR007-unreadable-dim.xml", "--format", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "IR007" in result.stderr


def test_a_broken_file() -> None:
    path = BAD / "IR107-cycle.xml"
    result = inspect(path)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[IR107 cycle]" in result.stderr
    assert f"`ir-exec check {path}`" in result.stderr


def test_arguments() -> None:
    assert inspect().exit_code == 2
    assert inspect("a.xml", "b.xml").exit_code == 2


def old_network(tail: str) -> bytes:
    """Version 10: an f16 input, a Greater, whose output becomes f32."""
    image = layer(
        0,
        "Parameter",
        name="image",
        data='shape="2,3" element_type="f16"',
        outputs=[port(0, "f16", (2, 3), "tensor")],
    )
    ports = [port(0, "f16", (2, 3)), port(1, "f16", (2, 3))]
    greater = layer(1, "Greater", name="more", inputs=ports, outputs=[port(2, "boolean", (2, 3))])
    last = layer(2, "Result", name="more/sink", inputs=[port(0, "boolean", (2, 3))])
    return net([image, greater, last], [(0, 0, 1, 0), (0, 0, 1, 1), (1, 2, 2, 0)], version=10, tail=tail)


def test_version_10_is_shown_as_it_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "old.xml"
    meta = '<meta_data><MO_version value="2021.4.2-3974"/></meta_data><quantization_parameters/>'
    path.write_bytes(old_network(meta))
    result = inspect(path)
    assert result.exit_code == 0, result.output
    title = result.stdout.splitlines()[0]
    assert title.startswith("net: IR version 10, 3 layers and 2 for inputs and outputs of version 10, written by ")
    assert title.endswith("Model Optimizer 2021.4.2-3974, Post-training Optimization Tool")
    assert table(result, "Inputs") == [["image", "f32", "[2,3]", "tensor"]]
    assert table(result, "Outputs") == [["more", "f32", "[2,3]", "more/sink"]]
    shown = json.loads(inspect(path, "--format", "json").stdout)
    assert (shown["version"], [one["name"] for one in shown["layers"]]) == (10, ["image", "more", "more/sink"])


def test_a_network_without_its_weights(tmp_path: Path) -> None:
    path = tmp_path / "alone.xml"
    path.write_bytes((NETWORKS / "script_if.xml").read_bytes())
    result = inspect(path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].endswith("written by OpenVINO 2026.4; the weights are missing")
    whole = inspect(NETWORKS / "script_if.xml")
    for title in ("Inputs", "Outputs", "Operators", "Weights"):
        assert table(result, title) == table(whole, title)


def test_other_faults_are_still_faults(tmp_path: Path) -> None:
    result = inspect(BAD / "IR204-constant-size.xml")
    assert result.exit_code == 1
    assert "IR204" in result.stderr
