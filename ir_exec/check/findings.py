"""Where the passes put what they find, and what they ask so that one fault is reported once."""

from __future__ import annotations

from typing import TypeAlias

from ir_exec.check.report import Diagnostic
from ir_exec.errors import IRError, Location
from ir_exec.graph import Node
from ir_exec.ir import Layer

__all__ = ["Findings"]

_Key: TypeAlias = tuple[str | None, str | None, str | None]

_CONSEQUENCES = {"IR103": ("IR105",), "IR115": ("IR104", "IR105")}
"""A fault, and the codes that only follow from it where they are reported at the same layer."""

_DUPLICATE_ID = "IR101"


class Findings:
    """The faults of one file in the order in which they were found; called with each of them."""

    def __init__(self, path: str | None) -> None:
        self._file = Location(path=path)
        self._found: list[Diagnostic] = []
        self._codes: set[str] = set()
        self._faulty: set[_Key] = set()
        self._muted: set[_Key] = set()

    def __call__(self, error: IRError) -> None:
        diagnostic = Diagnostic.of(error.located(self._file))
        self._found.append(diagnostic)
        if diagnostic.severity == "error":
            self._codes.add(diagnostic.code)
            self._faulty.add(_key(diagnostic.location))

    def mute(self, layer: Layer) -> None:
        """Drop all errors of a layer that shares its id with another, or is tied to one of these."""
        key = (layer.id, layer.name, layer.type)
        self._muted.add(key)
        self._faulty.add(key)

    def is_faulty(self, node: Node) -> bool:
        """Whether an error was reported at this layer: what else goes wrong there may follow from it."""
        return _key(node.location) in self._faulty

    def has_error(self, *codes: str) -> bool:
        """Whether an error was reported whose code begins with one of these."""
        return any(code.startswith(codes) for code in self._codes)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding once, by line; what concerns the whole file comes first."""
        dropped = {(code, _key(one.location)) for one in self._found for code in _CONSEQUENCES.get(one.code, ())}
        kept = dict.fromkeys(
            one
            for one in self._found
            if (one.code, _key(one.location)) not in dropped
            and (one.code == _DUPLICATE_ID or one.severity != "error" or _key(one.location) not in self._muted)
        )
        return tuple(sorted(kept, key=lambda one: one.location.line or 0))


def _key(location: Location) -> _Key:
    """What tells a layer from others: ids are unique in a body only, and edges place faults on lines of their own."""
    return location.layer_id, location.layer_name, location.layer_type
