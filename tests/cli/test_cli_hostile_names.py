"""Names and ids of a file on every way out of the command line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree

from ir_exec.check import FORMATS
from ir_exec.cli import main

BAD = Path(__file__).parents[1] / "bad"
NAME = "::error::owned&#10;::warning::two&#x85;&#x202e;&#x200b;##[error]three"
JSON = [[], ["--summary"], ["--layers"], ["--layer", "0"]]


def write(path: Path, old: str, new: str) -> Path:
    text = (BAD / "IR601-declared-dims.xml").read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new).replace("<dim>5</dim>", "<dim>3</dim>"), "utf-8")
    return path


def harmless(text: str) -> bool:
    is_seen = all(char.isprintable() or char == "\n" for char in text)
    return is_seen and not any(line.strip().startswith("::") or "##[" in line for line in text.split("\n"))


@pytest.mark.parametrize("command", ["inspect", "run", "check"])
@pytest.mark.parametrize("old", ['name="relu"', 'name="x"', 'id="1" name="relu"', 'type="ReLU"', 'name="net"'])
def test_commands(command: str, old: str, tmp_path: Path) -> None:
    start, _, _ = old.rpartition('"')
    field, _, _ = start.partition('"')
    path = write(tmp_path / "m.xml", old, f'{field}"{NAME}"' + (' name="relu"' if "id=" in old else ""))
    result = CliRunner().invoke(main, [command, str(path)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert harmless(result.stdout)
    assert harmless(result.stderr)


@pytest.mark.parametrize("old", ['name="relu"', 'name="x"', 'id="1" name="relu"', 'type="ReLU"', 'name="net"'])
@pytest.mark.parametrize(
    "options",
    [["--layers"], ["--layer", "0"], ["--layer", "2"], *([["--format", "json", *options] for options in JSON])],
)
def test_everything_that_inspect_tells(options: list[str], old: str, tmp_path: Path) -> None:
    field = old.partition('"')[0]
    path = write(tmp_path / "m.xml", old, f'{field}"{NAME}"' + (' name="relu"' if "id=" in old else ""))
    result = CliRunner().invoke(main, ["inspect", str(path), *options])
    assert result.exit_code in (0, 1)
    assert harmless(result.stdout)
    assert harmless(result.stderr)


def test_json_says_what_the_file_says(tmp_path: Path) -> None:
    path = write(tmp_path / "m.xml", 'name="net"', f'name="{NAME}&#x7f;"')
    name = json.loads(CliRunner().invoke(main, ["inspect", str(path), "--format", "json"]).stdout)["name"]
    assert name == "::error::owned\n::warning::two\x85\u202e\u200b##[error]three\x7f"


def test_outputs_with_other_shapes(tmp_path: Path) -> None:
    path = write(tmp_path / "m.xml", 'name="relu"', f'name="{NAME}"')
    for more in ([], ["--format", "json"]):
        result = CliRunner().invoke(main, ["check", str(path), "--batch", "7", *more])
        assert "7," in result.stdout
        assert harmless(result.stdout)


@pytest.mark.parametrize("name", FORMATS)
def test_reports_in_a_file(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.xml", 'id="1" name="relu"', f'id="1{NAME}" name="{NAME}"')
    result = CliRunner().invoke(main, ["check", str(path), "--format", name, "--output", str(tmp_path / "report")])
    assert result.exit_code == 1
    lines = (tmp_path / "report").read_text("utf-8").split("\n")
    own = [line for line in lines if line.startswith("::error file=")] if name == "github" else []
    assert bool(own) == (name == "github")
    assert not any(line.strip().startswith("::") for line in lines if line not in own)


def test_a_diff_is_no_command(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    text = (BAD / "IR601-declared-dims.xml").read_text("utf-8")
    path.write_text(text.replace("<dim>5</dim>", "<dim>5</dim><!--\n::error::x\n-->"), "utf-8")
    result = CliRunner().invoke(main, ["check", str(path), "--diff"])
    assert "error::x" in result.stdout
    assert harmless(result.stdout)


OTHERS = [
    ["profile", "m.xml", "--repeat", "1"],
    ["profile", "m.xml", "--repeat", "1", "--format", "json"],
    ["profile", "m.xml", "--repeat", "1", "--format", "csv"],
    ["profile", "m.xml", "--plan"],
    ["profile", "m.xml", "--plan", "--format", "json"],
    ["compare", "m.xml", "--with", "m.xml", "--all"],
    ["compare", "m.xml", "--with", "m.xml", "--format", "json"],
    ["compare", "m.xml", "--with", "m.xml", "--format", "csv"],
    ["compare", "m.xml", "--precision", "f16"],
    ["compare", "m.xml", "--precision", "f16", "--format", "json"],
    ["shapes", "m.xml"],
    ["shapes", "m.xml", "--format", "json"],
    ["trace", "m.xml", "--output", "trace"],
    ["reduce", "m.xml", "--passes"],
    ["reduce", "m.xml", "--passes", "--format", "json"],
    ["diff", "m.xml", "--textconv"],
    ["diff", "m.xml", "other.xml"],
    ["diff", "m.xml", "other.xml", "--format", "json"],
    ["convert", "m.xml", "--output", "c.xml"],
    ["convert", "m.xml", "--output", "c.onnx"],
    ["edit", "m.xml", "--output", "e.xml", "--rename", "a=b"],
    ["extract", "m.xml", "--output", "x.xml", "--to", "a"],
    ["run", "m.xml", "--print", "values"],
    ["run", "m.xml", "--print", "top5"],
    ["run", "m.xml", "--validate"],
    ["bundle", "m.xml", "--output", "b.zip"],
    ["view", "m.xml", "--output", "v.html"],
]


@pytest.mark.parametrize("arguments", OTHERS, ids=" ".join)
@pytest.mark.parametrize("old", ['name="relu"', 'name="x"', 'type="ReLU"', 'name="net"'])
def test_other_commands(arguments: list[str], old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("m.xml", NAME), ("other.xml", f"{NAME}&#x9b;")):
        write(tmp_path / name, old, f'{old.partition(chr(34))[0]}"{text}"')
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code in (0, 1, 2)
    assert harmless(result.stdout)
    assert harmless(result.stderr)


@pytest.mark.parametrize("name", [*FORMATS, "text", "html"])
@pytest.mark.parametrize(
    "file",
    ["::error::a.xml", "a\n::error::b.xml", "%0A::error::c.xml", "\x1b[31md\x07.xml", "##[x]\x85.xml", "\udcff]]>.xml"],
)
def test_names_of_files(name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / file, 'type="ReLU"', 'type="Nothing"')
    result = CliRunner().invoke(main, ["check", "--format", name, "--", file])
    assert result.exit_code == 1
    lines = result.stdout.split("\n")
    own = [line for line in lines if line.startswith("::error file=")] if name == "github" else []
    printed = "\n".join(line for line in lines if line not in own)
    assert harmless(printed)
    assert harmless(result.stderr)
    for line in own:
        command, _, message = line.removeprefix("::").partition("::")
        assert command.startswith("error file=")
        assert (command + message).isprintable()


SAMPLE = Path(__file__).parents[2] / "samples" / "gnn_step.xml"


def sample_with(name: bytes, folder: Path) -> str:
    """The path of a sample with a name of any bytes; a system that has no such names skips the test."""
    path = os.fsdecode(os.path.join(os.fsencode(folder), name))
    try:
        shutil.copy(SAMPLE, path)
    except OSError:
        pytest.skip("names of files are UTF-8")
    shutil.copy(SAMPLE.with_suffix(".bin"), f"{os.path.splitext(path)[0]}.bin")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "MODEL", str(SAMPLE)),
        ("compare", "MODEL", str(SAMPLE), "--inputs", str(SAMPLE.parent / "gnn_*.inputs.npz")),
        ("diff", "MODEL", str(SAMPLE)),
        ("inspect", "MODEL"),
        ("inspect", "MODEL", "--summary"),
        ("profile", "MODEL"),
        ("profile", "MODEL", "--plan"),
        ("reduce", "MODEL", "--passes"),
        ("run", "MODEL"),
        ("shapes", "MODEL"),
    ],
)
def test_non_utf8_paths_in_json(command: tuple[str, ...], tmp_path: Path) -> None:
    path = sample_with(b"n\xffn.xml", tmp_path)
    target = tmp_path / "report.json"
    to_file = ["--output", str(target)] if command[0] in ("compare", "diff") else []
    arguments = [path if word == "MODEL" else word for word in command]
    for options in ([], to_file):
        result = CliRunner().invoke(main, [*arguments, "--format", "json", *options])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code == 0
        json.loads(target.read_bytes() if options else result.stdout)


@pytest.mark.parametrize("is_file", [False, True])
def test_non_utf8_paths_in_junit(is_file: bool, tmp_path: Path) -> None:
    path = sample_with(b"n\xffn.xml", tmp_path)
    target = tmp_path / "report.xml"
    options = ["--output", str(target)] if is_file else []
    result = CliRunner().invoke(main, ["compare", path, str(SAMPLE), "--format", "junit", *options])
    (suite,) = etree.fromstring(target.read_bytes() if is_file else result.stdout_bytes)
    assert "n\\udcffn.xml" in str(suite.get("name"))


def test_layers_in_junit(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(SAMPLE.read_text("utf-8").replace('name="nothing"', f'name="{NAME}"'), "utf-8")
    shutil.copy(SAMPLE.with_suffix(".bin"), path.with_suffix(".bin"))
    result = CliRunner().invoke(main, ["compare", str(path), str(SAMPLE), "--format", "junit"])
    assert all(char.isprintable() or char == "\n" for char in result.stdout)
    names = [str(case.get("name")) for case in etree.fromstring(result.stdout_bytes).iter("testcase")]
    assert sum("::error::owned" in name and name.isprintable() for name in names) == 1
