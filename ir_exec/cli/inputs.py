"""The inputs of a run: given in files, or drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from ir_exec.cli.arrays import read_array, read_arrays, split_named
from ir_exec.cli.config import extension_option
from ir_exec.cli.options import shape_option, shapes_by_input
from ir_exec.cli.terminal import Unusable, echo
from ir_exec.debug import drawn_inputs
from ir_exec.model import Model, ModelPort
from ir_exec.printable import printable
from ir_exec.types import Array, Shape

__all__ = ["DRAWN_HINT", "Asked", "input_options"]

DRAWN_HINT = (
    "inputs that are drawn need not fit the network: --input gives others, --shape other shapes, and "
    "`ir-exec shapes MODEL` tells which fit"
)

_OPTIONS = (
    click.option(
        "--input", "named", multiple=True, metavar="NAME=FILE.npy", help="An array for one input; repeatable."
    ),
    click.option(
        "--inputs",
        "archive",
        metavar="FILE.npz",
        type=click.Path(),
        help="Arrays by names of inputs, or by in0, in1, ...; with `run` and `compare`, also many: 'data/*.npz'.",
    ),
    shape_option("The shape of an input to draw"),
    click.option("--weights", metavar="FILE.bin", type=click.Path(), help="Weights other than those beside the .xml."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For inputs that are drawn."),
    extension_option,
)


@dataclass(frozen=True)
class Asked:
    """What was asked for of the inputs on the command line."""

    named: Sequence[str]
    archive: str | None
    shapes: Sequence[str]
    seed: int

    def given(self, ports: Sequence[ModelPort]) -> dict[str, Array]:
        """The arrays of the files, by the names of the inputs."""
        found = read_arrays(self.archive, ports) if self.archive is not None else {}
        for text in self.named:
            port, path = split_named(text, ports, "--input")
            found[port.name] = read_array(path, port)
        wanted = self.wanted(ports)
        if unused := [name for name in wanted if name in found]:
            raise Unusable(f"--shape is for inputs that are drawn; {', '.join(unused)} is given")
        return found

    def wanted(self, ports: Sequence[ModelPort]) -> dict[str, Shape]:
        """The shapes for inputs that are drawn."""
        return shapes_by_input(self.shapes, ports)

    def drawn(self, network: Model, given: dict[str, Array], *, told: bool = True) -> dict[str, Array]:
        """All inputs, those that are not given drawn. told: whether a line on stderr tells the shapes of those whose
        dims were open. Raises ResourceError where one would not fit into memory."""
        wanted = self.wanted(network.inputs)
        for port in network.inputs:
            if port.shape.dims is None and port.name not in {*wanted, *given}:
                hint = f"give its shape with --shape {port.name}=..."
                raise Unusable(f"the rank of input {port.name!r} is not known: {hint}")
        arrays = drawn_inputs(network, self.seed, wanted, given)
        opened = {
            port.name: arrays[port.name].shape
            for port in network.inputs
            if port.name not in given and not wanted.get(port.name, port.shape).is_static
        }
        if opened and told:
            shapes = ", ".join(f"{name}{list(shape)}".replace(" ", "") for name, shape in opened.items())
            echo(printable(f"drawn with seed {self.seed}: {shapes}; --shape gives others"), to_stderr=True)
        return arrays


def input_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that runs a network. Those of the inputs reach it together, as `asked`."""

    @wraps(command)
    def with_asked(
        named: tuple[str, ...], archive: str | None, shapes: tuple[str, ...], seed: int, **others: Any
    ) -> None:
        command(asked=Asked(named, archive, shapes, seed), **others)

    decorated: Callable[..., None] = with_asked
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
