"""`ir-exec conformance`: the operator tables on a device."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.debug.device.tables import running
from tests.debug.device.faulty import FaultyDevice
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def faulty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device on which every Floor is wrong, but for tests of real devices."""
    if request.node.name != "test_missing_device_is_reported":
        monkeypatch.setattr(running, "device_of", lambda *a, **k: FaultyDevice(wrong=["Floor"]))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["conformance", *map(str, arguments)])


def test_text(tmp_path: Path) -> None:
    result = run("--types", "Floor", "--types", "Ceiling", "--save", tmp_path)
    assert result.exit_code == 1
    assert mentions(2, 1) in result.stdout.splitlines()
    assert f"saved: {tmp_path}/Floor-1.xml" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "Floor-1.bin",
        "Floor-1.inputs.npz",
        "Floor-1.outputs.npz",
        "Floor-1.xml",
    ]
    assert run("--types", "Ceiling").exit_code == 0


def test_every_failure(tmp_path: Path) -> None:
    few, all = run("--types", "Floor"), run("--types", "Floor", "--all")
    assert few.stdout.count("  wrong: ") == 1
    assert all.stdout.count("  wrong: ") > 1
    out = tmp_path / "report.txt"
    assert run("--types", "Floor", "-o", out).exit_code == 1
    assert out.read_text("utf-8").count("  wrong: ") == 1


def test_json_and_baseline(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert run("--types", "Floor", "--format", "json", "-o", out).exit_code == 1
    parsed = json.loads(out.read_text("utf-8"))
    jsonschema.validate(parsed, json.loads((ROOT / "schemas" / "conformance.schema.json").read_text()))
    assert [operator["type"] for operator in parsed["operators"]] == ["Floor"]
    assert run("--types", "Floor", "--baseline", out).exit_code == 0
    assert run("--types", "Floor", "--baseline", tmp_path / "none.json").exit_code == 2


def test_junit_and_html() -> None:
    suite = ElementTree.fromstring(run("--types", "Floor", "--format", "junit").stdout)[0]
    assert int(suite.get("failures", "0")) == sum(case.find("failure") is not None for case in suite) > 0
    assert "<h1>Operators on faulty (TEST)</h1>" in run("--types", "Floor", "--format", "html").stdout


def test_missing_device_is_reported() -> None:
    result = run("--device", "NPU")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "IR705" in result.stderr


def test_unknown_type_is_reported() -> None:
    result = run("--types", "Gathr")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Gathr" in result.stderr
