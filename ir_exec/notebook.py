"""Tables and pages for notebooks, which show what `_repr_html_` of an object gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

__all__ = ["html_table", "with_page"]

_PAGES = "ir_exec.view.html"
"""The module that makes pages. It stands above all that it shows, so it is found by its name, when a notebook asks."""


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its caption above and its text on the left; all text is escaped."""
    from html import escape  # only notebooks wait for it

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<table style="text-align:left"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def with_page(table: str, model: object) -> str:
    """A table of a network, and below it the page of the network in a frame, where it is not too large for one."""
    frame: str | None = import_module(_PAGES).frame(model)
    return table if frame is None else f"<div>{table}{frame}</div>"
