"""Reports for machines: each format is a function from all reports to text.

- SARIF 2.1.0, which code scanning of GitHub and many editors read:
  https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
- What CI services show: of GitHub Actions, of GitLab, and JUnit XML, which most take as test results.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, TypeAlias
from urllib.parse import quote

from lxml import etree

from ir_exec.check.findings import Diagnostic
from ir_exec.check.report import Report, Reports
from ir_exec.check.rules import RULES, Rule, weight
from ir_exec.check.selection import fingerprint
from ir_exec.check.text import LinesOf, marked, render
from ir_exec.codes import Code
from ir_exec.errors import Location
from ir_exec.printable import printable

__all__ = ["FORMATS", "Format", "Places", "github", "gitlab", "identified", "junit", "sarif", "sentence"]


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


@dataclass(frozen=True, slots=True)
class Places:
    """Where the files of a report are, and what is on their lines.

    folder: absolute; the paths of the report are relative to it. root: the top of the repository, absolute; services
        find a file only by its path from there. If either is None, paths stay as they are.
    lines_of: the lines of a file; without it no columns are known.
    """

    folder: str | None = None
    root: str | None = None
    lines_of: LinesOf | None = None

    def path(self, path: str | None) -> PurePath:
        """The path from the top of the repository; absolute for a file outside of it."""
        if path is None or self.folder is None or self.root is None:
            return PurePath(path or "<bytes>")
        whole = os.path.normpath(os.path.join(self.folder, path))
        try:
            inside = os.path.relpath(whole, self.root)
        except ValueError:
            return PurePath(whole)  # on another drive
        return PurePath(whole if inside.split(os.sep)[0] == os.pardir else inside)

    def columns(self, found: Diagnostic) -> tuple[int, int] | None:
        """The first column of the fault, counted from 1, and the one after its last."""
        place = found.location
        if self.lines_of is None or place.path is None or place.line is None:
            return None
        lines = self.lines_of(place.path)
        if not 0 < place.line <= len(lines):
            return None
        line = lines[place.line - 1]
        start, length = marked(line.strip(), found)
        start += len(line) - len(line.lstrip()) + 1
        return start, start + length


def sentence(found: Diagnostic) -> str:
    """The message with its layer, which the line of the file often does not show, in text that can be shown."""
    layer = str(replace(found.location, path=None, line=None))
    return printable(f"{layer}: {found.message}" if layer else found.message)


def identified(reports: Reports, places: Places) -> Iterator[tuple[Report, Diagnostic, str]]:
    """Every finding with an identity that is unique and does not depend on line numbers."""
    seen: Counter[str] = Counter()
    for report in reports.files:
        for found in report.diagnostics:
            text = "\0".join(fingerprint(str(places.path(report.path)), found))
            seen[text] += 1
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            yield report, found, f"{digest}:{seen[text]}"


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
_ROOT = "%SRCROOT%"
"""The base of paths that are relative to the top of the repository."""


def sarif(reports: Reports, places: Places) -> str:
    """One run with the table of all rules and a result for each finding."""
    rules = [rule for rule in RULES.values() if rule.in_files or any(_breaks(rule, report) for report in reports.files)]
    index: dict[str, int] = {rule.code: place for place, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "ir-exec",
                **({} if reports.version is None else {"semanticVersion": reports.version}),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [
            {"executionSuccessful": not any(_breaks(RULES[Code.unreadable_path], report) for report in reports.files)}
        ],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(report, found, identity, index, places) for report, found, identity in identified(reports, places)
        ],
    }
    if places.root is not None:
        run["originalUriBaseIds"] = {_ROOT: {"uri": _uri(PurePath(places.root)).rstrip("/") + "/"}}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _breaks(rule: Rule, report: Report) -> bool:
    return any(found.code == rule.code for found in report.diagnostics)


def _rule(rule: Rule) -> dict[str, Any]:
    text = f"{rule.why}\n\nWrong:\n{rule.bad}\n\nRight:\n{rule.good}"
    markdown = f"{rule.why}\n\nWrong:\n```text\n{rule.bad}\n```\n\nRight:\n```text\n{rule.good}\n```"
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary} {rule.why}"},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
        "properties": {
            "tags": [rule.group],
            "precision": "very-high",
            "problem.severity": _PROBLEMS[rule.severity],
        },
    }


def _result(report: Report, found: Diagnostic, identity: str, index: dict[str, int], places: Places) -> dict[str, Any]:
    hint = f"\nhint: {printable(found.hint)}" if found.hint else ""
    result: dict[str, Any] = {
        "ruleId": found.code,
        "level": _SARIF_LEVELS[found.severity],
        "message": {"text": sentence(found) + hint},
        "locations": [_location(found.location, report.path, places, places.columns(found))],
        # Without this name GitHub uses the text of the line, and many lines of a file are equal.
        "partialFingerprints": {"primaryLocationLineHash": identity},
    }
    if found.code in index:
        result["ruleIndex"] = index[found.code]
    if found.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": _layer(place)}, **_location(place, report.path, places)}
            for number, place in enumerate(found.related, 1)
        ]
    return result


def _location(
    place: Location, path: str | None, places: Places, columns: tuple[int, int] | None = None
) -> dict[str, Any]:
    # GitHub refuses places without a line.
    line = place.line or 1
    region = {"startLine": line}
    if columns is not None:
        region |= {"startColumn": columns[0], "endLine": line, "endColumn": columns[1]}
    artifact = _artifact(places.path(place.path or path), places)
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if place.layer_id is not None:
        name = f"{place.kind} {place.layer_id}" + (f", port {place.port}" if place.port else "")
        location["logicalLocations"] = [
            {"name": printable(place.layer_name or name), "fullyQualifiedName": printable(name), "kind": "element"}
        ]
    return location


def _layer(place: Location) -> str:
    return printable(f'{place.kind} {place.layer_id} "{place.layer_name}" ({place.layer_type})')


def _artifact(path: PurePath, places: Places) -> dict[str, str]:
    """The file, by its relative path if it has one: so services find it in the repository."""
    is_inside = places.root is not None and not path.is_absolute()
    return {"uri": _uri(path), **({"uriBaseId": _ROOT} if is_inside else {})}


def _uri(path: PurePath) -> str:
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix().encode("utf-8", "surrogateescape"))


Format: TypeAlias = Callable[[Reports, Places], str]


def _json(reports: Reports, places: Places) -> str:
    return json.dumps(_printable(reports.model_dump()), indent=2)


def _printable(value: Any) -> Any:
    """The value with all text in it as it is shown: programs print what they read from a report."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value


FORMATS: dict[str, Format] = {"json": _json, "sarif": sarif, "github": github, "gitlab": gitlab, "junit": junit}
"""Every format except text, by name; the output of each has no line break at its end."""
