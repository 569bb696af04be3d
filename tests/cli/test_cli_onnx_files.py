"""Commands that take networks, on ONNX files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import numpy_helper

from ir_exec import readers
from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.onnx.files import model, write_model

WEIGHTS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def network(folder: Path, name: str = "good.onnx", last: str = "Relu", reads: str = "h", rows: int = 8) -> Path:
    proto = model(f"g (float[N,8] x) => (float[N,8] y) {{ h = MatMul(x, w) y = {last}({reads}) }}")
    proto.graph.node[0].name = "dense"
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS[:rows], "w"))
    return write_model(folder, proto, name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models").mkdir()
    network(tmp_path / "models")
    network(tmp_path / "models", "bad.onnx", reads="nothing", rows=7)
    np.save(tmp_path / "x.npy", np.linspace(-2, 2, 24, dtype=np.float32).reshape(3, 8))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestFolders:
    def test_onnx_files_are_found_with_faults_at_nodes(self, folder: Path) -> None:
        result = run("check", "models", "--level", "error")
        assert result.exit_code == 1
        assert 'models/bad.onnx  node 0 "dense" (MatMul)' in result.stdout
        assert mentions("models/bad.onnx", 1, "y", "nothing") in result.stdout.splitlines()
        assert result.stdout.splitlines()[-1].startswith("2 files: ")

    def test_processes_find_the_same(self, folder: Path) -> None:
        assert run("check", "models", "--jobs", "2").stdout == run("check", "models").stdout

    def test_rules_are_ignored_per_file(self, folder: Path) -> None:
        Path("ir-exec.toml").write_text('[per-file-ignores]\n"models/bad.onnx" = ["IR1", "IR5"]\n')
        assert run("check", "models").exit_code == 0

    def test_a_baseline_holds_their_findings(self, folder: Path) -> None:
        assert run("check", "models", "--write-baseline", "base.json").exit_code == 0
        again = run("check", folder / "models", "--baseline", "base.json")
        assert again.exit_code == 0
        assert "0 errors" in again.stdout

    def test_invalid_file_named_onnx_is_an_error(self, folder: Path) -> None:
        (folder / "models" / "pointer.onnx").write_text("version https://git-lfs.github.com/spec/v1\n")
        result = run("check", "models", "--select", "IR004")
        assert result.exit_code == 1
        assert "Git LFS pointer" in result.stdout

    def test_files_are_skipped_and_counted_without_the_package(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "models" / "other.xml").write_text("<a/>")
        (folder / "models" / "ir.xml").write_bytes(
            (Path(__file__).parents[1] / "bad" / "IR601-declared-dims.xml").read_bytes()
        )
        monkeypatch.setattr(readers, "find_spec", lambda name: None)
        result = run("check", "models")
        assert mentions(1, ".xml") in result.stdout.splitlines()
        assert mentions(2, "ONNX", ".[onnx]") in result.stdout.splitlines()
        assert result.stdout.splitlines()[-1].startswith("1 file: ")


@pytest.mark.parametrize("output_format", ["sarif", "json", "github"])
def test_formats_name_the_node(folder: Path, output_format: str) -> None:
    result = run("check", "models/bad.onnx", "--format", output_format, "--select", "IR502")
    if output_format == "json":
        (entry,) = json.loads(result.stdout)["files"][0]["diagnostics"]
        location = entry["location"]
        assert (location["kind"], location["layer_id"], location["layer_name"]) == ("node", "0", "dense")
        assert location["path"] == "models/bad.onnx"
    elif output_format == "sarif":
        (entry,) = json.loads(result.stdout)["runs"][0]["results"]
        assert entry["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith("node 0")
    else:
        assert 'node 0 "dense" (MatMul)' in result.stdout


def test_fix_leaves_onnx_files_unchanged(folder: Path) -> None:
    before = Path("models/bad.onnx").read_bytes()
    result = run("check", "models", "--fix")
    assert result.exit_code == 1
    assert "fixed 0 files" in result.stderr
    assert Path("models/bad.onnx").read_bytes() == before


def test_two_files_are_compared(folder: Path) -> None:
    network(folder, "a.onnx")
    network(folder, "b.onnx", last="Sigmoid")
    assert run("diff", "a.onnx", "models/good.onnx").exit_code == 0
    assert "Relu -> Sigmoid" in run("diff", "a.onnx", "b.onnx").stdout
    assert run("compare", "a.onnx", "--with", "models/good.onnx", "--input", "x=x.npy").exit_code == 0
    different = run("compare", "a.onnx", "--with", "b.onnx", "--input", "x=x.npy")
    assert different.exit_code == 1
    assert "y" in different.stdout


def test_values_are_traced_and_timed(folder: Path) -> None:
    traced = run("trace", "models/good.onnx", "--input", "x=x.npy", "--output", "dump")
    assert traced.exit_code == 0
    x = np.load("x.npy")
    (stored_values,) = Path("dump").glob("*-dense.npy")
    np.testing.assert_allclose(np.load(stored_values), x @ WEIGHTS, rtol=1e-5, atol=1e-5)
    profiled = run("profile", "models/good.onnx", "--input", "x=x.npy")
    assert profiled.exit_code == 0
    assert "MatMul" in profiled.stdout


def test_part_is_extracted_as_ir(folder: Path) -> None:
    result = run("extract", "models/good.onnx", "--from", "h", "--output", "cut.xml")
    assert result.exit_code == 0, result.output
    assert run("check", "cut.xml").exit_code == 0


def test_shapes_that_fit(folder: Path) -> None:
    result = run("shapes", "models/good.onnx")
    assert result.exit_code == 0
    assert "x[1] = 9" in result.stdout


def test_pages(folder: Path) -> None:
    assert run("view", "models/good.onnx", "--output", "page.html").exit_code == 0
    network(folder, "b.onnx", last="Sigmoid")
    assert run("view", "models/good.onnx", "--diff", "b.onnx", "--output", "diff.html").exit_code == 0


class TestPartial:
    """A file of which an operator needs the value of an input."""

    @pytest.fixture
    def products(self, folder: Path) -> Path:
        np.savez(folder / "in.npz", x=np.ones((2, 3), np.float32) * 2, axis=np.array(1))
        np.save(folder / "axis.npy", np.array(1))
        text = "g (float[N,3] x, int64 axis) => (float[N,3] y) { y = CumProd(x, axis) }"
        return write_model(folder, model(text, opset=26), "products.onnx")

    def test_run_prints_its_specialization(self, products: Path) -> None:
        result = run("run", products, "--inputs", "in.npz", "--format", "json")
        assert json.loads(result.stdout)["specialised"] == {"axis": "value 1"}
        assert json.loads(result.stdout)["outputs"][0]["values"] == [[2, 4, 8], [2, 4, 8]]
        assert "axis: value 1" in run("run", products, "--inputs", "in.npz").stdout

    @pytest.mark.parametrize(
        "command",
        [
            ("profile", "--repeat", "1"),
            ("compare", "--with", "onnx-reference:products.onnx"),
            ("trace", "-o", "dump"),
            ("extract", "--to", "y", "-o", "cut.xml"),
            ("bundle", "-o", "b.zip"),
            ("view", "-o", "v.html"),
            ("run", "--validate"),
        ],
        ids=lambda command: command[0],
    )
    def test_commands_with_inputs_take_it(self, products: Path, command: tuple[str, ...]) -> None:
        result = run(command[0], products, *command[1:], "--inputs", "in.npz")
        assert result.exit_code == 0, result.output

    def test_many_inputs_are_run(self, products: Path) -> None:
        np.savez("in2.npz", x=np.ones((2, 3), np.float32), axis=np.array(0))
        result = run("run", products, "--inputs", "in*.npz", "-o", "out")
        assert result.exit_code == 0, result.output

    def test_file_is_converted_for_a_value(self, products: Path) -> None:
        result = run("convert", products, "--input", "axis=axis.npy", "-o", "out.xml")
        assert result.exit_code == 0
        assert "axis" in result.stdout.splitlines()[-1]
        result_of_run = run("run", "out.xml", "--inputs", "in.npz", "--format", "json")
        assert json.loads(result_of_run.stdout)["outputs"][0]["values"] == [[2, 4, 8], [2, 4, 8]]

    def test_without_the_value_a_command_helps(self, products: Path) -> None:
        for arguments in (("convert", products, "-o", "out.xml"), ("extract", products, "--to", "y", "-o", "cut.xml")):
            result = run(*arguments)
            assert result.exit_code != 0
            assert "ir-exec run MODEL.onnx --inputs" in result.stderr
        report = json.loads(run("check", products, "--format", "json").stdout)
        (finding,) = [diagnostic for diagnostic in report["files"][0]["diagnostics"] if diagnostic["code"] == "IR901"]
        assert "ir-exec run MODEL.onnx --inputs" in finding["hint"]

    def test_lists_are_for_python(self, folder: Path) -> None:
        text = "g (seq(float[N]) parts) => (float[M] y) { y = ConcatFromSequence<axis = 0>(parts) }"
        path = write_model(folder, model(text), "lists.onnx")
        assert run("run", path).exit_code == 2
        report = json.loads(run("check", path, "--format", "json").stdout)
        (finding,) = report["files"][0]["diagnostics"]
        assert (finding["code"], finding["severity"]) == ("IR901", "info")
        assert "compile_model" in finding["hint"]

    def test_its_content_is_shown(self, products: Path) -> None:
        result = run("inspect", products)
        assert result.exit_code == 0
        assert "CumProd" in result.stdout
