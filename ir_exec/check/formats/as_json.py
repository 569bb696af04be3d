"""The complete report as JSON, with the schema in schemas/."""

from __future__ import annotations

import json

from ir_exec.check.formats.places import Places
from ir_exec.check.report import Reports
from ir_exec.printable import printable
from ir_exec.report.records import map_texts

__all__ = ["as_json"]


def as_json(reports: Reports, places: Places) -> str:
    """Return the reports as JSON; programs print the text of reports, so all text is made printable."""
    return json.dumps(map_texts(reports.model_dump(), printable), indent=2)
