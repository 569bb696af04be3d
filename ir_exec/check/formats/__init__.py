"""Reports for machines: each format is a function from all reports to text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from ir_exec.check.formats.github import github
from ir_exec.check.formats.gitlab import gitlab
from ir_exec.check.formats.junit import junit
from ir_exec.check.formats.places import Places
from ir_exec.check.formats.sarif import sarif
from ir_exec.check.report import Reports

__all__ = ["FORMATS", "Format", "Places"]

Format: TypeAlias = Callable[[Reports, Places], str]


def _json(reports: Reports, places: Places) -> str:
    # pydantic's own JSON refuses paths that are not UTF-8.
    return json.dumps(reports.model_dump(), indent=2)


FORMATS: dict[str, Format] = {"json": _json, "sarif": sarif, "github": github, "gitlab": gitlab, "junit": junit}
"""Every format except text, by name; the output of each has no line break at its end."""
