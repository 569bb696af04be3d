"""The plan of a network as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ir_exec.check import printable
from ir_exec.cli.options import left_out
from ir_exec.cli.tables import Table, table
from ir_exec.cli.terminal import echo, show
from ir_exec.plan.explain import LayerPlan, PlanReport

__all__ = ["show_plan"]


def show_plan(report: PlanReport, most: int | None) -> None:
    """The steps, then why kernels were taken, then the layers that do not run, by what became of them."""
    echo(str(report))
    if report.note is not None:
        echo(f"what follows from the input shapes could not be computed: {printable(report.note)}")
    steps = [layer for layer in report.layers if layer.fate == "step"]
    show("", _steps(report, steps[:most]))
    for line in left_out(len(steps), most):
        echo(line)
    chosen = {(layer.variant, layer.reason, layer.alternatives) for layer in steps if layer.alternatives}
    for variant, reason, alternatives in sorted(chosen, key=str):
        echo(f"\n{variant}: {reason}")
        for other in alternatives:
            echo(f"  not {other}")
    show("", _others(report))


def _steps(report: PlanReport, steps: Sequence[LayerPlan]) -> Table:
    shown = table("Steps", layer="left", type="left", kernel="left", made_by="left", computes="right", in_place="left")
    together: dict[str | None, int] = {}
    for layer in report.layers:
        if layer.fate == "fused":
            together[layer.into] = together.get(layer.into, 0) + 1
    for layer in steps:
        count = together.get(layer.name, 0) + 1
        shown.add_row(
            printable(layer.name),
            layer.type,
            printable(layer.variant or ""),
            layer.made_by or "",
            f"{count} layers" if count > 1 else "",
            "" if layer.in_place_of is None else f"of input {layer.in_place_of}",
        )
    return shown.without_empty_columns()


def _others(report: PlanReport) -> Table:
    shown = table("Layers that do not run by themselves", what="left", layers="right", by="left", why="left")
    counts: dict[tuple[str, str, str], int] = {}
    for layer in report.layers:
        if layer.fate != "step":
            key = (layer.fate, layer.made_by or "", layer.reason or "")
            counts[key] = counts.get(key, 0) + 1
    for (fate, made_by, reason), count in sorted(counts.items()):
        shown.add_row(fate, f"{count:,}", made_by, reason)
    return shown
