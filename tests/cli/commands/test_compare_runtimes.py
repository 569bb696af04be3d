"""`ir-exec compare x.onnx --with onnxruntime` and `openvino`: the file itself runs, or nothing is compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.debug.comparison.references.quantized_files import write_kind
from tests.helpers.facts import mentions

GNN = Path(__file__).parents[3] / "samples" / "gnn_step.xml"
NETWORKS = Path(__file__).parents[2] / "networks"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def write(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a file and its inputs."""
    path, inputs = write_kind(name, folder)
    archive = folder / "inputs.npz"
    np.savez(archive, **inputs)  # type: ignore[arg-type]  # its other keyword is no input
    return path, archive


def test_a_refusal_is_no_verdict(tmp_path: Path) -> None:
    path, archive = write("refused_k", tmp_path)
    result = run(path, "--with", "onnxruntime", "--inputs", archive)
    assert result.exit_code == 2
    first, *others = result.stdout.splitlines()
    assert first == mentions("onnxruntime", path.name)
    assert any(line == mentions("--lowered") for line in others)
    lowered = run(path, "--with", "onnxruntime", "--lowered", "--inputs", archive)
    assert lowered.exit_code == 0
    assert lowered.stdout.splitlines()[0] == mentions("onnxruntime", "ir_exec")


def test_three_ways_to_run_a_file_agree(tmp_path: Path) -> None:
    path, archive = write("matmul_nbits_level_4", tmp_path)
    codes = {run(path, *reference, "--inputs", archive).exit_code for reference in ((path,), ("--with", path))}
    assert codes == {run(path, "--with", "onnxruntime", "--inputs", archive).exit_code} == {1}


@pytest.mark.parametrize("extra", [(), ("--lowered",)])
def test_every_format_names_the_program(extra: tuple[str, ...], tmp_path: Path) -> None:
    path, archive = write("qdq_matmul", tmp_path)
    arguments = (path, "--with", "onnxruntime", "--inputs", archive, *extra)
    title = "onnxruntime (lowered by ir_exec)" if extra else "onnxruntime"
    report = json.loads(run(*arguments, "--format", "json").stdout)
    assert (report["reference"], report["runtime"], report["model"]) == (title, title, str(path))
    assert title in run(*arguments).stdout.splitlines()[0]
    for form in ("html", "junit"):
        assert f"against {title}" in run(*arguments, "--format", form).stdout


def test_an_export_is_named() -> None:
    result = run(GNN, "--with", "onnxruntime", "--inputs", GNN.with_name("gnn_step.inputs.npz"))
    assert result.exit_code == 0
    assert "onnxruntime (exported)" in result.stdout.splitlines()[0]


@pytest.mark.parametrize("name", ["conv_zoo", "embedding_bag_dlrm"])
def test_outputs_with_tensor_names_match_an_export(name: str) -> None:
    report = json.loads(run(NETWORKS / f"{name}.xml", "--with", "onnxruntime", "--format", "json").stdout)
    assert report["verdict"] == "equal"
    assert {output["status"] for output in report["output_results"]} <= {"equal", "close"}


def test_many_inputs(tmp_path: Path) -> None:
    path, archive = write("qdq_matmul", tmp_path)
    result = run(path, "--with", "onnxruntime", "--lowered", "--inputs", f"{archive.parent}/*.npz", "--format", "json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["reference"] == mentions("onnxruntime", "ir_exec")
    text = run(path, "--with", "onnxruntime", "--inputs", f"{archive.parent}/*.npz").stdout
    assert text.splitlines()[0] == mentions(1, 1, "onnxruntime")


def test_lowered_is_for_runtimes(tmp_path: Path) -> None:
    path, _ = write("qdq_matmul", tmp_path)
    for arguments in ((path, path), (GNN, "--with", "onnxruntime")):
        result = run(*arguments, "--lowered")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == mentions("openvino", "onnxruntime")


@pytest.mark.parametrize(("reference", "vary"), [("openvino", "threads,hint,compile"), ("onnxruntime", "compile")])
def test_repeated_runs(reference: str, vary: str) -> None:
    pytest.importorskip(reference)
    result = run(GNN, "--with", reference, "--repeat", "2", "--vary", vary, "--format", "json")
    assert result.exit_code == 0, result.output
    variation = json.loads(result.stdout)["variation"]
    assert variation["runs"] == 2 + 2 * len(vary.split(","))
    assert variation["verdict"] in ("equal", "rounding")
    text = run(GNN, "--with", reference, "--repeat", "2").stdout.splitlines()
    assert any(line == mentions("itself", 2) for line in text[1:])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--with", "openvino", "--vary", "threads"),
        ("--with", "openvino", "--repeat", "1"),
        ("--with", "openvino", "--repeat", "2", "--vary", "cores"),
        ("--with", "openvino", "--repeat", "2", "--isolate"),
        ("--with", "onnxruntime", "--repeat", "2", "--vary", "hint"),
        (str(GNN), "--repeat", "2"),
        ("--precision", "f16", "--repeat", "2"),
    ],
)
def test_runs_that_cannot_be_repeated(arguments: tuple[str, ...]) -> None:
    assert run(GNN, *arguments).exit_code == 2
