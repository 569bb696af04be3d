"""What `check_model` answers: diagnostics, and how much of the file was looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, computed_field

from ir_exec.check.rules import lesser, rule_of
from ir_exec.errors import IRError, Location, Severity
from ir_exec.notebook import html_table

__all__ = ["Demand", "Diagnostic", "Report", "Reports", "Requirement", "Summary"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Diagnostic(_Model):
    """One finding.

    code, name: the rule that was broken (`IR601`, `declared-dims`); they never change their meaning.
    message: in the user's words, without the place. hint: what would repair it, where one repair is likely, or why it
        is so, where that is far away. related: the places on the way from there.
    """

    code: str
    name: str
    severity: Severity
    message: str
    hint: str | None = None
    location: Location
    related: tuple[Location, ...] = ()

    @classmethod
    def of(cls, error: IRError) -> Self:
        """The finding that an error stands for; its severity is never more than that of its rule."""
        rule = rule_of(error.code)
        return cls(
            code=error.code,
            name=rule.name,
            severity=lesser(error.severity, rule.severity),
            message=error.message,
            hint=error.hint,
            location=error.location,
            related=error.related,
        )

    def __str__(self) -> str:
        where = str(self.location)
        return f"{where}: {self.severity}[{self.code} {self.name}]: {self.message}"


class Demand(_Model):
    """What in a file demands a release: `GroupNormalization of opset12`; how often it is there, and where first."""

    what: str
    count: int
    location: Location


class Requirement(_Model):
    """The least release of OpenVINO that reads a file, `2023.1`, and everything in it that older ones do not know."""

    release: str
    demands: tuple[Demand, ...]


class Report(_Model):
    """Everything that was found in one file, by line.

    path: as it was given, None for bytes.
    layers_checked, layers_not_checked: those of bodies included. A layer was not checked where ir_exec lacks its
        operator, where the types of its inputs are not known, where its weights are missing, and where no Result
        depends on it.
    requires: the OpenVINO that the file needs, None where the file could not be read.
    """

    path: str | None
    diagnostics: tuple[Diagnostic, ...]
    layers_checked: int
    layers_not_checked: int
    requires: Requirement | None = None

    @computed_field  # type: ignore[prop-decorator]  # the way that pydantic documents; mypy has no case for it
    @property
    def ok(self) -> bool:
        """Whether there is no error; there may be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return self._of("error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self._of("warning")

    def _of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity == severity)

    def __str__(self) -> str:
        """The report as text, each finding as a block, with a summary at the end."""
        # The renderer needs the models above, so it cannot be imported before them.
        from ir_exec.check.text import render, summary_line

        return "\n".join([*render(self), summary_line(Summary.of([self]))])

    def __repr__(self) -> str:
        """One line of counts; `str` has the findings."""
        from ir_exec.check.text import summary_line  # as above

        name = "bytes" if self.path is None else repr(self.path)
        return f"Report of {name}: {summary_line(Summary.of([self])).partition(': ')[2]}"

    def _repr_html_(self) -> str:
        """A row for each finding, for notebooks."""
        rows = [
            (found.severity, f"{found.code} {found.name}", str(found.location), found.message)
            for found in self.diagnostics
        ]
        return html_table(repr(self), ("severity", "rule", "place", "message"), rows)


class Summary(_Model):
    """The sums over all files."""

    files: int
    layers_checked: int
    layers_not_checked: int
    errors: int
    warnings: int

    @classmethod
    def of(cls, reports: Iterable[Report]) -> Self:
        reports = list(reports)
        return cls(
            files=len(reports),
            layers_checked=sum(report.layers_checked for report in reports),
            layers_not_checked=sum(report.layers_not_checked for report in reports),
            errors=sum(len(report.errors) for report in reports),
            warnings=sum(len(report.warnings) for report in reports),
        )


class Reports(_Model):
    """What `ir-exec check --format json` prints.

    version: that of ir_exec. skipped: paths of files in the folders given that end in .xml and are no IR.
    """

    format: Literal[1] = 1
    version: str | None = None
    files: tuple[Report, ...]
    skipped: tuple[str, ...] = ()
    summary: Summary
