"""`ir-exec reduce --passes`: the passes that change the outputs of a model, as text and JSON."""

from __future__ import annotations

import sys
from typing import NoReturn

from ir_exec.cli.output.progress import Steps
from ir_exec.cli.output.terminal import UNUSABLE, echo, errors_as_messages, show, show_json
from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.reduction.bisecting import PassBisection, bisect_passes
from ir_exec.model import Model
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count, format_number
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table
from ir_exec.report.text import format_remainder
from ir_exec.types import Array

__all__ = ["reduce_passes"]

_MOST_SHOWN = 10
"""Maximum layers per pass in text."""


def reduce_passes(
    model: Model, inputs: dict[str, Array], *, rtol: float | None, atol: float | None, output_format: str
) -> NoReturn:
    """Bisect the passes, show the result, and exit with 1 if a pass is at fault, else 0."""
    with errors_as_messages(exit_code=UNUSABLE), Steps() as steps:
        report = bisect_passes(model, inputs, rtol=rtol, atol=atol, progress=steps.tell)
    if output_format == "json":
        show_json(to_json(report))
    else:
        _show(report)
    sys.exit(0 if report.is_within else 1)


def _show(report: PassBisection) -> None:
    runs = format_count(report.runs, "run")
    if not report.effects:
        echo(f"no pass changes a bit of the outputs ({runs})")
        return
    verdict = "within the tolerance" if report.is_within else "by more than rounding explains"
    echo(f"passes change the outputs, {verdict} ({runs})")
    echo("")
    show(_effects(report))
    for effect in report.effects:
        if effect.layers:
            echo("")
            show(_layers(report, effect.passes))
        for line in format_remainder(len(effect.layers), _MOST_SHOWN):
            echo(line)


def _effects(report: PassBisection) -> Table:
    shown = table("Passes", passes="left", exactness="left", output="left", max_abs="right", status="left")
    for effect in report.effects:
        for output in effect.outputs:
            status = "fault" if effect.is_fault else "rounding"
            names = [", ".join(effect.passes), effect.exactness, printable(output.name)]
            shown.add_row(*names, format_number(output.error.max_abs), status)
    return shown


def _layers(report: PassBisection, passes: tuple[str, ...]) -> Table:
    (effect,) = [effect for effect in report.effects if effect.passes == passes]
    shown = table(f"Layers of {', '.join(passes)}", layer="left", computes="right", own_max_abs="right", status="left")
    for layer in effect.layers[:_MOST_SHOWN]:
        count = format_count(len(layer.computes), "layer")
        shown.add_row(layer.name, count, *_own(layer.own))
    return shown


def _own(error: Difference | None) -> tuple[str, str]:
    if error is None:
        return "-", ""
    return format_number(error.max_abs), "within" if error.is_within else "beyond"
