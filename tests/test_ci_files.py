"""The files that tie the check into other people's CI, and the page about CI."""

from __future__ import annotations

import copy
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
import yaml
from click.testing import CliRunner

from ir_exec.cli import main
from tests.helpers.published_schemas import published_schema

ROOT = Path(__file__).parents[1]
BAD = ROOT / "tests" / "bad"
CONV = ROOT / "tests" / "networks" / "conv_zoo.xml"
ONNX = ROOT / "tests" / "networks" / "onnx" / "resnet.onnx"
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [yaml.load(text, yaml.BaseLoader) for text in BLOCKS]
"""All scalars are texts: YAML 1.1 reads the key `on` of a workflow as a truth value."""

COMMANDS = [
    "; touch done #",
    "&& touch done #",
    "| touch done #",
    "\ntouch done #",
    "'; touch done #",
    '"; touch done #',
    "$(touch done)",
    "`touch done`",
]
"""Template expressions that a shell reads as part of a script."""

OURS = f'exec {sys.executable} -P -c "from ir_exec.cli import main; main()" "$@"'
TELLS_WORDS = """printf '%s\\n' "$@\""""


def test_site_build_fails_on_warnings() -> None:
    """MkDocs does not count suppressed warnings: with --quiet, --strict lets broken links pass."""
    (command,) = re.findall(r"^\S*mkdocs build .*$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert "--strict" in command
    assert not {"--quiet", "-q"} & set(shlex.split(command, comments=True))


def errors(schema: str, document: Any) -> list[str]:
    rules = published_schema(schema)
    jsonschema.Draft7Validator.check_schema(rules)
    return [error.message for error in jsonschema.Draft7Validator(rules).iter_errors(document)]


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A folder with files whose names are options that run code, and with modules that Python itself may find."""
    folder = tmp_path / "evil"
    (folder / "evil").mkdir(parents=True)
    code = f"open({str(folder / 'ran')!r}, 'w').close()"
    (folder / "evil" / "__init__.py").write_text(code)
    for name in ("pip", "click", "numpy"):
        (folder / f"{name}.py").write_text(code)
    for name in ("--extension=evil.xml", "--help.xml", "-.xml", "good.xml"):
        shutil.copy(CONV, folder / name)
        shutil.copy(CONV.with_suffix(".bin"), (folder / name).with_suffix(".bin"))
    return folder


class TestPreCommit:
    @pytest.fixture
    def hook(self) -> dict[str, Any]:
        (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
        assert isinstance(hook, dict)
        return hook

    def test_hook_has_pre_commit_fields(self, hook: dict[str, Any]) -> None:
        """https://pre-commit.com/#creating-new-hooks."""
        assert {"id", "name", "entry", "language"} <= hook.keys()
        keys = {"id", "name", "entry", "args", "language", "files", "description", "require_serial"}
        keys.add("additional_dependencies")
        assert hook.keys() <= keys
        assert hook["language"] == "python"

    @pytest.mark.parametrize(
        ("path", "is_meant"),
        [
            ("models/net.xml", True),
            ("models/net.bin", True),
            ("models/net.xml.orig", False),
            ("models/net.onnx", True),
            ("models/net.onnx.data", True),
            ("models/net.onnx_data", True),
            ("models/net.data", False),
            ("models/net.onnx.md", False),
        ],
    )
    def test_hook_checks_passed_files(self, hook: dict[str, Any], path: str, is_meant: bool) -> None:
        assert bool(re.search(hook["files"], path)) is is_meant

    def test_executed_commands(self, hook: dict[str, Any], tmp_path: Path) -> None:
        command = [*shlex.split(hook["entry"]), *hook["args"]]
        assert command[0] == "ir-exec"
        (tmp_path / "records.bin").write_bytes(bytes(100))
        others = [str(BAD / "IR004-other-xml.xml"), str(tmp_path / "records.bin")]
        cut_off, weights = tmp_path / "cut_off.onnx", tmp_path / "external.onnx_data"
        cut_off.write_bytes(ONNX.read_bytes()[:-40])
        onnx.save(onnx.load(ONNX), tmp_path / "external.onnx", save_as_external_data=True, location=weights.name)
        weights.write_bytes(weights.read_bytes()[:-4])
        good = [str(CONV), str(CONV.with_suffix(".bin"))]
        for paths, exit_code in (
            (others, 0),
            ([*good, *others], 0),
            ([*good, *others, str(BAD / "IR107-cycle.xml")], 1),
            ([str(BAD / "IR204-constant-size.bin")], 1),
            ([str(ONNX)], 0),
            ([str(cut_off)], 1),
            ([*good, str(weights)], 1),
            ([str(tmp_path / "none.onnx.data")], 0),
        ):
            assert CliRunner().invoke(main, [*command[1:], *paths]).exit_code == exit_code

    @pytest.mark.parametrize("options", [None, [], ["--strict"], ["--strict", "--"]])
    def test_names_of_files_are_no_options(
        self, hook: dict[str, Any], options: list[str] | None, evil: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither with the arguments of the hook nor with those of a user."""
        monkeypatch.chdir(evil)
        arguments = hook["args"] if options is None else options
        names = sorted(path.name for path in evil.iterdir() if re.search(hook["files"], path.name))
        result = CliRunner().invoke(main, [*shlex.split(hook["entry"])[1:], *arguments, *names])
        assert not (evil / "ran").exists()
        assert result.exit_code == (0 if "--" in arguments else 2)

    def test_the_example_of_the_readme(self, hook: dict[str, Any]) -> None:
        (example,) = (example for example in EXAMPLES if "repos" in example)
        assert not errors("pre-commit-config.json", example)
        (repository,) = example["repos"]
        assert errors("pre-commit-config.json", {"repos": [{**repository, "hooks": "all"}]})
        assert [entry["id"] for entry in repository["hooks"]] == [hook["id"]]


class TestAction:
    @pytest.fixture
    def action(self) -> dict[str, Any]:
        action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
        assert isinstance(action, dict)
        return action

    def test_it_keeps_to_the_published_schema(self, action: dict[str, Any]) -> None:
        assert not errors("github-action.json", action)
        assert errors("github-action.json", {**action, "nonsense": True})
        assert errors("github-action.json", {**action, "runs": {"using": "composite"}})

    def test_user_input_is_never_in_a_script(self, action: dict[str, Any]) -> None:
        for step in action["runs"]["steps"]:
            assert "${{" not in step.get("run", "")

    def run(
        self,
        action: dict[str, Any],
        folder: Path,
        tool: str = OURS,
        variables: dict[str, str] | None = None,
        **inputs: str,
    ) -> subprocess.CompletedProcess[str]:
        """The shell steps, one after the other, as GitHub would run them; only `python` is another one.

        tool: what `ir-exec` runs.
        variables: of the environment, as GitHub sets them.
        """
        tools = folder / "tools"
        tools.mkdir()
        (tools / "python").write_text(f'#!/bin/sh\necho "python $*" >> "{folder}/installed"\n')
        (tools / "ir-exec").write_text(f"#!/bin/sh\n{tool}\n")
        for tool in tools.iterdir():
            tool.chmod(0o755)
        values = {name: told["default"] for name, told in action["inputs"].items()} | inputs
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        for step in action["runs"]["steps"]:
            if "run" not in step:
                continue
            assert step["shell"] == "bash"
            own = {name: self.fill_inputs(value, values) for name, value in step.get("env", {}).items()}
            environment = {
                "PATH": path,
                "GITHUB_ACTION_PATH": str(ROOT),
                "PYTHONPATH": str(ROOT),
                **(variables or {}),
                **own,
            }
            # GitHub fills in scripts too, as text.
            script = self.fill_inputs(step["run"], values)
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            if done.returncode:
                break
        return done

    def fill_inputs(self, value: str, values: dict[str, str]) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], value)

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        if shutil.which("bash") is None:
            pytest.skip("composite actions run in bash")
        (tmp_path / ".git").mkdir()
        (tmp_path / "models").mkdir()
        shutil.copy(BAD / "IR603-declared-element-type.xml", tmp_path / "models" / "broken.xml")
        for suffix in (".xml", ".bin"):
            shutil.copy(CONV.with_suffix(suffix), tmp_path / "models" / f"good{suffix}")
        return tmp_path

    def test_action_installs_itself_and_annotates(self, action: dict[str, Any], folder: Path) -> None:
        done = self.run(action, folder)
        assert (folder / "installed").read_text() == f"python -P -m pip install --quiet {ROOT}\n"
        assert (ROOT / "pyproject.toml").exists()
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("::error file=models/broken.xml,line=21,")
        assert done.stderr.startswith("2 files: ")

    def test_it_installs_extras(self, action: dict[str, Any], folder: Path) -> None:
        self.run(action, folder, extras="onnx,text")
        assert (folder / "installed").read_text() == f"python -P -m pip install --quiet {ROOT}[onnx,text]\n"

    @pytest.mark.parametrize("text", COMMANDS)
    def test_extras_are_no_commands(self, action: dict[str, Any], folder: Path, text: str) -> None:
        self.run(action, folder, extras=f"onnx{text}")
        assert not (folder / "done").exists()

    def test_its_inputs(self, action: dict[str, Any], folder: Path) -> None:
        options = "--target 2021.4 --format sarif --output report.sarif"
        done = self.run(action, folder, paths="models/g*.xml models/good.xml", options=options)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("1 file: ")
        assert '"ruleId": "IR119"' in (folder / "report.sarif").read_text()

    def test_names_of_files_are_no_options(self, action: dict[str, Any], evil: Path) -> None:
        (evil / ".git").mkdir()
        done = self.run(action, evil, paths="*.xml", options="--strict")
        assert not (evil / "ran").exists()
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert done.stderr.startswith("4 files: ")

    def test_only_paths_are_expanded(self, action: dict[str, Any], folder: Path) -> None:
        done = self.run(action, folder, tool=TELLS_WORDS, paths="models/*.xml", options="--select models/*.xml")
        words = done.stdout.splitlines()
        assert words[: words.index("--")] == ["check", "--format", "github", "--select", "models/*.xml"]
        assert words[words.index("--") + 1 :] == ["models/broken.xml", "models/good.xml"]

    def test_settings_of_a_pull_request_run_no_code(self, action: dict[str, Any], folder: Path) -> None:
        (folder / "code.py").write_text(f"open({str(folder / 'ran')!r}, 'w').close()")
        (folder / "ir-exec.toml").write_text('extensions = ["code.py"]')
        done = self.run(action, folder, variables={"CI": "true"}, paths="models/good.xml")
        assert (done.returncode, (folder / "ran").exists()) == (2, False)
        shutil.rmtree(folder / "tools")
        done = self.run(action, folder, variables={"CI": "true"}, paths="models/good.xml", options="--trust")
        assert (done.returncode, (folder / "ran").exists()) == (0, True)

    def test_good_files_pass(self, action: dict[str, Any], folder: Path) -> None:
        done = self.run(action, folder, paths="models/good.xml", options="--strict")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    @pytest.mark.parametrize("text", COMMANDS)
    def test_inputs_are_no_commands(self, action: dict[str, Any], folder: Path, text: str) -> None:
        """They go to `ir-exec` word by word, and nowhere else."""
        done = self.run(action, folder, tool=TELLS_WORDS, paths=f"models/good.xml {text}", options=f"--strict {text}")
        assert not (folder / "done").exists()
        words = text.split()
        assert done.stdout.splitlines() == [
            *("check", "--format", "github", "--strict", *words),
            *("--", "models/good.xml", *words),
        ], done.stderr

    @pytest.mark.parametrize(
        ("script", "text"),
        [
            ("ir-exec check ${{ inputs.paths }} --format github ${{ inputs.options }}", "; touch done #"),
            ("ir-exec check ${{ inputs.paths }} --format github", "&& touch done #"),
            ("ir-exec check ${{ inputs.paths }} --format github", "$(touch done)"),
            ("ir-exec check '${{ inputs.paths }}' --format github", "'; touch done #"),
            ('ir-exec check "${{ inputs.paths }}" --format github', '"; touch done #'),
            ('ir-exec check "${{ inputs.paths }}" --format github', "`touch done`"),
            ("eval ir-exec check $IR_PATHS --format github $IR_OPTIONS", "; touch done #"),
            ('bash -c "ir-exec check $IR_PATHS"', "| touch done #"),
        ],
    )
    def test_action_executing_inputs_is_detected(
        self, action: dict[str, Any], folder: Path, script: str, text: str
    ) -> None:
        broken = copy.deepcopy(action)
        broken["runs"]["steps"][-1]["run"] = script
        assert text in COMMANDS
        self.run(broken, folder, tool=TELLS_WORDS, paths=f"models/good.xml {text}")
        assert (folder / "done").exists()

    def test_the_examples_of_the_readme(self, action: dict[str, Any]) -> None:
        workflows = [example for example in EXAMPLES if "jobs" in example]
        assert not [error for workflow in workflows for error in errors("github-workflow.json", workflow)]
        steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
        ours = [step for step in steps if "ir_exec" in step["uses"]]
        assert ours
        for step in ours:
            assert step["with"].keys() <= action["inputs"].keys()
            for option in re.findall(r"--[\w-]+", step["with"]["options"]):
                assert option in CliRunner().invoke(main, ["check", "--help"]).output


def test_workflow_of_this_repository_runs_its_checks() -> None:
    read = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
    workflow = {"on" if key is True else key: value for key, value in read.items()}
    assert errors("github-workflow.json", workflow) == []
    assert workflow["jobs"]["tests"]["steps"][-1] == {"run": ".ci/run"}


def test_hooks_of_this_repository_run_commands_of_its_environment() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert errors("pre-commit-config.json", config) == []
    entries = [hook["entry"].split()[0] for repository in config["repos"] for hook in repository["hooks"]]
    assert entries
    assert all(shutil.which(Path(entry).name, path=str(Path(sys.executable).parent)) for entry in entries)
