"""A network to look at in a browser: one HTML file with the graph, what is wrong with it, and what flows through it."""

from ir_exec.view.api import Other, page_of_reports, view
from ir_exec.view.data import PageView
from ir_exec.view.html import html_of

__all__ = ["Other", "PageView", "html_of", "page_of_reports", "view"]
