"""The command line: one module per command. The only package that prints, reads arguments or exits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import click

from ir_exec import __version__
from ir_exec.cli.process import endings, seldom_collected
from ir_exec.cli.settings_options import add_no_config
from ir_exec.hints import path_word, suggested
from ir_exec.printable import printable

__all__ = ["main"]

_COMMANDS = {
    "bundle": "Write a model with its inputs, outputs, versions and reports to a .zip, or run such a .zip.",
    "check": "Report all faults of IR and ONNX files.",
    "compare": "Compare the values of a model with a reference, and find the layer that is wrong.",
    "conformance": "Run small cases of every operator on a device, and report the wrong ones.",
    "convert": "Convert ONNX files or older IR to IR, or any model to ONNX.",
    "diff": "Show the differences between two models, or of the weights of a model from a checkpoint.",
    "edit": "Change names, attributes, constants, shapes or layers of a model.",
    "explain": "Explain findings by code or name, or list all rules.",
    "extract": "Write a part of a model as a separate model.",
    "generate": "Generate reference text with the language model in a folder.",
    "inspect": "Show a summary of a model: inputs, outputs, operators, weights and multiply-adds.",
    "ops": "List the operators, or describe some of them.",
    "profile": "Show the time of a run by layer, type and name prefix.",
    "quantize-report": "Rank the layers of a quantized model by their effect on the outputs.",
    "reduce": "Find the smallest part of a model for which a command still fails.",
    "run": "Run a model and show its outputs.",
    "schema": None,
    "shapes": "Show the supported input sizes of a model, and the output sizes as functions of them.",
    "trace": "Write every value of a run to a folder.",
    "view": "Write an HTML page with the graph of a model, its findings and its values.",
}
"""The commands with their summaries in the help; None for a hidden command."""


_UNBROKEN = "\N{NON-BREAKING HYPHEN}"


class _Formatter(click.HelpFormatter):
    """Help that is not wrapped at hyphens, because names of commands, options and files contain them."""

    def write(self, string: str) -> None:
        super().write(string.replace(_UNBROKEN, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, text.replace("-", _UNBROKEN)) for name, text in rows], col_max, col_spacing)


class _Context(click.Context):
    """The context of all commands, with their formatter."""

    formatter_class = _Formatter

    def invoke(self, callback: Any, /, *args: Any, **kwargs: Any) -> Any:
        if callback != self.command.callback or isinstance(self.command, click.Group):
            return super().invoke(callback, *args, **kwargs)
        from ir_exec.cli.output.progress import Spinner  # imported for a command, not for the list of commands

        with ExitStack() as stack:
            stack.enter_context(Spinner(self.command.name or ""))
            if any("--force" in parameter.opts for parameter in self.command.params):
                from ir_exec.cli.output.writing import protect_files  # imported for commands that write files

                stack.enter_context(protect_files(self))
            return super().invoke(callback, *args, **kwargs)


class _Commands(click.Group):
    """A group that imports the module of a command on first use, to keep the start of other commands short."""

    context_class = _Context

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with endings():
            if not extra.get("resilient_parsing"):
                _check_options(args)
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with endings(), seldom_collected():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, line in _COMMANDS.items() if line is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and name not in _COMMANDS and not name.startswith("-"):
            if os.path.exists(name):
                hint: str | None = f"use a command before the path, such as `ir-exec check {path_word(name)}`"
            else:
                hint = suggested(name, [name for name, line in _COMMANDS.items() if line is not None])
            raise click.UsageError("; ".join(filter(None, (f"there is no command {name!r}", hint))), ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"ir_exec.cli.commands.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command), "every command module defines `command`"
        command.context_class = _Context
        add_no_config(command)
        return command


def _check_options(args: Sequence[str]) -> None:
    """Raise an error for an option that is also the name of a file: shells expand `*` to such names."""
    for text in args:
        if text == "--":
            return
        if text.startswith("-") and text != "-" and os.path.lexists(text):
            path = os.path.join(os.curdir, text)
            raise click.UsageError(
                f"{printable(text)} is an option and a file, expected {printable(path)} or -- before it"
            )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ir-exec")
def main() -> None:
    """Read, check and run OpenVINO IR (.xml with .bin) and ONNX files with NumPy, without OpenVINO."""
