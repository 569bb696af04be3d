"""`ir-exec explain`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.codes import Code
from tests.helpers.facts import mentions


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


def test_a_rule() -> None:
    result = run("IR601")
    assert result.exit_code == 0
    assert result.stdout.startswith("IR601 declared-dims (error)\n\n")
    assert run("declared-dims").stdout == result.stdout


def test_several() -> None:
    assert run("IR601", "IR107").stdout == run("IR601").stdout + "\n" + run("IR107").stdout


def test_all() -> None:
    lines = run().stdout.splitlines()
    assert [line[:5] for line in lines] == [str(code) for code in Code]


def test_unknown_rule_is_reported() -> None:
    result = run("IR199")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == mentions("IR199", "ir-exec explain")


@pytest.mark.parametrize("group", ["IR6", "ir6", "declared-against-inferred"])
def test_a_group(group: str) -> None:
    lines = run(group).stdout.splitlines()
    assert [line[:5] for line in lines] == [str(code) for code in Code if code.startswith("IR6")]


def test_a_group_and_a_rule() -> None:
    assert run("IR6", "IR107").stdout == run("IR6").stdout + "\n" + run("IR107").stdout
