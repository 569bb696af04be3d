"""Extensions of settings run only with consent: whose files they are, where they are sought, and what CI allows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions

pytestmark = pytest.mark.usefixtures("forgotten_extensions")

BAD = Path(__file__).parents[1] / "bad"
OTHER_USER = 54321

COMMANDS = [["check", "net.xml"], ["inspect", "net.xml"], ["ops", "Relu"], ["shapes", "net.xml"]]
CI_VARIABLES = (
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "TF_BUILD",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "CODEBUILD_BUILD_ID",
)
ALL_COMMANDS = sorted(main.list_commands(None))  # type: ignore[arg-type]  # the context is not used


class Project:
    """A folder with a model, and settings with an extension in one of its parents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "above" / "repository" / "models"
        self.folder.mkdir(parents=True)
        shutil.copy(BAD / "IR303-unknown-attribute.xml", self.folder / "net.xml")

    def settings(self, folder: Path, name: str = "ir-exec.toml") -> Path:
        """Write settings with an extension to a folder."""
        (folder / "code.py").write_text(f"with open({str(self.root / 'ran')!r}, 'a') as file:\n    file.write('x')")
        (folder / name).write_text(("[tool.ir-exec]\n" * (name == "pyproject.toml")) + 'extensions = ["code.py"]\n')
        return folder / name

    @property
    def has_run(self) -> bool:
        return (self.root / "ran").exists()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path)
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return project


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch, *, is_link: bool = False) -> None:
    """Make another user the owner of a file."""
    if not hasattr(os, "geteuid"):
        pytest.skip("files have no owners here")
    if os.geteuid() == 0:
        (os.lchown if is_link else os.chown)(path, OTHER_USER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: OTHER_USER)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["ir-exec.toml", "pyproject.toml"])
def test_settings_above_the_repository_are_not_sought(project: Project, command: list[str], name: str) -> None:
    (project.root / "above" / "repository" / ".git").mkdir()
    project.settings(project.root / "above", name)
    assert "code.py" not in call(*command).stderr
    assert not project.has_run


@pytest.mark.parametrize("is_file", [True, False])
def test_settings_in_repository_root_are_read(project: Project, is_file: bool) -> None:
    root = project.root / "above" / "repository"
    (root / ".git").write_text("gitdir: x") if is_file else (root / ".git").mkdir()
    project.settings(root)
    call("check", "net.xml")
    assert project.has_run


@pytest.mark.parametrize(("level", "runs"), [("above", False), ("above/repository", True)])
def test_the_search_ends_at_the_home_folder(
    project: Project, level: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.root / "above" / "repository"))
    project.settings(project.root / level)
    call("check", "net.xml")
    assert project.has_run is runs


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes there")
def test_search_stops_below_world_writable_folder(project: Project) -> None:
    project.settings(project.root / "above")
    (project.root / "above").chmod(0o777)
    call("check", "net.xml")
    assert not project.has_run


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_code_of_another_owner_is_never_run(
    project: Project, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_away(project.settings(project.folder), monkeypatch)
    result = call(*command, "--trust")
    assert not project.has_run
    assert mentions("extensions", "ir-exec.toml") in result.stderr.splitlines()


def test_rules_of_another_owner_are_used(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.folder / "ir-exec.toml"
    path.write_text('ignore = ["unknown-attribute"]\nbaseline = "/no/such/file"')
    assert call("check", "net.xml").exit_code == 2
    give_away(path, monkeypatch)
    result = call("check", "net.xml", "--strict")
    assert result.exit_code == 0
    assert mentions("baseline") in result.stderr.splitlines()


def test_a_link_of_another_owner_to_own_settings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    own = project.root / "own"
    own.mkdir()
    path = project.settings(own)
    (project.folder / "code.py").write_text((own / "code.py").read_text())
    link = project.folder / "ir-exec.toml"
    link.symlink_to(path)
    give_away(link, monkeypatch, is_link=True)
    call("check", "net.xml")
    assert not project.has_run


def test_own_settings_with_a_file_of_another_owner(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.settings(project.folder)
    give_away(project.folder / "code.py", monkeypatch)
    result = call("check", "net.xml")
    assert not project.has_run
    assert mentions("code.py", "ir-exec.toml") in result.stderr.splitlines()


@pytest.mark.parametrize(
    ("module", "foreign"),
    [
        ("code", "code.py"),
        ("package", "package/__init__.py"),
        ("package", "package"),
        ("package.operators", "package/operators.py"),
        ("package.operators", "package/__init__.py"),
    ],
)
def test_own_settings_with_a_module_of_another_owner(
    project: Project, module: str, foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.settings(project.folder)
    path.write_text(f'extensions = ["{module}"]')
    package = project.folder / "package"
    package.mkdir()
    for name in ("__init__.py", "operators.py"):
        shutil.copy(project.folder / "code.py", package / name)
    give_away(project.folder / foreign, monkeypatch)
    result = call("check", "net.xml")
    assert not project.has_run
    assert mentions(module, "ir-exec.toml") in result.stderr.splitlines()


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes there")
@pytest.mark.parametrize("home", ["", "/"])
def test_file_system_root_is_no_home_folder(project: Project, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    project.settings(project.root / "above")
    (project.root / "above").chmod(0o777)
    call("check", "net.xml")
    assert not project.has_run


@pytest.mark.parametrize("name", CI_VARIABLES)
def test_services_are_recognized_by_their_variables(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "True")
    project.settings(project.folder)
    assert call("check", "net.xml").exit_code == 2
    assert not project.has_run


def test_named_settings_of_another_owner(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(project.settings(project.folder), monkeypatch)
    call("check", "net.xml", "--extension", "code.py")
    assert project.has_run


def test_root_includes_sudo_caller(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root gives files away")
    monkeypatch.setenv("SUDO_UID", str(OTHER_USER))
    give_away(project.settings(project.folder), monkeypatch)
    call("check", "net.xml")
    assert project.has_run


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_ignored_extensions_are_listed_in_one_line(project: Project, command: list[str]) -> None:
    project.settings(project.folder)
    result = call(*command)
    assert project.has_run
    assert [line for line in result.stderr.splitlines() if "code.py" in line] == ["extensions: code.py (ir-exec.toml)"]
    assert "code.py" not in result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_config(project: Project, command: list[str]) -> None:
    project.settings(project.folder)
    assert call(*command, "--no-config").exit_code in (0, 1)
    assert not project.has_run


def test_no_config_means_no_settings(project: Project) -> None:
    (project.folder / "ir-exec.toml").write_text("strict = 3")
    assert call("check", "net.xml").exit_code == 2
    assert call("check", "net.xml", "--no-config").exit_code == 0
    assert call("check", "net.xml", "--no-config", "--config", "ir-exec.toml").exit_code == 2


@pytest.mark.parametrize("name", ALL_COMMANDS)
def test_every_command_has_no_config(name: str) -> None:
    assert "--no-config" in call(name, "--help").output


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_ci_needs_consent(project: Project, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    project.settings(project.folder)
    result = call(*command)
    assert (result.exit_code, project.has_run) == (2, False)
    assert result.stderr == mentions("ir-exec.toml", "code.py", "--trust", "--extension")
    assert call(*command, "--no-config").exit_code in (0, 1)
    assert not project.has_run


@pytest.mark.parametrize("options", [["--trust"], ["--extension", "code.py"], ["--extension", "../models/code.py"]])
def test_consent_in_ci(project: Project, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    project.settings(project.folder)
    assert call("check", "net.xml", *options).exit_code == 0
    assert (project.root / "ran").read_text() == "x"


def test_consent_to_one_is_no_consent_to_another(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    project.settings(project.folder)
    (project.folder / "other.py").write_text("")
    assert call("check", "net.xml", "--extension", "other.py").exit_code == 2
    assert not project.has_run


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_disabled_ci_variable(project: Project, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", value)
    project.settings(project.folder)
    call("check", "net.xml")
    assert project.has_run


def test_named_settings_need_consent_in_ci(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    path = project.settings(project.root / "above", "pyproject.toml")
    assert call("check", "net.xml", "--config", path).exit_code == 2
    assert not project.has_run


def test_too_large_files(project: Project) -> None:
    with open(project.folder / "ir-exec.toml", "wb") as file:
        file.truncate(2**30)
    assert call("check", "net.xml").stderr == mentions("ir-exec.toml", f"{2**30:,}")


@pytest.mark.skipif(os.name != "posix", reason="the current folder cannot be removed there")
def test_without_a_current_folder(project: Project) -> None:
    gone = project.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert call("ops", "Relu").exit_code == 0
    assert call("check", "net.xml").exit_code == 2


class TestFilesThatAreNamedLikeOptions:
    """A shell expands `*` to names of files; none of them is an option."""

    @pytest.fixture
    def evil(self, project: Project) -> Path:
        """A file whose name imports a package of the current folder."""
        (project.folder / "evil").mkdir()
        (project.folder / "evil" / "__init__.py").write_text(f"open({str(project.root / 'ran')!r}, 'w').close()")
        path = project.folder / "--extension=evil.xml"
        shutil.copy(project.folder / "net.xml", path)
        return path

    @pytest.mark.parametrize("command", ["check", "inspect", "run", "diff", "shapes", "convert"])
    def test_extensions_are_refused_as_options(self, project: Project, evil: Path, command: str) -> None:
        result = call(command, evil.name, "net.xml")
        assert (result.exit_code, project.has_run) == (2, False)
        assert result.stderr == mentions(f"./{evil.name}", "--")

    def test_paths_after_two_hyphens(self, project: Project, evil: Path) -> None:
        result = call("check", "--", evil.name, "net.xml")
        assert (result.exit_code, project.has_run) == (0, False)
        assert mentions(2) in result.stdout.splitlines()

    def test_options_without_a_file(self, project: Project, evil: Path) -> None:
        (project.folder / "-").write_text("")
        assert call("check", "net.xml", "--quiet").exit_code == 0
