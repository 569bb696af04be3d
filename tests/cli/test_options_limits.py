"""Options with numbers and structures: anything that is not possible is an error of one line, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ir_exec.batch.limits import MOST_JOBS
from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.text.model_folders import pipeline

NETWORK = str(Path(__file__).parents[1] / "networks" / "lstm.xml")
DEEP = {
    ".json": '{"a":' * 100_000,
    ".toml": "a = " + "[" * 5000,
}


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert isinstance(result.exception, SystemExit | None), result.exc_info
    assert "IR999" not in result.output
    return result


def deep(folder: Path, ending: str) -> str:
    path = folder / f"deep{ending}"
    path.write_text(DEEP[ending], "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("ending", "arguments"),
    [
        (".json", ["compare", NETWORK, "--with", "onnxruntime", "--tolerances"]),
        (".toml", ["compare", NETWORK, "--with", "onnxruntime", "--tolerances"]),
        (".json", ["edit", NETWORK, "-o", "new.xml", "--weights"]),
        (".json", ["generate", "FOLDER", "--chat"]),
        (".toml", ["check", NETWORK, "--config"]),
        (".json", ["check", NETWORK, "--baseline"]),
        (".json", ["compare", "FOLDER", "--with"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[::2]),
)
def test_deep_files(ending: str, arguments: list[str], tmp_path: Path) -> None:
    folder = str(pipeline(tmp_path / "model"))
    complete_arguments = [folder if argument == "FOLDER" else argument for argument in arguments]
    result = invoke(*complete_arguments, deep(tmp_path, ending))
    assert result.exit_code == 2, result.output
    assert mentions(f"deep{ending}") == result.output


def test_huge_numbers_in_tolerances(tmp_path: Path) -> None:
    path = tmp_path / "tolerances.json"
    for text in ("1" + "0" * 400, "1" * 5000, "1e999", "-1", "true", '"1"', "[]", "NaN"):
        path.write_text('{"*": {"rtol": NUMBER}}'.replace("NUMBER", text), "utf-8")
        result = invoke("compare", NETWORK, "--with", "onnxruntime", "--tolerances", str(path))
        assert result.exit_code == 2, result.output


def test_jobs(tmp_path: Path) -> None:
    (tmp_path / "ir-exec.toml").write_text("jobs = 100000000000", "utf-8")
    for arguments in (["--jobs", "100000000000"], ["--config", str(tmp_path / "ir-exec.toml")]):
        result = invoke("check", NETWORK, *arguments)
        assert result.exit_code == 2, result.output
        assert mentions(MOST_JOBS) == result.output or str(MOST_JOBS) in result.output


@pytest.mark.parametrize(
    "command", ["run", "check", "trace", "profile", "compare", "convert", "edit", "bundle", "view"]
)
@pytest.mark.parametrize("count", [65, 101])
def test_shapes_of_many_dims(command: str, count: int, tmp_path: Path) -> None:
    others = {
        "convert": ["-o", str(tmp_path / "new.onnx")],
        "edit": ["-o", str(tmp_path / "new.xml")],
        "bundle": ["-o", str(tmp_path / "new.zip")],
        "trace": ["-o", str(tmp_path / "trace")],
        "view": ["--draw", "-o", str(tmp_path / "new.html")],
        "compare": ["--with", "onnxruntime"],
    }
    dims = ",".join(["1"] * count)
    result = invoke(command, NETWORK, "--shape", f"in0[{dims}]", *others.get(command, []))
    assert result.exit_code == 2, result.output
    assert mentions(count, 64) == result.output


@pytest.mark.parametrize(
    "metric", ["os:popen", "os:getcwd", "os:nothing", "json:dumps", "this is:no name", "os:", ":x"]
)
def test_invalid_metrics(metric: str) -> None:
    result = invoke("compare", NETWORK, "--with", NETWORK, "--metric", metric)
    assert result.exit_code in (1, 2), result.output
    assert mentions(metric.rpartition(":")[2] or metric) == result.output


COMMANDS = main.list_commands(click.Context(main))


def command_of(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("run", "--repeat"),
        ("run", "--warmup"),
        ("compare", "--calls"),
        ("compare", "--timeout"),
        ("profile", "--repeat"),
        ("profile", "--timeout"),
        ("conformance", "--timeout"),
        ("bundle", "--timeout"),
        ("bundle", "--max-gib"),
        ("check", "--jobs"),
        ("compare", "--jobs"),
        ("run", "--jobs"),
    ],
)
def test_numbers_beyond_any_use(command: str, option: str) -> None:
    result = invoke(command, NETWORK, f"{option}=100000000000")
    assert result.exit_code == 2, result.output
    assert option in result.output


def options() -> Iterator[tuple[str, click.Option]]:
    """All options with a number, of all commands."""
    for name in COMMANDS:
        for option in command_of(name).params:
            is_number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
            if isinstance(option, click.Option) and is_number:
                yield name, option


OPTIONS = [(name, option) for name, option in options()]
NUMBERS = ["-100000000000", "9" * 5000, "nan", "inf", "1e999", "", "x", "1,2"]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name} {option.name}" for name, option in OPTIONS])
def test_numbers_that_cannot_be(name: str, option: click.Option, tmp_path: Path) -> None:
    command = command_of(name)
    required = {
        "output": str(tmp_path / "new.xml"),
        "begin": "a",
        "end": "b",
    }
    arguments = [NETWORK for param in command.params if isinstance(param, click.Argument)]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.required:
            arguments += [parameter.opts[-1], required.get(parameter.name or "", "a")]
    for number in NUMBERS:
        result = invoke(name, *arguments, f"{option.opts[-1]}={number}")
        assert result.exit_code == 2, (number, result.output)
