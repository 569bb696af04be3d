"""`ir-exec inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.ir import Document, read_document

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
