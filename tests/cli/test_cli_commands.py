"""Names of commands: suggestions for misspelled ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from tests.helpers.facts import mentions

SAMPLE = Path(__file__).parents[2] / "samples" / "gnn_step.xml"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("chek", "check"),
        ("Check", "check"),
        ("quantize_report", "quantize-report"),
        ("comparee", "compare"),
        ("profil", "profile"),
    ],
)
def test_a_misspelled_command(name: str, command: str) -> None:
    result = CliRunner().invoke(main, [name, str(SAMPLE)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert mentions(f"'{name}'", command) in result.stderr.splitlines()


def test_a_path_without_a_command() -> None:
    result = CliRunner().invoke(main, [str(SAMPLE)])
    assert result.exit_code == 2
    assert mentions("ir-exec check", SAMPLE) in result.stderr.splitlines()


def test_a_hidden_command_is_not_suggested() -> None:
    stderr = CliRunner().invoke(main, ["schemas"]).stderr
    assert "schema?" not in stderr
    assert CliRunner().invoke(main, ["schema", "--help"]).exit_code == 0


def test_an_unknown_option_of_the_group() -> None:
    assert "--vers" in CliRunner().invoke(main, ["--vers"]).stderr
