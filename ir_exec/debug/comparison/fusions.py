"""Values inside a fusion of the reference: what is seen there is not what the layers of the file give.

A reference that fuses layers may show a value of another shape or meaning for a layer inside, and be right again at the
end of the fusion. Where a layer is beyond its tolerance, its value is in doubt. A layer behind it is computed from the
value in doubt and, where that does not give the reference's value, from what our layers make of the values above the
fusion. Where that does, the layers between are not comparable.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import NamedTuple, TypeAlias

from ir_exec.debug.comparison.known import Anchor, LayerFindings, Place
from ir_exec.debug.comparison.metrics import Settings, difference
from ir_exec.debug.comparison.report import ComparedLayer
from ir_exec.debug.traces.walk import Visit
from ir_exec.types import Array, ElementType

__all__ = ["NOTE", "Computed", "Own", "from_undoubted", "in_doubt", "is_doubtful"]

NOTE = "inside a fusion of the reference: not comparable"

_DOUBTED = ("wrong", "reference", "failed")

_MOST_INCLUDED = 20

Own: TypeAlias = tuple[list[Array] | None, Sequence[Array] | None, str | None]
"""The outputs of a layer from the values of anchors, these values, and the reason why there are none."""


class Computed(NamedTuple):
    """A layer computed from anchors.

    anchors, own: those that count, and what it makes of them. above: where some are in doubt still, those above the
    doubt. other: what the layer makes of the undoubted anchors.
    """

    anchors: Sequence[Anchor]
    own: Own
    above: Sequence[Anchor] | None
    other: list[Array] | None


def from_undoubted(
    compute: Callable[[Sequence[Anchor]], Own],
    anchors: Sequence[Anchor],
    values: Sequence[Array | None],
    settings: Settings,
    found: MutableMapping[Place, LayerFindings],
) -> Computed:
    """Compute a layer from the reference's values or, where these are in doubt and do not give its value, from ours.

    values: the outputs that the reference has. found: where layers inside a fusion are marked as not comparable.
    """
    own = compute(anchors)
    if all(anchor.other is None for anchor in anchors):
        return Computed(anchors, own, None, own[0])
    is_seen = any(wanted is not None for wanted in values)
    if is_seen and _agree(own[0], values, settings):
        return Computed(anchors, own, None, own[0])
    above = [anchor.other or anchor for anchor in anchors]
    trial = compute(above)
    if is_seen and _agree(trial[0], values, settings):
        _skip(above, found)
        return Computed(above, trial, None, trial[0])
    return Computed(anchors, own, above, trial[0])


def _agree(outputs: Sequence[Array] | None, values: Sequence[Array | None], settings: Settings) -> bool:
    """Return True if all outputs that the reference has a value for are as near as a chain of layers comes."""
    if outputs is None:
        return False
    for made, wanted in zip(outputs, values, strict=False):
        if wanted is None:
            continue
        kinds = ElementType.of(made), ElementType.of(wanted)
        if not difference(made, wanted, settings.chain(kinds)).is_within:
            return False
    return True


def _skip(anchors: Sequence[Anchor], found: MutableMapping[Place, LayerFindings]) -> None:
    """Mark the layers between these anchors and the reference's values as not comparable."""
    for place in dict.fromkeys(place for anchor in anchors for place in anchor.inside):
        known = found.get(place)
        if known is not None and known.layer.status in _DOUBTED:
            note = f"{NOTE}; {known.layer.note}" if known.layer.note else NOTE
            known.layer = known.layer.model_copy(update={"status": "skipped", "note": note})


def is_doubtful(layer: ComparedLayer, computed: Computed) -> bool:
    """Return True if the reference may go on with other values of a layer than those that it shows."""
    return layer.status in _DOUBTED or (layer.status == "unmatched" and computed.above is not None)


def in_doubt(visit: Visit, computed: Computed, frame: MutableMapping[int, Anchor]) -> None:
    """Keep beside the anchors of a layer's outputs what our layers make in their place."""
    above = computed.above or computed.anchors
    includes = dict.fromkeys(name for one in above for name in one.includes)
    inside = dict.fromkeys(place for one in above for place in one.inside)
    for value, made, ours in zip(visit.node.outputs, computed.other or (), visit.outputs, strict=False):
        anchor = frame.get(value.number)
        if anchor is not None and not anchor.same:
            anchor.other = Anchor(
                lambda made=made: made,  # type: ignore[misc]  # bound now
                made is ours,
                includes=(*includes, visit.path)[-_MOST_INCLUDED:],
                inside=(*inside, (visit.where.scope, visit.node.id)),
            )
