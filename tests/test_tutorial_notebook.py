"""The notebook among the tutorials runs from top to bottom without PyTorch, and finds the line."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import onnx
import pytest

from ir_exec.check import Report
from ir_exec.debug import Comparison
from tests.test_sample_notebook import run_cell

TUTORIALS = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
NOTEBOOK = json.loads((TUTORIALS / "notebook.ipynb").read_text("utf-8"))


def test_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(TUTORIALS)
    names: dict[str, Any] = {}
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    results = [run_cell(cell, names) for cell in cells]
    assert "image" in results[0]._repr_html_()
    reports = [result for result in results if isinstance(result, Comparison)]
    assert [report.verdict for report in reports] == ["equal", "different", "equal"]
    lines = [(report.decision.line, unescape(report._repr_html_())) for report in reports if report.decision]
    assert all(line in page for line, page in lines)
    assert len(lines) == 3
    assert [result.ok for result in results if isinstance(result, Report)] == [True]
    assert True in results

    # The wrong layer is the node that was changed, and its line is the one that computes it.
    file, line, code, module, recorded = next(result for result in results if isinstance(result, tuple))
    assert (file, module, recorded) == ("net.py", "blocks.1.norm", "blocks.1.norm")
    assert results[results.index((file, line, code, module, recorded)) + 1] == code
    assert "self.norm(x)" in code
    assert "epsilon" in capsys.readouterr().out
    assert "equal" in results, "the two runtimes"


def test_faulty_file_differs_in_one_attribute() -> None:
    left, right = (onnx.load(TUTORIALS / "notebook" / f"{name}.onnx") for name in ("net", "faulty"))
    differing = [pair for pair in zip(left.graph.node, right.graph.node, strict=True) if pair[0] != pair[1]]
    assert [node.op_type for node, _ in differing] == ["LayerNormalization"]


def test_it_holds_no_outputs() -> None:
    assert all(not cell.get("outputs") for cell in NOTEBOOK["cells"])


def test_files_name_no_machine() -> None:
    for path in (TUTORIALS / "notebook").glob("*.onnx"):
        for node in onnx.load(path).graph.node:
            traces = [entry.value for entry in node.metadata_props]
            assert not any(f'"{separator}' in trace for trace in traces for separator in ("/", "C:"))
