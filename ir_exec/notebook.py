"""Tables for notebooks, which show what `_repr_html_` of an object gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["html_table"]


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its caption above and its text on the left; all text is escaped."""
    from html import escape  # only notebooks wait for it

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<table style="text-align:left"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
