"""`ir-exec compare --isolate`: each layer by itself, in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from ir_exec import build
from ir_exec.cli import main
from ir_exec.debug.device import isolating
from tests.debug.device.faulty import FaultyDevice
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]


@pytest.fixture
def network(tmp_path: Path) -> Path:
    x = build.parameter([2, 3], name="x")
    value = build.multiply(build.exp(x, name="enc.0/exp"), np.float32(0.1), name="enc.0/scale")
    build.model(build.result(build.tanh(value, name="head"), name="y")).save(tmp_path / "net.xml")
    return tmp_path / "net.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_all_right(network: Path) -> None:
    result = run(network, "--with", "openvino", "--isolate")
    assert result.exit_code == 0
    assert "3 layers: 3 right" in result.stdout


def test_fail_on_layers(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolating, "device_of", lambda *a, **k: FaultyDevice(wrong=["Exp"]))
    assert run(network, "--with", "openvino", "--isolate").exit_code == 0
    result = run(network, "--with", "openvino", "--isolate", "--fail-on", "layers")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == mentions("enc.0/exp")
    assert 'wrong: layer 1 "enc.0/exp" (Exp)' in result.stdout


@pytest.mark.parametrize("output_format", ["json", "csv", "html", "junit"])
def test_formats(output_format: str, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolating, "device_of", lambda *a, **k: FaultyDevice(wrong=["Exp"]))
    out = tmp_path / "report"
    options = ("--format", output_format, "-o", out)
    assert run(network, "--with", "openvino", "--isolate", *options).exit_code == 0
    text = out.read_text("utf-8")
    if output_format == "json":
        parsed = json.loads(text)
        jsonschema.validate(parsed, json.loads((ROOT / "schemas" / "compare.schema.json").read_text()))
        assert [part["status"] for part in parsed["isolation"]["parts"]] == ["wrong", "right", "right"]
    elif output_format == "csv":
        assert [row["alone"] for row in csv.DictReader(text.splitlines()) if row["alone"]] == [
            "wrong",
            "right",
            "right",
        ]
    elif output_format == "junit":
        suite = ElementTree.fromstring(text)[0]
        assert suite.get("failures") == "0"
        assert run(network, "--with", "openvino", "--isolate", *options, "--fail-on", "layers").exit_code == 1
        suite = ElementTree.fromstring(out.read_text("utf-8"))[0]
        failed = [case.get("name", "") for case in suite if case.find("failure") is not None]
        assert [name.rpartition(" ")[2] for name in failed] == ["comparison", "enc.0/exp"]
    else:
        assert mentions("faulty", "TEST") in text.splitlines()


def test_blocks(network: Path) -> None:
    result = run(network, "--with", "openvino", "--isolate", "--block", "enc.*", "--format", "json")
    suite = ElementTree.fromstring(
        run(network, "--with", "openvino", "--isolate", "--block", "enc.*", "--format", "junit").stdout
    )[0]
    assert [case.get("name") for case in suite if case.get("classname") == "block"] == ["enc.0"]
    parts = json.loads(result.stdout)["isolation"]["parts"]
    assert [(part["name"], part["kind"]) for part in parts] == [("enc.0", "block"), ("head", "layer")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--with", "openvino", "--block", "enc.*"),
        ("--precision", "f16", "--isolate"),
        ("--with", "openvino", "--isolate", "--device", "NPU.3"),
        ("--with", "openvino", "--isolate", "--block", "dec.*"),
        ("--with", "net.xml", "--isolate"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], network: Path) -> None:
    result = run(network, *arguments)
    assert result.exit_code == 2
    assert result.stdout == "" or "drawn" in result.stdout
    assert result.stderr
