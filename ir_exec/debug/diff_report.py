"""What differs between two networks, as a record and as text."""

from __future__ import annotations

from collections.abc import Iterator

from ir_exec.debug.facts import Record
from ir_exec.debug.metrics import Difference
from ir_exec.debug.report import told

__all__ = ["Change", "ChangedLayer", "NetworkDiff", "Place"]


class Place(Record):
    """A layer that one network has alone. path: `loop/body/name`. outputs: types. inputs: names of what it reads."""

    layer_id: str
    path: str
    type: str
    opset: str | None
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]


class Change(Record):
    """What differs (`attribute strides`, `input 1`, `output`), before and after; None for what is not there."""

    what: str
    before: str | None = None
    after: str | None = None


class ChangedLayer(Record):
    """A layer of both networks. path, layer_id: in the first; path_b, layer_id_b: in the second.

    constant: how far the array of a constant of the second is from that of the first, where they differ.
    """

    path: str
    path_b: str
    type: str
    layer_id: str
    layer_id_b: str
    changes: tuple[Change, ...]
    constant: Difference | None = None


class NetworkDiff(Record):
    """What differs between the networks `a` and `b`.

    unchanged: the number of layers that do not differ. constants_not_compared: the number of constants that a missing
    .bin hides. order: what stands in another order, and what differs in the network itself. consequences: layers whose
    types or dims differ because those of their inputs do; they do not make networks differ by themselves.
    """

    a: str
    b: str
    equal: bool
    unchanged: int
    constants_not_compared: int = 0
    order: tuple[str, ...] = ()
    added: tuple[Place, ...] = ()
    removed: tuple[Place, ...] = ()
    changed: tuple[ChangedLayer, ...] = ()
    consequences: tuple[ChangedLayer, ...] = ()

    @property
    def summary(self) -> str:
        """Both networks in a line."""
        constants = sum(layer.constant is not None for layer in self.changed)
        parts = [f"{len(self.added):,} added, {len(self.removed):,} removed, {len(self.changed):,} changed"]
        parts[0] += f" ({constants:,} constant{'s'[: constants != 1]})" if constants else ""
        if self.consequences:
            parts.append(f"{len(self.consequences):,} with other types as a consequence")
        parts.append(f"{self.unchanged:,} unchanged")
        if self.constants_not_compared:
            parts.append(f"{self.constants_not_compared:,} constants not compared: a .bin is missing")
        return ("equal" if self.equal else "different") + f": layers: {'; '.join(parts)}"

    def lines(self, *, every: bool = False) -> Iterator[tuple[str, str]]:
        """Each line with what it tells of: added, removed, changed, or "". every: consequences too, all of them."""
        for line in self.order:
            yield "changed", f"~ {line}"
        for sign, role, places in (("-", "removed", self.removed), ("+", "added", self.added)):
            for place in places:
                yield role, f"{sign} {_told(place)}"
        shown = (*self.changed, *(self.consequences if every else ()))
        for layer in shown:
            yield "changed", f"~ {_named(layer)}"
            for change in layer.changes:
                yield "", f"    {change.what}: {_or_none(change.before)} -> {_or_none(change.after)}"
            if layer.constant is not None:
                yield "", f"    values: {told(layer.constant).replace(' beyond the tolerance', ' elements differ')}"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(line for _, line in self.lines())])


def _or_none(text: str | None) -> str:
    return "(none)" if text is None else text


def _named(layer: ChangedLayer) -> str:
    name = repr(layer.path) if layer.path == layer.path_b else f"{layer.path!r}, now {layer.path_b!r}"
    return f"{name} ({layer.type})"


def _told(place: Place) -> str:
    outputs = f" -> {', '.join(place.outputs)}" if place.outputs else ""
    return f"{place.path!r} ({place.type} of {place.opset}) of ({', '.join(place.inputs)}){outputs}"
