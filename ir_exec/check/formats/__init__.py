"""Formats of reports: each module contains a function that converts all reports to text.

- For people: text, by `ir_exec.check.text`, for one report or finding.
- For programs: JSON, and SARIF for code scanning.
- For CI services: GitHub Actions, GitLab, and JUnit XML.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.check.formats.as_json import as_json
from ir_exec.check.formats.github import github
from ir_exec.check.formats.gitlab import gitlab
from ir_exec.check.formats.junit import junit
from ir_exec.check.formats.places import Places
from ir_exec.check.formats.sarif import sarif
from ir_exec.check.report import Reports

__all__ = ["FORMATS", "Format", "Places"]

Format: TypeAlias = Callable[[Reports, Places], str]

FORMATS: dict[str, Format] = {"json": as_json, "sarif": sarif, "github": github, "gitlab": gitlab, "junit": junit}
"""All formats except text, by name; the output has no line break at the end."""
