"""`ir-exec check`."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from ir_exec.check import FORMATS
from ir_exec.cli import main
from tests.helpers.facts import mentions

ROOT = Path(__file__).parents[3]
BAD = ROOT / "tests" / "bad"
GOOD = ROOT / "tests" / "networks" / "gnn_gcn_gat.xml"
SCHEMA = ROOT / "schemas" / "report.schema.json"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def summary(result: Result) -> str:
    return result.stdout.rstrip().splitlines()[-1]


def test_a_good_file() -> None:
    result = run(GOOD)
    assert (result.exit_code, result.stderr) == (0, "")
    assert summary(result) == mentions(1, 116, 0, 0, 0, 2)
    assert "error" not in result.stdout.partition("1 file")[0]


def test_a_broken_file() -> None:
    path = BAD / "many-independent-faults.xml"
    result = run(path)
    assert result.exit_code == 1
    assert summary(result) == mentions(1, 7, 1, 5, 0)
    assert mentions(f"{path}:21", 1, "relu", "ReLU") in result.stdout.splitlines()
    assert '21 | <port id="1" precision="FP16">' in result.stdout
    assert mentions("hint", "Tan") in result.stdout.splitlines()
    assert "\x1b" not in result.stdout


def test_warnings_are_no_errors() -> None:
    result = run(BAD / "IR303-unknown-attribute.xml")
    assert result.exit_code == 0
    assert summary(result) == mentions(1, 4, 0, 0, 1)


def test_several_files_and_none_twice() -> None:
    result = run(GOOD, BAD / "IR107-cycle.xml", GOOD, GOOD.parent / "." / GOOD.name)
    assert summary(result) == mentions(2, 120, 0, 1, 0)


def test_colors_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["check", str(BAD / "IR107-cycle.xml")]
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in CliRunner().invoke(main, arguments, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(main, arguments, color=True).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(main, arguments).stdout
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[31m" in CliRunner().invoke(main, arguments).stdout


def test_bin_path_selects_its_xml() -> None:
    result = run(GOOD.with_suffix(".bin"), GOOD)
    assert result.exit_code == 0
    assert summary(result) == mentions(1, 116, 0, 0, 0, 2)


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for subfolder in ("deep/er", ".hidden"):
            (tmp_path / subfolder).mkdir(parents=True)
        for suffix in (".xml", ".bin"):
            shutil.copy(GOOD.with_suffix(suffix), tmp_path / "deep" / "er" / f"good{suffix}")
        shutil.copy(BAD / "IR107-cycle.xml", tmp_path / "deep" / "CYCLE.XML")
        shutil.copy(BAD / "IR107-cycle.xml", tmp_path / ".hidden" / "cycle.xml")
        shutil.copy(BAD / "IR004-other-xml.xml", tmp_path / "build.xml")
        (tmp_path / "notes.txt").write_text("no XML at all")
        return tmp_path

    def test_folders_are_walked(self, folder: Path) -> None:
        result = run(folder)
        assert result.exit_code == 1
        assert summary(result) == mentions(2, 120, 0, 1, 0, 2)
        assert "skipped" in result.stdout
        assert mentions(1, ".xml") in result.stdout.splitlines()

    def test_damaged_ir_file_is_not_skipped(self, folder: Path) -> None:
        (folder / "build.bin").write_bytes(b"")
        result = run(folder)
        assert "error[IR004 not-ir]" in result.stdout
        assert "skipped" not in result.stdout

    def test_a_file_by_name_is_not_skipped(self, folder: Path) -> None:
        result = run(folder / "build.xml")
        assert result.exit_code == 1
        assert "<project>" in result.stdout

    def test_a_folder_without_ir(self, tmp_path: Path) -> None:
        result = run(tmp_path)
        assert result.exit_code == 2
        assert result.stderr == mentions("IR", "ONNX", tmp_path)
        assert result.stdout == ""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere all names are Unicode")
@pytest.mark.parametrize("name", [*FORMATS, "text"])
def test_names_in_invalid_utf_8(name: str, tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"n\xffn")
    os.mkdir(folder)
    with open(os.path.join(folder, b"b\xe9.xml"), "wb") as file:
        file.write((BAD / "IR107-cycle.xml").read_bytes())
    result = run(tmp_path, "--format", name)
    assert result.exit_code == 1
    assert not result.exception or isinstance(result.exception, SystemExit)
    assert "IR107" in result.stdout
    if name in ("json", "sarif", "gitlab"):
        json.loads(result.stdout)
    assert run(tmp_path, "--format", name, "--output", tmp_path / "report").exit_code == 1


class TestUnusable:
    def test_a_path_that_does_not_exist(self) -> None:
        result = run("no/such.xml")
        assert result.exit_code == 2
        assert "error[IR001 unreadable-path]" in result.stdout

    def test_other_files_are_still_checked(self) -> None:
        result = run("no/such.xml", BAD / "IR107-cycle.xml")
        assert result.exit_code == 2
        assert summary(result) == mentions(2, 4, 0, 2, 0)

    @pytest.mark.parametrize("arguments", [(), ("--format", "yaml", "x.xml"), ("--nonsense", "x.xml")])
    def test_wrong_arguments(self, arguments: tuple[str, ...]) -> None:
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage:" in result.stderr


class TestJson:
    def test_summary_contents(self) -> None:
        path = BAD / "IR601-declared-dims.xml"
        result = run("--format", "json", path, GOOD)
        assert result.exit_code == 1
        report = json.loads(result.stdout)
        assert report["format"] == 1
        assert report["summary"] == {
            "files": 2,
            "layers_checked": 120,
            "layers_not_checked": 0,
            "errors": 1,
            "warnings": 0,
            "infos": 2,
        }
        assert [file["ok"] for file in report["files"]] == [False, True]
        (diagnostic,) = report["files"][0]["diagnostics"]
        assert diagnostic == {
            "code": "IR601",
            "name": "declared-dims",
            "severity": "error",
            "message": mentions("f32[2,5]", "f32[2,3]", 1, 3, 5),
            "actual": "f32[2,5]",
            "expected": "f32[2,3]",
            "hint": mentions("f32[2,3]"),
            "location": {
                "path": str(path),
                "line": 21,
                "layer_id": "1",
                "layer_name": "relu",
                "layer_type": "ReLU",
                "kind": "layer",
                "port": "output",
                "source": None,
            },
            "related": [],
            "source": None,
        }

    def test_it_keeps_to_the_schema(self) -> None:
        schema = json.loads(SCHEMA.read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        report = json.loads(run("--format", "json", BAD, "no/such.xml").stdout)
        jsonschema.Draft202012Validator(schema).validate(report)
        assert [Path(path).stem for path in report["skipped"]]
        report["files"][0]["diagnostics"][0]["severity"] = "fatal"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate(report)

    def test_the_schema_is_current(self) -> None:
        printed = CliRunner().invoke(main, ["schema"]).stdout
        assert printed == SCHEMA.read_text("utf-8"), "run: ir-exec schema > schemas/report.schema.json"


class TestOrder:
    """Text has the errors of all files, then the warnings, then one line with the number of infos."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        names = ("a", "IR508-unbounded-dim"), ("b", "IR303-unknown-attribute"), ("c", "IR107-cycle")
        for name, source in (*names, ("d", "IR508-unbounded-dim"), ("e", "IR303-unknown-attribute")):
            shutil.copy(BAD / f"{source}.xml", tmp_path / f"{name}.xml")
        return tmp_path

    def heads(self, result: Result) -> list[str]:
        return re.findall(r"^(?:error|warning|info)\[\w+", result.stdout, re.MULTILINE)

    def test_errors_come_first_and_infos_are_counted(self, folder: Path) -> None:
        result = run(folder)
        assert self.heads(result) == ["error[IR107", "warning[IR303", "warning[IR303"]
        assert result.stdout.splitlines()[-2] == mentions(2, "IR508", "--level")
        assert summary(result) == mentions(5, 1, 2, 2)

    @pytest.mark.parametrize("options", [("--level", "info"), ("--select", "all")])
    def test_infos_on_request(self, folder: Path, options: tuple[str, ...]) -> None:
        result = run(folder, *options)
        assert self.heads(result)[-2:] == ["info[IR508", "info[IR508"]
        assert "--level" not in result.stdout

    @pytest.mark.parametrize("options", [("--level", "warning"), ("--level", "error"), ("--quiet",)])
    def test_unselected_infos_are_not_counted(self, folder: Path, options: tuple[str, ...]) -> None:
        assert not [line for line in run(folder, *options).stdout.splitlines()[:-1] if "IR508" in line]

    def test_other_formats_have_all_findings(self, folder: Path) -> None:
        report = json.loads(run(folder, "--format", "json").stdout)
        assert [len(file["diagnostics"]) for file in report["files"]] == [1, 1, 1, 1, 1]

    def test_a_file_of_text(self, folder: Path, tmp_path: Path) -> None:
        output = tmp_path / "report.txt"
        printed = run(folder).stdout
        run(folder, "--output", output)
        assert output.read_text("utf-8") == printed
