"""`view`: the page of a network."""

from __future__ import annotations

from ir_exec import __version__
from ir_exec.model import Source, WeightsSource
from ir_exec.view.data import PageView
from ir_exec.view.networks import Notes, network_view, open_network

__all__ = ["view"]


def view(source: Source, *, weights: WeightsSource | None = None) -> PageView:
    opened = open_network(source, weights)
    network = network_view(opened, Notes())
    return PageView(format=1, made_by=__version__, title=network.title, networks=(network,))
