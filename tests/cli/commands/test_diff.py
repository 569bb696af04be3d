"""`ir-exec diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions

SAMPLES = Path(__file__).parents[3] / "samples"
SCHEMAS = Path(__file__).parents[3] / "schemas"
GNN = SAMPLES / "gnn_step.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


@pytest.fixture
def changed_file(tmp_path: Path) -> Path:
    path = tmp_path / "changed.xml"
    path.write_text(GNN.read_text().replace('auto_broadcast="numpy"', 'auto_broadcast="none"', 1))
    path.with_suffix(".bin").write_bytes(GNN.with_suffix(".bin").read_bytes())
    return path


def test_equal() -> None:
    result = run(GNN, GNN)
    assert result.exit_code == 0
    assert result.stdout == "equal: layers: 0 added, 0 removed, 0 changed; 18 unchanged\n"


def test_different(changed_file: Path) -> None:
    result = run(GNN, changed_file)
    assert result.exit_code == 1
    assert "    attribute auto_broadcast: numpy -> none\n" in result.stdout


def test_formats(changed_file: Path, tmp_path: Path) -> None:
    result = run(GNN, changed_file, "--format", "json")
    assert json.loads(result.stdout)["equal"] is False
    out = tmp_path / "diff.html"
    assert run(GNN, changed_file, "--format", "html", "--output", out).exit_code == 1
    assert "attribute auto_broadcast: numpy -> none" in out.read_text()


def test_lines_for_git(changed_file: Path) -> None:
    before, after = run(GNN, "--textconv"), run(changed_file, "--textconv")
    assert (before.exit_code, after.exit_code) == (0, 0)
    pairs = zip(before.stdout.splitlines(), after.stdout.splitlines(), strict=True)
    assert [pair for pair in pairs if pair[0] != pair[1]] == [
        ("    auto_broadcast = numpy", "    auto_broadcast = none")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([GNN], mentions("--textconv")),
        ([GNN, GNN, "--textconv"], mentions("--textconv")),
        ([GNN, "no/such.xml"], mentions("IR001")),
        ([GNN, GNN, "--weights-b", "no/such.bin"], mentions("IR201")),
        ([GNN, SAMPLES / "gnn_step.bin"], mentions("IR004")),
    ],
)
def test_trouble(arguments: list[str | Path], words: mentions) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr.splitlines()
    assert "Traceback" not in result.stderr


def test_the_schema_is_current() -> None:
    printed = CliRunner().invoke(main, ["schema", "diff"]).stdout
    assert json.loads(printed) == json.loads((SCHEMAS / "diff.schema.json").read_text())
