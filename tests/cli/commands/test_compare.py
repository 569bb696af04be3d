"""`ir-exec compare`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result
from lxml import etree

from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.types import Array
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def norm(ours: Array, reference: Array) -> float:
    """A custom metric."""
    return float(np.linalg.norm(ours - reference))


@pytest.fixture
def changed_file(tmp_path: Path) -> Path:
    """The sample with another reduction in its ScatterElementsUpdate."""
    path = tmp_path / "changed.xml"
    path.write_text(GNN.read_text().replace('reduction="sum"', 'reduction="max"'))
    path.with_suffix(".bin").write_bytes(GNN.with_suffix(".bin").read_bytes())
    return path


def test_equal(tmp_path: Path) -> None:
    result = run(GNN, "--with", GNN, *INPUTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith('equal: output "hidden" agrees')
    assert len(result.stdout.splitlines()) == 1
    assert "17 layers: 17 equal" in run(GNN, "--with", GNN, *INPUTS, "--all").stdout


def test_different(changed_file: Path) -> None:
    result = run(GNN, "--with", changed_file, *INPUTS)
    assert result.exit_code == 1
    first, _, *_ = result.stdout.splitlines()
    assert first.startswith('different: output "hidden" (')
    assert 'layer 12 "total" (ScatterElementsUpdate)' in first
    rows = [line.split() for line in result.stdout.splitlines() if line.strip().startswith(("12 ", "13 ", "15 "))]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("12", "total", "wrong"),
        ("13", "Add_15909", "carried"),
        ("15", "MatMul_15910", "carried"),
    ]


def test_every_layer_and_chosen_metrics(changed_file: Path) -> None:
    result = run(GNN, "--with", changed_file, *INPUTS, "--all", "--metric", "max_ulp", "--metric", f"{__name__}:norm")
    assert result.exit_code == 1
    heads = next(line for line in result.stdout.splitlines() if line.startswith("id"))
    assert (heads.count("max ulp"), heads.count("norm")) == (2, 2)
    assert sum(" equal " in line for line in result.stdout.splitlines()) > 10


@pytest.mark.parametrize("output_format", ["json", "csv", "html", "junit"])
def test_formats(output_format: str, changed_file: Path, tmp_path: Path) -> None:
    result = run(GNN, "--with", changed_file, *INPUTS, "--format", output_format)
    assert result.exit_code == 1, result.output
    written = run(GNN, "--with", changed_file, *INPUTS, "--format", output_format, "--output", tmp_path / "out")
    assert written.exit_code == 1
    assert written.stdout.splitlines() == [mentions("hidden", 12, "total")]
    assert (tmp_path / "out").read_text() == result.stdout
    if output_format == "json":
        parsed = json.loads(result.stdout)
        jsonschema.validate(parsed, json.loads((ROOT / "schemas" / "compare.schema.json").read_text()))
        assert parsed["first_fault"]["layer_name"] == "total"
    elif output_format == "csv":
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert [row["layer_name"] for row in rows if row["status"] == "wrong"] == ["total"]
    elif output_format == "junit":
        suite = etree.fromstring(result.stdout.encode())[0]
        failed = [case.get("name") for case in suite if case.find("failure") is not None]
        assert failed == ["comparison", "12 total"]
        assert (suite.get("tests"), suite.get("failures")) == ("18", "2")
    else:
        data = json.loads(etree.HTML(result.stdout).xpath("string(//script[@id='data'])"))
        layers = data["networks"][0]["graph"]["layers"]
        assert [layer["name"] for layer in layers if layer.get("error", {}).get("status") == "wrong"] == ["total"]
        assert 'layer 12 "total" (ScatterElementsUpdate)' in data["sections"][0]["lines"][0]


def test_openvino() -> None:
    result = run(GNN, "--with", "openvino", *INPUTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("equal")


def test_a_trace_as_reference(changed_file: Path, tmp_path: Path) -> None:
    traced = CliRunner().invoke(main, ["trace", str(changed_file), *INPUTS, "--output", str(tmp_path / "t")])
    assert traced.exit_code == 0, traced.output
    result = run(GNN, "--with", tmp_path / "t")
    assert result.exit_code == 1
    assert '"total"' in result.stdout


def test_inputs_are_drawn() -> None:
    arguments = (SAMPLES / "bert.xml", "--with", SAMPLES / "bert.xml", "--shape", "input_ids=1,3")
    result = run(*arguments, "--shape", "attention_mask=1,3", "--seed", "5")
    assert result.exit_code == 0, result.output
    assert "seed 5: input_ids i64[1,3]" in result.stderr


def test_tolerances(tmp_path: Path) -> None:
    with np.load(SAMPLES / "gnn_step.outputs.npz") as outputs:
        values = {name: outputs[name] + np.float32(0.01) for name in outputs.files}
    np.savez(tmp_path / "near.npz", **values)
    assert run(GNN, "--with", tmp_path / "near.npz", *INPUTS).exit_code == 1
    assert run(GNN, "--with", tmp_path / "near.npz", *INPUTS, "--atol", "0.1").exit_code == 0


def test_fewer_bits(tmp_path: Path) -> None:
    result = run(GNN, "--precision", "f16", *INPUTS)
    assert result.exit_code == 0, result.output
    assert mentions("f16") in result.stdout.splitlines()
    result = run(GNN, "--precision", "bf16", *INPUTS, "--rtol", "1e-6", "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["keep"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([GNN], mentions("--with", "--precision", "f16", "bf16")),
        ([GNN, "--with", GNN, "--precision", "f16"], mentions("--with", "--precision")),
        ([GNN, "--with", GNN, "--metric", "nothing"], mentions("nothing", "max_abs")),
        ([GNN, "--with", GNN, "--metric", "no.such:thing"], mentions("no.such:thing")),
        ([GNN, "--with", "no/such.npz"], mentions("no/such.npz")),
        ([GNN, "--with", "no/such.xml"], mentions(Code.unreadable_path)),
        (["no/such.xml", "--with", GNN], mentions(Code.unreadable_path)),
        ([GNN, "--with", "something"], mentions("something")),
        ([GNN, "--with", SAMPLES / "gather_elements.xml"], mentions("IR705", "gather_elements.xml")),
        ([GNN, "--with", GNN, "--inputs", "no/such.npz"], mentions("no/such.npz")),
        ([GNN, "--precision", "f16", "--format", "html"], mentions("--precision", "text", "json")),
    ],
)
def test_what_cannot_be_compared(arguments: list[str | Path], words: mentions) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr.splitlines()
    assert result.stderr.count("error") == 1 or "error[" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("schema", ["compare", "trace", "precision"])
def test_the_schemas_are_current(schema: str) -> None:
    printed = CliRunner().invoke(main, ["schema", schema]).stdout
    path = ROOT / "schemas" / f"{schema}.schema.json"
    assert printed == path.read_text("utf-8"), f"run: ir-exec schema {schema} > schemas/{path.name}"


class TestReferencesThatCannotBeRead:
    """No message about them concerns drawn inputs."""

    def test_a_missing_file(self) -> None:
        result = run(GNN, "--with", "missing.npz", "--shape", "features=5,4", "--shape", "edges=2,6")
        assert result.exit_code == 2
        assert result.stderr == mentions("missing.npz")
        assert "hint" not in result.stderr

    def test_a_trace_of_another_model(self, tmp_path: Path) -> None:
        sample = SAMPLES / "gather_elements.xml"
        CliRunner().invoke(main, ["trace", str(sample), "-o", str(tmp_path / "trace")])
        result = run(GNN, "--with", tmp_path / "trace")
        assert result.exit_code == 2
        assert Code.unknown_input in result.stderr
        assert "'data'" in result.stderr
        assert "hint" not in result.stderr

    def test_no_archive(self, tmp_path: Path) -> None:
        path = tmp_path / "garbage.npz"
        path.write_bytes(b"no archive")
        result = run(GNN, "--with", str(path), "--shape", "features=5,4", "--shape", "edges=2,6")
        assert result.exit_code == 2
        assert result.stderr == mentions(path)
        assert "pickle" not in result.stderr


def test_calls_in_a_row(tmp_path: Path) -> None:
    path = ROOT / "tests" / "networks" / "llama_stateful.xml"
    for name, past, count in (("first", 0, 3), ("then", 3, 1)):
        arrays = {
            "input_ids": np.ones((1, count), np.int64),
            "attention_mask": np.ones((1, past + count), np.int64),
            "position_ids": np.arange(past, past + count)[None],
            "beam_idx": np.zeros(1, np.int32),
        }
        np.savez(tmp_path / f"{name}.npz", **arrays)
    arguments = (path, "--with", path, "--inputs", tmp_path / "first.npz", "--then", tmp_path / "then.npz")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "in 2 calls" in result.stdout.splitlines()[0]
    table = run(*arguments, "--calls", "3", "--all").stdout.splitlines()
    heads = next(line for line in table if line.split()[:1] == ["id"])
    assert "call" in heads.split()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--inputs", "samples/*.npz", "--calls", "2"), mentions("--then", "--calls")),
        (("--precision", "bf16", "--calls", "2"), mentions("--precision")),
        (("--with", "samples/gnn_step.outputs.npz", "--calls", "2"), mentions("samples/gnn_step.outputs.npz")),
        (("--then", "nothing.npz"), mentions("nothing.npz")),
    ],
)
def test_calls_that_cannot_be(more: tuple[str, ...], message: mentions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    reference = () if {"--with", "--precision"} & set(more) else ("--with", "samples/gnn_step.xml")
    result = run("samples/gnn_step.xml", *reference, *more)
    assert result.exit_code == 2
    assert message in result.stderr.splitlines()


@pytest.mark.parametrize("output_format", ["text", "json", "csv", "html", "junit"])
def test_report_file_keeps_verdict_in_terminal(output_format: str, tmp_path: Path) -> None:
    path = tmp_path / "report"
    result = run(GNN, "--with", GNN, "--format", output_format, "-o", path)
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert line == run(GNN, "--with", GNN).stdout.splitlines()[0]
    assert path.stat().st_size > 0
