"""`ir-exec run`: the outputs of a network."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import click
import numpy as np

from ir_exec.check import printable
from ir_exec.cli.allocator import keep_freed_memory
from ir_exec.cli.arrays import draw, read_array, read_arrays, split_named, statistics, write_arrays
from ir_exec.cli.extensions import extension_option, load_extensions
from ir_exec.cli.shapes import shape_option, shapes_by_input
from ir_exec.cli.tables import Table
from ir_exec.cli.terminal import Unusable, echo, errors_as_messages, show, table
from ir_exec.graph import Node
from ir_exec.model import ModelPort, read_model
from ir_exec.runtime import Results, compile_model
from ir_exec.types import Array, ElementType, Shape

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 0.5
"""Seconds until a run shows a progress bar."""


@click.command("run")
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--input", "named", multiple=True, metavar="NAME=FILE.npy", help="An array for one input; repeatable.")
@click.option(
    "--inputs", "archive", metavar="FILE.npz", type=click.Path(), help="Arrays by names of inputs, or by in0, in1, ..."
)
@shape_option("The shape of an input to draw")
@click.option("--output", metavar="FILE.npz", type=click.Path(), help="Where to write the outputs, by their names.")
@click.option("--weights", metavar="FILE.bin", type=click.Path(), help="Weights other than those beside the .xml.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Stop a run that takes longer.")
@click.option(
    "--precision",
    type=click.Choice(["f32", "file"]),
    default="f32",
    show_default=True,
    help="What f16 and bf16 are computed in: f32, or the types of the file.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For inputs that are drawn.")
@extension_option
def command(
    model: str,
    named: tuple[str, ...],
    archive: str | None,
    shapes: tuple[str, ...],
    output: str | None,
    weights: str | None,
    max_seconds: float | None,
    precision: Literal["f32", "file"],
    seed: int,
    extensions: tuple[str, ...],
) -> None:
    """Run a network and show its outputs.

    Inputs that are not given are drawn at random: floats from the normal distribution; integers of 16 bits and more are
    0 or 1, narrower ones cover their whole range. Open dims take their lower bound, at least 1, or what --shape says.

    Exit code: 0 when it ran, 1 when the network cannot be read or run, 2 for arguments that cannot be used.
    """
    keep_freed_memory()
    load_extensions(extensions)
    with errors_as_messages(hint=f"`ir-exec check {model}` shows everything that is wrong with the file"):
        network = read_model(model, weights=weights)
        compiled = compile_model(network, max_seconds=max_seconds, precision=precision)
    ports = compiled.inputs
    given = read_arrays(archive, ports) if archive is not None else {}
    for text in named:
        port, path = split_named(text, ports, "--input")
        given[port.name] = read_array(path, port)
    wanted = shapes_by_input(shapes, ports)
    if unused := [name for name in wanted if name in given]:
        raise Unusable(f"--shape is for inputs that are drawn; {', '.join(unused)} is given")
    drawn_hint = "inputs that are drawn need not fit the network: --input gives others, --shape other shapes"
    with errors_as_messages(hint=drawn_hint if any(port.name not in given for port in ports) else None):
        random = np.random.default_rng(seed)
        arrays = {
            port.name: given[port.name] if port.name in given else draw(port, wanted.get(port.name), random)
            for port in ports
        }
        if ports:
            show(_inputs(ports, arrays, set(given), seed))
            echo("")
        start = perf_counter()
        with _Bar(len(network.graph.nodes)) as bar:
            results = compiled(arrays, observe=bar.advance if bar.is_wanted else None)
        seconds = perf_counter() - start
        if output is not None:
            write_arrays(output, results)  # type: ignore[arg-type]  # a mapping by name, that takes positions too
        show(_outputs(results), f"ran in {seconds:.3g} s" + (f", outputs written to {output}" if output else ""))


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


def _element_type(array: Array) -> ElementType | np.dtype[np.generic]:
    try:
        return ElementType.of(array)
    except ValueError:
        return array.dtype


class _Bar:
    """A progress bar on stderr for long runs, where stderr is a terminal."""

    def __init__(self, total: int) -> None:
        self.is_wanted = sys.stderr.isatty()
        self._total = total
        self._done = 0
        self._start = perf_counter()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def advance(self, node: Node, inputs: list[Array], outputs: list[Array]) -> None:
        """The observer: one more layer is done."""
        self._done += 1
        if self._bar is None:
            if perf_counter() - self._start < _PATIENCE:
                return
            self._bar = self._open()
        progress, task = self._bar
        progress.update(task, completed=self._done, description=printable(f"{node.type} {node.name}")[:60])

    def _open(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        return progress, progress.add_task("", total=self._total)
