"""Reports of commands as JSON, CSV and HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ir_exec.cli.output.terminal import errors_as_messages
from ir_exec.report.records import TableRecord, to_json

__all__ = ["render"]


def render(
    report: TableRecord,
    output_format: str,
    text: Callable[[], str],
    page: Literal["compare", "profile"],
    model: str,
    weights: str | None,
    exit_code: int = 1,
) -> str:
    """Return a report in a format.

    Args:
        text: the function for formats other than json, csv and html.
        page: the keyword of the report in `view`.
        model: the path of the model.
        weights: the path of its weights.
        exit_code: of the process, if the page cannot be written.
    """
    if output_format == "json":
        return to_json(report) + "\n"
    if output_format == "csv":
        return report.to_csv()
    if output_format == "html":
        from ir_exec.view import html_of, view  # imported for html only

        with errors_as_messages(exit_code=exit_code):
            reports: dict[str, Any] = {page: report}
            return html_of(view(model, weights=weights, **reports))
    return text()
