"""Known findings, which are not reported again: a repository with many of them sees every new one.

File, code, layer, port and message identify a finding. Lines do not: they move with every edit.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, TypeAlias

from ir_exec.check.findings import Diagnostic
from ir_exec.check.report import Report

__all__ = ["Baseline", "fingerprint"]

_Key: TypeAlias = tuple[str, ...]
_FORMAT = 1


def fingerprint(path: str | None, found: Diagnostic) -> tuple[str, ...]:
    """What identifies a finding, as text."""
    place = found.location
    return (
        "" if path is None else PurePath(path).as_posix(),
        found.code,
        place.layer_name or "",
        place.layer_type or "",
        place.port or "",
        found.message,
    )


class Baseline:
    """How many times each finding is known; any further ones are reported.

    folder: paths are relative to it, wherever a check is started.
    """

    def __init__(self, counts: Counter[_Key], folder: str) -> None:
        self._counts = counts
        self._folder = folder

    @classmethod
    def of(cls, reports: Iterable[Report], folder: str) -> Baseline:
        """A baseline of all findings in these reports."""
        counts = Counter(
            fingerprint(_told_from(folder, report.path), found) for report in reports for found in report.diagnostics
        )
        return cls(counts, folder)

    @classmethod
    def parse(cls, text: str, folder: str) -> Baseline:
        """The baseline that `text` wrote; ValueError for anything else."""
        try:
            known = json.loads(text)
        except RecursionError:
            raise ValueError("this is no baseline of ir-exec") from None
        if not isinstance(known, dict) or known.get("format") != _FORMAT or not isinstance(known.get("findings"), list):
            raise ValueError("this is no baseline of ir-exec")
        counts: Counter[_Key] = Counter()
        for entry in known["findings"]:
            counts[_key(entry)] += _count(entry)
        return cls(counts, folder)

    def text(self) -> str:
        """The baseline as JSON, in a stable order."""
        names = ("path", "code", "layer", "type", "port", "message")
        findings = [
            {**dict(zip(names, key, strict=True)), "count": count} for key, count in sorted(self._counts.items())
        ]
        return json.dumps({"format": _FORMAT, "findings": findings}, indent=2) + "\n"

    def new_in(self, report: Report) -> Report:
        """The report without the known findings."""
        left = Counter(self._counts)
        new = []
        path = _told_from(self._folder, report.path)
        for found in report.diagnostics:
            key = fingerprint(path, found)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(found)
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
        raise ValueError("a count in the baseline is no number from 1 on")
    return count
