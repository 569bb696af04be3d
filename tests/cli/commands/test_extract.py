"""`ir-exec extract`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import read_model
from ir_exec.cli import main
from tests.conformance.networks import arrays
from tests.debug.reduction.test_extracting import LOOP
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_part_with_its_values(tmp_path: Path) -> None:
    cut = tmp_path / "cut.xml"
    result = run("extract", GNN, "--from", "messages", "--to", "hidden", "--output", cut, *INPUTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == mentions(6, 11, cut)
    assert {path.name for path in tmp_path.iterdir()} == {"cut.xml", "cut.bin", "cut.inputs.npz", "cut.outputs.npz"}
    again = run("run", cut, "--inputs", tmp_path / "cut.inputs.npz", "--expected", tmp_path / "cut.outputs.npz")
    assert again.exit_code == 0, again.output
    with np.load(tmp_path / "cut.outputs.npz") as outputs, np.load(SAMPLES / "gnn_step.outputs.npz") as expected:
        np.testing.assert_allclose(outputs["hidden"], expected[expected.files[0]], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "count"), [((), 2), (("--seed", "0"), 4), (("--shape", "features[5,4],edges[2,6]"), 4), (INPUTS, 4)]
)
def test_values_are_written_for_inputs(options: tuple[str, ...], count: int, tmp_path: Path) -> None:
    result = run("extract", GNN, "--to", "nothing", "--output", tmp_path / "cut.xml", *options)
    assert result.exit_code == 0, result.output
    assert len(list(tmp_path.iterdir())) == count


def test_inside_of_a_body(tmp_path: Path) -> None:
    model = read_model(LOOP)
    loop = next(node for node in model.graph.nodes if node.bodies)
    inner = next(node for node in loop.bodies[0].graph.nodes if node.type in ("Tanh", "MatMul"))
    np.savez(tmp_path / "in.npz", *[], **{f"in{i}": array for i, array in enumerate(arrays(LOOP, "inputs") or [])})
    options = ("--inputs", tmp_path / "in.npz", "--iteration", "1", "--output", tmp_path / "cut.xml")
    result = run("extract", LOOP, "--to", f"{loop.name}/body/{inner.name}", *options)
    assert result.exit_code == 0, result.output
    options = ("--inputs", tmp_path / "cut.inputs.npz", "--expected", tmp_path / "cut.outputs.npz")
    assert run("run", tmp_path / "cut.xml", *options).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((GNN, "--output", "{tmp}/c.xml"), mentions("--from", "--to")),
        ((GNN, "--to", "hidden"), mentions("--output")),
        ((GNN, "--to", "hidden", "--output", "{tmp}/c.bin"), mentions(".xml")),
        ((GNN, "--to", "hiden", "--output", "{tmp}/c.xml"), mentions("hidden")),
        ((GNN, "--from", "hidden", "--to", "messages", "--output", "{tmp}/c.xml"), mentions("hidden", "messages")),
        ((GNN, "--to", "hidden", "--output", "{tmp}/c.xml", "--iteration", "x"), mentions("x", 0)),
        (
            (GNN, "--to", "hidden", "--output", "{tmp}/c.xml", "--iteration", "1,2", "--seed", "1"),
            mentions("IR705", "1,2"),
        ),
        ((GNN, "--to", "hidden", "--output", "/no/such/c.xml"), mentions("IR009")),
        (("no/such.xml", "--to", "hidden", "--output", "{tmp}/c.xml"), mentions("IR001")),
    ],
)
def test_what_cannot_be(arguments: tuple[str | Path, ...], words: mentions, tmp_path: Path) -> None:
    result = run("extract", *(str(argument).replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert words in result.stderr.splitlines()
    assert not list(tmp_path.iterdir())
