"""A model in a browser: one HTML file with the graph, its findings, and the values of a run."""

from ir_exec.lazy import make_callable
from ir_exec.view.api import Other, page_of_reports, view
from ir_exec.view.data import PageView
from ir_exec.view.html import html_of

__all__ = ["Other", "PageView", "html_of", "page_of_reports", "view"]

make_callable(__name__, "view")
