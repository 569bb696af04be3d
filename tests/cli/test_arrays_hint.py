"""The hint about random inputs of commands that run a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec import build
from ir_exec.cli import main
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[2]
GNN = ROOT / "samples" / "gnn_step.xml"


class TestHintAboutRandomInputs:
    """It belongs to layers that fail on the values or shapes of these inputs, and to nothing else."""

    HINT = mentions("--input", "--shape", "ir-exec shapes")

    def has_hint(self, *arguments: object) -> bool:
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code
        return any(line == self.HINT for line in result.stderr.splitlines())

    @pytest.fixture
    def picky(self, tmp_path: Path) -> Path:
        """A ScatterUpdate with indices that are out of range for all inputs that are drawn."""
        indices = build.convert(build.add(build.abs(build.parameter([2], name="x")), 1e6), "i64")
        data, updates = np.zeros((4, 3), np.float32), np.ones((2, 3), np.float32)
        rows = build.scatter_update(data, indices, updates, 0, name="rows")
        path = tmp_path / "picky.xml"
        build.model([build.result(rows, name="y")]).save(path)
        return path

    @pytest.mark.parametrize("command", ["run", "profile", "trace", "extract", "compare"])
    def test_for_a_layer_that_fails(self, command: str, picky: Path, tmp_path: Path) -> None:
        output = ("-o", tmp_path / "out.xml")
        further = {"extract": ("--to", "rows", "--seed", "1", *output), "compare": ("--with", picky), "trace": output}
        assert self.has_hint(command, picky, *further.get(command, ()))

    @pytest.mark.parametrize(
        "arguments",
        [
            ("compare", GNN, "--with", "openvno"),
            ("compare", GNN, "--with", GNN, "--map", "Q=Q"),
            ("compare", GNN, "--with", "missing.npz"),
            ("extract", GNN, "--from", "y", "--seed", "0", "-o", "cut.xml"),
            ("extract", GNN, "--to", "hidden", "--seed", "0", "-o", "/no/such/folder/cut.xml"),
            ("run", GNN, "-o", "/no/such/folder/out.npz"),
            ("run", GNN, "--max-seconds", "1e-9"),
            ("profile", GNN, "--with", "openvno"),
        ],
    )
    def test_for_nothing_else(self, arguments: tuple[object, ...]) -> None:
        assert not self.has_hint(*arguments)

    def test_not_for_variables(self) -> None:
        stateful = ROOT / "tests" / "networks" / "llama_stateful.xml"
        arguments = ["compare", str(stateful), "--with", "onnxruntime"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert "error[IR900" in result.stderr
        assert not self.has_hint(*arguments)
