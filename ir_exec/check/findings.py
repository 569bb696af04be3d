"""The findings of one file, collected so that each fault is reported once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ir_exec.check.diagnostic import Diagnostic
from ir_exec.check.leftovers import with_leftovers_folded
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
"""A code, and the codes that are only its consequence at the same layer."""

_UNRELATED = {Code.variable_without_pair, Code.repeated_rt_info, Code.colliding_names}
"""Faults of a layer that do not concern its inputs and outputs."""

_OF_IDS = {Code.unreadable_number, Code.duplicate_layer_id}


@dataclass(frozen=True, slots=True)
class Repair:
    """The type that a port should declare; the error with this code at this place is then gone."""

    code: str
    location: Location
    port: Port
    type: TensorType


class Findings:
    """Collects the faults of one file; it is called with each of them.

    repairs: for faults that are only a wrong declaration of a port, the right one.
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
        """Replace all errors with the code of this one by it."""
        self._found = [one for one in self._found if one.code != error.code]
        self(error)

    def mute(self, layer: Layer) -> None:
        """Drop the errors of a layer whose id, or whose neighbour's id, is in doubt, except those about ids."""
        key = (layer.id, layer.name, layer.type)
        self._muted.add(key)
        self._faulty.add(key)

    def is_faulty(self, node: Node) -> bool:
        """Whether an error was reported at this layer: further ones may be its consequence."""
        return bool(self._faulty) and _key(node.location) in self._faulty

    def has_error(self, *codes: str) -> bool:
        """Whether an error was reported whose code starts with one of these."""
        return any(code.startswith(codes) for code in self._codes)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding once, by line, those of the whole file first; consequences of other errors are left out."""
        follows = self._consequences()
        kept = dict.fromkeys(one for one in self._found if one.severity != "error" or not follows(one))
        return tuple(sorted(with_leftovers_folded(kept), key=lambda one: one.location.line or 0))

    def _consequences(self) -> Callable[[Diagnostic], bool]:
        """A test for errors that are only the consequence of others."""
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
    """What identifies a layer. Not its id alone, which is unique only within a body, and not its line: faults of edges
    are on the lines of the edges."""
    return location.layer_id, location.layer_name, location.layer_type
