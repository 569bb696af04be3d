"""Importance of the channels of a weight: the mean square of the activations that they are multiplied by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ir_exec.build.compress import plain_weights
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.model import Model
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.types import Array, ElementType, convert

__all__ = ["activation_powers"]


def activation_powers(
    model: Model, calls: Sequence[Inputs], progress: Callable[[str], None] | None = None
) -> dict[str, Array]:
    """Return the mean square of the activations of each channel over all calls, in f32, by the name of the weight.

    Weights of Gather layers and of group convolutions are left out.

    Args:
        progress: Called with the path of each layer.

    Raises:
        IRError: The errors of a run.
    """
    model, rows, _ = bind_calls(model, *calls)
    weights = {(weight.reader, weight.port): weight for weight in plain_weights(model)}
    readers = {reader for reader, _ in weights}
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        if visit.node not in readers or visit.where.scope:
            return
        for port in (0, 1):
            weight = weights.get((visit.node, port))
            if weight is None or visit.node.op is None:
                continue
            axis = visit.node.op.channel_axis(1 - port, visit.inputs[1 - port].ndim)
            if axis is None:
                continue
            data = convert(visit.inputs[1 - port], ElementType.f32)
            others = tuple([dim for dim in range(data.ndim) if dim != axis])
            total = np.square(data, dtype=np.float64).sum(axis=others)
            sums[weight.name] = sums.get(weight.name, np.zeros(1)) + total
            counts[weight.name] = counts.get(weight.name, 0) + data.size // max(data.shape[axis], 1)

    walker = Walker(model, precision="f32")
    for arrays in rows:
        walker.run(arrays, visit)
    return {name: (total / max(counts[name], 1)).astype(np.float32) for name, total in sums.items()}
