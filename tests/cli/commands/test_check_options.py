"""Options of `ir-exec check`: what-if, selection, settings, baselines, formats, repairs, several processes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lxml import etree

from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.helpers.ir_text import layer, net, parameter, port
from tests.helpers.ir_text import result as ir_result

ROOT = Path(__file__).parents[3]
BAD = ROOT / "tests" / "bad"
NETWORKS = ROOT / "tests" / "networks"
GOOD = NETWORKS / "conv_zoo.xml"
MIXED = BAD / "many-independent-faults.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def summary(result: Result) -> str:
    return result.stdout.rstrip().splitlines()[-1]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class TestWhatIf:
    def test_shape(self) -> None:
        result = run(GOOD, "--shape", "b[3,4,14,15]")
        assert result.exit_code == 1
        assert mentions("hint", 2, 14, "Constant_387") in result.stdout.splitlines()
        assert run(GOOD, "--shape", "a[2,4,20]", "--shape", "b[2,4,14,15]").exit_code == 0

    @pytest.mark.parametrize("text", ["x[5,3]", "x=5,3", "x=[5,3]", "[5,3]", "5,3"])
    def test_one_syntax_for_shapes(self, text: str, tmp_path: Path) -> None:
        """`check`, `run` and `inspect` share one syntax for shapes; the name may be omitted for a single input."""
        path = tmp_path / "relu.xml"
        dims = (-1, 3)
        relu = layer(1, "ReLU", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims, names="y")])
        layers = [parameter(0, dims=dims, name="x"), relu, ir_result(2, dims=dims)]
        path.write_bytes(net(layers, [(0, 0, 1, 0), (1, 1, 2, 0)]))
        checked = run(path, "--shape", text)
        assert checked.exit_code == 0
        assert "  y  f32[5,3]" in checked.stdout.splitlines()
        assert json.loads(run(path, "--shape", text, "--format", "json").stdout)["files"][0]["outputs"] == {
            "y": "f32[5,3]"
        }
        for command in ("run", "inspect"):
            shown = CliRunner().invoke(main, [command, str(path), "--shape", text])
            assert shown.exit_code == 0, shown.output
            assert re.search(r"^y +f32 +\[5,3\]", shown.stdout, re.MULTILINE)

    def test_output_shapes_are_shown_only_for_new_shapes(self) -> None:
        outputs = json.loads(run(GOOD, "--batch", "2", "--format", "json").stdout)["files"][0]["outputs"]
        for batch, count in (((), 0), (("--batch", "2"), 1)):
            lines = [line.split() for line in run(GOOD, *batch).stdout.splitlines()]
            assert [lines.count([name, type]) for name, type in outputs.items()] == [count] * len(outputs)

    def test_batch(self) -> None:
        assert summary(run(GOOD, "--batch", "3")) == mentions(1, 102, 0, 2, 0)

    @pytest.mark.parametrize("text", ["a", "a[1,x]", "a[1],a[2]", "[1]x"])
    def test_shapes_that_cannot_be_read(self, text: str) -> None:
        result = run(GOOD, "--shape", text)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: --shape: ")

    def test_missing_input_is_reported(self) -> None:
        result = run(GOOD, "--shape", "z[1]")
        assert result.exit_code == 2
        assert mentions("z", "a", "b", "c") in result.stdout.splitlines()

    def test_requires(self) -> None:
        result = run(NETWORKS / "gnn_gcn_gat.xml", "--requires")
        needed = mentions("gnn_gcn_gat.xml", "OpenVINO", "2023.1", "ScatterElementsUpdate", "opset12", 4, 303)
        assert needed in result.stdout.splitlines()
        assert mentions("IR004-html.xml", "OpenVINO") in run(BAD / "IR004-html.xml", "--requires").stdout.splitlines()

    def test_target(self) -> None:
        result = run(NETWORKS / "gnn_gcn_gat.xml", "--target", "2023.0")
        assert result.exit_code == 1
        assert result.stdout.count("error[IR119 newer-than-target]") == 1
        assert any("also: " in line and line == mentions(3) for line in result.stdout.splitlines())
        assert "4 errors" in summary(result)
        assert run(NETWORKS / "gnn_gcn_gat.xml", "--target", "2023.1").exit_code == 0
        assert run(GOOD, "--target", "new").stderr == mentions("--target", "new", "OpenVINO")
        result = run(GOOD, "--target", "2030.9")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == mentions("--target", "2030.9", "2018.1", "2026.4")


class TestSelection:
    def test_select_and_ignore(self) -> None:
        assert "5 errors" in summary(run(MIXED))
        assert "2 errors" in summary(run(MIXED, "--select", "IR6"))
        assert "2 errors" in summary(run(MIXED, "--ignore", "IR6,unknown-type"))
        assert run(MIXED, "--ignore", "all").exit_code == 0
        result = run(MIXED, "--select", "IR6,nonsense")
        assert result.exit_code == 2
        assert result.stderr == mentions("select", "nonsense")

    def test_strict(self) -> None:
        for name in ("IR303-unknown-attribute", "IR902-extension-operator"):
            path = BAD / f"{name}.xml"
            assert run(path).exit_code == 0
            result = run(path, "--strict")
            assert result.exit_code == 1
            assert result.stderr.startswith("strict: ")
        assert run(GOOD, "--strict").exit_code == 0

    @pytest.mark.parametrize("name", ["pyproject.toml", "ir-exec.toml"])
    def test_settings_of_the_nearest_folder(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        prefix = "tool.ir-exec" if name == "pyproject.toml" else ""
        sections = f"[{prefix}.%s]" if prefix else "[%s]"
        (tmp_path / name).write_text(
            (f"[{prefix}]\n" if prefix else "")
            + 'ignore = ["IR503"]\nstrict = true\n'
            + sections % "severity"
            + '\nunknown-type = "warning"\n'
            + sections % "per-file-ignores"
            + '\n"bad/*.xml" = ["weights"]\n'
        )
        (tmp_path / "deep" / "er").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "deep" / "er")
        result = run(MIXED)
        assert summary(result) == mentions(1, 7, 1, 2, 1)
        assert result.exit_code == 1

    def test_other_tools_have_a_pyproject_too(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
        assert "5 errors" in summary(run(MIXED))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("ignore = 3", mentions("ir-exec.toml", "ignore")),
            ("ignroe = []", mentions("ir-exec.toml", "ignroe", "ignore")),
            ("ignore = [", mentions("ir-exec.toml", "TOML")),
            ('ignore = ["x"]', mentions("ignore", "x")),
            ('severity = {IR6 = "fatal"}', mentions("severity.IR6")),
        ],
    )
    def test_settings_that_cannot_be_used(self, text: str, message: mentions, tmp_path: Path) -> None:
        (tmp_path / "ir-exec.toml").write_text(text)
        result = run(MIXED)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr.splitlines()

    def test_a_settings_file_by_name(self, tmp_path: Path) -> None:
        (tmp_path / "other.toml").write_text('select = ["IR6"]')
        assert "2 errors" in summary(run(MIXED, "--config", tmp_path / "other.toml"))
        assert run(MIXED, "--config", "no.toml").exit_code == 2


def test_baseline(tmp_path: Path) -> None:
    path = tmp_path / "old.xml"
    shutil.copy(MIXED, path)
    shutil.copy(MIXED.with_suffix(".bin"), tmp_path / "old.bin")
    result = run("old.xml", "--write-baseline", "known.json")
    assert (result.exit_code, result.stdout) == (0, mentions(5, "known.json"))
    assert run("old.xml", "--baseline", "known.json").exit_code == 0
    (tmp_path / "ir-exec.toml").write_text('baseline = "known.json"')
    assert run("old.xml").exit_code == 0
    path.write_text(path.read_text().replace('name="relu" type="ReLU"', 'name="relu" type="Nonesuch"'))
    result = run("old.xml")
    assert result.exit_code == 1
    assert "Nonesuch" in result.stdout
    assert "Tahn" not in result.stdout
    (tmp_path / "known.json").write_text("{}")
    assert run("old.xml").stderr == mentions("error", tmp_path / "ir-exec.toml", "baseline", "known.json")
    assert run("old.xml", "--baseline", "known.json").stderr == mentions("error", "known.json")


class TestOutput:
    def test_quiet_shows_errors_only(self) -> None:
        assert "IR303" in run(BAD / "IR303-unknown-attribute.xml").stdout
        result = run(BAD / "IR303-unknown-attribute.xml", "--quiet")
        assert result.stdout == mentions(1, 4, 0, 0, 1)

    def test_statistics(self) -> None:
        result = run(MIXED, BAD / "IR601-declared-dims.xml", "--statistics", "--quiet")
        table = result.stdout.splitlines()[-7:-2]
        assert table[0] == mentions(2, "IR601", "error", "declared-dims")
        assert table[1] == mentions(1, "IR116", "error", "unknown-type")

    @pytest.mark.parametrize("name", ["json", "sarif", "gitlab"])
    def test_json_formats_are_json_alone(self, name: str) -> None:
        result = run(MIXED, "--format", name)
        assert result.exit_code == 1
        json.loads(result.stdout)
        assert result.stderr == mentions(1, 7, 1, 5, 0)

    def test_junit(self) -> None:
        assert etree.fromstring(run(MIXED, "--format", "junit").stdout.encode()).tag == "testsuites"

    def test_github(self) -> None:
        lines = run(MIXED, "--format", "github").stdout.splitlines()
        assert len(lines) == 5
        assert run(NETWORKS / "conv_zoo.xml", "--format", "github").stdout == ""

    def test_to_a_file(self, tmp_path: Path) -> None:
        result = run(MIXED, "--format", "sarif", "--output", "report.sarif")
        assert result.stdout == mentions(1, 7, 1, 5, 0)
        assert json.loads((tmp_path / "report.sarif").read_text())["version"] == "2.1.0"
        result = CliRunner().invoke(main, ["check", str(MIXED), "--output", "report.txt"], color=True)
        text = (tmp_path / "report.txt").read_text()
        assert text.count("error[") == 5
        assert text.endswith("5 errors, 0 warnings\n")
        assert "\x1b" not in text

    def test_a_file_that_cannot_be_written(self) -> None:
        result = run(MIXED, "--output", "no/such/folder.txt")
        assert result.exit_code == 2
        assert mentions("no/such/folder.txt") in result.stderr.splitlines()


class TestRepository:
    """Services find files by their paths from the top of a repository, wherever the check was begun."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / ".git").mkdir()
        (tmp_path / "models" / "deep").mkdir(parents=True)
        shutil.copy(BAD / "IR601-declared-dims.xml", tmp_path / "models" / "deep" / "net.xml")
        monkeypatch.chdir(tmp_path / "models")
        return tmp_path

    @pytest.mark.parametrize("path", ["deep", "deep/net.xml", "./deep/../deep/net.xml", None])
    def test_paths(self, folder: Path, path: str | None) -> None:
        path = path or str(folder / "models" / "deep" / "net.xml")
        (result,) = json.loads(run(path, "--format", "sarif").stdout)["runs"][0]["results"]
        location = result["locations"][0]["physicalLocation"]
        assert location["artifactLocation"] == {"uri": "models/deep/net.xml", "uriBaseId": "%SRCROOT%"}
        assert location["region"] == {"startLine": 21, "startColumn": 9, "endLine": 21, "endColumn": 39}
        (issue,) = json.loads(run(path, "--format", "gitlab").stdout)
        assert issue["location"]["path"] == "models/deep/net.xml"
        assert run(path, "--format", "github").stdout.startswith("::error file=models/deep/net.xml,line=21,")
        assert 'file="models/deep/net.xml"' in run(path, "--format", "junit").stdout

    def test_without_a_repository_the_folder_of_the_check_counts(self, tmp_path: Path) -> None:
        shutil.copy(BAD / "IR601-declared-dims.xml", tmp_path / "net.xml")
        assert run("net.xml", "--format", "github").stdout.startswith("::error file=net.xml,")


class TestFix:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        shutil.copy(BAD / "IR601-declared-dims.xml", tmp_path / "net.xml")
        (tmp_path / "net.xml").chmod(0o640)
        return tmp_path / "net.xml"

    def test_fix(self, path: Path) -> None:
        before = path.read_bytes()
        result = run("net.xml", "--fix")
        assert (result.exit_code, result.stderr) == (0, "fixed 1 file\n")
        assert path.read_bytes() == before.replace(b"<dim>5</dim>", b"<dim>3</dim>")
        assert path.stat().st_mode & 0o777 == 0o640
        assert run("net.xml", "--fix").stderr == "fixed 0 files\n"

    def test_diff(self, path: Path) -> None:
        before = path.read_bytes()
        result = run("net.xml", "--diff")
        assert result.exit_code == 1
        assert "-          <dim>5</dim>\n+          <dim>3</dim>\n" in result.stdout
        assert path.read_bytes() == before

    def test_other_errors(self) -> None:
        result = run(MIXED, "--diff")
        assert mentions("IR116", "IR204", "IR503") in result.stderr.splitlines()

    def test_partial_fix(self, tmp_path: Path) -> None:
        for suffix in (".xml", ".bin"):
            shutil.copy(MIXED.with_suffix(suffix), tmp_path / f"net{suffix}")
        result = run("net.xml", "--fix")
        assert result.exit_code == 1
        assert result.stderr.splitlines()[0] == mentions("net.xml", "IR116", "IR204", "IR503")
        assert result.stderr.endswith("fixed 1 file\n")
        assert summary(result).endswith("; 3 errors, 0 warnings")

    def test_declare(self, tmp_path: Path) -> None:
        shutil.copy(BAD / "IR601-attribute-changed.xml", tmp_path / "net.xml")
        result = run("net.xml", "--fix")
        assert result.exit_code == 1
        refused, hint, *_ = result.stderr.splitlines()
        assert refused == mentions("net.xml", "IR601")
        assert hint == mentions("hint", "--declare")
        assert run("net.xml", "--diff", "--declare").exit_code == 1
        result = run("net.xml", "--fix", "--declare")
        assert (result.exit_code, result.stderr) == (0, "fixed 1 file\n")
        assert run("net.xml", "--declare").stderr == mentions("--declare", "--fix", "--diff")


class TestJobs:
    def test_the_same_in_the_same_order(self) -> None:
        alone = run(BAD, "no/such.xml")
        together = run(BAD, "no/such.xml", "--jobs", "2")
        assert (together.stdout, together.exit_code) == (alone.stdout, alone.exit_code)
        assert together.stdout.count("error[") > 50


def test_a_file_by_two_paths_is_one(tmp_path: Path) -> None:
    shutil.copy(BAD / "IR107-cycle.xml", tmp_path / "net.xml")
    (tmp_path / "link.xml").symlink_to("net.xml")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.xml").symlink_to(tmp_path / "net.xml")
    for paths in (("net.xml", "./net.xml"), ("net.xml", "link.xml"), (".",), (str(tmp_path / "net.xml"), ".")):
        assert summary(run(*paths)).startswith("1 file: ")


def test_baseline_is_relative_to_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "settings").mkdir()
    shutil.copy(BAD / "IR107-cycle.xml", tmp_path / "deep" / "net.xml")
    assert run("deep/net.xml", "--write-baseline", "settings/known.json").exit_code == 0
    (tmp_path / "settings" / "ir-exec.toml").write_text('baseline = "known.json"')
    monkeypatch.chdir(tmp_path / "deep")
    assert run("net.xml", "--config", "../settings/ir-exec.toml").exit_code == 0
    assert run("net.xml").exit_code == 1
