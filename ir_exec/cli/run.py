"""`ir-exec run`: the outputs of a network."""

from __future__ import annotations

import statistics as moments
import sys
from collections.abc import Mapping
from time import perf_counter

import click

from ir_exec.check import printable
from ir_exec.cli.arrays import DRAWN_HINT, Asked, input_options, statistics, tell_drawn, write_arrays
from ir_exec.cli.batch import Many, is_many, run_many
from ir_exec.cli.config import load_extensions
from ir_exec.cli.options import MODEL, FiniteRange
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
from ir_exec.debug.drawing import Redraw
from ir_exec.debug.reference import differences
from ir_exec.debug.report import told
from ir_exec.debug.walk import NotFinite, first_not_finite
from ir_exec.errors import IRError
from ir_exec.model import Model, ModelPort, read_model
from ir_exec.runtime import CompiledModel, Results, compile_model
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType, Shape


@click.command("run")
@click.argument("model", metavar="MODEL", type=MODEL)
@input_options
@click.option(
    "-o",
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
    metavar="FILE.npz",
    type=click.Path(),
    help="Fail where outputs differ from these, by name or out0, out1, ...",
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

    Inputs that are not given are drawn at random, such as the network takes: masks are 1, ids and indices are inside of
    their table, positions count up, images are within 0 and 1, other floats are of the normal distribution. Inputs
    whose outputs are NaN, infinite or constant are drawn again, up to three times. Open dims have small sizes that the
    network takes, or what --shape says.

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
            many = Many(asked.named, asked.archive, batch, jobs, scheduler, extensions)
            run_many(network, many, output, max_seconds, precision, not no_optimize)
            return
        compiled = compile_model(network, max_seconds=max_seconds, precision=precision, optimize=not no_optimize)
    ports = compiled.inputs
    given = asked.given(ports)
    with errors_as_messages(hint=DRAWN_HINT if any(port.name not in given for port in ports) else None):
        redraw = asked.redraw(network, given)
        if validate:
            _validate(network, redraw.arrays, precision)
        results, seconds = _first_run(network, compiled, redraw, again=not validate)
        if ports:
            show(_inputs(ports, redraw, set(given)))
            echo("")
        for _ in range(repeat - 1):
            results, taken = _timed_run(network, compiled, redraw.arrays)
            seconds.append(taken)
        if output is not None:
            write_arrays(output, results)  # type: ignore[arg-type]  # a mapping by name, that takes positions too
        show(_outputs(results), _timing(seconds) + (f", outputs written to {output}" if output else ""))
    if expected is not None:
        with errors_as_messages(exit_code=UNUSABLE):
            _expect(results, expected, rtol, atol)


def _timed_run(network: Model, compiled: CompiledModel, arrays: Mapping[str, Array]) -> tuple[Results, float]:
    """The outputs, from the initial state, and the seconds that they took."""
    compiled.reset_state()
    start = perf_counter()
    with LayerBar(network.graph) as bar:
        # called before the next bar
        observe = (lambda node, *_: bar.advance(f"{node.type} {node.name}")) if bar.is_wanted else None
        results = compiled(dict(arrays), observe=observe)
    return results, perf_counter() - start


def _first_run(network: Model, compiled: CompiledModel, redraw: Redraw, *, again: bool) -> tuple[Results, list[float]]:
    """The outputs for inputs that are given or drawn, drawn again where they show nothing and `again` allows it."""
    best: tuple[Results, float] | None = None
    failed: IRError | None = None
    while True:
        start = perf_counter()
        try:
            results, taken = _timed_run(network, compiled, redraw.arrays)
        except IRError as error:
            failed = failed or error
            if not again or not redraw.again_after(error, perf_counter() - start):
                break
            continue
        goes_on = again and redraw.again(list(results.values()), taken)
        if best is None or redraw.is_best:
            best = results, taken
        if not goes_on:
            break
    if best is None:
        assert failed is not None, "no run came to its end"
        raise failed
    if redraw.drawn.rejected or redraw.drawn.problem:
        tell_drawn(redraw.drawn)
    return best[0], [best[1]]


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
    for name, found in differences(results, path, rtol, atol).items():
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


def _inputs(ports: list[ModelPort], redraw: Redraw, given: set[str]) -> Table:
    shown = table("Inputs", name="left", element_type="left", shape="left", values="left")
    drawn = {one.name: one.values for one in redraw.drawn.inputs}
    for port in ports:
        array = redraw.arrays[port.name]
        values = drawn.get(port.name)
        origin = "given" if port.name in given else f"drawn with seed {redraw.drawn.seed}{': ' * bool(values)}{values}"
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
