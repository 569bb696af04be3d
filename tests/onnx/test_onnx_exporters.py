"""The share of layers with a line and a module in what torch.onnx writes; skipped without torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.onnx.exporters import MODULES, export_dynamo, export_traced, is_available, make_module, measure_conversions

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

SHARE = 0.95

AVAILABLE = [name for name in MODULES if is_available(name)]


@pytest.mark.broad
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", AVAILABLE)
def test_layers_of_dynamo_exports_have_line_and_module(name: str, tmp_path: Path) -> None:
    export_dynamo(*make_module(name), tmp_path / "model.onnx")
    for share in measure_conversions(tmp_path / "model.onnx", tmp_path):
        assert share.lines >= SHARE * share.layers
        assert share.modules >= SHARE * share.layers


@pytest.mark.broad
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["nested_blocks", "small_encoder", "plain_sequential"])
def test_layers_of_traced_exports_have_a_module(name: str, tmp_path: Path) -> None:
    export_traced(*make_module(name), tmp_path / "model.onnx")
    for share in measure_conversions(tmp_path / "model.onnx", tmp_path):
        assert share.modules >= SHARE * share.layers
