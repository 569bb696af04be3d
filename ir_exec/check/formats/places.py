"""Paths and columns of the findings of a report, and the texts of a finding that formats share."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from ir_exec.check.findings import Diagnostic
from ir_exec.check.report import Report, Reports
from ir_exec.check.selection import fingerprint
from ir_exec.check.text import LinesOf, find_fault_span
from ir_exec.printable import printable

__all__ = ["Places", "identify", "sentence"]


@dataclass(frozen=True, slots=True)
class Places:
    """The locations of the files of a report, and their lines.

    Attributes:
        folder: The absolute folder that the paths of the report are relative to.
        root: The absolute path of the repository; services require paths relative to it. Paths are unchanged if
            `folder` or `root` is None.
        lines_of: Returns the lines of a file; columns are unknown without it.
    """

    folder: str | None = None
    root: str | None = None
    lines_of: LinesOf | None = None

    def path(self, path: str | None) -> PurePath:
        """Return the path relative to the repository, or an absolute path for a file outside of it."""
        if path is None or self.folder is None or self.root is None:
            return PurePath(path or "<bytes>")
        absolute = os.path.normpath(os.path.join(self.folder, path))
        try:
            inside = os.path.relpath(absolute, self.root)
        except ValueError:
            return PurePath(absolute)  # on another drive
        return PurePath(absolute if inside.split(os.sep)[0] == os.pardir else inside)

    def columns(self, diagnostic: Diagnostic) -> tuple[int, int] | None:
        """Return the first column of the fault, counted from 1, and the column after the last."""
        location = diagnostic.location
        if self.lines_of is None or location.path is None or location.line is None:
            return None
        lines = self.lines_of(location.path)
        if not 0 < location.line <= len(lines):
            return None
        line = lines[location.line - 1]
        start, length = find_fault_span(line.strip(), diagnostic)
        start += len(line) - len(line.lstrip()) + 1
        return start, start + length


def sentence(diagnostic: Diagnostic) -> str:
    """Return the message with its layer, which the line in the file often does not show, as printable text."""
    layer = str(replace(diagnostic.location, path=None, line=None))
    return printable(f"{layer}: {diagnostic.message}" if layer else diagnostic.message)


def identify(reports: Reports, places: Places) -> Iterator[tuple[Report, Diagnostic, str]]:
    """Yield every finding with a unique identity that does not depend on line numbers."""
    seen: Counter[str] = Counter()
    for report in reports.files:
        for diagnostic in report.diagnostics:
            text = "\0".join(fingerprint(str(places.path(report.path)), diagnostic))
            seen[text] += 1
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            yield report, diagnostic, f"{digest}:{seen[text]}"
