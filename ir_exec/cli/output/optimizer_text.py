"""`ir-exec reduce --optimizers`: the graph optimizers of onnxruntime that change the outputs of a model, as text."""

from __future__ import annotations

from ir_exec.cli.output.terminal import echo, show
from ir_exec.debug.reduction.optimizers import OptimizerBisection
from ir_exec.printable import printable
from ir_exec.report.numbers import format_count, format_number
from ir_exec.report.tables import Table, table
from ir_exec.report.text import list_names

__all__ = ["show_optimizers"]

_MOST_NAMES = 10


def show_optimizers(report: OptimizerBisection) -> None:
    """Show the verdict, the optimizers, and the outputs that they change."""
    echo(printable(_verdict(report)))
    if report.applied:
        echo(f"  optimizers that changed the graph: {list_names(report.applied, _MOST_NAMES)}")
    if report.verdict == "equal":
        return
    if report.optimizers:
        names = ", ".join(f'"{name}"' for name in report.optimizers)
        echo(f"  outputs agree with disabled_optimizers=[{names}]")
    if not report.is_minimal:
        echo("  the limit of sessions ended the search: fewer optimizers, or one of their rules, may suffice")
    if report.refusal is not None:
        echo(printable(f"  with all optimizers: {report.refusal}"))
    if report.outputs:
        echo("")
        show(_outputs(report))


def _verdict(report: OptimizerBisection) -> str:
    sessions = f"in {format_count(report.sessions, 'session')}"
    if report.verdict == "equal":
        return f"equal: no optimizer of {report.runtime} changes the outputs beyond the tolerance ({sessions})"
    effect = "changes the outputs" if report.verdict == "different" else "makes it refuse the model"
    if not report.optimizers:
        subject = "optimizers"
        effect = effect.replace("changes", "change").replace("makes", "make")
        return f"{report.verdict}: {subject} of {report.runtime} {effect}, none of those in its log ({sessions})"
    return f"{report.verdict}: {' with '.join(report.optimizers)} of {report.runtime} {effect} ({sessions})"


def _outputs(report: OptimizerBisection) -> Table:
    shown = table("Outputs", output="left", max_abs="right", sqnr_db="right", status="left")
    for output in report.outputs:
        status = "within" if output.error.is_within else "beyond"
        numbers = format_number(output.error.max_abs), format_number(output.error.sqnr_db)
        shown.add_row(printable(output.name), *numbers, status)
    return shown
