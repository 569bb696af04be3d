"""Settings that cannot be used: in our words, by the name of the file, and never blamed on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from tests.helpers.facts import mentions
from tests.helpers.ir_text import layer, net, parameter, port, result

pytestmark = pytest.mark.usefixtures("forgotten_extensions")

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
        ("strct = true", mentions("strct", "strict")),
        ("weights_value = true", mentions("weights_value", "weights-values")),
        ("zzz = 1", mentions("zzz")),
        ('strict = "perhaps"', mentions("strict", "true", "false", "perhaps")),
        ("jobs = 0", mentions("jobs", 1, 0)),
        ("target = 3", mentions("target", "OpenVINO", 3)),
        ("ignore = 3", mentions("ignore", 3)),
        ("ignore = [3]", mentions("ignore.0", 3)),
        ('level = "loud"', mentions("level", "error", "warning", "info", "loud")),
        ("severity = 1", mentions("severity", 1)),
        ('severity.IR6 = "fatal"', mentions("severity.IR6", "error", "warning", "info", "fatal")),
        ('per-file-ignores."*.xml" = 3', mentions("per-file-ignores.*.xml", 3)),
        ('target = "new"', mentions("target", "new", "OpenVINO")),
        ('target = "2030.9"', mentions("target", "2030.9", "2026.4")),
        ('select = ["declard-dims"]', mentions("select", "declard-dims")),
        ('severity.declard-dims = "info"', mentions("severity", "declard-dims")),
        ('per-file-ignores."*.xml" = ["x"]', mentions("per-file-ignores.*.xml", "x")),
        ('baseline = "no.json"', mentions("baseline", "no.json")),
    ],
)
@pytest.mark.parametrize("name", ["ir-exec.toml", "pyproject.toml"])
def test_faults_of_a_file(text: str, message: mentions, name: str, tmp_path: Path) -> None:
    head = "[tool.ir-exec]\n" if name == "pyproject.toml" else ""
    path = tmp_path / name
    path.write_text(head + text)
    result = run(WARNED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}: ")
    assert result.stderr == message
    assert "pydantic" not in result.stderr
    assert "--" not in result.stderr


def test_invalid_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nir-exec = 3")
    assert mentions("[tool.ir-exec]") in run(WARNED).stderr.splitlines()


def test_did_you_mean() -> None:
    assert run(WARNED, "--ignore", "declard-dims").stderr == mentions("declard-dims", "declared-dims")
    result = CliRunner().invoke(main, ["explain", "declard-dims"])
    assert (result.exit_code, result.stderr) == (
        2,
        mentions("declard-dims", "declared-dims"),
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

    def test_strict_fails_on_hidden_findings(self, file: Path) -> None:
        assert run(file, "--level", "error", "--strict").exit_code == 1

    def test_severities_of_settings_come_first(self, file: Path, tmp_path: Path) -> None:
        (tmp_path / "ir-exec.toml").write_text('level = "warning"\nseverity.unbounded-dim = "warning"')
        assert run(file).stdout.count("-->") == 2


SCALE = """
import ir_exec
from ir_exec.extension import FLOAT, In, Op
from {helper} import FACTOR

@ir_exec.register_op("Scale", version="{version}")
class Scale(Op):
    inputs = (In("data", types=FLOAT),)

    def infer(self, data):
        return data.without_values()

    def evaluate(self, data):
        return (data * FACTOR).astype(data.dtype)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network with an operator of its own, and a file and a module that define it."""
    # Modules are imported once in a process, so each test has names of its own.
    unique = f"m{abs(hash(str(tmp_path)))}"
    dims = (1, 2)
    scale = layer(1, "Scale", opset="mine", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims, names="y")])
    layers = [parameter(0, dims=dims, name="x"), scale, result(2, dims=dims)]
    (tmp_path / "net.xml").write_bytes(net(layers, [(0, 0, 1, 0), (1, 1, 2, 0)]))
    operators = tmp_path / "operators"
    operators.mkdir()
    (operators / f"{unique}.py").write_text("FACTOR = 3\n")
    text = SCALE.format(helper=unique, version="mine")
    (operators / "scale.py").write_text(text)
    (tmp_path / f"{unique}_ops.py").write_text(text.replace(f"from {unique} import FACTOR", "FACTOR = 3"))
    (tmp_path / "module.txt").write_text(f"{unique}_ops")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def extension(folder: Path, form: str) -> str:
    return "operators/scale.py" if form == "file" else (folder / "module.txt").read_text()


def is_implemented(*options: str) -> bool:
    """Return True if `inspect` finds each operator of the file."""
    summary = json.loads(call("inspect", "net.xml", "--format", "json", "--summary", *options).stdout)
    return all(operator["is_implemented"] for operator in summary["operators"])


@pytest.mark.parametrize("form", ["file", "module"])
def test_from_the_command_line(folder: Path, form: str) -> None:
    assert "IR902" in call("check", "net.xml").stdout
    assert call("run", "net.xml").exit_code == 1
    assert not is_implemented()
    text = extension(folder, form)
    checked = call("check", "net.xml", "--extension", text, "--strict")
    assert (checked.exit_code, "IR902" in checked.stdout) == (0, False)
    assert call("run", "net.xml", "--extension", text).exit_code == 0
    assert is_implemented("--extension", text)


@pytest.mark.parametrize("form", ["file", "module"])
def test_lists_of_operators(folder: Path, form: str) -> None:
    assert call("ops", "scale").exit_code == 2
    page = call("ops", "--markdown").stdout
    text = extension(folder, form)
    listed = call("ops", "--extension", text)
    assert listed.exit_code == 0
    assert ["Scale-mine", "(extension)", "data:", "float"] in [line.split() for line in listed.stdout.splitlines()]
    for name in ("scale", "SCALE-MINE"):
        told = call("ops", name, "--extension", text)
        assert (told.exit_code, told.stdout.splitlines()[0]) == (0, "Scale-mine")
        assert mentions("data", "float") in told.stdout.splitlines()
    assert mentions("Scale") in call("ops", "Scalee", "--extension", text).stderr.splitlines()
    assert call("ops", "--markdown", "--extension", text).stdout == page


@pytest.mark.parametrize("form", ["file", "module"])
def test_from_the_settings(folder: Path, form: str) -> None:
    (folder / "ir-exec.toml").write_text(f'extensions = ["{extension(folder, form)}"]\n')
    assert call("check", "net.xml", "--strict").exit_code == 0
    assert call("run", "net.xml").exit_code == 0
    assert is_implemented()
    assert call("ops", "Scale-mine").exit_code == 0


def test_files_in_settings_are_relative_to_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "ir-exec.toml").write_text('extensions = ["operators/scale.py"]\n')
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    assert call("check", "../net.xml", "--strict").exit_code == 0


def test_both_at_once_are_imported_once(folder: Path) -> None:
    (folder / "ir-exec.toml").write_text('extensions = ["operators/scale.py"]\n')
    path = str(folder / "operators" / "scale.py")
    assert call("run", "net.xml", "--extension", path, "--extension", path).exit_code == 0


def test_every_process_has_them(folder: Path) -> None:
    for number in range(3):
        (folder / f"net{number}.xml").write_bytes((folder / "net.xml").read_bytes())
    checked = call("check", ".", "--jobs", "2", "--extension", "operators/scale.py", "--strict")
    assert checked.exit_code == 0, checked.output
    assert mentions(4, 12, 0) in checked.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.py", None, "extension missing.py: FileNotFoundError: "),
        ("no_such_module_at_all", None, "extension no_such_module_at_all: ModuleNotFoundError"),
        ("broken.py", "def", "extension broken.py: SyntaxError"),
        ("fails.py", "1 / 0", "extension fails.py: ZeroDivisionError: "),
        (
            "taken.py",
            "import ir_exec\n@ir_exec.register_op('Add', version='opset1')\nclass Add(ir_exec.Op): pass",
            "extension taken.py: TypeError",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", "inspect", "ops"])
def test_what_cannot_be_imported(folder: Path, command: str, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (folder / name).write_text(content)
    done = call(command, "net.xml", "--extension", name)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {words}")
    assert "Traceback" not in done.stderr
