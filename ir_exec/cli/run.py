"""`ir-exec run`: the outputs of a network."""

from __future__ import annotations

import os
import statistics as moments
import sys
from collections.abc import Mapping
from time import perf_counter

import click

from ir_exec.batch.input_files import outputs_of_data_set
from ir_exec.check import printable
from ir_exec.cli.arrays import DRAWN_HINT, Asked, input_options, statistics, write_arrays
from ir_exec.cli.batch import Many, is_many, run_many
from ir_exec.cli.config import load_extensions
from ir_exec.cli.options import FiniteRange
from ir_exec.cli.parallel import worker_options
from ir_exec.cli.process import keep_freed_memory
from ir_exec.cli.terminal import (
    UNUSABLE,
    LayerBar,
    Table,
    Unusable,
    check_hint,
    echo,
    errors_as_messages,
    show,
    styled,
    table,
)
from ir_exec.debug.reference import differences
from ir_exec.debug.report import told
from ir_exec.debug.walk import NotFinite, first_not_finite
from ir_exec.ir.urls import suffix_of
from ir_exec.model import Model, ModelPort, read_model
from ir_exec.runtime import Results, compile_model
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType, Shape


@click.command("run")
@click.argument("model", metavar="MODEL", type=click.Path())
@input_options
@click.option(
    "--output",
    metavar="FILE.npz|FOLDER",
    type=click.Path(),
    help="Where to write the outputs, by their names; those of many inputs in a folder.",
)
@click.option("--batch", type=click.IntRange(min=1), help="Many inputs: files stack them, and so many rows make a run.")
@worker_options
@click.option("--max-seconds", type=FiniteRange(min=0, min_open=True), help="Stop a run that takes longer.")
@click.option(
    "--precision",
    type=click.Choice(["f32", "file"]),
    default="f32",
    show_default=True,
    help="What f16 and bf16 are computed in: f32, or the types of the file.",
)
@click.option("--no-optimize", is_flag=True, help="Run every layer by itself.")
@click.option("--validate", is_flag=True, help="Fail at the first layer that makes NaN or infinity of finite inputs.")
@click.option(
    "--expected",
    metavar="FILE.npz|FOLDER",
    type=click.Path(),
    help="Fail where outputs differ from these, by name or out0, out1, ...; or from output_*.pb of ONNX's test data.",
)
@click.option("--rtol", type=FiniteRange(min=0), help="For --expected: relative tolerance.")
@click.option("--atol", type=FiniteRange(min=0), help="For --expected: absolute tolerance.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Run so often, and time it.")
def command(
    model: str,
    asked: Asked,
    weights: str | None,
    max_seconds: float | None,
    precision: Precision,
    no_optimize: bool,
    extensions: tuple[str, ...],
    output: str | None,
    batch: int | None,
    jobs: int | None,
    scheduler: str | None,
    validate: bool,
    expected: str | None,
    rtol: float | None,
    atol: float | None,
    repeat: int,
) -> None:
    """Run a network and show its outputs.

    Inputs that are not given are drawn at random: floats from the normal distribution; integers of 16 bits and more are
    0 or 1, narrower ones cover their whole range. Open dims have small sizes that the network takes, or what --shape
    says.

    Many inputs: --inputs is a pattern ('data/*.npz'), a folder, or a file that stacks them (.npy, .zarr, .parquet, or
    an .npz with --batch). Each has its outputs in a file of the folder --output, and a line in its manifest.jsonl, with
    its error where it failed; started again, the command goes on where it stopped. Each starts from the initial state.

    Exit code: 0 when it ran, 1 when the network cannot be read or run, or does not pass --validate or --expected, 2 for
    arguments that cannot be used.
    """
    keep_freed_memory()
    load_extensions(extensions)
    with errors_as_messages(hint=check_hint(model)):
        network = read_model(model, weights=weights)
        if is_many(asked.archive) or batch or jobs or scheduler:
            _refuse_for_many(shapes=asked.shapes, validate=validate, expected=expected, repeat=repeat > 1)
            many = Many(asked.named, asked.archive, batch, jobs, scheduler, extensions, asked.pixels)
            run_many(network, many, output, max_seconds, precision, not no_optimize)
            return
        compiled = compile_model(network, max_seconds=max_seconds, precision=precision, optimize=not no_optimize)
    ports = compiled.inputs
    given = asked.given(ports)
    with errors_as_messages(hint=DRAWN_HINT if any(port.name not in given for port in ports) else None):
        arrays = asked.drawn(network, given, told=False)
        if ports:
            show(_inputs(ports, arrays, set(given), asked.seed))
            echo("")
        if validate:
            _validate(network, arrays, precision)
        seconds = []
        for _ in range(repeat):
            compiled.reset_state()
            start = perf_counter()
            with LayerBar(network.graph) as bar:
                observe = (
                    (lambda node, *_: bar.advance(f"{node.type} {node.name}")) if bar.is_wanted else None
                )  # called before the next bar
                results = compiled(arrays, observe=observe)
            seconds.append(perf_counter() - start)
        if output is not None:
            write_arrays(output, results)  # type: ignore[arg-type]  # a mapping by name, that takes positions too
        show(_outputs(results), _timing(seconds) + (f", outputs written to {output}" if output else ""))
    if expected is not None:
        with errors_as_messages(exit_code=UNUSABLE):
            _expect(results, expected, rtol, atol)


def _refuse_for_many(**options: object) -> None:
    given = [f"--{name.rstrip('s')}" for name, value in options.items() if value]
    if given:
        raise Unusable(f"{', '.join(given)} is for a single run, not for one over many inputs")


def _timing(seconds: list[float]) -> str:
    if len(seconds) == 1:
        return f"ran in {seconds[0]:.3g} s"
    warm = seconds[1:]
    rest = f"then {moments.median(warm):.3g} s (median), least {min(warm):.3g} s"
    return f"ran {len(seconds)} times: first {seconds[0]:.3g} s, {rest}"


def _validate(network: Model, arrays: Mapping[str, Array], precision: Precision) -> None:
    with LayerBar(network.graph) as bar:
        found: NotFinite | None = first_not_finite(
            network, arrays, bar.advance if bar.is_wanted else None, precision=precision
        )
    if found is not None:
        echo(f"{styled('error', 'error')}{styled('message', ': ' + found.message)}", to_stderr=True)
        echo(f"  --> {found.location}", to_stderr=True)
        sys.exit(1)


def _expect(results: Results, path: str, rtol: float | None, atol: float | None) -> None:
    """Compare the outputs with those of a file; ends the program with 1 where they differ."""
    lines = []
    is_data_set = os.path.isdir(path) or suffix_of(path) == ".pb"
    arrays = outputs_of_data_set(path) if is_data_set else {}
    for name, found in differences(results, path, rtol, atol, arrays).items():
        if found is None:
            lines.append(f"  {printable(name)}: {path} has no value for it")
        elif not found.is_within:
            lines.append(f"  {printable(name)}: {told(found)}")
    echo("")
    if not lines:
        echo(f"as expected: every output is within the tolerance of {path}")
        return
    echo(f"not as expected: {len(lines)} of {len(results)} outputs differ from {path}")
    for line in lines:
        echo(line)
    sys.exit(1)


def _inputs(ports: list[ModelPort], arrays: dict[str, Array], given: set[str], seed: int) -> Table:
    shown = table("Inputs", name="left", element_type="left", shape="left", values="left")
    for port in ports:
        array = arrays[port.name]
        origin = "given" if port.name in given else f"drawn with seed {seed}"
        shown.add_row(printable(port.name), str(_element_type(array)), str(Shape(array.shape)), origin)
    return shown


def _outputs(results: Results) -> Table:
    shown = table(
        "Outputs", name="left", element_type="left", shape="left", min="right", max="right", mean="right", NaN="right"
    )
    for name, array in results.items():
        facts = statistics(array)
        kind, shape = str(ElementType.of(array)), str(Shape(array.shape))
        shown.add_row(printable(str(name)), kind, shape, facts.lowest, facts.highest, facts.mean, facts.nans)
    return shown


def _element_type(array: Array) -> object:
    try:
        return ElementType.of(array)
    except ValueError:
        return array.dtype
