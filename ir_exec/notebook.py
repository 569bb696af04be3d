"""Tables and pages for notebooks, which display the result of an object's `_repr_html_`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

__all__ = ["html_table", "with_page"]

_PAGES = "ir_exec.view.html"
"""The module that makes pages. It imports the modules of all objects that it shows, and is imported on demand."""


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table with a caption and left-aligned text; all text is escaped."""
    from html import escape  # imported on demand, by notebooks only

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<table style="text-align:left"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def with_page(table: str, model: object) -> str:
    """Return a table of a model, followed by the page of the model in a frame unless it is too large."""
    frame: str | None = import_module(_PAGES).frame(model)
    return table if frame is None else f"<div>{table}{frame}</div>"
