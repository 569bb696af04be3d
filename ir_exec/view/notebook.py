"""The page of a network in a frame, as notebooks show it."""

from __future__ import annotations

from html import escape

from ir_exec import __version__
from ir_exec.model import Loaded, Model
from ir_exec.view.data import PageView
from ir_exec.view.html import html_of
from ir_exec.view.keys import Places
from ir_exec.view.networks import Opened, network_view

__all__ = ["frame"]

_MOST_LAYERS = 3000
"""Notebooks keep what they show: the page of a larger network would make them slow."""


def frame(model: Model) -> str | None:
    """An `<iframe>` with the folded page, without the lines of the file; None for a network that is too large."""
    places = Places(model.graph)
    if len(places.keys) > _MOST_LAYERS:
        return None
    inferred = dict(zip(model.graph.values, model.types, strict=True))
    loaded = Loaded(model.document, model.graph, model.weights, model.document)
    network = network_view(Opened(None, None, loaded, inferred, places))
    page = PageView(format=1, made_by=__version__, title=network.title, folded=True, networks=(network,))
    # Scripts in the frame see nothing of the notebook.
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:1px solid #8888;border-radius:8px" '
        f'title="{escape(network.title)}" srcdoc="{escape(html_of(page))}"></iframe>'
    )
