"""SARIF 2.1.0, which GitHub code scanning and many editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ir_exec.check.findings import Diagnostic
from ir_exec.check.formats.places import Places, identify, sentence
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
    index: dict[str, int] = {rule.code: position for position, rule in enumerate(rules)}
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
            _result(report, diagnostic, identity, index, places)
            for report, diagnostic, identity in identify(reports, places)
        ],
    }
    if places.root is not None:
        run["originalUriBaseIds"] = {_ROOT: {"uri": _uri(PurePath(places.root)).rstrip("/") + "/"}}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _breaks(rule: Rule, report: Report) -> bool:
    return any(diagnostic.code == rule.code for diagnostic in report.diagnostics)


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


def _result(
    report: Report, diagnostic: Diagnostic, identity: str, index: dict[str, int], places: Places
) -> dict[str, Any]:
    hint = f"\nhint: {printable(diagnostic.hint)}" if diagnostic.hint else ""
    hint += f"\nsource: {printable(str(diagnostic.source))}" if diagnostic.source else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _SARIF_LEVELS[diagnostic.severity],
        "message": {"text": sentence(diagnostic) + hint},
        "locations": [_location(diagnostic.location, report.path, places, places.columns(diagnostic))],
        # By default GitHub uses the text of the line, but many lines of a file are equal.
        "partialFingerprints": {"primaryLocationLineHash": identity},
    }
    if diagnostic.code in index:
        result["ruleIndex"] = index[diagnostic.code]
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": _layer(related)}, **_location(related, report.path, places)}
            for number, related in enumerate(diagnostic.related, 1)
        ]
    return result


def _location(
    source: Location, path: str | None, places: Places, columns: tuple[int, int] | None = None
) -> dict[str, Any]:
    # GitHub rejects locations without a line.
    line = source.line or 1
    region = {"startLine": line}
    if columns is not None:
        region |= {"startColumn": columns[0], "endLine": line, "endColumn": columns[1]}
    artifact = _artifact(places.path(source.path or path), places)
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if source.layer_id is not None:
        name = f"{source.kind} {source.layer_id}" + (f", port {source.port}" if source.port else "")
        location["logicalLocations"] = [
            {"name": printable(source.layer_name or name), "fullyQualifiedName": printable(name), "kind": "element"}
        ]
    return location


def _layer(location: Location) -> str:
    return printable(f'{location.kind} {location.layer_id} "{location.layer_name}" ({location.layer_type})')


def _artifact(path: PurePath, places: Places) -> dict[str, str]:
    """The file, by its relative path if it has one: services look it up in the repository."""
    is_inside = places.root is not None and not path.is_absolute()
    return {"uri": _uri(path), **({"uriBaseId": _ROOT} if is_inside else {})}


def _uri(path: PurePath) -> str:
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix().encode("utf-8", "surrogateescape"))
