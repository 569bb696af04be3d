"""SARIF 2.1.0, which code scanning of GitHub and many editors read.

Specification: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ir_exec.check.baseline import fingerprint
from ir_exec.check.report import Diagnostic, Report, Reports
from ir_exec.check.rules import RULES, Rule
from ir_exec.errors import Location

__all__ = ["sarif"]

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(reports: Reports) -> str:
    """One run with the table of all rules and a result for each finding."""
    rules = [rule for rule in RULES.values() if rule.in_files or any(_breaks(rule, report) for report in reports.files)]
    index = {rule.code: place for place, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "ir-exec",
                **({} if reports.version is None else {"semanticVersion": reports.version}),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, found, index) for report in reports.files for found in report.diagnostics],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


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
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.group]},
    }


def _result(report: Report, found: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    hint = f"\nhint: {found.hint}" if found.hint else ""
    digest = hashlib.sha256("\0".join(fingerprint(report.path, found)).encode("utf-8", "surrogatepass")).hexdigest()
    result: dict[str, Any] = {
        "ruleId": found.code,
        "level": _LEVELS[found.severity],
        "message": {"text": found.message + hint},
        "locations": [_location(found.location, report.path)],
        "partialFingerprints": {"irExec/v1": digest},
    }
    if found.code in index:
        result["ruleIndex"] = index[found.code]
    if found.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": _layer(place)}, **_location(place, report.path)}
            for number, place in enumerate(found.related, 1)
        ]
    return result


def _location(place: Location, path: str | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.path or path or "")}}
    if place.line is not None:
        physical["region"] = {"startLine": place.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.layer_id is not None:
        name = f"layer {place.layer_id}" + (f", port {place.port}" if place.port else "")
        location["logicalLocations"] = [
            {"name": place.layer_name or name, "fullyQualifiedName": name, "kind": "element"}
        ]
    return location


def _layer(place: Location) -> str:
    return f'layer {place.layer_id} "{place.layer_name}" ({place.layer_type})'


def _uri(path: str) -> str:
    """A path as a URI: relative ones stay so, which is how services find the file in the repository."""
    pure = PurePath(path)
    if pure.is_absolute():
        return pure.as_uri()
    return quote(pure.as_posix().encode("utf-8", "surrogateescape"))
