"""The layers of a comparison by the modules that they were exported from."""

from __future__ import annotations

from ir_exec.debug.comparison.records import ComparedLayer, ComparedModule, ComparisonRecord
from ir_exec.debug.comparison.report_text import Comparison

__all__ = ["add_source_modules", "group_by_module"]


def add_source_modules(report: Comparison) -> Comparison:
    """Return the report with the modules of the sources, and the first wrong one; those of a recording are kept."""
    if report.modules:
        return report
    source = None if report.first_fault is None else report.first_fault.source
    module = None if source is None else source.module or None
    return report.model_copy(update={"modules": group_by_module(report), "first_module": module})


def group_by_module(report: ComparisonRecord) -> tuple[ComparedModule, ...]:
    """Return the modules in the order of their first layers, each with the worst of its layers and nested modules."""
    members: dict[str, list[ComparedLayer]] = {}
    for layer in report.layers:
        if layer.source is None or not layer.source.module or layer.status in ("unmatched", "skipped"):
            continue
        steps = layer.source.module.split(".")
        for size in range(1, len(steps) + 1):
            members.setdefault(".".join(steps[:size]), []).append(layer)
    return tuple([_compare_module(path, layers) for path, layers in members.items()])


def _compare_module(path: str, layers: list[ComparedLayer]) -> ComparedModule:
    worst = max(layers, key=lambda layer: layer.rank)
    return ComparedModule(
        path=path,
        layers=tuple(layer.path for layer in layers),
        status=worst.status,
        own=worst.own,
        carried=worst.carried,
    )
