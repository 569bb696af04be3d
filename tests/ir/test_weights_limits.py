"""Constants and inputs whose shapes no array can have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ir_exec
from ir_exec import IRError
from ir_exec.cli import main
from ir_exec.errors import ResourceError
from ir_exec.ir import Weights
from ir_exec.types import ElementType
from tests.helpers.network_text import NetworkText

SHAPES = {"axes": ",".join(["1"] * 65), "bytes": f"0,{2**40},{2**40}"}


def write(folder: Path, shape: str, *, of_input: bool) -> Path:
    """A model with a constant of this shape, or an input of it."""
    net = NetworkText()
    x = net.parameter(shape if of_input else "1")
    net.result(net.op("Add", x, net.const(np.ones(1, np.float32))))
    file = net.file(np.ones(1, np.float32))
    text = file.xml if of_input else file.xml.replace(b'type="Const" ', b'type="Const"  ')
    if not of_input:
        before, constant, after = text.partition(b'element_type="f32" shape="1" offset')
        assert constant
        text = before + f'element_type="f32" shape="{shape}" offset'.encode() + after
    path = folder / "model.xml"
    path.write_bytes(text)
    path.with_suffix(".bin").write_bytes(file.weights)
    return path


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("of_input", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--weights-values"),
        ("run",),
        ("inspect", "--layers"),
        ("diff",),
        ("profile", "--plan"),
        ("shapes",),
        ("view", "-o", "page.html"),
        ("trace", "-o", "trace"),
        ("convert", "-o", "out.onnx"),
        ("bundle", "--anonymous", "-o", "out.zip"),
    ],
    ids=lambda words: words[0],
)
def test_commands_end_with_an_error(
    arguments: tuple[str, ...], of_input: bool, shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, shape, of_input=of_input)
    command, *options = arguments
    others = [str(path)] if command == "diff" else []
    result = CliRunner().invoke(main, [command, str(path), *others, *options])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "IR999" not in result.output


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_run_is_an_error(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path, shape, of_input=False)
    with pytest.raises(IRError):
        ir_exec.compile_model(path)([np.ones(1, np.float32)])


def test_reading_such_a_constant() -> None:
    weights = Weights.of_bytes(bytes(4))
    for shape in ((1,) * 65, (0, 2**40, 2**40)):
        with pytest.raises(ResourceError):
            weights.read(ElementType.f32, shape, 0, 4)
