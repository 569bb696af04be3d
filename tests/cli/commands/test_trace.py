"""`ir-exec trace`, and what `ir-exec run` has for the same questions."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.codes import Code
from ir_exec.debug import Trace
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"
GNN = SAMPLES / "gnn_step.xml"
INPUTS = ("--inputs", str(SAMPLES / "gnn_step.inputs.npz"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


class TestTrace:
    def test_a_folder_of_values(self, tmp_path: Path) -> None:
        result = run("trace", GNN, *INPUTS, "--output", tmp_path / "t")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[-1] == mentions(18, tmp_path / "t")
        index = json.loads((tmp_path / "t" / "index.json").read_text())
        jsonschema.validate(index, json.loads((ROOT / "schemas" / "trace.schema.json").read_text()))
        with np.load(SAMPLES / "gnn_step.outputs.npz") as expected:
            np.testing.assert_allclose(Trace(tmp_path / "t")["hidden"], expected[expected.files[0]], rtol=1e-5)

    def test_a_choice(self, tmp_path: Path) -> None:
        result = run("trace", GNN, *INPUTS, "--output", tmp_path, "--layers", "*_158*", "--types", "Split")
        assert result.exit_code == 0, result.output
        assert list(Trace(tmp_path)) == ["Split_15893:0", "Split_15893:1"]

    def test_drawn_shapes_are_printed(self, tmp_path: Path) -> None:
        result = run("trace", GNN, "--seed", "4", "--shape", "features[3,?]", "--output", tmp_path)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines()[0] == mentions(4, "features", "f32[3,4]", "edges", "i64[2,8]", 3)
        assert Trace(tmp_path)["features"].shape == (3, 4)
        result = run("trace", GNN, *INPUTS, "--output", tmp_path)
        assert not result.stderr

    def test_no_constants(self, tmp_path: Path) -> None:
        run("trace", GNN, *INPUTS, "--output", tmp_path, "--no-constants")
        assert len(Trace(tmp_path)) == 14

    def test_long_tables_are_cut(self, tmp_path: Path) -> None:
        arguments = ("trace", SAMPLES / "bert.xml", "--output", tmp_path / "t", "--shape", "input_ids=1,2")
        result = run(*arguments, "--shape", "attention_mask=1,2")
        assert mentions(117, "--all") in result.stdout.splitlines()
        complete = run(*arguments, "--shape", "attention_mask=1,2", "--all")
        assert mentions(117, "--all") not in complete.stdout.splitlines()
        assert len(complete.stdout.splitlines()) > len(result.stdout.splitlines()) + 100

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            ([GNN], 2, mentions("--output")),
            ([GNN, "--output", "{tmp}", "--layers", "hiden"], 1, mentions("hidden")),
            (["no/such.xml", "--output", "{tmp}"], 2, mentions(Code.unreadable_path)),
            ([GNN, "--output", "/dev/null/x"], 2, mentions("/dev/null/x")),
            ([GNN, "--output", "{tmp}", "--shape", "features=x"], 2, mentions("x")),
        ],
    )
    def test_trouble(self, arguments: list[str | Path], code: int, words: str, tmp_path: Path) -> None:
        result = run("trace", *(str(argument).replace("{tmp}", str(tmp_path / "t")) for argument in arguments))
        assert result.exit_code == code
        assert words in result.stderr.splitlines()
        assert "Traceback" not in result.stderr


class TestRun:
    def write(self, folder: Path) -> Path:
        net = NetworkText()
        x = net.parameter("2")
        net.result(net.op("Log", net.op("Abs", x)))
        file = net.file()
        (folder / "net.xml").write_bytes(file.xml)
        return folder / "net.xml"

    def test_validate(self, tmp_path: Path) -> None:
        path = self.write(tmp_path)
        np.savez(tmp_path / "in.npz", in0=np.array([0, 1], np.float32))
        result = run("run", path, "--validate", "--inputs", tmp_path / "in.npz")
        assert result.exit_code == 1
        assert result.stderr == mentions("error", 2, "log2", "Log", 1)
        assert "infinit" in result.stderr
        assert run("run", path, "--validate").exit_code == 0

    def test_expected(self, tmp_path: Path) -> None:
        path = self.write(tmp_path)
        np.savez(tmp_path / "in.npz", in0=np.array([1, np.e], np.float32))
        arguments = ("run", path, "--inputs", tmp_path / "in.npz", "--expected", tmp_path / "out.npz")
        np.savez(tmp_path / "out.npz", log2=np.array([0, 1], np.float32))
        assert run(*arguments).exit_code == 0
        np.savez(tmp_path / "out.npz", out0=np.array([0, 1.05], np.float32))
        result = run(*arguments)
        assert result.exit_code == 1
        assert mentions(1, 1) in result.stdout.splitlines()
        assert mentions("[1]", 1, "1.05") in result.stdout.splitlines()
        assert run(*arguments, "--rtol", "0.1").exit_code == 0
        assert run(*arguments, "--atol", "0.01").exit_code == 1
        np.savez(tmp_path / "out.npz", other=np.zeros(2))
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr == mentions("IR705")
        result = run(*arguments[:-1], tmp_path / "none.npz")
        assert result.exit_code == 2

    def test_repeat(self, tmp_path: Path) -> None:
        result = run("run", self.write(tmp_path), "--repeat", "3")
        assert "ran 3 times: first " in result.stdout
