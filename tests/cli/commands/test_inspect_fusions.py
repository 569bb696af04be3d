"""`ir-exec inspect --fusions`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from tests.fusions.networks import decoder, rms

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas" / "fusions.schema.json").read_text("utf-8"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    rms(epsilon="input").save(tmp_path / "model.xml")
    return str(tmp_path / "model.xml")


def inspect(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["inspect", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_json(path: str) -> None:
    report = json.loads(inspect(path, "--fusions", "cpu", "--format", "json"))
    jsonschema.validate(report, SCHEMA)
    (fusion,) = [fusion for fusion in report["fusions"] if fusion["name"] == "RMS"]
    assert fusion["matched"] == 0
    assert [missed["layer"] for missed in fusion["missed"]] == ["sum"]
    assert report["paged_attention"] is None


def test_json_of_a_pipeline(tmp_path: Path) -> None:
    decoder().save(tmp_path / "model.xml")
    report = json.loads(inspect(str(tmp_path / "model.xml"), "--fusions", "genai", "--format", "json"))
    assert report["paged_attention"] == 1


def test_text_names_the_layer(path: str) -> None:
    text = inspect(path, "--fusions", "gpu")
    (row,) = [line for line in text.splitlines() if "sum" in line.split()]
    assert "RMS" in row.split()


def test_with_openvino(path: str) -> None:
    report = json.loads(inspect(path, "--fusions", "cpu", "--with", "openvino", "--format", "json"))
    assert report["openvino"]["RMS"] == 0


@pytest.mark.parametrize(
    "arguments", [("--with", "openvino"), ("--fusions", "cpu", "--layers"), ("--fusions", "cpu", "--summary")]
)
def test_conflicting_options(path: str, arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(main, ["inspect", path, *arguments]).exit_code == 2


def test_folder_is_refused(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["inspect", str(tmp_path), "--fusions", "cpu"]).exit_code == 2
