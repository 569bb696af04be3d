"""Constants of two models that differ only in the element type of the stored weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ir_exec.debug.comparison.metrics import difference
from ir_exec.debug.comparison.rounded import RoundedWeights, WeightsNote
from ir_exec.debug.comparison.tolerances import Tolerance
from ir_exec.graph import Node, Value
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const

__all__ = ["StoredWeights"]


class StoredWeights:
    """Pairs of a constant and its rounded copy, and the conversions that follow only one of the two."""

    def __init__(self, weights: tuple[Weights | None, Weights | None]) -> None:
        self._weights = weights
        self._rounded = RoundedWeights()
        self._pairs: dict[Node, Node] = {}
        self._conversions: set[Node] = set()

    def add(self, pairs: Mapping[Node, Node], unpaired: Iterable[Node], scope: tuple[str, ...]) -> set[Node]:
        """Add the rounded constants among the pairs of a graph, and return their conversions.

        Args:
            unpaired: The layers of either graph without a partner.
        """
        found = {a: b for a, b in pairs.items() if self._is_rounded(a, b, scope)}
        self._pairs |= found
        stored = {*found, *found.values()}
        conversions = {
            node
            for node in unpaired
            if node.op_class.is_conversion and node.values_in and node.values_in[0].node in stored
        }
        self._conversions |= conversions
        return conversions

    def is_pair(self, a: Node, b: Node) -> bool:
        """Return True if one of these constants is the other one rounded."""
        return self._pairs.get(a) is b

    def through(self, value: Value | None) -> Value | None:
        """Return the constant before a conversion that the other model does not have; other values unchanged."""
        return value.node.values_in[0] if value is not None and value.node in self._conversions else value

    def note(self) -> WeightsNote | None:
        """Return a note on all rounded constants; None if there are none."""
        found = self._rounded.note()
        if found is None:
            return None
        return found.model_copy(update={"side": "b" if found.side == "reference" else "a"})

    def _is_rounded(self, a: Node, b: Node, scope: tuple[str, ...]) -> bool:
        mine, theirs = self._weights
        if mine is None or theirs is None or not isinstance(a.op, Const) or not isinstance(b.op, Const):
            return False
        kinds = a.op.element_type, b.op.element_type
        if kinds[0] == kinds[1] or not all(kind.is_float for kind in kinds) or a.op.shape != b.op.shape:
            return False
        ours, other = a.op.evaluate(weights=mine), b.op.evaluate(weights=theirs)
        return self._rounded.add((scope, a.id, 0), ours, other, difference(ours, other, Tolerance()))
