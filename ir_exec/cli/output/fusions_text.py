"""The fusions of `inspect --fusions` as text."""

from __future__ import annotations

from typing import Literal

from ir_exec.cli.options import left_out
from ir_exec.cli.output.terminal import show
from ir_exec.fusions import FusionReport, PredictedFusion
from ir_exec.report.records import to_json
from ir_exec.report.tables import Table, table

__all__ = ["fusions_json", "show_fusions"]

_COUNT = "matched"


def show_fusions(report: FusionReport, most: int | None) -> None:
    """Print the number of matches, the near misses with the reason, and the hints.

    Args:
        most: Maximum rows of near misses; None for all.
    """
    show(_counts(report), *_misses(report, most), *_notes(report))


def fusions_json(report: FusionReport) -> str:
    """Return a report as JSON, with null for the counts of OpenVINO if they were not requested."""
    return to_json(report, indent=2)


def _counts(report: FusionReport) -> Table:
    columns: dict[str, Literal["left", "right"]] = {"fusion": "left", _COUNT: "right"}
    if report.openvino is not None:
        columns["openvino"] = "right"
    shown = table("Fusions", **columns, missed="right", source="left")
    for fusion in report.fusions:
        cells = [fusion.name, _match_count(fusion)]
        if report.openvino is not None:
            count = report.openvino.get(fusion.name, "")
            cells.append(f"{count:,}" if isinstance(count, int) else "fails" if count else "")
        shown.add_row(*cells, f"{len(fusion.missed):,}", fusion.source.partition(",")[0])
    return shown


def _match_count(fusion: PredictedFusion) -> str:
    if fusion.fails:
        return "fails"
    return "unknown" if fusion.matched is None else f"{fusion.matched:,}"


def _misses(report: FusionReport, most: int | None) -> list[Table | str]:
    rows = [(fusion.name, missed) for fusion in report.fusions for missed in fusion.missed]
    if not rows:
        return []
    shown = table("Missed", fusion="left", layer="left", expected="left", actual="left")
    for name, missed in rows[:most]:
        shown.add_row(name, missed.layer or "the model", missed.expected, missed.actual)
    return [shown, *left_out(len(rows), most)]


def _notes(report: FusionReport) -> list[str]:
    """The consequences of near misses and the hints, each once."""
    lines = []
    for fusion in report.fusions:
        if fusion.missed and fusion.loss is not None:
            lines.append(f"{fusion.name} lost: {fusion.loss}")
        if fusion.unknown is not None:
            lines.append(f"{fusion.name} unknown: {fusion.unknown}")
        hints = dict.fromkeys(missed.hint for missed in fusion.missed if missed.hint is not None)
        lines += [f"hint for {fusion.name}: {hint}" for hint in hints]
    return ["\n".join(lines)] if lines else []
