"""Settings that cannot be used: in our words, by the name of the file, and never blamed on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main

BAD = Path(__file__).parents[1] / "bad"
WARNED = BAD / "IR303-unknown-attribute.xml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strct = true", "there is no setting 'strct'; did you mean 'strict'?"),
        ("weights_value = true", "there is no setting 'weights_value'; did you mean 'weights-values'?"),
        ("zzz = 1", "there is no setting 'zzz'"),
        ('strict = "perhaps"', "strict: expected true or false, found 'perhaps'"),
        ("jobs = 0", "jobs: expected a number from 1 on, found 0"),
        ("target = 3", 'target: expected a release of OpenVINO, as "2023.1" is, found 3'),
        ("ignore = 3", "ignore: expected a list of rules, found 3"),
        ("ignore = [3]", "ignore.0: expected a text, found 3"),
        ('level = "loud"', "level: expected error, warning or info, found 'loud'"),
        ("severity = 1", "severity: expected a table of severities, found 1"),
        ('severity.IR6 = "fatal"', "severity.IR6: expected error, warning or info, found 'fatal'"),
        ('per-file-ignores."*.xml" = 3', "per-file-ignores.*.xml: expected a list of rules, found 3"),
        ('target = "new"', "target: 'new' is not a release of OpenVINO, as 2023.1 is"),
        ('select = ["declard-dims"]', "select: 'declard-dims' is no code"),
        ('severity.declard-dims = "info"', "severity: 'declard-dims' is no code"),
        ('per-file-ignores."*.xml" = ["x"]', "per-file-ignores.*.xml: 'x' is no code"),
        ('baseline = "no.json"', "baseline: cannot read the baseline no.json: No such file or directory"),
    ],
)
@pytest.mark.parametrize("name", ["ir-exec.toml", "pyproject.toml"])
def test_faults_of_a_file(text: str, message: str, name: str, tmp_path: Path) -> None:
    head = "[tool.ir-exec]\n" if name == "pyproject.toml" else ""
    path = tmp_path / name
    path.write_text(head + text)
    result = run(WARNED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}: {message}")
    assert "pydantic" not in result.stderr
    assert "--" not in result.stderr


def test_a_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nir-exec = 3")
    assert "[tool.ir-exec] is no table" in run(WARNED).stderr


def test_did_you_mean() -> None:
    assert "did you mean declared-dims?" in run(WARNED, "--ignore", "declard-dims").stderr
    result = CliRunner().invoke(main, ["explain", "declard-dims"])
    assert (result.exit_code, result.stderr) == (
        2,
        "error: there is no rule 'declard-dims'; did you mean declared-dims?\n",
    )


class TestLevel:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        """One warning and one info."""
        text = WARNED.read_text("utf-8")
        path = tmp_path / "m.xml"
        path.write_text(text.replace('shape="2,3"', 'shape="?,3"').replace("<dim>2</dim>", "<dim>-1</dim>"), "utf-8")
        return path

    @pytest.mark.parametrize(("level", "shown"), [("info", 2), ("warning", 1), ("error", 0)])
    def test_text(self, level: str, shown: int, file: Path) -> None:
        result = run(file, "--level", level)
        assert result.exit_code == 0
        assert result.stdout.count("-->") == shown
        assert result.stdout.endswith("0 errors, 1 warning, 1 info\n")

    @pytest.mark.parametrize(("level", "shown"), [("info", 2), ("warning", 1), ("error", 0)])
    def test_formats(self, level: str, shown: int, file: Path) -> None:
        result = run(file, "--level", level, "--format", "github")
        assert len(result.stdout.splitlines()) == shown
        assert result.stderr.endswith("0 errors, 1 warning, 1 info\n")

    def test_settings(self, file: Path, tmp_path: Path) -> None:
        (tmp_path / "ir-exec.toml").write_text('level = "warning"')
        assert run(file).stdout.count("-->") == 1
        assert run(file, "--level", "info").stdout.count("-->") == 2

    def test_strict_fails_on_what_is_not_shown(self, file: Path) -> None:
        assert run(file, "--level", "error", "--strict").exit_code == 1

    def test_severities_of_settings_come_first(self, file: Path, tmp_path: Path) -> None:
        (tmp_path / "ir-exec.toml").write_text('level = "warning"\nseverity.unbounded-dim = "warning"')
        assert run(file).stdout.count("-->") == 2
