"""The plan of a model as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import RootModel

from ir_exec.cli.options import left_out
from ir_exec.cli.output.terminal import echo, show
from ir_exec.engines.report import EnginePlan, PartitionReport
from ir_exec.plan.explain import LayerPlan, NearMatch, PlanReport
from ir_exec.printable import printable
from ir_exec.report.tables import Table, table

__all__ = ["PlanOutput", "show_partition", "show_plan"]


class PlanOutput(RootModel[EnginePlan | PlanReport]):
    """The JSON of `profile --plan`."""


def show_partition(report: PartitionReport, types: Mapping[str, str], most: int | None) -> None:
    """Show the parts of a partition, the reasons for interpreted layers, and each layer with its part.

    Args:
        types: The types of the layers, by name.
    """
    reasons = {layer.name: layer.reason for layer in report.interpreted}
    shown = table("Layers", layer="left", type="left", part="right", run_by="left", reason="left")
    rows = [(name, index, part.engine) for index, part in enumerate(report.parts) for name in part.layers]
    for name, index, on_engine in rows[:most]:
        who = "engine" if on_engine else "interpreter"
        shown.add_row(name, types.get(name, ""), str(index), who, reasons.get(name, ""))
    why = [_reasons(report)] if report.interpreted else []
    headline = printable(str(report).splitlines()[0])
    show(headline, _parts(report), *_lowered(report), *why, shown.without_empty_columns(), *left_out(len(rows), most))
    for failure in report.failures:
        echo(printable(f"failed in the engine, now interpreted: {failure}"))
    for choice in report.choices:
        echo(printable(f"inputs {choice}"))


def _parts(report: PartitionReport) -> Table:
    columns: dict[str, Literal["left", "right"]] = {"inputs": "right", "outputs": "right"}
    columns |= {"original_nodes": "right", "first_layer": "left"}
    shown = table("Parts", part="right", run_by="left", layers="right", **columns)
    for index, part in enumerate(report.parts):
        who = "engine" if part.engine else "interpreter"
        ends = (f"{len(part.layers):,}", f"{len(part.inputs):,}", f"{len(part.outputs):,}")
        nodes = "" if part.original_nodes is None else f"{part.original_nodes:,}"
        shown.add_row(str(index), who, *ends, nodes, next(iter(part.layers), ""))
    return shown.without_empty_columns()


def _lowered(report: PartitionReport) -> list[Table]:
    """The nodes of an ONNX file that were lowered for the engine, with the reasons."""
    shown = table("Lowered nodes", part="right", layer="left", reason="left")
    for index, part in enumerate(report.parts):
        if part.reason:
            shown.add_row(str(index), "all", part.reason)
        for layer in part.lowered:
            shown.add_row(str(index), layer.name, layer.reason)
    has_rows = any(part.reason or part.lowered for part in report.parts)
    return [shown] if has_rows else []


def _reasons(report: PartitionReport) -> Table:
    shown = table("Interpreted layers", type="left", layers="right", reason="left")
    counts: dict[tuple[str, str], int] = {}
    for layer in report.interpreted:
        counts[layer.type, layer.reason] = counts.get((layer.type, layer.reason), 0) + 1
    for (layer_type, reason), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        shown.add_row(layer_type, f"{count:,}", reason)
    return shown


def show_plan(report: PlanReport, most: int | None) -> None:
    """Show the steps, the reasons for their kernels, the layers without a step, and the fusions that nearly matched."""
    echo(str(report))
    if report.note is not None:
        echo(f"values that depend on the input shapes could not be computed: {printable(report.note)}")
    steps = [layer for layer in report.layers if layer.fate == "step"]
    if steps:
        echo("")
        show(_steps(report, steps[:most]), *left_out(len(steps), most))
    chosen = {(layer.variant, layer.reason, layer.alternatives) for layer in steps if layer.alternatives}
    for variant, reason, alternatives in sorted(chosen, key=str):
        echo(f"\n{variant}: {reason}")
        for other in alternatives:
            echo(f"  not {other}")
    others = _others(report)
    if others.rows:
        echo("")
        show(others)
    for optimization in report.passes:
        if optimization.error is not None:
            echo(printable(f"pass {optimization.name} failed and was skipped: {optimization.error}"))
    near = [(optimization.name, skipped) for optimization in report.passes for skipped in optimization.skipped]
    if near:
        _show_near(near[:most])
        for line in left_out(len(near), most):
            echo(line)


def _show_near(near: Sequence[tuple[str, NearMatch]]) -> None:
    """Show the near matches as lines, because layer names are too long for columns."""
    echo("\nFusions that nearly matched")
    for name, skipped in near:
        echo(printable(f'  {name}, at "{skipped.layer}"'))
        echo(printable(f"    expected {skipped.expected}"))
        echo(printable(f"    found {skipped.found}"))


def _steps(report: PlanReport, steps: Sequence[LayerPlan]) -> Table:
    shown = table("Steps", layer="left", type="left", kernel="left", made_by="left", computes="right", in_place="left")
    together: dict[str | None, int] = {}
    for layer in report.layers:
        if layer.fate == "fused":
            together[layer.into] = together.get(layer.into, 0) + 1
    for layer in steps:
        count = together.get(layer.name, 0) + 1
        shown.add_row(
            layer.name,
            layer.type,
            layer.variant or "",
            layer.made_by or "",
            f"{count} layers" if count > 1 else "",
            "" if layer.in_place_of is None else f"of input {layer.in_place_of}",
        )
    return shown.without_empty_columns()


def _others(report: PlanReport) -> Table:
    shown = table("Layers without a step", fate="left", layers="right", made_by="left", reason="left")
    counts: dict[tuple[str, str, str], int] = {}
    for layer in report.layers:
        if layer.fate != "step":
            key = (layer.fate, layer.made_by or "", layer.reason or "")
            counts[key] = counts.get(key, 0) + 1
    for (fate, made_by, reason), count in sorted(counts.items()):
        shown.add_row(fate, f"{count:,}", made_by, reason)
    return shown
