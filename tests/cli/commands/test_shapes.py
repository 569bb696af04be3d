"""`ir-exec shapes`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from click.testing import CliRunner, Result

from ir_exec.cli import main

ROOT = Path(__file__).parents[3]
GNN = ROOT / "samples" / "gnn_step.xml"
BERT = ROOT / "tests" / "networks" / "bert_tiny_fp16.xml"
SCHEMA = ROOT / "schemas" / "shapes.schema.json"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["shapes", *map(str, arguments)])


def test_text() -> None:
    result = run(BERT)
    assert result.exit_code == 0, result.output
    rows = [
        line.split() for line in result.stdout.splitlines() if line.startswith(("input_ids[1]", "token_type_ids[1]"))
    ]
    assert rows[0][:5] == ["input_ids[1]", "?", "at", "most", "64"]
    assert rows[1][:4] == ["token_type_ids[1]", "?", "=", "input_ids[1],"]
    assert "  input_ids[1] = 65: layer " in result.stdout


def test_json() -> None:
    result = run(GNN, "--format", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert report["complete"]
    assert {dim["input"] for dim in report["inputs"]}


def test_what_cannot_be_read() -> None:
    result = run("no/such.xml")
    assert result.exit_code == 2
    assert "no/such.xml" in result.stderr


def test_the_schema_is_current() -> None:
    printed = CliRunner().invoke(main, ["schema", "shapes"]).stdout
    assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema shapes > schemas/shapes.schema.json"
