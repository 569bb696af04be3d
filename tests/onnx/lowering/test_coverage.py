"""The list of operators of ONNX equals that of the page, with the result of the conversion."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.onnx.lowering.coverage import covered_operators, onnx_page
from tests.helpers.facts import mentions

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "onnx-operators.md"


@pytest.mark.skipif(not onnx.__version__.startswith("1.23."), reason="the page lists the operators of onnx 1.23")
def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8").endswith(onnx_page())


def test_original_operators_are_supported() -> None:
    said = {operator.name: operator.how for operator in covered_operators() if not operator.domain}
    assert all(said[name] == "function" for name in ("Scatter", "ScatterElements", "GatherElements", "GatherND"))
    assert said["MeanVarianceNormalization"] == "function"
    assert said["AffineGrid"] == "body"
    assert said["ImageDecoder"] == "no"


def test_the_command_lists_them() -> None:
    result = CliRunner().invoke(main, ["ops", "--onnx", "gather", "ImageDecoder"])
    assert result.exit_code == 0
    assert mentions(1, 2) in result.output.splitlines()
    assert "1, 11, 13" in result.output
    assert CliRunner().invoke(main, ["ops", "--onnx", "Gathr"]).exit_code == 2
