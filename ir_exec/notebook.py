"""Pages for notebooks, which display the result of an object's `_repr_html_`."""

from __future__ import annotations

from importlib import import_module

__all__ = ["with_page"]

_PAGES = "ir_exec.view.html"
"""The module that makes pages. It imports the modules of all objects that it shows, and is imported on demand."""


def with_page(table: str, model: object) -> str:
    """Return a table of a model, followed by the page of the model in a frame unless it is too large."""
    frame: str | None = import_module(_PAGES).frame(model)
    return table if frame is None else f"<div>{table}{frame}</div>"
