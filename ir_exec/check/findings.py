"""Where the passes put what they find, and what they ask so that one fault is reported once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ir_exec.check.diagnostic import Diagnostic
from ir_exec.codes import Code
from ir_exec.errors import IRError, Location
from ir_exec.graph import Node
from ir_exec.ir import Layer, Port
from ir_exec.types import TensorType

__all__ = ["Findings", "Repair"]

_Key: TypeAlias = tuple[str | None, str | None, str | None]

_CONSEQUENCES: dict[str, tuple[Code, ...]] = {
    Code.wrong_port: (Code.input_without_edge,),
    Code.duplicate_port_id: (Code.wrong_port, Code.two_edges, Code.input_without_edge),
}
"""A fault, and the codes that only follow from it where they are reported at the same layer."""

_UNRELATED = {Code.variable_without_pair}
"""Faults of a layer that say nothing of its inputs and outputs."""

_OF_IDS = {Code.unreadable_number, Code.duplicate_layer_id}


@dataclass(frozen=True, slots=True)
class Repair:
    """What a port should declare, so that the error at this place and with this code is gone."""

    code: str
    location: Location
    port: Port
    type: TensorType


class Findings:
    """The faults of one file in the order in which they were found; called with each of them.

    repairs: what would mend those of them that wrong declarations of ports alone are.
    """

    def __init__(self, path: str | None) -> None:
        self._file = Location(path=path)
        self._found: list[Diagnostic] = []
        self._codes: set[str] = set()
        self._faulty: set[_Key] = set()
        self._muted: set[_Key] = set()
        self.repairs: list[Repair] = []

    def __call__(self, error: IRError) -> None:
        diagnostic = Diagnostic.of(error.located(self._file))
        self._found.append(diagnostic)
        if diagnostic.severity == "error":
            self._codes.add(diagnostic.code)
            if diagnostic.code not in _UNRELATED:
                self._faulty.add(_key(diagnostic.location))

    def repair(self, error: IRError, port: Port, type: TensorType) -> None:
        """Note that the error is gone where the port declares this type."""
        self.repairs.append(Repair(error.code, error.location, port, type))

    def merge(self, error: IRError) -> None:
        """Put one error in the place of all that have its code."""
        self._found = [one for one in self._found if one.code != error.code]
        self(error)

    def mute(self, layer: Layer) -> None:
        """Drop the errors of a layer whose id is in doubt, or that is tied to such a layer; not those of the id."""
        key = (layer.id, layer.name, layer.type)
        self._muted.add(key)
        self._faulty.add(key)

    def is_faulty(self, node: Node) -> bool:
        """Whether an error was reported at this layer: what else goes wrong there may follow from it."""
        return bool(self._faulty) and _key(node.location) in self._faulty

    def has_error(self, *codes: str) -> bool:
        """Whether an error was reported whose code begins with one of these."""
        return any(code.startswith(codes) for code in self._codes)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding once, by line; what concerns the whole file comes first, what only follows is left out."""
        follows = self._consequences()
        kept = dict.fromkeys(one for one in self._found if one.severity != "error" or not follows(one))
        return tuple(sorted(kept, key=lambda one: one.location.line or 0))

    def _consequences(self) -> Callable[[Diagnostic], bool]:
        """Tells which errors only follow from others that were found."""
        at_layer = {(code, _key(one.location)) for one in self._found for code in _CONSEQUENCES.get(one.code, ())}
        of_file = [one for one in self._found if one.location.layer_id is None]
        # An edge that cannot be read leaves its input without one, and may end at a layer that does not exist.
        unread_lines = {
            one.location.line for one in of_file if one.code in (Code.unreadable_number, Code.missing_markup)
        }
        weights_said = any(one.code in (Code.weights_missing, Code.weights_lfs_pointer) for one in of_file)

        def follows(one: Diagnostic) -> bool:
            key = _key(one.location)
            return (
                (one.code, key) in at_layer
                or (key in self._muted and one.code not in _OF_IDS)
                or (one.code == Code.input_without_edge and bool(unread_lines))
                or (one.code == Code.dangling_edge and one.location.line in unread_lines)
                or (one.code == Code.no_result and Code.duplicate_layer_id in self._codes)
                or (one.code == Code.weights_missing and one.location.layer_id is not None and weights_said)
            )

        return follows


def _key(location: Location) -> _Key:
    """What tells a layer from others: ids are unique in a body only, and edges place faults on lines of their own."""
    return location.layer_id, location.layer_name, location.layer_type
