"""`ir-exec bundle`: a model with everything that reproduces its outputs, in one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ir_exec.cli.arrays import Asked, input_options
from ir_exec.cli.commands.reduce import outcomes, timeout_option
from ir_exec.cli.extensions import load_extensions
from ir_exec.cli.files import is_onnx_file
from ir_exec.cli.options import MODEL, FiniteRange
from ir_exec.cli.output.terminal import UNUSABLE, Unusable, check_hint, echo, errors_as_messages
from ir_exec.cli.output.writing import OutputFile, output_option
from ir_exec.debug import Bundle, Command, bundle, rerun
from ir_exec.debug.comparison.metrics import difference_text
from ir_exec.debug.reduction.bundle_files import current_versions
from ir_exec.debug.reduction.minimizing import Outcome
from ir_exec.plan.memory import default_budget
from ir_exec.printable import printable

_GIB = 2**30


def _bundle_output(path: str | None, parameters: Mapping[str, Any]) -> Iterator[OutputFile]:
    if path is not None and parameters["again"] is None:
        yield OutputFile(path, "bundle")


@click.command("bundle")
@click.argument("model", metavar="[MODEL]", type=MODEL, required=False)
@output_option("-o", "--output", outputs=_bundle_output, metavar="FILE.zip", help="Write the bundle to this file.")
@input_options
@click.option(
    "--report", "reports", multiple=True, metavar="FILE", type=click.Path(), help="Add this file; repeatable."
)
@click.option("--anonymous", is_flag=True, help="Replace names, and weights and inputs by random values of --seed.")
@click.option(
    "--until", metavar="COMMAND", help='Test that this command still fails: "COMMAND {model}", as in `reduce`.'
)
@outcomes
@timeout_option
@click.option("--run", "again", metavar="FILE.zip", type=click.Path(), help="Run a bundle and compare its outputs.")
@click.option(
    "--max-gib",
    type=FiniteRange(min=0, min_open=True, max=2**20),
    default=16.0,
    show_default=True,
    help="With --run: maximum size of the unpacked bundle, and of the memory of the run, in GiB.",
)
@click.option(
    "--max-seconds",
    type=FiniteRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    help="With --run: stop the run after this time.",
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
    max_seconds: float,
) -> None:
    """Write a model with its inputs, outputs, versions and reports to a .zip, or run such a .zip.

    A bundle of an ONNX file has the layout of ONNX's test data: model.onnx, test_data_set_0/input_0.pb, ... Files with
    maps or optional values as inputs or outputs become IR.

    Inputs are given or random, as in `run`, and ir_exec computes the outputs. On another machine, `ir-exec bundle --run
    FILE.zip` runs the model again and compares the outputs. Nothing else in a bundle is executed.

    --anonymous replaces names and weights. Each constant gets random values of its own distribution; shapes, axes,
    indices and integer inputs are kept. --until tests whether the fault persists.

    Exit code: 0 if the bundle was written or its outputs agree, 1 if the fault does not persist or outputs differ, 2 if
    the bundle cannot be written or read.
    """
    if (model is None) == (again is None):
        raise Unusable("expected either MODEL or --run FILE.zip")
    load_extensions(extensions)
    if again is not None:
        _run_again(again, int(max_gib * _GIB), max_seconds)
        return
    assert model is not None, "one of the two is given"
    if output is None:
        raise Unusable("--output is missing, expected FILE.zip")
    hint = check_hint(model)
    with errors_as_messages(hint=hint, exit_code=UNUSABLE):
        network = asked.network(model, weights)
        fails = None if until is None else Command(until, bad_exit=bad_exit, timeout=timeout)
    file_inputs = asked.read_inputs(network.inputs)
    if is_onnx_file(model):
        from ir_exec.debug.reduction.onnx_bundling import bundle_onnx, can_bundle
        from ir_exec.onnx.editing.sources import OnnxSource  # imported for ONNX files only

        source = OnnxSource(model)
        if can_bundle(source):
            with errors_as_messages(exit_code=UNUSABLE):
                written_bundle = bundle_onnx(
                    source,
                    network,
                    asked.complete_inputs(network, file_inputs),
                    output=output,
                    reports=reports,
                    anonymously=anonymous,
                    seed=asked.seed,
                    fails=None if fails is None else fails.fails_on,
                    command=until,
                )
            _conclude(written_bundle, output, reports)
            return
    with errors_as_messages(exit_code=UNUSABLE):
        written_bundle = bundle(
            network,
            asked.complete_inputs(network, file_inputs),
            output=output,
            reports=reports,
            anonymously=anonymous,
            seed=asked.seed,
            fails=fails,
            command=until,
        )
    _conclude(written_bundle, output, reports)


def _conclude(written_bundle: Bundle, output: str, reports: tuple[str, ...]) -> None:
    """Show the bundle, and exit with 1 if the fault does not persist."""
    _show(written_bundle, output)
    if written_bundle.anonymous and reports:
        names = ", ".join(map(os.path.basename, reports))
        echo(printable(f"not anonymous: {names} may contain names of the model"), to_stderr=True)
    if written_bundle.fails is False:
        echo("the fault does not persist: the command does not fail on the anonymous model", to_stderr=True)
        sys.exit(1)


def _show(written_bundle: Bundle, output: str) -> None:
    for member in written_bundle.members:
        echo(printable(f"  {member.name}  {member.size:,} bytes"))
    stays = ", the command still fails" if written_bundle.fails else ""
    echo(f"{'anonymous ' if written_bundle.anonymous else ''}bundle written to {output}{stays}")


def _run_again(path: str, most_bytes: int, max_seconds: float) -> None:
    max_memory = min(most_bytes, default_budget())
    with errors_as_messages(exit_code=UNUSABLE):
        outcome = rerun(path, most_bytes=most_bytes, max_memory=max_memory, max_seconds=max_seconds)
    now = current_versions()
    for name, then in outcome.bundle.versions.items():
        if now.get(name) != then:
            echo(printable(f"made with {name} {then}, installed: {now.get(name, 'none')}"))
    if outcome.bundle.command is not None:
        echo(printable(f"the command that failed: {outcome.bundle.command}"))
    lines = [
        f"  {name}: {'no array in the bundle' if difference is None else difference_text(difference)}"
        for name, difference in outcome.differences.items()
        if difference is None or not difference.is_within
    ]
    if not lines:
        echo("equal: every output is within the tolerance of the output in the bundle")
        return
    echo(f"different: {len(lines)} of {len(outcome.differences)} outputs differ from those in the bundle")
    for line in lines:
        echo(printable(line))
    sys.exit(1)
