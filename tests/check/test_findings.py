"""Attributes that Model Optimizer always wrote are one info for a file; a misspelled attribute stays a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec import check_model
from ir_exec.cli import main
from ir_exec.codes import Code
from tests.helpers.facts import mentions
from tests.helpers.ir_text import const, layer, net, parameter, port, result

CONVOLUTION = 'strides="1,1" dilations="1,1" pads_begin="0,0" pads_end="0,0" auto_pad="explicit" '


def convolutions(first: str, second: str) -> bytes:
    shape, kernel = (1, 2, 4, 4), (2, 2, 1, 1)
    ports = {
        "inputs": [port(0, "f32", shape), port(1, "f32", kernel)],
        "outputs": [port(2, "f32", shape)],
    }
    layers = [
        parameter(0, dims=shape, name="x"),
        const(1, "f32", kernel, 0, 16),
        layer(2, "Convolution", data=CONVOLUTION + first, **ports),
        layer(3, "Convolution", data=CONVOLUTION + second, **ports),
        result(4, dims=shape),
    ]
    return net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (1, 0, 3, 1), (3, 2, 4, 0)])


def test_unknown_attributes_are_one_info() -> None:
    raw = convolutions('output_padding="0,0" group="1"', 'output_padding="0,0"')
    (diagnostic,) = check_model(raw, weights=bytes(16)).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.location.layer_id) == (Code.unknown_attribute, "info", "2")
    assert diagnostic.message == mentions(3, "Convolution", "output_padding")


@pytest.mark.parametrize(
    ("first", "second", "told"), [('group="1"', "", "once"), ('group="1"', 'group="1"', "2 times")]
)
def test_unknown_attributes_are_counted(first: str, second: str, told: str) -> None:
    (diagnostic,) = check_model(convolutions(first, second), weights=bytes(16)).diagnostics
    assert f"({told}" in diagnostic.message


def test_attribute_with_any_name_is_a_warning() -> None:
    (diagnostic,) = check_model(convolutions('a.b="1"', ""), weights=bytes(16)).diagnostics
    assert (diagnostic.code, diagnostic.severity) == (Code.unknown_attribute, "warning")


def test_a_misspelled_attribute_is_a_warning() -> None:
    report = check_model(convolutions('output_padding="0,0"', 'stridse="2,2"'), weights=bytes(16))
    assert [(diagnostic.severity, diagnostic.location.layer_id) for diagnostic in report.diagnostics] == [
        ("info", "2"),
        ("warning", "3"),
    ]


def test_strict_passes(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.with_suffix(".bin").write_bytes(bytes(16))
    path.write_bytes(convolutions('output_padding="0,0"', 'output_padding="0,0"'))
    result = CliRunner().invoke(main, ["check", str(path), "--strict"])
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("0 errors, 0 warnings, 1 info\n")
    path.write_bytes(convolutions('output_padding="0,0"', 'stridse="2,2"'))
    assert CliRunner().invoke(main, ["check", str(path), "--strict"]).exit_code == 1


def test_tensor_names_without_readers() -> None:
    """Quantizing tools name FakeQuantize layers after their inputs; only names of inputs and outputs are looked up."""
    shape = (2, 3)

    def relu(id: int, names: str) -> str:
        return layer(id, "ReLU", inputs=[port(0, "f32", shape)], outputs=[port(1, "f32", shape, names)])

    ends = [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)]

    def severities(inner: str, last: str) -> list[str]:
        raw = net([parameter(0, dims=shape, name="x"), relu(1, inner), relu(2, last), result(3, dims=shape)], ends)
        return [
            diagnostic.severity
            for diagnostic in check_model(raw).diagnostics
            if diagnostic.code == Code.duplicate_tensor_name
        ]

    assert severities("a", "b") == []
    assert severities("x", "b") == ["info"]
    assert severities("a", "a") == ["info"]
    assert severities("a", "x") == ["warning"]
