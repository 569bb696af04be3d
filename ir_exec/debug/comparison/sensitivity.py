"""Values that cannot show a fault because every element is non-finite, equal, or saturated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from ir_exec.debug.values.facts import as_numbers, not_finite_in, pieces
from ir_exec.graph import Graph, Node, Value
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import STRING, Array, ElementType

__all__ = ["Untested", "driven_values", "find_untested_reason"]

Untested: TypeAlias = Literal["not finite", "constant", "saturated"]
"""not finite: every element is NaN or infinite. constant: all elements are equal. saturated: every element is at a
limit of a bounded function."""

_GLIMPSE = 32
"""Number of elements to examine first: they differ in nearly all values, and the others need no pass."""


def driven_values(graph: Graph) -> frozenset[Value]:
    """Return the values of a graph that depend on the values of its Parameters, not only on their shapes."""
    driven: set[Value] = set()
    for node in graph.nodes:
        if isinstance(node.op, Const):
            continue
        if not node.values_in or node.bodies or any(value in driven for value in node.values_read):
            driven.update(node.outputs)
    return frozenset(driven)


def find_untested_reason(node: Node, outputs: Sequence[Array]) -> Untested | None:
    """Return the reason why no element of a layer's outputs can show a fault; None if one can.

    Args:
        node: A layer that depends on the inputs of the model.
        outputs: Its outputs. Integers, booleans, strings and finite outputs of a single element are assumed to show
            faults.
    """
    limits = () if node.op is None else node.op.limits
    reasons = [_reason(array, limits) for array in outputs]
    if not reasons or None in reasons:
        return None
    return reasons[0]


def _reason(array: Array, limits: Sequence[float]) -> Untested | None:
    if ElementType.of(array) in STRING or not ElementType.of(array).is_float or not array.size:
        return None
    if not limits and not _is_suspect(array):
        return None
    if not_finite_in(array) == array.size:
        return "not finite"
    if array.size > 1 and _consists_of(array, [_number_at(array, 0)]):
        return "constant"
    return "saturated" if limits and _consists_of(array, limits) else None


def _is_suspect(array: Array) -> bool:
    """Return True unless the first elements contain two different finite numbers."""
    with np.errstate(all="ignore"):
        numbers = as_numbers(array.reshape(-1)[:_GLIMPSE] if array.flags.c_contiguous else array.flat[:_GLIMPSE])
        finite = numbers[np.isfinite(numbers)]
        return finite.size < 2 or bool((finite == finite[0]).all())


def _number_at(array: Array, position: int) -> float:
    return float(as_numbers(np.asarray(array.flat[position : position + 1]))[0])


def _consists_of(array: Array, numbers: Sequence[float]) -> bool:
    with np.errstate(all="ignore"):
        for _, (part,) in pieces(array):
            elements = as_numbers(part)
            if not np.isin(elements, numbers).all():
                return False
    return True
