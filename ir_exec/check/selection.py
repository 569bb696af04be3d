"""Selection of findings and their severities: by code, by group, by file, and by a baseline of known findings.

In a baseline file, code, layer, port and message identify a finding; lines do not, because they change with every edit.
A repository with many known findings is shown the new ones only.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, TypeAlias

from ir_exec.check.findings import Diagnostic
from ir_exec.check.report import Report
from ir_exec.check.rules import GROUPS, find_rule, nearest_rule
from ir_exec.errors import Severity

__all__ = ["Baseline", "Selection", "code_prefix", "fingerprint"]


_PREFIX = re.compile(r"IR\d{0,3}")


def code_prefix(text: str) -> str:
    """Return the prefix of codes for `IR601`, `IR6`, `declared-dims` or `shapes`; ValueError for other text."""
    requested = text.strip()
    if requested.lower() == "all":
        return "IR"
    if _PREFIX.fullmatch(requested.upper()):
        return requested.upper()
    for number, group in GROUPS.items():
        if requested.lower().replace("-", " ") == group:
            return f"IR{number}"
    rule = find_rule(requested)
    if rule is None:
        groups = ", ".join(GROUPS.values())
        message = f"{text!r} is unknown, expected the code or name of a rule, or a group ({groups})"
        raise ValueError(f"{message}{nearest_rule(text)}")
    return rule.code


@dataclass(frozen=True, slots=True)
class Selection:
    """Prefixes of codes to select and ignore; the longest matching prefix of a code applies.

    Attributes:
        per_file_ignores: Prefixes that are ignored in files whose path or name matches a pattern.
        severities: Severities that replace the severities of findings, by prefix.
    """

    select: frozenset[str] = frozenset({"IR"})
    ignore: frozenset[str] = frozenset()
    per_file_ignores: Mapping[str, frozenset[str]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)

    def apply(self, report: Report) -> Report:
        """Return the report with the selected findings only."""
        ignored = self._ignored_in(report.path)
        selected = [
            self._with_severity(diagnostic)
            for diagnostic in report.diagnostics
            if self._is_wanted(diagnostic.code, ignored)
        ]
        return report.model_copy(update={"diagnostics": tuple(selected)})

    def _is_wanted(self, code: str, ignored: frozenset[str]) -> bool:
        return _longest(self.select, code) > _longest(self.ignore, code) and _longest(ignored, code) < 0

    def _ignored_in(self, path: str | None) -> frozenset[str]:
        if path is None:
            return frozenset()
        names = (PurePath(path).as_posix(), PurePath(path).name)
        ignores = self.per_file_ignores.items()
        return frozenset().union(*[codes for glob, codes in ignores if any(_matches(name, glob) for name in names)])

    def _with_severity(self, diagnostic: Diagnostic) -> Diagnostic:
        fitting = [prefix for prefix in self.severities if diagnostic.code.startswith(prefix)]
        if not fitting:
            return diagnostic
        return diagnostic.model_copy(update={"severity": self.severities[max(fitting, key=len)]})


def _longest(prefixes: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name, f"*/{glob}")


_Key: TypeAlias = tuple[str, ...]
_FORMAT = 1


def fingerprint(path: str | None, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The identity of a finding, as text."""
    location = diagnostic.location
    return (
        "" if path is None else PurePath(path).as_posix(),
        diagnostic.code,
        location.layer_name or "",
        location.layer_type or "",
        location.port or "",
        diagnostic.message,
    )


class Baseline:
    """The number of known occurrences of each finding; additional occurrences are reported.

    Args:
        folder: The folder that paths are relative to, independent of the current folder.
    """

    def __init__(self, counts: Counter[_Key], folder: str) -> None:
        self._counts = counts
        self._folder = folder

    @classmethod
    def of(cls, reports: Iterable[Report], folder: str) -> Baseline:
        """Return a baseline of all findings in these reports."""
        counts = Counter(
            fingerprint(_told_from(folder, report.path), diagnostic)
            for report in reports
            for diagnostic in report.diagnostics
        )
        return cls(counts, folder)

    @classmethod
    def parse(cls, text: str, folder: str) -> Baseline:
        """Parse a baseline that `text` wrote; ValueError for anything else."""
        try:
            content = json.loads(text)
        except RecursionError:
            raise ValueError("the file is not a baseline of ir-exec") from None
        if (
            not isinstance(content, dict)
            or content.get("format") != _FORMAT
            or not isinstance(content.get("findings"), list)
        ):
            raise ValueError("the file is not a baseline of ir-exec")
        counts: Counter[_Key] = Counter()
        for entry in content["findings"]:
            counts[_key(entry)] += _count(entry)
        return cls(counts, folder)

    def text(self) -> str:
        """Return the baseline as JSON, in a stable order."""
        names = ("path", "code", "layer", "type", "port", "message")
        findings = [
            {**dict(zip(names, key, strict=True)), "count": count} for key, count in sorted(self._counts.items())
        ]
        return json.dumps({"format": _FORMAT, "findings": findings}, indent=2) + "\n"

    def new_in(self, report: Report) -> Report:
        """Return the report without the known findings."""
        left = Counter(self._counts)
        new = []
        path = _told_from(self._folder, report.path)
        for diagnostic in report.diagnostics:
            key = fingerprint(path, diagnostic)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(diagnostic)
        return report.model_copy(update={"diagnostics": tuple(new)})


def _told_from(folder: str, path: str | None) -> str | None:
    try:
        return None if path is None else os.path.relpath(path, folder)
    except ValueError:
        return path  # on another drive


def _key(entry: Any) -> _Key:
    try:
        return tuple(str(entry[name]) for name in ("path", "code", "layer", "type", "port", "message"))
    except (TypeError, KeyError):
        raise ValueError("an entry of the baseline is incomplete") from None


def _count(entry: Any) -> int:
    count = entry.get("count", 1)
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"the count of a finding in the baseline is {count!r}, expected a whole number above 0")
    return count
