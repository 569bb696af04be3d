"""SARIF 2.1.0, which GitHub code scanning and many editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ir_exec.check.findings import Diagnostic
from ir_exec.check.formats.places import Places, identified, sentence
from ir_exec.check.report import Report, Reports
from ir_exec.check.rules import RULES, Rule
from ir_exec.codes import Code
from ir_exec.errors import Location
from ir_exec.printable import printable

__all__ = ["sarif"]


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}
_ROOT = "%SRCROOT%"
"""The base of paths that are relative to the top of the repository."""


def sarif(reports: Reports, places: Places) -> str:
    """Return one run with the table of all rules, and a result for each finding."""
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
    hint += f"\nsource: {printable(str(found.source))}" if found.source else ""
    result: dict[str, Any] = {
        "ruleId": found.code,
        "level": _SARIF_LEVELS[found.severity],
        "message": {"text": sentence(found) + hint},
        "locations": [_location(found.location, report.path, places, places.columns(found))],
        # By default GitHub uses the text of the line, but many lines of a file are equal.
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
    # GitHub rejects locations without a line.
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
    """The file, by its relative path if it has one: services look it up in the repository."""
    is_inside = places.root is not None and not path.is_absolute()
    return {"uri": _uri(path), **({"uriBaseId": _ROOT} if is_inside else {})}


def _uri(path: PurePath) -> str:
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix().encode("utf-8", "surrogateescape"))
