"""Values inside a fusion of the reference, which are not results of layers of the file.

A reference that fuses layers may return a value with a different shape or meaning for a layer inside a fusion, although
the result of the fusion is correct. If a layer is beyond its tolerance, its value is doubtful. The next layer is then
computed from the doubtful value and, if the result differs from the reference's value, from the results of the model's
layers for the values before the fusion. If that result agrees, the layers between are not comparable.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import NamedTuple, TypeAlias

from ir_exec.debug.comparison.known import Anchor, LayerFindings, Place
from ir_exec.debug.comparison.metrics import Settings, difference
from ir_exec.debug.comparison.records import ComparedLayer
from ir_exec.debug.traces.walk import Visit
from ir_exec.types import Array, ElementType

__all__ = ["NOTE", "Computed", "Own", "from_undoubted", "in_doubt", "is_doubtful"]

NOTE = "inside a fusion of the reference: not comparable"

_DOUBTED = ("wrong", "reference", "failed")

_MOST_INCLUDED = 20

Own: TypeAlias = tuple[list[Array] | None, Sequence[Array] | None, str | None]
"""The outputs of a layer computed from anchors, the values of the anchors, and the error message of a failed layer."""


class Computed(NamedTuple):
    """A layer computed from anchors.

    Attributes:
        anchors: The anchors that count.
        own: The layer's result for these anchors.
        above: If some of them are still doubtful, the undoubted anchors before.
        other: The layer's result for the undoubted anchors.
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
    findings: MutableMapping[Place, LayerFindings],
) -> Computed:
    """Compute a layer from the reference's values or, if these are doubtful and the result differs, from the model's.

    Args:
        values: The reference's outputs.
        findings: Findings, in which layers inside a fusion are marked as not comparable.
    """
    own = compute(anchors)
    if all(anchor.other is None for anchor in anchors):
        return Computed(anchors, own, None, own[0])
    is_seen = any(expected is not None for expected in values)
    if is_seen and _agree(own[0], values, settings):
        return Computed(anchors, own, None, own[0])
    above = [anchor.other or anchor for anchor in anchors]
    trial = compute(above)
    if is_seen and _agree(trial[0], values, settings):
        _skip(above, findings)
        return Computed(above, trial, None, trial[0])
    return Computed(anchors, own, above, trial[0])


def _agree(outputs: Sequence[Array] | None, values: Sequence[Array | None], settings: Settings) -> bool:
    """Return True if all outputs with a value in the reference are within the tolerance of a chain of layers."""
    if outputs is None:
        return False
    for output, expected in zip(outputs, values, strict=False):
        if expected is None:
            continue
        kinds = ElementType.of(output), ElementType.of(expected)
        if not difference(output, expected, settings.chain_tolerance(kinds)).is_within:
            return False
    return True


def _skip(anchors: Sequence[Anchor], findings: MutableMapping[Place, LayerFindings]) -> None:
    """Mark the layers between these anchors and the reference's values as not comparable."""
    for layer_key in dict.fromkeys(layer_key for anchor in anchors for layer_key in anchor.inside):
        layer_findings = findings.get(layer_key)
        if layer_findings is not None and layer_findings.layer.status in _DOUBTED:
            note = f"{NOTE}; {layer_findings.layer.note}" if layer_findings.layer.note else NOTE
            layer_findings.layer = layer_findings.layer.model_copy(update={"status": "skipped", "note": note})


def is_doubtful(layer: ComparedLayer, computed: Computed) -> bool:
    """Return True if the reference may use different values of a layer than those that it returns."""
    return layer.status in _DOUBTED or (layer.status == "unmatched" and computed.above is not None)


def in_doubt(visit: Visit, computed: Computed, frame: MutableMapping[int, Anchor]) -> None:
    """Store the results of the model's layers as alternatives to the doubtful anchors of a layer's outputs."""
    above = computed.above or computed.anchors
    includes = dict.fromkeys(name for source in above for name in source.includes)
    inside = dict.fromkeys(layer_key for source in above for layer_key in source.inside)
    for value, output, ours in zip(visit.node.outputs, computed.other or (), visit.outputs, strict=False):
        anchor = frame.get(value.number)
        if anchor is not None and not anchor.same:
            anchor.other = Anchor(
                lambda array=output: array,  # type: ignore[misc]  # bound now
                output is ours,
                includes=(*includes, visit.path)[-_MOST_INCLUDED:],
                inside=(*inside, (visit.where.scope, visit.node.id)),
            )
