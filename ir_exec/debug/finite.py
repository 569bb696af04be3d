"""Where NaN and infinity come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ir_exec.debug.facts import as_numbers, pieces
from ir_exec.debug.walk import Visit, Walker
from ir_exec.errors import Location
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.runtime.arguments import Inputs
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array, ElementType

__all__ = ["NotFinite", "first_not_finite"]


class NotFinite(NamedTuple):
    """A layer that makes NaN or infinity: what it makes, and where it is."""

    message: str
    location: Location


class _Found(BaseException):  # no error of a layer: it ends the run, from inside of bodies too
    def __init__(self, found: NotFinite) -> None:
        super().__init__()
        self.found = found


def first_not_finite(
    model: Model,
    inputs: Inputs | None,
    progress: Callable[[str], None] | None = None,
    *,
    precision: Precision = "f32",
) -> NotFinite | None:
    """The first layer, in the order of computation and in bodies as well, that makes NaN of inputs without NaN, or an
    infinity of finite inputs; None where none does. Constants and inputs of the network make what NaN they hold; an
    infinity in them is meant, as in masks. precision: as for `compile_model`."""

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        nans = [_count(array) for array in visit.outputs]
        if not any(nan or infinite for nan, infinite in nans):
            return
        held = [_count(array) for array in visit.inputs]
        has_nan, has_infinity = any(nan for nan, _ in held), any(infinite for _, infinite in held)
        is_source = isinstance(visit.node.op, (Const, Parameter))
        for position, (array, (nan, infinite)) in enumerate(zip(visit.outputs, nans, strict=True)):
            if nan and not has_nan and not (isinstance(visit.node.op, Parameter) and visit.where.scope):
                source = (
                    "holds"
                    if is_source
                    else "makes of inputs without NaN"
                    if has_infinity
                    else "makes of finite inputs"
                )
                raise _Found(_told(visit, position, array, f"{source} {nan:,} NaN"))
            if infinite and not has_infinity and not has_nan and not is_source:
                raise _Found(_told(visit, position, array, f"makes of finite inputs {infinite:,} infinities"))

    try:
        Walker(model, precision=precision).run(inputs, visit)
    except _Found as error:
        return error.found
    return None


def _told(visit: Visit, position: int, array: Array, what: str) -> NotFinite:
    node, where = visit.node, visit.where
    name = "/".join((*where.scope, node.name))
    times = f" in iteration {', '.join(map(str, where.iterations))}" if where.iterations else ""
    output = f" (output {position})" if len(visit.outputs) > 1 else ""
    message = f"layer {node.id} {name!r} ({node.type}){output} {what} among {array.size:,} elements{times}"
    return NotFinite(message, node.location)


def _count(array: Array) -> tuple[int, int]:
    """How many elements are NaN, and how many infinities."""
    kind = ElementType.of(array)
    if not kind.is_float or array.dtype.names:
        return 0, 0
    nans = infinities = 0
    for _, (part,) in pieces(array):
        numbers = part if part.dtype.kind == "f" else as_numbers(part)
        if not np.isfinite(numbers).all():
            nans += int(np.count_nonzero(np.isnan(numbers)))
            infinities += int(np.count_nonzero(np.isinf(numbers)))
    return nans, infinities
