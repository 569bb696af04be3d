"""The line of Python in the reports of `check`, `compare`, `trace`, `profile` and `quantize-report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import numpy_helper

from ir_exec import read_model
from ir_exec.cli import main
from ir_exec.debug.traces.walk import first_not_finite
from tests.helpers.facts import mentions
from tests.helpers.sources import EXPORTS, NET, find_line

NESTED = EXPORTS / "nested.onnx"
SOFTMAX = "return functional.softmax(self.head(x), -1)"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def change_initializer(name: str, path: Path, *, by: float) -> Path:
    proto = onnx.load(NESTED)
    (tensor,) = (tensor for tensor in proto.graph.initializer if tensor.name == name)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(by), name))
    onnx.save(proto, path)
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """An export with an axis that does not exist."""
    proto = onnx.load(NESTED)
    (softmax,) = (node for node in proto.graph.node if node.op_type == "Softmax")
    softmax.attribute[0].i = 7
    onnx.save(proto, tmp_path / "faulty.onnx")
    return tmp_path / "faulty.onnx"


class TestCheck:
    def test_text(self, faulty: Path) -> None:
        result = run("check", faulty)
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert any(f"net.py:{find_line(SOFTMAX)}" in line and "node_softmax" in line for line in lines)
        assert any(line.strip().endswith(SOFTMAX) for line in lines)

    def test_json(self, faulty: Path) -> None:
        report = json.loads(run("check", faulty, "--format", "json").stdout)
        (diagnostic,) = report["files"][0]["diagnostics"]
        assert diagnostic["location"]["source"] == {
            "file": NET,
            "line": find_line(SOFTMAX),
            "function": "forward",
            "module": "",
            "code": SOFTMAX,
        }

    def test_a_finding_of_ir(self, faulty: Path, tmp_path: Path) -> None:
        run("convert", NESTED, "-o", tmp_path / "a.xml")
        text = (tmp_path / "a.xml").read_text("utf-8")
        (tmp_path / "a.xml").write_text(text.replace('axis="-1"', 'axis="7"').replace('axis="1"', 'axis="7"'), "utf-8")
        report = json.loads(run("check", tmp_path / "a.xml", "--format", "json").stdout)
        sources = [diagnostic["location"]["source"] for diagnostic in report["files"][0]["diagnostics"]]
        assert {source["line"] for source in sources} == {find_line(SOFTMAX)}


class TestCompare:
    def test_the_wrong_layer_has_a_line(self, tmp_path: Path) -> None:
        wrong = change_initializer("blocks.1.conv.weight", tmp_path / "wrong.onnx", by=0.25)
        report = json.loads(run("compare", wrong, NESTED, "--format", "json").stdout)
        line = find_line("y = self.norm(self.conv(x))")
        source = report["first_fault"]["source"]
        assert (source["file"], source["line"], source["module"]) == (NET, line, "blocks.1.norm")
        assert f"net.py:{line}" in report["decision"]["line"]
        assert f"net.py:{line}" in run("compare", wrong, NESTED).stdout

    def test_by_module(self, tmp_path: Path) -> None:
        wrong = change_initializer("blocks.1.conv.weight", tmp_path / "wrong.onnx", by=0.25)
        report = json.loads(run("compare", wrong, NESTED, "--by", "module", "--format", "json").stdout)
        statuses = {module["path"]: module["status"] for module in report["modules"]}
        assert statuses["blocks.1"] == statuses["blocks.1.norm"] == statuses["blocks"] == "wrong"
        assert statuses["blocks.0"] in ("equal", "close")
        assert report["first_module"] == "blocks.1.norm"
        rows = [line.split() for line in run("compare", wrong, NESTED, "--by", "module").stdout.splitlines()]
        assert ["blocks.1", "wrong"] in [[row[0], row[2]] for row in rows if len(row) == 5]

    def test_a_file_without_modules_is_refused(self) -> None:
        result = run("compare", EXPORTS / "nested_program.xml", NESTED, "--by", "module")
        assert result.exit_code == 2
        assert mentions("nested_program.xml") in [Path(word).name for word in result.stderr.split()]


class TestProfile:
    def profile(self, path: Path, *arguments: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(
            run("profile", path, "--repeat", "1", "--format", "json", *arguments).stdout
        )
        return content

    def test_layers_modules_and_lines(self) -> None:
        report = self.profile(NESTED)
        layers = {layer["path"]: layer["source"] for layer in report["layers"]}
        assert layers["node_softmax"]["line"] == find_line(SOFTMAX)
        modules = {group["name"]: group for group in report["by_module"]}
        assert [*modules][:2] == ["blocks", "blocks.0"]
        assert modules["blocks"]["layers"] == modules["blocks.0"]["layers"] + modules["blocks.1"]["layers"]
        lines = {group["name"]: group for group in report["by_line"]}
        assert lines[f"net.py:{find_line(SOFTMAX)}"]["code"] == SOFTMAX
        assert sum(group["layers"] for group in report["by_line"]) == len(report["layers"])

    @pytest.mark.parametrize(("by", "name"), [("line", f"net.py:{find_line(SOFTMAX)}"), ("module", "blocks.0")])
    def test_text(self, by: str, name: str) -> None:
        output = run("profile", NESTED, "--repeat", "1", "--by", by).stdout
        assert name in {word for line in output.splitlines() for word in line.split()}

    @pytest.mark.parametrize(("path", "by"), [("nested_traced.xml", "line"), ("nested_program.xml", "module")])
    def test_a_file_without_them_is_refused(self, path: str, by: str) -> None:
        assert run("profile", EXPORTS / path, "--by", by).exit_code == 2


def test_trace_index(tmp_path: Path) -> None:
    run("trace", NESTED, "-o", tmp_path / "values")
    index = json.loads((tmp_path / "values" / "index.json").read_text("utf-8"))
    sources = {value["layer_name"]: value["source"] for value in index["values"]}
    assert sources["node_softmax"]["line"] == find_line(SOFTMAX)
    assert sources["image"] is None


def test_quantize_report(tmp_path: Path) -> None:
    quantized = tmp_path / "int8.xml"
    edited = run("edit", NESTED, "-o", quantized, "--weights", "int8_sym")
    assert edited.exit_code == 0, edited.output
    report = json.loads(run("quantize-report", quantized, "--with", NESTED, "--format", "json").stdout)
    sources = {layer["source"]["module"]: layer["source"]["file"] for layer in report["layers"]}
    assert {"stem.0", "head"} <= sources.keys()
    assert set(sources.values()) == {NET}


def test_the_source_of_nan_has_a_line(tmp_path: Path) -> None:
    wrong = change_initializer("head.bias", tmp_path / "wrong.onnx", by=np.nan)
    model = read_model(wrong)
    fault = first_not_finite(model, {"image": np.ones((1, 3, 9, 9), np.float32)})
    assert fault is not None
    assert f"net.py:{find_line(SOFTMAX)}" in fault.message
    assert fault.location.source is not None
    assert fault.location.source.module == "head"
