"""JUnit XML, which most CI servers show as test results: each file is a test case."""

from __future__ import annotations

from pathlib import PurePath

from lxml import etree

from ir_exec.check.report import Report, Reports
from ir_exec.check.text import printable, render

__all__ = ["junit"]


def junit(reports: Reports) -> str:
    """One test suite; a file with errors is a failed test case, whose text is that of its errors."""
    failed = sum(not report.ok for report in reports.files)
    counts = {"tests": str(len(reports.files)), "failures": str(failed), "errors": "0"}
    root = etree.Element("testsuites", counts)
    suite = etree.SubElement(root, "testsuite", {"name": "ir-exec check", **counts, "skipped": "0"})
    for report in reports.files:
        _case(suite, report)
    etree.indent(root)
    text: str = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _case(suite: etree._Element, report: Report) -> None:
    path = PurePath(report.path or "<bytes>")
    folder = printable(path.parent.as_posix())
    case = etree.SubElement(suite, "testcase", {"classname": folder, "name": printable(path.name)})
    if report.errors:
        message = f"{len(report.errors)} error{'s' if len(report.errors) > 1 else ''}"
        failure = etree.SubElement(case, "failure", {"message": message, "type": report.errors[0].code})
        failure.text = _text(report, ("error",))
    others = _text(report, ("warning", "info"))
    if others:
        etree.SubElement(case, "system-out").text = others


def _text(report: Report, severities: tuple[str, ...]) -> str:
    kept = tuple(found for found in report.diagnostics if found.severity in severities)
    return "\n".join(render(report.model_copy(update={"diagnostics": kept}))).rstrip()
