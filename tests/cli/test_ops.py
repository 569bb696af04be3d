"""`ir-exec ops`."""

from __future__ import annotations

from click.testing import CliRunner, Result

from ir_exec.cli import main
from ir_exec.cli.listing import operators_page


def ops(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["ops", *arguments])


def test_all_operators() -> None:
    result = ops()
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert any(line.split()[:2] == ["Gather-8", "movement/gather-8"] for line in lines)
    assert len(lines) > 240


def test_every_version_of_a_type() -> None:
    result = ops("gather")
    assert result.exit_code == 0
    assert [line for line in result.output.splitlines() if line.startswith("Gather-") and " " not in line] == [
        "Gather-1",
        "Gather-7",
        "Gather-8",
    ]
    assert "inputs      data: any; indices: integer; axis: integer" in result.output
    assert "attributes  [batch_dims]" in result.output


def test_one_version() -> None:
    result = ops("Gather-7", "Parameter")
    names = [line for line in result.output.splitlines() if line in ("Gather-1", "Gather-7", "Gather-8", "Parameter-1")]
    assert names == ["Gather-7", "Parameter-1"]
    assert "inputs      none" in result.output


def test_a_type_that_does_not_exist() -> None:
    result = ops("Gathr-8")
    assert (result.exit_code, result.stderr) == (2, "error: there is no operator 'Gathr-8'; did you mean Gather?\n")
    assert ops("???").stderr == "error: there is no operator '???'; `ir-exec ops` lists all\n"


def test_the_page() -> None:
    assert ops("--markdown").output == operators_page()


def test_the_command_is_in_the_help() -> None:
    assert "ops " in CliRunner().invoke(main, ["--help"]).output
