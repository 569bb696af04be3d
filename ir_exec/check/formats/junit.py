"""JUnit XML, which most CI services accept as test results."""

from __future__ import annotations

from ir_exec.check.formats.places import Places, sentence
from ir_exec.check.report import Report, Reports
from ir_exec.check.text import render
from ir_exec.report.junit import JUnitCase, JUnitOutcome, JUnitSuite, junit_text
from ir_exec.report.numbers import pluralize

__all__ = ["junit"]


def junit(reports: Reports, places: Places) -> str:
    """Return one test suite; a file with errors is a failed test case with the text of the errors."""
    return junit_text([JUnitSuite("ir-exec check", [_case(report, places) for report in reports.files])])


def _case(report: Report, places: Places) -> JUnitCase:
    path = places.path(report.path)
    return JUnitCase(
        classname=path.parent.as_posix(),
        name=path.name,
        file=path.as_posix(),
        outcome=_failure(report) if report.errors else None,
        output=_text(report, ("warning", "info")),
    )


def _failure(report: Report) -> JUnitOutcome:
    first, *others = report.errors
    more = f" (and {len(others)} more {pluralize(len(others), 'error')})" if others else ""
    message = f"{first.code} {first.name}: {sentence(first)}{more}"
    return JUnitOutcome("failure", message, _text(report, ("error",)), type=first.code)


def _text(report: Report, severities: tuple[str, ...]) -> str:
    diagnostics = tuple(finding for finding in report.diagnostics if finding.severity in severities)
    return "\n".join(render(report.model_copy(update={"diagnostics": diagnostics}))).rstrip()
