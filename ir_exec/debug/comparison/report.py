"""The report of a comparison: its record with its text."""

from __future__ import annotations

from ir_exec.debug.comparison.records import ComparisonRecord
from ir_exec.debug.comparison.report_text import render

__all__ = ["Comparison"]


class Comparison(ComparisonRecord):
    __doc__ = ComparisonRecord.__doc__

    def __str__(self) -> str:
        """Return the report as text, as printed by the command line."""
        return "\n".join(render(self))
