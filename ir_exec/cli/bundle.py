"""`ir-exec bundle`: everything that someone else needs to see the same, in one file."""

from __future__ import annotations

import os
import sys

import click

from ir_exec.check import printable
from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.config import load_extensions
from ir_exec.cli.options import MODEL
from ir_exec.cli.reduce import outcomes, timeout_option
from ir_exec.cli.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages
from ir_exec.debug import Bundle, Command, bundle, rerun
from ir_exec.debug.comparison.report_text import told
from ir_exec.debug.cuts.bundling import current_versions
from ir_exec.debug.cuts.command import Outcome

_GIB = 2**30


@click.command("bundle")
@click.argument("model", metavar="MODEL", type=MODEL, required=False)
@click.option("-o", "--output", metavar="FILE.zip", type=click.Path(), help="Where to write the bundle.")
@input_options
@click.option(
    "--report", "reports", multiple=True, metavar="FILE", type=click.Path(), help="A file to add; repeatable."
)
@click.option("--anonymous", is_flag=True, help="With other names, and other weights and inputs drawn from --seed.")
@click.option("--until", metavar="COMMAND", help='Whether this still fails is asked: "COMMAND {model}", as for reduce.')
@outcomes
@timeout_option
@click.option("--run", "again", metavar="FILE.zip", type=click.Path(), help="Run a bundle again and compare.")
@click.option(
    "--max-gib",
    type=click.FloatRange(min=0, min_open=True),
    default=16.0,
    show_default=True,
    help="For --run: refuse a bundle that takes more when it is unpacked.",
)
def command(
    model: str | None,
    output: str | None,
    asked: Asked,
    weights: str | None,
    extensions: tuple[str, ...],
    reports: tuple[str, ...],
    anonymous: bool,
    until: str | None,
    bad_exit: tuple[Outcome, ...],
    timeout: float,
    again: str | None,
    max_gib: float,
) -> None:
    """Put a network, inputs, outputs, versions and reports into one .zip, or run such a .zip again.

    Inputs are given or drawn as for `run`; the outputs are those that ir_exec computes of them. Whoever gets the .zip
    sees with `ir-exec bundle --run FILE.zip` whether the outputs are the same there. Of a bundle nothing is executed
    but the network, by ir_exec.

    --anonymous replaces names and weights: constants are drawn anew with the distribution of each, those that say
    shapes, axes or indices stay, and so do integer inputs. With --until it is asked whether the fault stays.

    Exit code: 0 when it was written, or its outputs are the same, 1 where the fault does not stay, or outputs differ, 2
    where it cannot be written or read.
    """
    if (model is None) == (again is None):
        raise Unusable("give either MODEL or --run FILE.zip")
    load_extensions(extensions)
    if again is not None:
        _run_again(again, int(max_gib * _GIB))
        return
    assert model is not None, "one of the two is given"
    if output is None:
        raise Unusable("--output FILE.zip says where to write the bundle")
    if os.path.exists(output) and not output.lower().endswith(".zip"):
        raise Unusable(f"--output {output} is there and is no .zip")
    hint = check_hint(model)
    with errors_as_messages(hint=hint, exit_code=UNUSABLE):
        network = asked.network(model, weights)
        fails = None if until is None else Command(until, bad_exit=bad_exit, timeout=timeout)
    given = asked.given(network.inputs)
    with errors_as_messages(exit_code=UNUSABLE):
        made = bundle(
            network,
            asked.drawn(network, given),
            output=output,
            reports=reports,
            anonymously=anonymous,
            seed=asked.seed,
            fails=fails,
            command=until,
        )
    _show(made, output)
    if made.fails is False:
        echo("the fault does not stay: the command does not fail on the anonymous network", to_stderr=True)
        sys.exit(1)


def _show(made: Bundle, output: str) -> None:
    for member in made.members:
        echo(printable(f"  {member.name}  {member.size:,} bytes"))
    stays = ", the command fails on it" if made.fails else ""
    echo(f"{'anonymous ' if made.anonymous else ''}bundle written to {output}{stays}")


def _run_again(path: str, most_bytes: int) -> None:
    with errors_as_messages(exit_code=UNUSABLE):
        found = rerun(path, most_bytes=most_bytes)
    now = current_versions()
    for name, then in found.bundle.versions.items():
        if now.get(name) != then:
            echo(printable(f"made with {name} {then}, here is {now.get(name, 'none')}"))
    if found.bundle.command is not None:
        echo(printable(f"the command that failed: {found.bundle.command}"))
    lines = [
        f"  {name}: {'the bundle has no array for it' if one is None else told(one)}"
        for name, one in found.differences.items()
        if one is None or not one.is_within
    ]
    if not lines:
        echo("the same: every output is within the tolerance of the bundle's")
        return
    echo(f"not the same: {len(lines)} of {len(found.differences)} outputs differ from the bundle's")
    for line in lines:
        echo(printable(line))
    sys.exit(1)
