"""The reference of `ir-exec compare` as its second argument."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions

GNN = Path(__file__).parents[3] / "samples" / "gnn_step.xml"
INPUTS = ("--inputs", str(GNN.with_name("gnn_step.inputs.npz")))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_the_second_argument_is_the_reference(tmp_path: Path) -> None:
    changed = tmp_path / "changed.xml"
    changed.write_text(GNN.read_text().replace('reduction="sum"', 'reduction="max"'))
    changed.with_suffix(".bin").write_bytes(GNN.with_suffix(".bin").read_bytes())
    assert run(GNN, GNN, *INPUTS).exit_code == 0
    assert run(GNN, changed, *INPUTS).exit_code == 1
    assert run(GNN, changed, *INPUTS).stdout == run(GNN, "--with", changed, *INPUTS).stdout


def test_two_references() -> None:
    result = run(GNN, GNN, "--with", GNN)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == mentions("--with")


def test_a_reference_or_fewer_bits() -> None:
    assert run(GNN, GNN, "--precision", "f16").exit_code == 2
    assert run(GNN).exit_code == 2
