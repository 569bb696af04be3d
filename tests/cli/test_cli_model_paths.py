"""Paths of networks on the command line: without their end, misspelled, and folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gnn_step.xml", "gnn_step.bin"):
        shutil.copy(SAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "gnn_step"),
        ("check", "gnn_step"),
        ("inspect", "gnn_step"),
        ("shapes", "gnn_step"),
        ("diff", "gnn_step", "gnn_step"),
        ("trace", "gnn_step", "-o", "values"),
        ("extract", "gnn_step", "--to", "total", "-o", "part.xml"),
        ("edit", "gnn_step", "--rename", "total=sum", "-o", "edited.xml"),
        ("view", "gnn_step"),
        ("profile", "gnn_step", "--repeat", "1"),
        ("bundle", "gnn_step", "-o", "all.zip"),
        ("compare", "gnn_step", "gnn_step"),
        ("compare", "gnn_step", "--with", "gnn_step"),
    ],
)
def test_the_end_of_the_name_may_be_missing(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr


def test_ambiguous_path() -> None:
    Path("gnn_step.onnx").write_bytes(b"")
    result = run("run", "gnn_step")
    assert result.exit_code == 2
    assert mentions("gnn_step.xml", "gnn_step.onnx") in result.stderr.splitlines()
    assert run("convert", "gnn_step", "-o", "out.xml").stderr.count("gnn_step.onnx") > 0


def test_the_network_itself_is_not_written_over() -> None:
    result = run("reduce", "gnn_step", "--until", "false", "-o", "gnn_step.xml")
    assert result.exit_code == 2
    assert Path("gnn_step.xml").read_bytes() == (SAMPLES / "gnn_step.xml").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("run", "gnn_stp.xml"), "gnn_step.xml"),
        (("check", "gnn_stp.xml"), "gnn_step.xml"),
        (("run", "."), "./gnn_step.xml"),
        (("compare", "gnn_step.xml", "--with", "openvno"), "openvino"),
        (("inspect", "gnn_step.xml", "--layer", "totl"), "total"),
        (("extract", "gnn_step.xml", "--to", "totl", "-o", "x.xml"), "total"),
        (("edit", "gnn_step.xml", "--remove", "totl", "-o", "x.xml"), "total"),
        (("edit", "gnn_step.xml", "--type", "feature=f16", "-o", "x.xml"), "features"),
        (("trace", "gnn_step.xml", "--layers", "totl", "-o", "x"), "total"),
        (("run", "gnn_step.xml", "--shape", "feature[2,4]"), "features"),
        (("check", "gnn_step.xml", "--shape", "feature[2,4]"), "features"),
    ],
)
def test_misspelled_path(arguments: tuple[str, ...], hint: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert mentions(hint) in (result.stdout + result.stderr).splitlines() or f"it: {hint}" in result.stderr


def test_layers_of_bodies_by_their_path() -> None:
    path = str(SAMPLES.parent / "tests" / "networks" / "script_if.xml")
    result = run("inspect", path, "--layer", "prim::If/If/then_body/aten::relu/Relu")
    assert result.exit_code == 0
    assert 'layer 16/then/5 "aten::relu/Relu"' in result.stdout
    missing = run("inspect", path, "--layer", "rleu")
    assert (missing.exit_code, "aten::relu/Relu" in missing.stderr) == (2, True)
