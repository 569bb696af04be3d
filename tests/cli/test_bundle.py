"""`ir-exec bundle`."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_written_and_run_again(tmp_path: Path) -> None:
    result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", "--report", SAMPLES / "gnn_step.xml")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == f"bundle written to {tmp_path / 'b.zip'}"
    again = run("bundle", "--run", tmp_path / "b.zip")
    assert (again.exit_code, len(again.stdout.splitlines())) == (0, 1)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        about = json.loads(archive.read("bundle.json"))
    jsonschema.validate(about, json.loads((ROOT / "schemas" / "bundle.schema.json").read_text()))


def test_the_schema_is_current() -> None:
    assert json.loads(run("schema", "bundle").stdout) == json.loads(
        (ROOT / "schemas" / "bundle.schema.json").read_text()
    )


def test_the_versions_that_differ_are_told(tmp_path: Path) -> None:
    run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(held["bundle.json"])
    about["versions"] |= {"numpy": "1.0\x1b[31m", "tensorflow": "2"}
    about["command"] = "ask {model}"
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for name, content in held.items():
            archive.writestr(name, json.dumps(about) if name == "bundle.json" else content)
    lines = run("bundle", "--run", tmp_path / "b.zip").stdout.splitlines()
    assert len(lines) == 4
    assert "numpy 1.0\\x1b[31m" in lines[0]
    assert "tensorflow 2" in lines[1]
    assert lines[2].endswith(": ask {model}")


@pytest.mark.parametrize(("word", "code"), [("ScatterElementsUpdate", 0), ("messages", 1)])
def test_whether_the_fault_stays(word: str, code: int, tmp_path: Path) -> None:
    """Operators stay, names do not."""
    script = tmp_path / "search.py"
    script.write_text(f"import sys\nsys.exit({word!r} in open(sys.argv[1]).read())\n")
    until = f"{sys.executable} {script} {{model}}"
    result = run("bundle", GNN, *INPUTS, "--output", tmp_path / "b.zip", "--anonymous", "--until", until)
    assert result.exit_code == code, result.output
    assert bool(result.stderr) == bool(code)
    assert run("bundle", "--run", tmp_path / "b.zip").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "MODEL or --run FILE.zip"),
        ((GNN, "--run", "b.zip"), "MODEL or --run FILE.zip"),
        ((GNN,), "--output"),
        ((GNN, "--output", GNN), f"--output {GNN}"),
        ((GNN, *INPUTS, "--output", "/no/such/b.zip"), "cannot write"),
        ((GNN, *INPUTS, "--output", "{tmp}/b.zip", "--report", "none.txt"), "none.txt cannot be read"),
        ((GNN, *INPUTS, "--output", "{tmp}/b.zip", "--until", "true {model}"), "does not fail"),
        (("--run", "none.zip"), "none.zip cannot be read"),
        (("--run", GNN), "cannot be read: File is not a zip file"),
        (("no/such.xml", "--output", "{tmp}/b.zip"), "IR001"),
    ],
)
def test_what_cannot_be(arguments: tuple[str | Path, ...], words: str, tmp_path: Path) -> None:
    result = run("bundle", *(str(one).replace("{tmp}", str(tmp_path)) for one in arguments))
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not list(tmp_path.iterdir())
