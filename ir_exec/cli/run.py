"""`ir-exec run`: the outputs of a network."""

from __future__ import annotations

import statistics as moments
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING

import click

from ir_exec.check import printable
from ir_exec.cli.arrays import statistics, write_arrays
from ir_exec.cli.inputs import Asked, input_options
from ir_exec.cli.progress import LayerBar
from ir_exec.cli.terminal import echo, errors_as_messages, show, styled, table
from ir_exec.debug import Comparison, compare
from ir_exec.debug.finite import NotFinite, first_not_finite
from ir_exec.debug.text import told
from ir_exec.model import Model, ModelPort, read_model
from ir_exec.runtime import Results, compile_model
from ir_exec.types import Array, ElementType, Shape

if TYPE_CHECKING:
    from rich.table import Table


@click.command("run")
@click.argument("model", metavar="MODEL")
@input_options
@click.option("--output", metavar="FILE.npz", help="Where to write the outputs, by their names.")
@click.option("--validate", is_flag=True, help="Fail at the first layer that makes NaN or infinity of finite inputs.")
@click.option("--expected", metavar="FILE.npz", help="Fail where outputs differ from these, by name or out0, out1, ...")
@click.option("--rtol", type=click.FloatRange(min=0), help="For --expected: relative tolerance.")
@click.option("--atol", type=click.FloatRange(min=0), help="For --expected: absolute tolerance.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Run so often, and time it.")
def command(
    model: str,
    named: tuple[str, ...],
    archive: str | None,
    shapes: tuple[str, ...],
    weights: str | None,
    seed: int,
    output: str | None,
    validate: bool,
    expected: str | None,
    rtol: float | None,
    atol: float | None,
    repeat: int,
) -> None:
    """Run a network and show its outputs.

    Inputs that are not given are drawn: floats from the normal distribution, integers of 16 bits and more 0 or 1,
    narrower ones over their whole range. A dim that is not known has its least size, 1 or more, unless --shape says so.

    Exit code: 0 when it ran, 1 when the network cannot be read or run, or does not pass --validate or --expected, 2 for
    arguments that cannot be used.
    """
    with errors_as_messages(hint=f"`ir-exec check {model}` shows everything that is wrong with the file"):
        network = read_model(model, weights=weights)
        compiled = compile_model(network)
    ports = compiled.inputs
    asked = Asked(named, archive, shapes, seed)
    given = asked.given(ports)
    drawn_hint = "inputs that are drawn need not fit the network: --input gives others, --shape other shapes"
    with errors_as_messages(hint=drawn_hint if any(port.name not in given for port in ports) else None):
        arrays = asked.drawn(ports, given)
        if ports:
            show(_inputs(ports, arrays, set(given), seed))
            echo("")
        if validate:
            _validate(network, arrays)
        seconds = []
        for _ in range(repeat):
            compiled.reset_state()
            start = perf_counter()
            with LayerBar(len(network.graph.nodes)) as bar:
                observe = (
                    (lambda node, *_: bar.advance(f"{node.type} {node.name}")) if bar.is_wanted else None
                )  # called before the next bar
                results = compiled(arrays, observe=observe)
            seconds.append(perf_counter() - start)
        if output is not None:
            write_arrays(output, results)  # type: ignore[arg-type]  # a mapping by name, that takes positions too
        show(_outputs(results), _timing(seconds) + (f", outputs written to {output}" if output else ""))
    if expected is not None:
        with errors_as_messages(exit_code=2):
            _expect(network, arrays, expected, rtol, atol)


def _timing(seconds: list[float]) -> str:
    if len(seconds) == 1:
        return f"ran in {seconds[0]:.3g} s"
    warm = seconds[1:]
    rest = f"then {moments.median(warm):.3g} s (median), least {min(warm):.3g} s"
    return f"ran {len(seconds)} times: first {seconds[0]:.3g} s, {rest}"


def _validate(network: Model, arrays: Mapping[str, Array]) -> None:
    with LayerBar(len(network.graph.nodes)) as bar:
        found: NotFinite | None = first_not_finite(network, arrays, bar.advance if bar.is_wanted else None)
    if found is not None:
        echo(f"{styled('error', 'error')}{styled('message', ': ' + found.message)}", to_stderr=True)
        echo(f"  --> {found.location}", to_stderr=True)
        sys.exit(1)


def _expect(network: Model, arrays: Mapping[str, Array], path: str, rtol: float | None, atol: float | None) -> None:
    """Compare the outputs alone with those of a file; ends the program with 1 where they differ."""
    report: Comparison = compare(network, path, arrays, rtol=rtol, atol=atol)
    layers = {layer.path: layer for layer in report.layers}
    lines = []
    for port, name in zip(network.outputs, report.outputs, strict=False):
        layer = layers.get(name.rpartition(":")[0] if name not in layers else name)
        if layer is None or layer.carried is None:
            lines.append(f"  {printable(port.name)}: {path} has no value for it")
        elif not layer.carried.is_within:
            lines.append(f"  {printable(port.name)}: {told(layer.carried)}")
    echo("")
    if not lines:
        echo(f"as expected: every output is within the tolerance of {path}")
        return
    echo(f"not as expected: {len(lines)} of {len(network.outputs)} outputs differ from {path}")
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
