"""Values of a reference that contradict its own outputs.

A reference that fuses layers may return a value for a layer inside a fusion that none of its other layers uses. The
model is run again with this value in place of its own. If the outputs then move away from those of the reference, the
reference has not computed its outputs from this value, and the layer cannot be judged by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from ir_exec.debug.comparison.known import as_type_of
from ir_exec.debug.comparison.metrics import Difference, Settings, difference
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.errors import IRError
from ir_exec.graph import Node
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.types import Array, ElementType

__all__ = ["Suspect", "find_contradicted"]

_MOST_RUNS = 8
"""Maximum layers to run the model for."""

_NEARER = 0.5
"""Maximum noise of the outputs, relative to a run without a value of the reference, if that value explains it."""


class Suspect(NamedTuple):
    """A layer with a wrong value, and the outputs of the layer in the reference; None for unknown ones."""

    node: Node
    values: Sequence[Array | None]


def find_contradicted(
    walker: Walker,
    arrays: Sequence[Array],
    outputs: Sequence[Array],
    suspects: Sequence[Suspect],
    expected: Sequence[Array],
    settings: Settings,
) -> list[Node]:
    """Return the suspects whose values in the reference do not lead to its outputs, of the first few.

    Args:
        arrays: The inputs of the model.
        outputs: The outputs of the model.
        expected: The outputs of the reference.
    """
    nodes = walker.model.graph.all_nodes()
    if any(isinstance(node.op, ReadsVariable) for node in nodes):
        return []  # a further run would change the variables
    before = _errors(outputs, expected, walker, settings)
    contradicted = []
    for suspect in suspects[:_MOST_RUNS]:
        try:
            others = _run_with(walker, arrays, {suspect.node: suspect.values})
        except (IRError, ValueError):
            contradicted.append(suspect.node)  # the next layers cannot have read this value
            continue
        if _leads_away(before, _errors(others, expected, walker, settings)):
            contradicted.append(suspect.node)
    return contradicted


def _run_with(walker: Walker, arrays: Sequence[Array], values: Mapping[Node, Sequence[Array | None]]) -> list[Array]:
    """Run the model with other outputs of these layers."""

    def replace_values(visit: Visit) -> list[Array] | None:
        others = values.get(visit.node)
        if others is None or visit.where.scope:
            return None
        pairs = zip(visit.outputs, [*others, *[None] * (len(visit.outputs) - len(others))], strict=True)
        return [ours if other is None else as_type_of(other, ours) for ours, other in pairs]

    return walker.run(list(arrays), replace_values)


def _errors(
    outputs: Sequence[Array], expected: Sequence[Array], walker: Walker, settings: Settings
) -> list[Difference]:
    ends = [result.values_in[0].node for result in walker.model.graph.results]
    return [
        difference(ours, theirs, settings.carried_tolerance((ElementType.of(ours), ElementType.of(theirs)), node))
        for node, ours, theirs in zip(ends, outputs, expected, strict=True)
    ]


def _leads_away(before: Sequence[Difference], after: Sequence[Difference]) -> bool:
    """Return True if outputs within the tolerance leave it, or if others only go away from those of the reference."""
    pairs = list(zip(before, after, strict=True))
    if any(new.problem is not None or (old.is_within and not new.is_within) for old, new in pairs):
        return True
    differ = [(old, new) for old, new in pairs if not old.is_within]
    if any(new.is_within or (isfinite(new.max_abs) and new.rmse <= _NEARER * old.rmse) for old, new in differ):
        return False
    # The mean leaves out elements that are infinite on one side.
    return any(new.rmse * _NEARER > old.rmse or new.max_abs > old.max_abs / _NEARER for old, new in differ)
