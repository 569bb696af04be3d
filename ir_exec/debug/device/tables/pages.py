"""The report on operator tables in JUnit format and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from xml.sax.saxutils import quoteattr

from ir_exec.debug.device.tables.report import STATUSES, Conformance, FailedCase, OperatorResult
from ir_exec.printable import printable

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
    title = _text(f"Operators on {report.device}")
    heads = "".join(f'<th class="number">{status}</th>' for status in STATUSES)
    rows = "\n".join(_row(one) for one in report.operators)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n<style>{_STYLE}</style>\n'
        f"<h1>{title}</h1>\n<p>{_text(report.headline)}</p>\n"
        f'<table>\n<tr><th>operator</th><th class="number">cases</th>{heads}<th>failing</th></tr>\n{rows}\n</table>\n'
        "</html>\n"
    )


def _row(one: OperatorResult) -> str:
    cells = []
    for status in STATUSES:
        count = one.count(status)
        kind = f"number {status}" if count and status != "right" else "number"
        cells.append(f'<td class="{kind}">{count or ""}</td>')
    details = ""
    if one.failed:
        lines = "".join(f"<p>{_case_line(case)}</p>" for case in one.failed)
        details = f"<details><summary>{len(one.failed)}</summary>{lines}</details>"
    return f'<tr><td>{_text(one.type)}</td><td class="number">{one.cases}</td>{"".join(cells)}<td>{details}</td></tr>'


def _case_line(case: FailedCase) -> str:
    parts = [f'<span class="{case.status}">{case.status}{" (new)" if case.is_new else ""}</span>']
    parts.append(f"<code>{_text(case.name)}</code> [{case.form}]: {_text(case.why)}")
    if case.known is not None:
        parts.append(f"known: {_text(case.known)}")
    if case.file is not None:
        parts.append(f"<code>{_text(case.file)}</code>")
    return " ".join(parts)


def _text(text: str) -> str:
    return escape(printable(text))


def conformance_junit(report: Conformance) -> str:
    """Return the report in JUnit format, with a test suite for each type.

    A suite has one test case for all correct cases, and one for each failing case. Known failures and failures in the
    baseline are skipped, and without a baseline also rejected cases.
    """
    suites = [*_suites(report)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]) + "\n"


def _suites(report: Conformance) -> Iterator[str]:
    for one in report.operators:
        right = one.count("right", "step")
        cases = [_test(one.type, f"{right} correct cases", "")] if right else []
        cases += [
            _test(case.operator, f"{case.name} [{case.form}]", _outcome(case))
            for case in one.failed
            if case.status != "step"
        ]
        failures, skipped = (sum(mark in case for case in cases) for mark in ("<failure", "<skipped"))
        yield (
            f'<testsuite name={_quoted(f"{one.type} on {report.device}")} tests="{len(cases)}" '
            f'failures="{failures}" errors="0" skipped="{skipped}">'
        )
        yield from cases
        yield "</testsuite>"


def _outcome(case: FailedCase) -> str:
    if case.known is not None or case.is_new is False or (case.is_new is None and case.status == "refused"):
        return f"<skipped message={_quoted(f'{case.status}: {case.known or case.why}')}/>"
    return f"<failure message={_quoted(f'{case.status}: {case.why}')}/>"


def _test(group: str, name: str, body: str) -> str:
    return f"<testcase classname={_quoted(group)} name={_quoted(name)}>{body}</testcase>"


def _quoted(text: str) -> str:
    return quoteattr(printable(text))
