"""Values that depend on weights alone. References store all requested values at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ir_exec.debug.values.entries import Key
from ir_exec.graph import Value
from ir_exec.model import Model
from ir_exec.plan.constant_values import constant_values
from ir_exec.plan.memory import byte_size
from ir_exec.report.numbers import format_bytes, format_count

__all__ = ["ExpandedWeights", "find_expanded_weights"]

MOST_WEIGHT_BYTES = 2**26
"""Maximum total bytes of values that depend on weights alone to read all of them: all are in memory at once."""

MOST_PROBED_WEIGHT = 2**16
"""Maximum bytes of a value that depends on weights alone and is always read."""


class ExpandedWeights(NamedTuple):
    """Values that are not read from a reference, and the note about them."""

    keys: frozenset[Key]
    note: str


def find_expanded_weights(
    model: Model, requested: Collection[Key], reference: str, keys: Mapping[Value, Key] | None = None
) -> ExpandedWeights | None:
    """Find large values that depend on weights alone, if the requested ones take too much memory together.

    The layers that read them are judged with our values, and show an error of such a value as their own.

    Args:
        reference: Its name in the note.
        keys: The keys of values, by default those of the model.
    """
    sizes: dict[Key, int] = {}
    for value in constant_values(model.graph):
        key = ((), value.node.id, value.position) if keys is None else keys.get(value)
        if key is not None:
            sizes[key] = byte_size(model.types[value.number])
    total = sum(sizes.get(key, 0) for key in requested)
    if total <= MOST_WEIGHT_BYTES:
        return None
    large = frozenset([key for key in requested if sizes.get(key, 0) > MOST_PROBED_WEIGHT])
    count, size = format_count(len(large), "value"), format_bytes(total)
    note = f"{count} of {size} that depend on weights alone are not read from {reference}"
    return ExpandedWeights(large, f"{note}; the layers that use them are compared")
