"""HTML: escaped text, tables for notebooks, and pages without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ir_exec.printable import printable

__all__ = ["escape_html", "html_page", "html_table", "quote_markup"]

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def escape_html(text: str) -> str:
    """Return a text of one line for an element or a quoted attribute; invisible characters are escaped visibly."""
    return quote_markup(printable(text))


def quote_markup(markup: str) -> str:
    """Return markup of several lines as a quoted attribute."""
    return markup.translate(_ESCAPES)


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a caption and left-aligned text; all text is escaped."""
    head = "".join(f"<th>{escape_html(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape_html(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<table style="text-align:left"><caption>{escape_html(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def html_page(title: str, body: str, *, style: str) -> str:
    """Return a complete page, with a line end after the last element.

    Args:
        title: Text; it is escaped.
        body: The markup below the heading.
        style: A style sheet.
    """
    title = escape_html(title)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n<style>{style}</style>\n'
        f"<h1>{title}</h1>\n{body}\n</html>\n"
    )
