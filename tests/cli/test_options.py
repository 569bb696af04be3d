"""Shell completion."""

from __future__ import annotations

import click
import pytest
from click.shell_completion import ShellComplete

from ir_exec.check import RULES
from ir_exec.cli import main


def complete(*arguments: str) -> list[str]:
    *before, incomplete = arguments
    shell = ShellComplete(main, {}, "ir-exec", "_IR_EXEC_COMPLETE")
    return [f"{item.type}:{item.value}" for item in shell.get_completions(before, incomplete)]


def test_commands() -> None:
    assert complete("in") == ["plain:inspect"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "mod"),
        ("check", "--output", "mod"),
        ("check", "--config", "mod"),
        ("check", "--baseline", "mod"),
        ("check", "--write-baseline", "mod"),
        ("inspect", "mod"),
        ("inspect", "--weights", "mod"),
        ("run", "mod"),
        ("run", "--inputs", "mod"),
        ("run", "--output", "mod"),
        ("run", "--weights", "mod"),
    ],
)
def test_paths_are_left_to_the_shell(arguments: tuple[str, ...]) -> None:
    assert complete(*arguments) == ["file:mod"]


@pytest.mark.parametrize("arguments", [("explain",), ("check", "--select"), ("check", "--ignore")])
def test_rules(arguments: tuple[str, ...]) -> None:
    assert complete(*arguments, "declared-d") == ["plain:declared-dims"]
    assert complete(*arguments, "ir60") == [f"plain:IR60{number}" for number in range(1, 7)]
    assert len(complete(*arguments, "")) >= 2 * len(RULES)


def test_lists_of_rules_go_on_behind_the_comma() -> None:
    assert complete("check", "--ignore", "IR6,declared-d") == ["plain:IR6,declared-dims"]
    assert "plain:weights" in complete("check", "--ignore", "weig")


def test_operators() -> None:
    assert complete("ops", "gathern") == ["plain:GatherND"]
    assert complete("ops", "gathernd-") == ["plain:GatherND-5", "plain:GatherND-8"]


def test_releases() -> None:
    releases = complete("check", "--target", "2023")
    assert "plain:2023.1" in releases
    assert all(release.startswith("plain:2023.") for release in releases)
    assert len(complete("check", "--target", "")) > len(releases)


def test_levels_and_formats() -> None:
    assert complete("check", "--level", "") == ["plain:error", "plain:warning", "plain:info"]
    assert complete("check", "--format", "sa") == ["plain:sarif"]


@pytest.mark.parametrize("name", ["check", "compare", "run", "trace", "extract", "reduce", "bundle", "profile", "diff"])
def test_o_is_short_for_output(name: str) -> None:
    assert isinstance(main, click.Group)
    command = main.get_command(click.Context(main), name)
    assert command is not None
    (option,) = [param for param in command.params if "--output" in param.opts]
    assert option.opts == ["-o", "--output"]


def test_no_output_is_without_the_short_form() -> None:
    assert isinstance(main, click.Group)
    context = click.Context(main)
    commands = [main.get_command(context, name) for name in main.list_commands(context)]
    options = [param.opts for command in commands if command is not None for param in command.params]
    assert all("-o" in option for option in options if "--output" in option)
