"""`ir-exec view`."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions

SAMPLES = Path(__file__).parents[3] / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", SAMPLES / "gnn_step.inputs.npz")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["view", *map(str, arguments)])


def data_of(path: Path) -> Any:
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def test_a_page_beside_the_folder_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(GNN)
    assert result.exit_code == 0
    assert re.search(r"\d+ KiB.* gnn_step\.html\n$", result.stdout)
    assert data_of(tmp_path / "gnn_step.html")["title"] == "gnn_step.xml"


@pytest.mark.parametrize("how", [INPUTS, ("--draw",), ("--shape", "features[5,4],edges[2,3]")])
def test_values_of_a_run(how: tuple[str | Path, ...], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run(GNN, *how, "-o", out).exit_code == 0
    data = data_of(out)
    if data["colour"] == "values" and "sections" not in data:
        assert all(
            "values" in output for node in data["networks"][0]["graph"]["layers"] for output in node.get("outputs", ())
        )
    else:
        assert data["sections"][0]["heading"]


def test_reports_of_other_commands(tmp_path: Path) -> None:
    for command in (("compare", GNN, "--with", GNN, *INPUTS), ("profile", GNN, *INPUTS, "--repeat", "1")):
        name = command[0]
        report, out = tmp_path / f"{name}.json", tmp_path / f"{name}.html"
        arguments = [*map(str, command), "--format", "json", "--output", str(report)]
        assert CliRunner().invoke(main, arguments).exit_code == 0
        assert run(GNN, f"--{name}", report, "-o", out).exit_code == 0
        field = {"compare": "error", "profile": "time"}[str(name)]
        assert sum(field in node for node in data_of(out)["networks"][0]["graph"]["layers"]) > 5


def test_other_networks(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run(GNN, "--diff", GNN, "--beside", SAMPLES / "cache_update.xml", "-o", out).exit_code == 0
    data = data_of(out)
    assert [network["title"] for network in data["networks"]] == ["gnn_step.xml", "cache_update.xml"]
    assert data["sections"][0]["lines"][0].startswith("equal: ")


def test_it_opens_the_browser_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    out = tmp_path / "page.html"
    run(GNN, "-o", out)
    assert opened == []
    run(GNN, "-o", out, "--open")
    assert opened == [out.as_uri()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.xml",), mentions("nothing.xml")),
        ((GNN, "--compare", "nothing.json"), mentions("nothing.json")),
        ((GNN, "--diff", "nothing.xml"), mentions("nothing.xml")),
        ((GNN, "--beside", "nothing.onnx"), mentions("nothing.onnx")),
        ((GNN, "-o", "no/such/folder/page.html"), mentions("no/such/folder/page.html")),
    ],
)
def test_what_cannot_be_read_or_written(arguments: tuple[str | Path, ...], words: mentions) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr.splitlines()
    assert "Traceback" not in result.stderr


def test_check_and_profile_write_pages_too(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    arguments = ["check", str(SAMPLES / "broken.xml"), str(GNN), "--format", "html", "--output", str(out)]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    findings = data_of(out)["networks"][0]["findings"]
    assert {"error"} <= {finding["severity"] for finding in findings}
    arguments = ["profile", str(GNN), *map(str, INPUTS), "--repeat", "1", "--format", "html"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert 'id="data"' in result.stdout
