"""JUnit XML, which most CI services accept as test results."""

from __future__ import annotations

from lxml import etree

from ir_exec.check.formats.places import Places, sentence
from ir_exec.check.report import Report, Reports
from ir_exec.check.text import render
from ir_exec.printable import printable

__all__ = ["junit"]


def junit(reports: Reports, places: Places) -> str:
    """Return one test suite; a file with errors is a failed test case with the text of the errors."""
    failed = sum(not report.ok for report in reports.files)
    counts = {"tests": str(len(reports.files)), "failures": str(failed), "errors": "0"}
    root = etree.Element("testsuites", counts)
    suite = etree.SubElement(root, "testsuite", {"name": "ir-exec check", **counts, "skipped": "0"})
    for report in reports.files:
        _case(suite, report, places)
    etree.indent(root)
    text: str = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _case(suite: etree._Element, report: Report, places: Places) -> None:
    path = places.path(report.path)
    names = {"classname": path.parent.as_posix(), "name": path.name, "file": path.as_posix()}
    case = etree.SubElement(suite, "testcase", {key: printable(value) for key, value in names.items()})
    if report.errors:
        first, *others = report.errors
        more = f" (and {len(others)} more error{'s' if len(others) > 1 else ''})" if others else ""
        message = printable(f"{first.code} {first.name}: {sentence(first)}{more}")
        failure = etree.SubElement(case, "failure", {"message": message, "type": first.code})
        failure.text = _text(report, ("error",))
    others_text = _text(report, ("warning", "info"))
    if others_text:
        etree.SubElement(case, "system-out").text = others_text


def _text(report: Report, severities: tuple[str, ...]) -> str:
    kept = tuple(found for found in report.diagnostics if found.severity in severities)
    return "\n".join(render(report.model_copy(update={"diagnostics": kept}))).rstrip()
