"""What `check_model` returns: diagnostics, and how much of the file was checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import computed_field

from ir_exec.check.findings import Diagnostic, ReportRecord
from ir_exec.check.text import counted, render
from ir_exec.errors import Location, Severity
from ir_exec.notebook import html_table
from ir_exec.printable import printable

__all__ = ["Demand", "Report", "Reports", "Requirement", "Summary", "summary_line"]


class Demand(ReportRecord):
    """Something that needs a release, `GroupNormalization of opset12`: how many times it occurs, and where first."""

    what: str
    count: int
    location: Location


class Requirement(ReportRecord):
    """The oldest release of OpenVINO that reads a file, `2023.1`, and everything in the file that needs it."""

    release: str
    demands: tuple[Demand, ...]


class Report(ReportRecord):
    """Everything that was found in one file, by line.

    path: as it was given; None for bytes.
    layers_checked, layers_not_checked: layers of bodies included. A layer is not checked if ir_exec lacks its
        operator, if the types of its inputs are unknown, if its weights are missing, or if no Result depends on it.
        Nodes of an ONNX file that IR cannot say, and those behind them, are not checked either.
    requires: the release of OpenVINO that the file needs; None if the file could not be read.
    outputs: the type of each output by its name, `f32[1..8,32]`, with the input shapes or the batch that were asked
        for; None where none were.
    """

    path: str | None
    diagnostics: tuple[Diagnostic, ...]
    layers_checked: int
    layers_not_checked: int
    requires: Requirement | None = None
    outputs: dict[str, str] | None = None

    @computed_field  # type: ignore[prop-decorator]  # the way that pydantic documents; mypy has no case for it
    @property
    def ok(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Findings that make the file unusable."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Findings that may be meant so."""
        return self._of("warning")

    @property
    def infos(self) -> tuple[Diagnostic, ...]:
        """Findings that are worth knowing."""
        return self._of("info")

    def _of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity == severity)

    def __str__(self) -> str:
        """The report as text, each finding as a block, with a summary at the end."""
        return "\n".join([*render(self), summary_line(Summary.of([self]))])

    def __repr__(self) -> str:
        """One line of counts; `str` has the findings."""
        name = "bytes" if self.path is None else repr(self.path)
        return f"Report of {name}: {summary_line(Summary.of([self])).partition(': ')[2]}"

    def _repr_html_(self) -> str:
        """A row for each finding, for notebooks."""
        rows = [
            (found.severity, f"{found.code} {found.name}", str(found.location), printable(found.message))
            for found in self.diagnostics
        ]
        return html_table(repr(self), ("severity", "rule", "place", "message"), rows)


class Summary(ReportRecord):
    """Totals over all files."""

    files: int
    layers_checked: int
    layers_not_checked: int
    errors: int
    warnings: int
    infos: int = 0

    @classmethod
    def of(cls, reports: Iterable[Report]) -> Self:
        reports = list(reports)
        return cls(
            files=len(reports),
            layers_checked=sum(report.layers_checked for report in reports),
            layers_not_checked=sum(report.layers_not_checked for report in reports),
            errors=sum(len(report.errors) for report in reports),
            warnings=sum(len(report.warnings) for report in reports),
            infos=sum(len(report.infos) for report in reports),
        )


def summary_line(summary: Summary) -> str:
    """`3 files: 412 layers checked, 7 not checked; 2 errors, 1 warning, 4 infos`; infos only where there are any."""
    infos = f", {counted(summary.infos, 'info')}" if summary.infos else ""
    return (
        f"{counted(summary.files, 'file')}: {counted(summary.layers_checked, 'layer')} checked, "
        f"{summary.layers_not_checked} not checked; "
        f"{counted(summary.errors, 'error')}, {counted(summary.warnings, 'warning')}{infos}"
    )


class Reports(ReportRecord):
    """What `ir-exec check --format json` prints.

    version: the version of ir_exec. skipped: .xml files in the given folders that are not IR.
    """

    format: Literal[1] = 1
    version: str | None = None
    files: tuple[Report, ...]
    skipped: tuple[str, ...] = ()
    summary: Summary
