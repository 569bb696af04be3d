"""The result of `check_model`: diagnostics, and the number of layers that were checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import computed_field

from ir_exec.check.findings import Diagnostic
from ir_exec.check.text import render
from ir_exec.errors import Location, Severity
from ir_exec.printable import printable
from ir_exec.report.html import html_table
from ir_exec.report.numbers import format_count
from ir_exec.report.records import Record

__all__ = ["Demand", "Report", "Reports", "Requirement", "Summary", "summary_line"]


class Demand(Record):
    """A feature that requires a release, `GroupNormalization of opset12`: the number of layers, and the first layer."""

    what: str
    count: int
    location: Location


class Requirement(Record):
    """The oldest release of OpenVINO that reads a file, `2023.1`, and the features of the file that require it."""

    release: str
    demands: tuple[Demand, ...]


class Report(Record):
    """The findings of a file, by line.

    Attributes:
        path: The path as given by the caller; None for bytes.
        layers_checked: The number of checked layers, including bodies. A layer is not checked if ir_exec does not
            support its operator, if the types of its inputs are unknown, if its weights are missing, or if no Result
            depends on it. Nodes of an ONNX file that IR cannot express, and nodes that depend on them, are not checked
            either.
        layers_not_checked: The number of the other layers.
        requires: The release of OpenVINO that the file needs; None if the file could not be read.
        outputs: The type of each output by name, `f32[1..8,32]`, for the requested input shapes or batch; None without
            a request.
    """

    path: str | None
    diagnostics: tuple[Diagnostic, ...]
    layers_checked: int
    layers_not_checked: int
    requires: Requirement | None = None
    outputs: dict[str, str] | None = None

    @computed_field  # type: ignore[prop-decorator]  # as documented by pydantic; mypy does not support it
    @property
    def ok(self) -> bool:
        """True if there are no errors; there may be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Findings that make the file unusable."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Findings that may be intentional."""
        return self._of("warning")

    @property
    def infos(self) -> tuple[Diagnostic, ...]:
        """Findings that are informative, and not faults."""
        return self._of("info")

    def _of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity == severity)

    def __str__(self) -> str:
        """Return the report as text: a block for each finding, and a summary."""
        return "\n".join([*render(self), summary_line(Summary.of([self]))])

    def __repr__(self) -> str:
        """Return one line of counts; `str` returns the findings."""
        name = "bytes" if self.path is None else repr(self.path)
        return f"Report of {name}: {summary_line(Summary.of([self])).partition(': ')[2]}"

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks, with a row for each finding."""
        rows = [
            (
                diagnostic.severity,
                f"{diagnostic.code} {diagnostic.name}",
                str(diagnostic.location),
                printable(diagnostic.message),
            )
            for diagnostic in self.diagnostics
        ]
        return html_table(repr(self), ("severity", "rule", "place", "message"), rows)


class Summary(Record):
    """Totals of all files."""

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
    """Return `3 files: 412 layers checked, 7 not checked; 2 errors, 1 warning, 4 infos`, without 0 infos."""
    infos = f", {format_count(summary.infos, 'info')}" if summary.infos else ""
    return (
        f"{format_count(summary.files, 'file')}: {format_count(summary.layers_checked, 'layer')} checked, "
        f"{summary.layers_not_checked} not checked; "
        f"{format_count(summary.errors, 'error')}, {format_count(summary.warnings, 'warning')}{infos}"
    )


class Reports(Record):
    """The output of `ir-exec check --format json`.

    Attributes:
        version: The version of ir_exec.
        skipped: .xml files in the given folders that are not IR.
    """

    format: Literal[1] = 1
    version: str | None = None
    files: tuple[Report, ...]
    skipped: tuple[str, ...] = ()
    summary: Summary
