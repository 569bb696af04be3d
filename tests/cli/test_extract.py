"""`ir-exec extract`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import read_model
from ir_exec.cli import main
from tests.conformance.networks import arrays
from tests.debug.cuts.test_extracting import LOOP

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_part_with_its_values(tmp_path: Path) -> None:
    cut = tmp_path / "cut.xml"
    result = run("extract", GNN, "--from", "messages", "--to", "hidden", "--output", cut, *INPUTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].startswith("6 of 11 layers written to ")
    assert {path.name for path in tmp_path.iterdir()} == {"cut.xml", "cut.bin", "cut.inputs.npz", "cut.outputs.npz"}
    again = run("run", cut, "--inputs", tmp_path / "cut.inputs.npz", "--expected", tmp_path / "cut.outputs.npz")
    assert again.exit_code == 0, again.output
    with np.load(tmp_path / "cut.outputs.npz") as found, np.load(SAMPLES / "gnn_step.outputs.npz") as expected:
        np.testing.assert_allclose(found["hidden"], expected[expected.files[0]], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "count"), [((), 2), (("--seed", "0"), 4), (("--shape", "features[5,4],edges[2,6]"), 4), (INPUTS, 4)]
)
def test_values_are_written_where_inputs_are_asked_for(options: tuple[str, ...], count: int, tmp_path: Path) -> None:
    result = run("extract", GNN, "--to", "nothing", "--output", tmp_path / "cut.xml", *options)
    assert result.exit_code == 0, result.output
    assert len(list(tmp_path.iterdir())) == count


def test_inside_of_a_body(tmp_path: Path) -> None:
    model = read_model(LOOP)
    loop = next(node for node in model.graph.nodes if node.bodies)
    inner = next(node for node in loop.bodies[0].graph.nodes if node.type in ("Tanh", "MatMul"))
    np.savez(tmp_path / "in.npz", *[], **{f"in{i}": one for i, one in enumerate(arrays(LOOP, "inputs") or [])})
    options = ("--inputs", tmp_path / "in.npz", "--iteration", "1", "--output", tmp_path / "cut.xml")
    result = run("extract", LOOP, "--to", f"{loop.name}/body/{inner.name}", *options)
    assert result.exit_code == 0, result.output
    options = ("--inputs", tmp_path / "cut.inputs.npz", "--expected", tmp_path / "cut.outputs.npz")
    assert run("run", tmp_path / "cut.xml", *options).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((GNN, "--output", "{tmp}/c.xml"), "--from NAME"),
        ((GNN, "--to", "hidden"), "Missing option '-o' / '--output'"),
        ((GNN, "--to", "hidden", "--output", "{tmp}/c.bin"), "--output is "),
        ((GNN, "--to", "hiden", "--output", "{tmp}/c.xml"), "did you mean hidden"),
        ((GNN, "--from", "hidden", "--to", "messages", "--output", "{tmp}/c.xml"), "does not depend on 'hidden'"),
        ((GNN, "--to", "hidden", "--output", "{tmp}/c.xml", "--iteration", "x"), "--iteration is 'x'"),
        ((GNN, "--to", "hidden", "--output", "{tmp}/c.xml", "--iteration", "1,2", "--seed", "1"), "in no body"),
        ((GNN, "--to", "hidden", "--output", "/no/such/c.xml"), "IR009"),
        (("no/such.xml", "--to", "hidden", "--output", "{tmp}/c.xml"), "IR001"),
    ],
)
def test_what_cannot_be(arguments: tuple[str | Path, ...], words: str, tmp_path: Path) -> None:
    result = run("extract", *(str(one).replace("{tmp}", str(tmp_path)) for one in arguments))
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not list(tmp_path.iterdir())
