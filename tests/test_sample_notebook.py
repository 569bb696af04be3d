"""The notebook among the samples runs from top to bottom, and shows its promised output."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The output of a notebook below a cell: the value of its last line, where that is an expression."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(SAMPLES)
    notebook = json.loads((SAMPLES / "first_steps.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [run_cell(cell, names) for cell in cells]
    printed = capsys.readouterr().out
    assert "input_ids" in shown[0]._repr_html_()
    assert "error IR601" in printed
    assert shown[2] == (2, 32)
    assert max(shown[3].values()) < 1e-4
    assert len(shown[4]) == 5
    assert "features[0]" in printed
    assert shown[-1] == ("total", "ScatterElementsUpdate")


def test_it_holds_no_outputs() -> None:
    notebook = json.loads((SAMPLES / "first_steps.ipynb").read_text("utf-8"))
    assert all(not cell.get("outputs") for cell in notebook["cells"])
