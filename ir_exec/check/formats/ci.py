"""Reports that CI services show: of GitHub Actions, of GitLab, and JUnit XML, which most take as test results."""

from __future__ import annotations

import json
from dataclasses import replace

from lxml import etree

from ir_exec.check.findings import Diagnostic
from ir_exec.check.formats.places import Places, identified, sentence
from ir_exec.check.report import Report, Reports
from ir_exec.check.rules import weight
from ir_exec.check.text import render
from ir_exec.printable import printable

__all__ = ["github", "gitlab", "junit"]

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def github(reports: Reports, places: Places) -> str:
    """Workflow commands, which show each finding at its line of a pull request.

    One line for each: `::error file=model.xml,line=42,title=IR601 declared-dims::message`.
    """
    found = [(report.path, one) for report in reports.files for one in report.diagnostics]
    # GitHub shows ten findings of each kind.
    return "\n".join(
        _command(path, one, places) for path, one in sorted(found, key=lambda pair: -weight(pair[1].severity))
    )


def _command(path: str | None, found: Diagnostic, places: Places) -> str:
    file = printable(places.path(found.location.path or path).as_posix())
    properties = {"file": file}
    if found.location.line is not None:
        properties["line"] = str(found.location.line)
    columns = places.columns(found)
    if columns is not None:
        properties |= {"col": str(columns[0]), "endColumn": str(columns[1])}
    properties["title"] = f"{found.code} {found.name}"
    text = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    # The log of a job shows only the message, so it repeats the place.
    message = printable(f"{replace(found.location, path=file)}: {found.message}")
    hint = f"\nhint: {printable(found.hint)}" if found.hint else ""
    return f"::{_LEVELS[found.severity]} {text}::{_data(message + hint)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def gitlab(reports: Reports, places: Places) -> str:
    """The code quality report, shown in merge requests: a list of issues."""
    issues = [
        {
            "description": f"{sentence(found)} ({found.name})",
            "check_name": found.code,
            "fingerprint": identity,
            "severity": _SEVERITIES[found.severity],
            "location": {
                "path": printable(places.path(found.location.path or report.path).as_posix()),
                "lines": {"begin": found.location.line or 1},
            },
        }
        for report, found, identity in identified(reports, places)
    ]
    return json.dumps(issues, indent=2)


def junit(reports: Reports, places: Places) -> str:
    """One test suite; a file with errors is a failed test case, whose text is that of its errors."""
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
