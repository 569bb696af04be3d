"""What a command says about a network that it wrote."""

from __future__ import annotations

from ir_exec.cli.terminal import show, table
from ir_exec.model import Model
from ir_exec.printable import printable

__all__ = ["show_written"]


def show_written(title: str, model: Model, path: str) -> None:
    """The inputs and outputs of the network, and how many layers went where."""
    ends = table(title, end="left", name="left", element_type="left", shape="left")
    for end, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            ends.add_row(end, printable(port.name), str(port.element_type), str(port.shape))
    count = sum(1 for _ in model.graph.all_nodes())
    show(ends, f"{count:,} layers written to {path}")
