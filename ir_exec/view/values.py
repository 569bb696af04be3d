"""What a run computes, as statistics and histograms of every value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_exec.debug.facts import as_numbers, facts_of, pieces
from ir_exec.debug.walk import Visit, Walker
from ir_exec.graph import Node, Value
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const
from ir_exec.runtime.arguments import Inputs
from ir_exec.types import STRING, Array, ElementType
from ir_exec.view.data import ValuesView
from ir_exec.view.text import shown

__all__ = ["values_of", "values_of_run"]

_BINS = 32
_FIRST = 8


def values_of_run(
    model: Model, inputs: Inputs, found: dict[Value, ValuesView], progress: Callable[[str], None] | None = None
) -> None:
    """Note the statistics of every value of a run in `found`; raises what a run raises, and notes what was before."""

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        for value, array in zip(visit.node.outputs, visit.outputs, strict=False):
            before = found.get(value)
            if before is not None and isinstance(visit.node.op, Const):
                continue  # the constants of a body are the same in each iteration
            found[value] = values_of(array, visit, runs=1 if before is None else before.runs + 1)

    Walker(model).run(inputs, visit)


def values_of(array: Array, visit: Visit, runs: int = 1) -> ValuesView:
    """The statistics of an array that a layer has computed."""
    if ElementType.of(array) in STRING:
        texts = tuple([shown(str(text), 60) for text in array.reshape(-1)[:_FIRST]])
        return ValuesView(shape=array.shape, elements=array.size, first=texts, runs=runs)
    facts = facts_of(array)
    limits = _limits(array, visit.node)
    zeros = saturated = 0
    counts = np.zeros(_BINS, np.int64)
    low, high = facts.min or 0.0, facts.max or 0.0
    with np.errstate(all="ignore"):
        for _, (part,) in pieces(array):
            numbers = as_numbers(part)
            zeros += int(np.count_nonzero(numbers == 0))
            saturated += sum(int(np.count_nonzero(numbers == limit)) for limit in limits)
            if high > low:
                finite = numbers[np.isfinite(numbers)]
                counts += np.histogram(finite, _BINS, (low, high))[0]
    first = as_numbers(array.reshape(-1)[:_FIRST])
    return ValuesView(
        shape=array.shape,
        elements=array.size,
        min=facts.min,
        max=facts.max,
        mean=facts.mean,
        std=facts.std,
        zeros=zeros,
        nans=facts.nans,
        infinities=facts.infinities,
        saturated=saturated,
        histogram=tuple(counts.tolist()) if high > low else (),
        first=tuple(first.tolist()),
        runs=runs,
    )


def _limits(array: Array, node: Node) -> set[float]:
    """The numbers that elements have where they were clamped: the ends of short types, and those of Clamp."""
    kind = ElementType.of(array)
    found: set[float] = set()
    if node.type == "Clamp":
        found |= {float(getattr(node.op, name)) for name in ("min", "max") if hasattr(node.op, name)}
    if kind.name in ("f16", "bf16") or kind.name.startswith("f8"):
        most = float(as_numbers(_greatest(array)))
        found |= {most, -most}
    elif kind.name in ("i8", "i4"):
        bits = int(kind.name[1:])
        found |= {float(2 ** (bits - 1) - 1), float(-(2 ** (bits - 1)))}
    elif kind.name in ("u8", "u4"):
        found |= {float(2 ** int(kind.name[1:]) - 1)}
    return found


def _greatest(array: Array) -> Array:
    import ml_dtypes

    finite = np.finfo if array.dtype == np.float16 else ml_dtypes.finfo
    return np.asarray(finite(array.dtype).max, array.dtype)
