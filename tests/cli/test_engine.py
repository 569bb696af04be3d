"""--engine, --provider and --engine-option of the commands that run networks."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.cli.engine import engine_arguments, option_value
from ir_exec.cli.output.terminal import Unusable
from ir_exec.debug.profiles.engine_profile import CALLS, PAUSE

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "gather_elements.xml"
BERT = ROOT / "samples" / "bert.xml"
SCHEMAS = ROOT / "schemas"


def invoke(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output if code else result.stdout


def test_values_of_options() -> None:
    values = ["true", "False", "3", "0.5", "all"]
    assert [option_value(text) for text in values] == [True, False, 3, 0.5, "all"]


def test_the_keywords() -> None:
    assert engine_arguments(None, (), ()) == {}
    arguments = engine_arguments("onnxruntime", ("CPU",), ("a.b=1", "c=x=y"))
    assert arguments == {"engine": "onnxruntime", "providers": ["CPU"], "options": {"a.b": 1, "c": "x=y"}}
    for providers, options, engine in ((("CPU",), (), None), ((), ("a=1",), None), ((), ("a",), "onnxruntime")):
        with pytest.raises(Unusable):
            engine_arguments(engine, providers, options)


def test_run() -> None:
    report = json.loads(invoke("run", BERT, "--engine", "onnxruntime", "--repeat", 3, "--format", "json"))
    jsonschema.validate(report, json.loads((SCHEMAS / "run.schema.json").read_text("utf-8")))
    assert report["times"]["runs"] == 2
    assert report["engine"]["on_engine"] == report["engine"]["layers"] > 0
    assert report["engine"]["parts"][0]["engine"]


def test_repeated_runs_are_in_blocks_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("ir_exec.debug.profiles.engine_profile.sleep", pauses.append)
    arguments = ("run", SAMPLE, "--engine", "onnxruntime", "--format", "json", "--warmup", 2, "--repeat")
    report = json.loads(invoke(*arguments, CALLS + 2))
    assert report["times"]["runs"] == CALLS + 1
    assert pauses == [PAUSE] * 2


def test_run_tells_what_the_engine_runs() -> None:
    told = invoke("run", BERT, "--engine", "onnxruntime", "--provider", "cpu", "--engine-option", "spinning=false")
    assert "CPUExecutionProvider" in told


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", "nothing"),
        ("--engine", "onnxruntime", "--provider", "Nope"),
        ("--engine", "onnxruntime", "--engine-option", "nope=1"),
    ],
)
def test_missing_engine_is_reported(options: tuple[str, ...]) -> None:
    assert "IR704" in invoke("run", BERT, *options, code=1)


def test_many_inputs(tmp_path: Path) -> None:
    with np.load(SAMPLE.with_suffix(".inputs.npz")) as stored:
        inputs = dict(stored)
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", **inputs)
    folder = tmp_path / "found"
    pattern = str(tmp_path / "*.npz")
    invoke("run", SAMPLE, "--inputs", pattern, "--engine", "onnxruntime", "--output", folder)
    with np.load(SAMPLE.with_suffix(".outputs.npz")) as expected, np.load(folder / "b.npz") as outputs:
        np.testing.assert_allclose(next(iter(outputs.values())), next(iter(expected.values())), rtol=1e-6)
    # Outputs of the interpreter are others: nothing is taken over from them.
    invoke("run", SAMPLE, "--inputs", pattern, "--output", folder, code=2)


def test_profile() -> None:
    printed = invoke("profile", BERT, "--engine", "onnxruntime", "--repeat", 2, "--format", "json")
    report = json.loads(printed)
    jsonschema.validate(report, json.loads((SCHEMAS / "profile.schema.json").read_text("utf-8")))
    names = {layer["layer_name"] for layer in report["layers"]}
    theirs = report["engine"]["layers"]
    assert report["engine"]["partition"]["on_engine"] > 0
    assert {layer["name"] for layer in theirs} & names
    assert sum(layer["share"] for layer in theirs) == pytest.approx(1)


def test_compare() -> None:
    report = json.loads(invoke("compare", BERT, "--with", "onnxruntime", "--format", "json"))
    assert report["equal"]
    assert {layer["status"] for layer in report["layers"]} <= {"equal", "close", "unmatched", "not compared"}
