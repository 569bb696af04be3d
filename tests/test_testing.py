"""The helper for other people's tests, and the files that tie the check into other people's CI."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.testing import assert_ir_ok

ROOT = Path(__file__).parents[1]
BAD = ROOT / "tests" / "bad"
CONV = ROOT / "tests" / "networks" / "conv_zoo.xml"


def test_a_good_file() -> None:
    assert assert_ir_ok(CONV, strict=True).layers_checked == 102
    assert_ir_ok(CONV, shapes="a[2,4,20]", target="2024.0")


def test_a_broken_file_fails_with_the_report() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_ir_ok(BAD / "IR601-declared-dims.xml")
    assert "error[IR601 declared-dims]: output is declared as f32[2,5]" in str(caught.value)
    assert str(caught.value).endswith("1 error, 0 warnings")
    assert_ir_ok(BAD / "IR601-declared-dims.xml", ignore=["declared-dims"])


def test_what_is_asked_of_a_file_counts() -> None:
    with pytest.raises(AssertionError, match="IR505"):
        assert_ir_ok(CONV, batch=3)
    with pytest.raises(AssertionError, match="IR119"):
        assert_ir_ok(CONV, target="2021.4")
    with pytest.raises(ValueError, match="no code"):
        assert_ir_ok(CONV, ignore=["nonsense"])


def test_strict() -> None:
    path = BAD / "IR303-unknown-attribute.xml"
    assert_ir_ok(path)
    with pytest.raises(AssertionError, match="IR303"):
        assert_ir_ok(path, strict=True)


def entry_of(text: str, key: str) -> str:
    """The one value of a key, of files for which a parser of YAML is not worth a dependency."""
    (found,) = re.findall(rf"^\s*(?:- )?{key}: (.*)$", text, re.MULTILINE)
    return found.strip("'\"")


def test_the_hook_of_pre_commit() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert entry_of(hook, "language") == "python"
    assert re.search(entry_of(hook, "files"), "models/net.xml")
    assert not re.search(entry_of(hook, "files"), "models/net.bin")
    command = shlex.split(entry_of(hook, "entry"))
    assert command[0] == "ir-exec"
    others = [str(CONV), str(BAD / "IR004-other-xml.xml")]
    assert CliRunner().invoke(main, [*command[1:], *others]).exit_code == 0
    assert CliRunner().invoke(main, [*command[1:], others[1]]).exit_code == 0
    assert CliRunner().invoke(main, [*command[1:], *others, str(BAD / "IR107-cycle.xml")]).exit_code == 1


def test_the_action_of_github(tmp_path: Path) -> None:
    """The command of its last step, as a shell would see it."""
    action = (ROOT / "action.yml").read_text("utf-8")
    assert entry_of(action, "using") == "composite"
    run = [line.strip() for line in action.splitlines() if "ir-exec check" in line][-1]
    command = run.removeprefix("run: ").replace("$IR_PATHS", str(CONV)).replace("$IR_OPTIONS", "--target 2024.0")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert (result.exit_code, result.stdout) == (0, "")
    # What users write never stands in a script itself, where it could be a command.
    assert "${{ inputs" not in "".join(line for line in action.splitlines() if "run:" in line or "ir-exec" in line)
