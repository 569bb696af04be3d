"""The complete report as JSON, with the schema in schemas/."""

from __future__ import annotations

import json
from typing import Any

from ir_exec.check.formats.places import Places
from ir_exec.check.report import Reports
from ir_exec.printable import printable

__all__ = ["as_json"]


def as_json(reports: Reports, places: Places) -> str:
    return json.dumps(_printable(reports.model_dump()), indent=2)


def _printable(value: Any) -> Any:
    """Return the value with all its text made printable: programs print the text of reports."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value
