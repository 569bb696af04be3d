"""Workflow commands of GitHub Actions."""

from __future__ import annotations

from dataclasses import replace

from ir_exec.check.findings import Diagnostic
from ir_exec.check.formats.places import Places
from ir_exec.check.report import Reports
from ir_exec.check.rules import weight
from ir_exec.printable import printable

__all__ = ["github"]


_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def github(reports: Reports, places: Places) -> str:
    """Return workflow commands, which show each finding at its line of a pull request.

    Each finding is one line: `::error file=model.xml,line=42,title=IR601 declared-dims::message`.
    """
    entries = [(report.path, diagnostic) for report in reports.files for diagnostic in report.diagnostics]
    # GitHub shows at most ten findings of each kind.
    return "\n".join(
        _command(path, diagnostic, places)
        for path, diagnostic in sorted(entries, key=lambda pair: -weight(pair[1].severity))
    )


def _command(path: str | None, diagnostic: Diagnostic, places: Places) -> str:
    file = printable(places.path(diagnostic.location.path or path).as_posix())
    properties = {"file": file}
    if diagnostic.location.line is not None:
        properties["line"] = str(diagnostic.location.line)
    columns = places.columns(diagnostic)
    if columns is not None:
        properties |= {"col": str(columns[0]), "endColumn": str(columns[1])}
    properties["title"] = f"{diagnostic.code} {diagnostic.name}"
    text = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    # The log of a job shows only the message, so the message repeats the location.
    message = printable(f"{replace(diagnostic.location, path=file)}: {diagnostic.message}")
    hint = f"\nhint: {printable(diagnostic.hint)}" if diagnostic.hint else ""
    hint += f"\nsource: {printable(str(diagnostic.source))}" if diagnostic.source else ""
    return f"::{_LEVELS[diagnostic.severity]} {text}::{_data(message + hint)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
