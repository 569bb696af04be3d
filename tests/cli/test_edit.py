"""`ir-exec edit`: what is asked for on the command line is what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import ir_exec
from ir_exec import build
from ir_exec.cli import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    x = build.parameter("?,3", name="x")
    doubled = build.multiply(x, build.constant(np.float32(2), name="a.b=two"), name="dou.ble")
    model = build.model(build.result(build.softmax(doubled, axis=1, name="soft"), name="y"))
    model.save(tmp_path / "model.xml")
    return tmp_path / "model.xml"


def edit(path: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["edit", str(path), "-o", str(path.with_name("out.xml")), *options])


def edited(path: Path, *options: str) -> ir_exec.Model:
    result = edit(path, *options)
    assert result.exit_code == 0, result.output
    return ir_exec.read_model(path.with_name("out.xml"))


def test_all_edits_at_once(path: Path) -> None:
    array = path.with_name("three.npy")
    np.save(array, np.array([3, 3, 3], np.float32))
    model = edited(
        path,
        *("--rename", "x=image", "--rename", "y=scores", "--shape", "x[4,3]", "--set-attribute", "soft.axis=0"),
        *("--set-constant", f"a.b=two={array}", "--output-of", "dou.ble"),
    )
    assert [str(port) for port in (*model.inputs, *model.outputs)] == [
        "image f32[4,3]",
        "scores f32[4,3]",
        "dou.ble f32[4,3]",
    ]
    found = list(ir_exec.compile_model(model)({"image": np.ones((4, 3), np.float32)}).values())
    assert found[0].tolist() == [[0.25] * 3] * 4
    assert found[1].tolist() == [[3] * 3] * 4


@pytest.mark.parametrize(
    ("text", "expected"), [("4", [4.0]), ("[5]", [5.0]), ("1,0.5,2", [1.0, 0.5, 2.0]), ("1e1", [10.0])]
)
def test_constants_of_numbers(path: Path, text: str, expected: list[float]) -> None:
    model = edited(path, "--set-constant", f"a.b=two={text}", "--output-of", "dou.ble", "--remove", "soft")
    found = list(ir_exec.compile_model(model)({0: np.ones((1, 3), np.float32)}).values())[-1]
    assert found.tolist() == [np.broadcast_to(expected, 3).tolist()]


def test_element_types_and_files_that_are_replaced(path: Path) -> None:
    x = build.parameter([2], name="x")
    build.model(build.result(build.relu(x), name="y")).save(path)
    result = CliRunner().invoke(main, ["edit", str(path), "-o", str(path), "--type", "x=f16"])
    assert result.exit_code == 0, result.output
    assert str(ir_exec.read_model(path).outputs[0]) == "y f16[2]"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rename", "x"], "--rename 'x' is not NAME=VALUE"),
        (["--rename", "z=w"], "there is no layer or tensor 'z'"),
        (["--set-attribute", "axis=1"], "--set-attribute 'axis' is not LAYER.NAME=VALUE"),
        (["--set-attribute", "soft.axes=1"], "SoftMax has no attribute axes; it has: axis"),
        (["--set-attribute", "soft.axis=7"], "axis 7 is out of range"),
        (["--set-constant", "a.b=two=two"], "'two' is no number"),
        (["--set-constant", "a.b=two=missing.npy"], "cannot read the array missing.npy"),
        (["--set-constant", "soft=1"], "is a SoftMax, no constant"),
        (["--shape", "z[1]"], "there is no input 'z'"),
        (["--type", "x=f17"], "'f17' is no element type"),
        (["--remove", "x"], "nothing can take its place"),
    ],
)
def test_what_cannot_be(path: Path, options: list[str], told: str) -> None:
    result = edit(path, *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert not path.with_name("out.xml").exists()


def test_only_xml_is_written(path: Path) -> None:
    result = CliRunner().invoke(main, ["edit", str(path), "-o", "out.bin"])
    assert result.exit_code == 2
    assert "must end in .xml" in result.stderr
