"""One verdict in the exit code, the first line, JSON, JUnit and the page of `ir-exec compare`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from lxml import etree

from ir_exec import Model, build
from ir_exec.cli import main
from tests.helpers.facts import mentions

CASES = [
    ("same", (), "equal", 0, set()),
    ("near", (), "equal", 0, set()),
    ("near", ("--fail-on", "layers"), "different in a layer", 1, {"factor"}),
    ("hidden", (), "different in a layer", 1, {"factor"}),
    ("hidden", ("--fail-on", "layers"), "different in a layer", 1, {"factor"}),
    ("hidden", ("--atol", "10"), "equal", 0, set()),
    ("other", (), "different", 1, {"shift"}),
    ("other", ("--fail-on", "layers"), "different", 1, {"shift"}),
    ("same", ("--inputs", "nan.npz"), "not compared", 2, set()),
    ("other", ("--inputs", "nan.npz"), "different in a layer", 1, {"shift"}),
]
"""The second file, options, the verdict, the exit code and the failing layers."""


def network(factor: float = 3.0, shift: float = 0.25) -> Model:
    """y = clamp(x * factor, 0, 1) + shift * x, whose first term is 1 for x of 1 and more."""
    x = build.parameter([2, 4], name="x")
    limited = build.clamp(build.multiply(x, build.constant(np.float32(factor), name="factor")), 0.0, 1.0)
    more = build.multiply(x, build.constant(np.float32(shift), name="shift"))
    return build.model(build.result(build.add(limited, more, name="sum"), name="y"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdicts")
    for name in ("good", "same"):
        network().save(folder / f"{name}.xml")
    network(factor=3.0 * (1 + 2e-6)).save(folder / "near.xml")
    network(factor=4.0).save(folder / "hidden.xml")
    network(shift=0.5).save(folder / "other.xml")
    for name, values in (("a", 1.5), ("b", 2.0)):
        np.savez(folder / f"{name}.npz", x=np.full((2, 4), values, np.float32) + np.arange(8).reshape(2, 4) / 8)
    np.savez(folder / "nan.npz", x=np.full((2, 4), np.nan, np.float32))
    return folder


def run(folder: Path, other: str, options: tuple[str, ...], *more: str) -> Result:
    if "--inputs" not in options:
        options = ("--inputs", "a.npz", *options)
    options = tuple(str(folder / option) if option.endswith(".npz") else option for option in options)
    models = (str(folder / f"{name}.xml") for name in ("good", other))
    return CliRunner().invoke(main, ["compare", *models, *options, *more])


def failing(suite: etree._Element) -> set[str]:
    cases = [case.get("name", "") for case in suite if case.find("failure") is not None]
    return {name.split(" ", 1)[-1] for name in cases} - {"comparison"}


@pytest.mark.parametrize(("other", "options", "verdict", "code", "layers"), CASES)
def test_every_format_has_the_same_verdict(
    folder: Path, other: str, options: tuple[str, ...], verdict: str, code: int, layers: set[str]
) -> None:
    text = run(folder, other, options)
    line = text.stdout.splitlines()[0]
    assert text.exit_code == code, text.output
    written = run(folder, other, options, "--format", "json")
    parsed = json.loads(written.stdout)
    assert (written.exit_code, parsed["verdict"], parsed["equal"]) == (code, verdict, code == 0)
    decision = parsed["decision"]
    assert (decision["verdict"], decision["line"], set(decision["failing"])) == (verdict, line, layers)
    assert line.startswith(f"{verdict}: ")
    assert all(f'"{name}"' in line for name in layers)
    written = run(folder, other, options, "--format", "junit")
    (suite,) = etree.fromstring(written.stdout.encode())
    assert written.exit_code == code
    assert int(suite.get("failures")) == (len(layers) + 1 if code else 0)
    assert failing(suite) == layers
    messages = [case.find("failure").get("message") for case in suite if case.get("name") == "comparison" and code]
    assert messages == ([line] if code else [])
    written = run(folder, other, options, "--format", "html")
    data = json.loads(etree.HTML(written.stdout).xpath("string(//script[@id='data'])"))
    assert written.exit_code == code
    assert data["sections"][0]["lines"][0] == line


@pytest.mark.parametrize(("other", "options", "verdict", "code", "layers"), CASES)
def test_many_inputs_have_the_verdicts_of_each(
    folder: Path, other: str, options: tuple[str, ...], verdict: str, code: int, layers: set[str], tmp_path: Path
) -> None:
    names = ("nan",) if "nan.npz" in options else ("a", "b")
    for name in names:
        (tmp_path / f"{name}.npz").write_bytes((folder / f"{name}.npz").read_bytes())
    options = tuple(option for option in options if option not in ("--inputs", "nan.npz"))
    arguments = ["compare", str(folder / "good.xml"), str(folder / f"{other}.xml"), "--inputs", f"{tmp_path}/*.npz"]
    written = CliRunner().invoke(main, [*arguments, *options, "--format", "json"])
    parsed = json.loads(written.stdout)
    assert (written.exit_code, parsed["equal"]) == (code, code == 0)
    assert {item["comparison"]["verdict"] for item in parsed["items"]} == {verdict}
    suites = etree.fromstring(CliRunner().invoke(main, [*arguments, *options, "--format", "junit"]).stdout.encode())
    assert [int(suite.get("failures")) > 0 for suite in suites] == [code > 0] * len(names)
    assert [failing(suite) for suite in suites] == [layers] * len(names)


@pytest.mark.parametrize("is_drawn", [True, False])
def test_stored_outputs_of_unknown_inputs_accuse_no_layer(folder: Path, is_drawn: bool, tmp_path: Path) -> None:
    outputs = tmp_path / "golden.npz"
    x = np.load(folder / "a.npz")["x"]
    np.savez(outputs, y=np.clip(x * np.float32(3), 0, 1) + np.float32(0.5) * x)
    options = [] if is_drawn else ["--inputs", str(folder / "a.npz")]
    arguments = ["compare", str(folder / "good.xml"), "--with", str(outputs), *options]
    result = CliRunner().invoke(main, [*arguments, "--seed", "7"])
    assert result.exit_code == 1
    expected = mentions("--inputs", 7) if is_drawn else mentions("sum", "--with")
    assert result.stdout.splitlines()[0] == expected
    assert (result.stdout.splitlines()[0] == mentions("sum")) is not is_drawn
