"""The report on operator tables in JUnit format and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.debug.device.tables.report import STATUSES, Conformance, FailedCase, OperatorResult
from ir_exec.report.html import escape_html, html_page
from ir_exec.report.junit import JUnitCase, JUnitOutcome, JUnitSuite, junit_text

__all__ = ["conformance_html", "conformance_junit"]

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; max-width: 75rem; color: #1d2733; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #d8dee6; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wrong, .crashed { background: #fbdcdc; } .refused { background: #fdf0cf; } .step { background: #e6ecf5; }
code { overflow-wrap: anywhere; } details p { margin: .2rem 0 .2rem 1rem; }
@media (prefers-color-scheme: dark) {
  body { color: #dfe6ee; background: #14191f; } th, td { border-color: #323b46; }
  .wrong, .crashed { background: #5a2326; } .refused { background: #544214; } .step { background: #263a55; }
}
"""


def conformance_html(report: Conformance) -> str:
    """Return an HTML page without scripts, with a row for each type and its failing cases."""
    heads = "".join(f'<th class="number">{status}</th>' for status in STATUSES)
    rows = "\n".join(_row(operator) for operator in report.operators)
    body = (
        f"<p>{escape_html(report.headline)}</p>\n"
        f'<table>\n<tr><th>operator</th><th class="number">cases</th>{heads}<th>failing</th></tr>\n{rows}\n</table>'
    )
    return html_page(f"Operators on {report.device}", body, style=_STYLE)


def _row(operator: OperatorResult) -> str:
    cells = []
    for status in STATUSES:
        count = operator.count(status)
        css_class = f"number {status}" if count and status != "right" else "number"
        cells.append(f'<td class="{css_class}">{count or ""}</td>')
    details = ""
    if operator.failed:
        lines = "".join(f"<p>{_case_line(case)}</p>" for case in operator.failed)
        details = f"<details><summary>{len(operator.failed)}</summary>{lines}</details>"
    name = escape_html(operator.type)
    return f'<tr><td>{name}</td><td class="number">{operator.cases}</td>{"".join(cells)}<td>{details}</td></tr>'


def _case_line(case: FailedCase) -> str:
    parts = [f'<span class="{case.status}">{case.status}{" (new)" if case.is_new else ""}</span>']
    parts.append(f"<code>{escape_html(case.name)}</code> [{case.form}]: {escape_html(case.why)}")
    if case.known is not None:
        parts.append(f"known: {escape_html(case.known)}")
    if case.file is not None:
        parts.append(f"<code>{escape_html(case.file)}</code>")
    return " ".join(parts)


def conformance_junit(report: Conformance) -> str:
    """Return the report in JUnit format, with a test suite for each type.

    A suite has one test case for all correct cases, and one for each failing case. Known failures and failures in the
    baseline are skipped, and without a baseline also rejected cases.
    """
    suites = [JUnitSuite(f"{operator.type} on {report.device}", [*_cases(operator)]) for operator in report.operators]
    return junit_text(suites) + "\n"


def _cases(operator: OperatorResult) -> Iterator[JUnitCase]:
    right = operator.count("right", "step")
    if right:
        yield JUnitCase(operator.type, f"{right} correct cases")
    for case in operator.failed:
        if case.status != "step":
            yield JUnitCase(case.operator, f"{case.name} [{case.form}]", outcome=_outcome(case))


def _outcome(case: FailedCase) -> JUnitOutcome:
    if case.known is not None or case.is_new is False or (case.is_new is None and case.status == "refused"):
        return JUnitOutcome("skipped", f"{case.status}: {case.known or case.why}")
    return JUnitOutcome("failure", f"{case.status}: {case.why}")
