"""Reports for machines: each format is a function from all reports to text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from ir_exec.check.formats.ci import github, gitlab, junit
from ir_exec.check.formats.places import Places
from ir_exec.check.formats.sarif import sarif
from ir_exec.check.report import Reports
from ir_exec.printable import printable

__all__ = ["FORMATS", "Format", "Places"]

Format: TypeAlias = Callable[[Reports, Places], str]


def _json(reports: Reports, places: Places) -> str:
    return json.dumps(_printable(reports.model_dump()), indent=2)


def _printable(value: Any) -> Any:
    """The value with all text in it as it is shown: programs print what they read from a report."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value


FORMATS: dict[str, Format] = {"json": _json, "sarif": sarif, "github": github, "gitlab": gitlab, "junit": junit}
"""Every format except text, by name; the output of each has no line break at its end."""
