"""The line of Python in `inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec import read_model
from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.helpers.sources import EXPORTS, NET, find_line


def inspect(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_json_has_the_source_of_each_layer(suffix: str, tmp_path: Path) -> None:
    path = EXPORTS / "nested.onnx"
    if suffix == ".xml":
        read_model(path).save(tmp_path / "nested.xml")
        path = tmp_path / "nested.xml"
    layers = {layer["name"]: layer for layer in json.loads(inspect(path, "--layers", "--format", "json"))}
    without = [name for name, layer in layers.items() if layer["source"] is None]
    assert {layers[name]["type"] for name in without} == {"Parameter", "Result"}
    source = layers["node_add_1"]["source"]
    line = find_line("return functional.relu(y + x)")
    assert {key: source[key] for key in ("file", "line", "function", "module", "module_class")} == {
        "file": NET,
        "line": line,
        "function": "forward",
        "module": "blocks.1",
        "module_class": "net.ConvBlock",
    }
    assert source["trace"][-1] == {key: source[key] for key in ("file", "line", "function", "code")}


def test_text_shows_the_line() -> None:
    line = find_line("return functional.relu(y + x)")
    for names in (["node_relu_2"], ["node_relu_2", "node_add"]):
        output = inspect(EXPORTS / "nested.onnx", *(part for name in names for part in ("--layer", name)))
        assert output.count(f"{NET}:{line}") == len(names)
    output = inspect(EXPORTS / "nested.onnx", "--layer", "node_Conv_38")
    assert mentions("blocks.0.norm", "torch.nn.modules.batchnorm.BatchNorm2d") in output.splitlines()
