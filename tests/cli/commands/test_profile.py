"""`ir-exec profile`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import build
from ir_exec.cli import main
from ir_exec.runtime import weight_modes
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
GNN = ROOT / "samples" / "gnn_step.xml"
INPUTS = ("--inputs", str(ROOT / "samples" / "gnn_step.inputs.npz"), "--repeat", "2")
SCHEMA = ROOT / "schemas" / "profile.schema.json"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["profile", *map(str, arguments)])


def test_text() -> None:
    result = run(GNN, *INPUTS)
    assert result.exit_code == 0, result.output
    for title in ("Layers\n", "Types\n"):
        assert title in result.stdout
    (row,) = [line.split() for line in result.stdout.splitlines() if line.startswith("total ")]
    assert row[1:3] == ["ScatterElementsUpdate", "f32[5,4]"]


def test_openvino_beside_it() -> None:
    result = run(GNN, *INPUTS, "--with", "openvino")
    assert result.exit_code == 0, result.output
    assert "\nOpenVINO\n" in result.stdout


def test_json() -> None:
    result = run(GNN, *INPUTS, "--format", "json", "--with", "openvino")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert "total" in {layer["layer_name"] for layer in report["layers"]}
    assert report["seed"] is None


def test_csv_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "profile.csv"
    result = run(GNN, *INPUTS, "--format", "csv", "--output", path)
    assert result.exit_code == 0, result.output
    assert not result.stdout
    with open(path, newline="") as file:
        assert "total" in {row["path"] for row in csv.DictReader(file)}


def test_trace_events(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    result = run(GNN, *INPUTS, "--trace-events", path)
    assert result.exit_code == 0, result.output
    assert "ui.perfetto.dev" in result.stdout
    assert json.loads(path.read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--with", "onnx"), 2, mentions("onnx", "openvino")),
        (("--device", "NONE", "--with", "openvino"), 1, mentions("OpenVINO", "NONE")),
        (("--trace-events", "no/such/folder/x.json"), 2, mentions("no/such/folder/x.json")),
        (("--repeat", "0"), 2, mentions("--repeat")),
    ],
)
def test_what_cannot_be_done(arguments: tuple[str, ...], code: int, message: mentions) -> None:
    result = run(GNN, *INPUTS, *arguments)
    assert result.exit_code == code, result.output
    assert message in result.stderr.splitlines()


def test_the_schema_is_current() -> None:
    printed = CliRunner().invoke(main, ["schema", "profile"]).stdout
    assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema profile > schemas/profile.schema.json"


@pytest.mark.parametrize("engine", [(), ("--engine", "onnxruntime")])
def test_plan_as_json(engine: tuple[str, ...]) -> None:
    if engine:
        pytest.importorskip("onnxruntime")
    result = run("--plan", ROOT / "tests" / "networks" / "conv_zoo.xml", "--format", "json", *engine)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "plan.schema.json").read_text()))
    passes = {entry["name"]: entry for entry in report["passes"]}
    assert passes["fold_constants"]["layers"] > 0
    (near,) = passes["fuse_activation"]["skipped"]
    assert near["layer"] == "aten::glu/Sigmoid"


@pytest.mark.parametrize("form", [(), ("--format", "json"), ("--all",), ("--engine", "onnxruntime")])
@pytest.mark.parametrize("layers", [0, 1])
def test_plan_of_a_model_without_steps(form: tuple[str, ...], layers: int, tmp_path: Path) -> None:
    """Its layers are constant, or it has none."""
    path = tmp_path / "model.xml"
    constant, x = build.constant(np.ones(2, np.float32), name="c"), build.parameter([2], name="x")
    build.model([build.result(constant if layers else x, name="y")]).save(path)
    result = run("--plan", path, *form)
    assert result.exit_code == 0, result.output
    if form == ("--format", "json"):
        assert json.loads(result.stdout)["steps"] == 0


def test_plan_text_shows_near_fusions() -> None:
    result = run("--plan", ROOT / "tests" / "networks" / "conv_zoo.xml")
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if "fuse_activation" in line]
    assert any("aten::glu/Sigmoid" in line for line in rows)


@pytest.mark.parametrize(("mode", "size"), [("auto", 0), ("keep", 0), ("expand", 64 * 1024 * 4)])
def test_weights_stay_compressed(mode: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_modes, "EXPANDED_IN_ONE_RUN", 1000)
    x = build.parameter([1, 64], "f32", name="x")
    build.model(build.matmul(x, build.convert(np.ones((64, 1024), np.float16), "f32"))).save(tmp_path / "f16.xml")
    result = run(tmp_path / "f16.xml", "--repeat", "1", "--format", "json", "--weight-mode", mode)
    assert json.loads(result.stdout)["constants"] == size
    plan = run(tmp_path / "f16.xml", "--plan", "--format", "json", "--weight-mode", mode)
    passes = [step["made_by"] for step in json.loads(plan.stdout)["layers"]]
    assert ("use_compressed_weights" in passes) == (size == 0)
