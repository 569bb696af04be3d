"""A network to look at in a browser: one HTML file with the graph, what is wrong with it, and what flows through it."""

from ir_exec.view.api import view
from ir_exec.view.data import PageView
from ir_exec.view.html import html_of

__all__ = ["PageView", "html_of", "view"]
