"""The report on a run of the operator tables on a device: its records, JUnit format and HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from ir_exec.debug.comparison.metrics import Difference
from ir_exec.debug.device.records import device_difference_text
from ir_exec.report.html import escape_html, html_page
from ir_exec.report.junit import JUnitCase, JUnitOutcome, JUnitSuite, junit_text
from ir_exec.report.records import Record
from ir_exec.report.text import join_counts

__all__ = [
    "STATUSES",
    "CaseStatus",
    "Conformance",
    "FailedCase",
    "OperatorResult",
    "conformance_html",
    "conformance_junit",
]

CaseStatus = Literal["right", "step", "wrong", "refused", "crashed"]
"""right: within the tolerance. step: beyond it, but only on steps and in ties. wrong: beyond it. refused: the device
rejects the model. crashed: its process ended, or did not respond in time."""


class FailedCase(Record):
    """A case with a status other than right.

    Attributes:
        name: Its operator, inputs and attributes.
        form: Static or open dims of its inputs.
        status: The result of the device.
        error: The error of the worst output, if there are outputs.
        message: The note of the verdict, such as the error of the device.
        bytes: The total bytes of its inputs.
        known: The known fault of OpenVINO's CPU plugin.
        is_new: True if the baseline has no such failure; None without a baseline.
        file: The path of the saved case.
    """

    name: str
    operator: str
    form: Literal["static", "open"] = "static"
    status: CaseStatus
    error: Difference | None = None
    message: str | None = None
    bytes: int = 0
    known: str | None = None
    is_new: bool | None = None
    file: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Key of a case in a baseline."""
        return self.name, self.form, self.status

    @property
    def why(self) -> str:
        """The error or the message in one line."""
        return (
            device_difference_text(self.error)
            if self.error is not None and self.status == "wrong"
            else self.message or ""
        )


class OperatorResult(Record):
    """Results of the cases of one operator type on a device.

    Attributes:
        counts: The number of cases by status.
        failed: The failing cases, by status and the smallest first.
    """

    type: str
    cases: int
    counts: dict[CaseStatus, int]
    failed: tuple[FailedCase, ...] = ()

    @classmethod
    def of(cls, type: str, statuses: Sequence[CaseStatus], failed: Iterable[FailedCase]) -> OperatorResult:
        """Return the result for cases with these statuses."""
        ordered = sorted(failed, key=lambda case: (_ORDER.index(case.status), case.bytes, len(case.name)))
        return cls(type=type, cases=len(statuses), counts=dict(Counter(statuses)), failed=tuple(ordered))

    def count(self, *statuses: CaseStatus) -> int:
        """Return the number of cases with these statuses."""
        return sum(self.counts.get(status, 0) for status in statuses)


STATUSES: Sequence[CaseStatus] = ("right", "step", "wrong", "crashed", "refused")
"""The statuses in the order of tables."""

_ORDER: Sequence[CaseStatus] = ("crashed", "wrong", "refused", "step", "right")


class Conformance(Record):
    """Results of the operator tables on a device.

    Attributes:
        device: The engine and the device.
        version: The version of the engine.
        ok: True if all wrong and crashed cases are known. With a baseline, True if all failing cases are in it.
        operators: Results by type, in alphabetical order.
        cases: The number of cases.
        crashes: The number of times the process of the device ended.
    """

    format: Literal[1] = 1
    device: str
    version: str
    ok: bool
    operators: tuple[OperatorResult, ...] = ()
    cases: int = 0
    crashes: int = 0

    def failed(self, statuses: Collection[CaseStatus] = ("crashed", "wrong")) -> list[FailedCase]:
        """Return the cases with these statuses."""
        return [case for operator in self.operators for case in operator.failed if case.status in statuses]

    def count(self, *statuses: CaseStatus) -> int:
        """Return the number of cases with these statuses."""
        return sum(operator.count(*statuses) for operator in self.operators)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, every: bool = False) -> Iterator[str]:
        """Yield the lines of the report: the counts, and the smallest failing case of each type.

        Args:
            every: Include all failing cases.
        """
        yield self.headline
        for operator in self.operators:
            if not operator.failed:
                continue
            yield f"{operator.type}: {join_counts({status: operator.count(status) for status in _ORDER})}"
            for case in operator.failed if every else operator.failed[:1]:
                new = " (new)" if case.is_new else ""
                yield f"  {case.status}{new}: {case.name} [{case.form}]: {case.why}"
                if case.known is not None:
                    yield f"    known: {case.known}"
                if case.file is not None:
                    yield f"    saved: {case.file}"

    @property
    def headline(self) -> str:
        """The counts in one line."""
        types = sum(not operator.count("crashed", "wrong", "refused") for operator in self.operators)
        counts = join_counts({status: self.count(status) for status in reversed(_ORDER)}, ",")
        new = [case for case in self.failed(("crashed", "wrong", "refused")) if case.is_new]
        news = f"; {len(new):,} new" if new else ""
        known_failures = sum(case.known is not None for case in self.failed(("crashed", "wrong", "refused")))
        news += f"; {known_failures:,} known for this plugin" if known_failures else ""
        return (
            f"{self.device} {self.version}: {self.cases:,} cases of {len(self.operators):,} operators, "
            f"{types:,} without failures: {counts}{news}"
        )


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
