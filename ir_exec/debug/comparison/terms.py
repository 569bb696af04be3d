"""The number of terms in the sums of a layer, including those in its bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, Dim

__all__ = ["count_positions", "count_terms"]


def count_terms(node: Node, inputs: Sequence[Array]) -> int:
    """Return the maximum number of terms in the sum of an output element, at least 1.

    In a layer with bodies, the layer with the longest sums in any of them counts in every iteration.
    """
    if node.bodies:
        terms = [_count_in_layer(layer) for body in node.bodies for layer in body.graph.nodes]
        return max(terms, default=1) * _count_iterations(node, inputs)
    if node.op is None:
        return 1
    try:
        return max(node.op.count_terms(inputs), 1)
    except (IRError, ValueError):
        return 1  # the layer rejects these values


def count_positions(node: Node, inputs: Sequence[Array]) -> int:
    """Return the length of the longest axis on which a layer computes positions, at least 1."""
    return 1 if node.op is None or not inputs else max(node.op.count_positions(inputs), 1)


def _count_in_layer(node: Node) -> int:
    """The terms of a layer in a body, of which only the declared types are known; 1 if a rank is not declared."""
    if any(value.declared.shape.dims is None for value in node.values_in):
        return 1
    inputs = [_make_stand_in(value) for value in node.values_in]
    count = count_terms(node, inputs)
    reads_constants = any(
        isinstance(value.node.op, Const) and value.declared.element_type.is_integer for value in node.values_in
    )
    # The constants may be axes, in the worst case all of them.
    return max(inputs[0].size, 1) if count > 1 and reads_constants else count


def _make_stand_in(value: Value) -> Array:
    """Zeros in the declared shape of a value, without memory; dynamic dims are 1."""
    dims = value.declared.shape.dims or ()
    shape = [dim.size if dim.is_static else 1 for dim in dims]
    element_type = value.declared.element_type
    return np.broadcast_to(np.zeros((), element_type.dtype if element_type.is_known else np.float32), shape)


def _count_iterations(node: Node, inputs: Sequence[Array]) -> int:
    """The number of slices of the inputs that the bodies read one by one, at least 1."""
    counts = [1]
    for body in node.bodies:
        for tie in () if body.ties is None else body.ties.inputs:
            if tie.part is not None and tie.position is not None and tie.position < len(inputs):
                count = tie.part.iterations(Dim.of(inputs[tie.position].shape[tie.part.axis]))
                counts.append(count.size if count.is_static else 1)
    return max(counts)
