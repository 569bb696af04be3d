"""Reductions on the command line: runs until Ctrl-C or SIGTERM, and their summaries."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from ir_exec.build.cutting import is_counted
from ir_exec.cli.output.progress import LayerBar
from ir_exec.cli.output.terminal import UNUSABLE, echo, errors_as_messages
from ir_exec.debug import Reduced, ReductionInterrupted
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count
from ir_exec.report.text import format_remainder

if TYPE_CHECKING:
    from ir_exec.debug.reduction.onnx_reducing import ReducedOnnx

__all__ = [
    "Progress",
    "Reduction",
    "ReductionSummary",
    "describe_ir",
    "describe_onnx",
    "run_reduction",
    "show_reduction",
]

Progress: TypeAlias = Callable[[str], None] | None

_Result = TypeVar("_Result", Reduced, "ReducedOnnx")

_MOST_SHOWN = 10


@dataclass(frozen=True)
class Reduction(Generic[_Result]):
    """A result that was written, also after Ctrl-C."""

    reduced: _Result
    written: Sequence[str]
    is_interrupted: bool


def run_reduction(run: Callable[[Progress], _Result], output: str) -> Reduction[_Result]:
    """Run a reduction, and write its result, also after Ctrl-C."""
    is_interrupted = False
    with errors_as_messages(exit_code=UNUSABLE):
        try:
            with _terminated_as_interrupted(), LayerBar(None) as bar:
                reduced = run(bar.advance if bar.is_wanted else None)
        except ReductionInterrupted as interrupt:
            reduced, is_interrupted = interrupt.found, True
        written = [str(path) for path in reduced.save(output)]
    if is_interrupted:
        echo("interrupted: a smaller part may also fail", to_stderr=True)
    return Reduction(reduced, written, is_interrupted)


def show_reduction(reduction: Reduction[_Result], describe: Callable[[_Result], ReductionSummary]) -> None:
    """Show the sizes, the layers or nodes that remain, and the files.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
    """
    summary = describe(reduction.reduced)
    echo(f"{summary.sizes} in {format_count(reduction.reduced.runs, 'run')}")
    for line in summary.parts[:_MOST_SHOWN]:
        echo(printable(f"  {line}"))
    for line in format_remainder(len(summary.parts), _MOST_SHOWN, indent="  "):
        echo(line)
    echo(f"written to {', '.join(reduction.written)}")
    if reduction.is_interrupted:
        raise KeyboardInterrupt


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, to write the part that was found."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class ReductionSummary(NamedTuple):
    """The counts of a reduction, and a line for each layer or node that remains."""

    sizes: str
    parts: Sequence[str]


def describe_ir(reduced: Reduced) -> ReductionSummary:
    """Return the summary of a reduction of IR."""
    nodes = [node for node in reduced.model.graph.nodes if is_counted(node)]
    others = Counter(type(node.op) for node in reduced.model.graph.nodes if not is_counted(node))
    beside = ", ".join(format_count(others[cls], cls.type_name) for cls in (Parameter, Const, Result) if others[cls])
    sizes = f"{format_count(reduced.before, 'layer')} reduced to {reduced.layers} (and {beside})"
    return ReductionSummary(sizes, [f'layer {node.id} "{node.name}" ({node.type})' for node in nodes])


def describe_onnx(reduced: ReducedOnnx) -> ReductionSummary:
    """Return the summary of a reduction of an ONNX file."""
    from ir_exec.onnx.reading.order import name_of  # imported for ONNX files only

    nodes = [node for node in reduced.part.proto.graph.node if node.op_type != "Constant"]
    sizes = f"{format_count(reduced.before, 'node')} reduced to {reduced.nodes}"
    return ReductionSummary(sizes, [f'node "{name_of(node)}" ({node.op_type})' for node in nodes])
