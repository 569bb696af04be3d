"""Texts of files for a page, printable and of limited length, and the keys of layers in the address of a page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from ir_exec.errors import Location
from ir_exec.graph import Graph, Node
from ir_exec.report.text import truncate

__all__ = ["LONGEST_NAME", "LONGEST_SOURCE", "LayerPlaces", "printable", "source_of_layers"]

LONGEST_NAME = 400
"""Maximum characters of a name, an attribute, or a line."""

LONGEST_SOURCE = 6000
"""Maximum characters of the source of a layer."""


def printable(text: str, most: int = LONGEST_NAME) -> str:
    """The text without invisible characters, truncated if too long."""
    return truncate(text, most)


def source_of_layers(raw: bytes, lines: Sequence[int]) -> dict[int, str]:
    """The source of each layer by the line of its element, up to the end of the element or its first body."""
    text = raw.decode("utf-8", "replace").split("\n")
    sources: dict[int, str] = {}
    starts = sorted({line for line in lines if 0 < line <= len(text)})
    for start, following in zip(starts, [*starts[1:], len(text) + 1], strict=True):
        lines_of_layer: list[str] = []
        length = 0
        margin = len(text[start - 1]) - len(text[start - 1].lstrip())
        # A layer without layers inside ends with its element, or before the next layer.
        for line in text[start - 1 : max(following - 1, start)]:
            length += len(line) + 1
            lines_of_layer.append(
                printable(line[min(margin, len(line) - len(line.lstrip())) :].rstrip("\r").replace("\t", "    "))
            )
            if "</layer>" in line:
                break
            if length > LONGEST_SOURCE:
                lines_of_layer.append("...")
                break
        sources[start] = "\n".join(lines_of_layer)
    return sources


_PORT = re.compile(r":\d+$")


class LayerPlaces:
    """All layers of a model, including those of bodies and unreachable ones, by key, path and location.

    Attributes:
        keys: `7`, `7/body/3`. If several layers have the same id, which is a fault of the file, the line is added to
            the keys of all but the first.
    """

    def __init__(self, graph: Graph) -> None:
        self.keys: dict[Node, str] = {}
        self.by_key: dict[str, Node] = {}
        self.scopes: dict[Node, tuple[str, ...]] = {}
        self._by_path: dict[tuple[str, str], Node] = {}
        self._by_location: dict[tuple[str | None, str | None, str | None], list[Node]] = defaultdict(list)
        self._add(graph, "", ())

    def _add(self, graph: Graph, prefix: str, scope: tuple[str, ...]) -> None:
        holders = graph.holder_names()
        for node in (*graph.nodes, *graph.unreachable):
            key = f"{prefix}{node.id}"
            if key in self.by_key:
                key = f"{key}@{node.layer.line}"
            self.keys[node] = key
            self.by_key[key] = node
            self.scopes[node] = scope
            self._by_path.setdefault(("/".join((*scope, node.name)), node.id), node)
            self._by_location[node.id, node.name, node.type].append(node)
            for body in node.bodies:
                self._add(body.graph, f"{key}/{body.name}/", (*scope, holders[node], body.name))

    def of_path(self, path: str, layer_id: str) -> Node | None:
        """The layer with this id and a path as in reports: `loop/body/name`, or `split:1` for one of its outputs."""
        return self._by_path.get((path, layer_id)) or self._by_path.get((_PORT.sub("", path), layer_id))

    def of_location(self, location: Location) -> Node | None:
        """The layer of a finding. Of several with the same id, name and type, the last that starts before its line."""
        candidates = self._by_location.get((location.layer_id, location.layer_name, location.layer_type), [])
        line = location.line
        before = [node for node in candidates if line is not None and node.layer.line <= line]
        return max(before, key=lambda node: node.layer.line) if before else candidates[0] if candidates else None
