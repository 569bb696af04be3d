"""The command line, one module for each command; the only package that prints, reads arguments or exits."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from ir_exec import __version__
from ir_exec.cli.process import endings, seldom_collected

__all__ = ["main"]

_COMMANDS = {
    "bundle": "Put a network, inputs, outputs, versions and reports into one .zip, or run such a .zip again.",
    "check": "Report everything that is wrong with IR files, and with ONNX files.",
    "compare": "Tell which layer of a network is wrong, by the values of a reference.",
    "conformance": "Run small cases of every operator on a device, and show which are right.",
    "convert": "Write an ONNX file, or IR of an older version, as IR: OUT.xml, OUT.bin; or any network as ONNX.",
    "diff": "Show what differs between two networks, whatever their ids, order and generated names.",
    "edit": "Write a network with other names, attributes, constants, shapes or layers.",
    "explain": "Explain findings by their codes or names, or list all rules.",
    "extract": "Write the part of a network between some of its values as a network of its own.",
    "generate": "Generate text with the model of a folder, as a reference.",
    "inspect": "Show a summary of a network: inputs, outputs, variables, operators, weights, and how much it computes.",
    "ops": "List the operators, or tell about every version of some.",
    "profile": "Show where the time of a run goes: by layer, by type, and by prefix of names.",
    "quantize-report": "Rank the layers of a quantized model by what quantizing each alone does to the outputs.",
    "reduce": "Find the smallest part of a network for which a command still fails.",
    "run": "Run a network and show its outputs.",
    "schema": None,
    "shapes": "Show which input sizes a network takes, and how the sizes of its outputs follow from them.",
    "trace": "Write every value of a run to a folder as it is computed.",
    "view": "Write a page for a browser: the graph of a network, its faults, its values.",
}
"""Every command with its line in the help; None hides a command there."""


class _Commands(click.Group):
    """Imports the module of a command when it is asked for: the help and other commands do without it."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with endings():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with endings(), seldom_collected():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, line in _COMMANDS.items() if line is not None])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"ir_exec.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command), "every module of a command has one"
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ir-exec")
def main() -> None:
    """Read, check and run OpenVINO IR (.xml with .bin) and ONNX files with NumPy, without OpenVINO."""
