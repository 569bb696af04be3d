"""Text of an account of weights in a terminal, and its other formats."""

from __future__ import annotations

from ir_exec.cli.output.terminal import echo, show, show_verdict
from ir_exec.debug.weights.pages import weights_html
from ir_exec.debug.weights.records import WeightsDiff
from ir_exec.printable import printable
from ir_exec.report.numbers import format_number
from ir_exec.report.records import to_json
from ir_exec.report.tables import table

__all__ = ["render_weights", "show_weights"]


def show_weights(report: WeightsDiff, most: int | None, *, every: bool) -> None:
    """Print the first fault or the account in the first line, further faults, and unused tensors.

    Args:
        most: Maximum number of faults; None for all.
        every: Print a row for each constant.
    """
    first, *others = report.lines(most=most)
    show_verdict(first, is_good=report.agrees)
    for line in others:
        echo(printable(line))
    if not every:
        return
    shown = table(
        "Constants", constant="left", shape="left", format="left", tensors="left", how="left", sqnr_db="right"
    )
    for weight in report.weights:
        how = weight.how if weight.tensors else "no tensor"
        cells = (weight.path, "x".join(map(str, weight.shape)), weight.format, ", ".join(weight.tensors), how)
        shown.add_row(*cells, format_number(weight.sqnr_db))
    show(shown)


def render_weights(report: WeightsDiff, output_format: str) -> str:
    """Return an account as JSON, HTML or text."""
    if output_format == "json":
        return to_json(report) + "\n"
    if output_format == "html":
        return weights_html(report)
    return "".join(f"{printable(line)}\n" for line in report.lines())
