"""Which findings are reported, and with what severity: by code, by group, by file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePath

from ir_exec.check.findings import Diagnostic
from ir_exec.check.report import Report
from ir_exec.check.rules import GROUPS, find_rule, nearest_rule
from ir_exec.errors import Severity

__all__ = ["Selection", "code_prefix"]

_PREFIX = re.compile(r"IR\d{0,3}")


def code_prefix(text: str) -> str:
    """The prefix of codes that `IR601`, `IR6`, `declared-dims` or `shapes` stands for; ValueError for other text."""
    wanted = text.strip()
    if wanted.lower() == "all":
        return "IR"
    if _PREFIX.fullmatch(wanted.upper()):
        return wanted.upper()
    for number, group in GROUPS.items():
        if wanted.lower().replace("-", " ") == group:
            return f"IR{number}"
    rule = find_rule(wanted)
    if rule is None:
        groups = ", ".join(GROUPS.values())
        raise ValueError(f"{text!r} is no code, no name of a rule and no group ({groups}){nearest_rule(text)}")
    return rule.code


@dataclass(frozen=True, slots=True)
class Selection:
    """Collections of prefixes of codes; the longest prefix that matches a code decides.

    per_file_ignores: what is ignored in files whose path or name matches a pattern.
    severities: severities that replace those of the findings.
    """

    select: frozenset[str] = frozenset({"IR"})
    ignore: frozenset[str] = frozenset()
    per_file_ignores: Mapping[str, frozenset[str]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)

    def apply(self, report: Report) -> Report:
        """The report with the selected findings only."""
        ignored = self._ignored_in(report.path)
        kept = [self._weighed(found) for found in report.diagnostics if self._is_wanted(found.code, ignored)]
        return report.model_copy(update={"diagnostics": tuple(kept)})

    def _is_wanted(self, code: str, ignored: frozenset[str]) -> bool:
        return _longest(self.select, code) > _longest(self.ignore, code) and _longest(ignored, code) < 0

    def _ignored_in(self, path: str | None) -> frozenset[str]:
        if path is None:
            return frozenset()
        names = (PurePath(path).as_posix(), PurePath(path).name)
        ignores = self.per_file_ignores.items()
        return frozenset().union(*[codes for glob, codes in ignores if any(_matches(name, glob) for name in names)])

    def _weighed(self, found: Diagnostic) -> Diagnostic:
        fitting = [prefix for prefix in self.severities if found.code.startswith(prefix)]
        if not fitting:
            return found
        return found.model_copy(update={"severity": self.severities[max(fitting, key=len)]})


def _longest(prefixes: Iterable[str], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def _matches(name: str, glob: str) -> bool:
    return fnmatchcase(name, glob) or fnmatchcase(name, f"*/{glob}")
