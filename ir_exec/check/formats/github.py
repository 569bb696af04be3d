"""Workflow commands of GitHub Actions, which show each finding at its line of a pull request."""

from __future__ import annotations

from ir_exec.check.report import Diagnostic, Reports

__all__ = ["github"]

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def github(reports: Reports) -> str:
    """One line for each finding: `::error file=model.xml,line=42,title=IR601 declared-dims::message`."""
    return "\n".join(_command(report.path, found) for report in reports.files for found in report.diagnostics)


def _command(path: str | None, found: Diagnostic) -> str:
    properties = {"file": found.location.path or path or ""}
    if found.location.line is not None:
        properties["line"] = str(found.location.line)
    properties["title"] = f"{found.code} {found.name}"
    text = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    where = _layer(found)
    message = f"{where}: {found.message}" if where else found.message
    hint = f"\nhint: {found.hint}" if found.hint else ""
    return f"::{_LEVELS[found.severity]} {text}::{_data(message + hint)}"


def _layer(found: Diagnostic) -> str:
    place = found.location
    return "" if place.layer_id is None else f'layer {place.layer_id} "{place.layer_name}" ({place.layer_type})'


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
