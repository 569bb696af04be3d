"""Where a new dim of an input went astray: a Reshape whose pattern fixes the old size drops the change or moves it.

A Reshape of `[1,12,64]` with the pattern `[1,12,-1]` takes a batch of 3 as well, and gives `[1,12,192]`: the layer that
cannot take the 192 is far below, and what it reads there is not to blame.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ops.base.registry import canonical
from ir_exec.ops.infrastructure.values import Const

__all__ = ["FARTHEST", "Stray", "path_down", "stray"]

FARTHEST = 10_000
"""How many layers are visited in the search for a cause."""


class Stray(NamedTuple):
    """The constant that fixes a dim, and every layer from there to the one above the layer that fails; the old size."""

    path: list[Node]
    size: int


def stray(node: Node, before: Types, after: Types) -> Stray | None:
    """The Reshape above a layer at which new dims were dropped, or else moved to another axis; the nearest of them.

    before, after: the types with the old and with the new input shapes, by the numbers of the values.
    """
    for is_changed in (False, True):
        found = _search(node, before, after, is_changed=is_changed)
        if found is not None:
            return found
    return None


def _search(node: Node, before: Types, after: Types, *, is_changed: bool) -> Stray | None:
    """The nearest such Reshape that is reached through values that changed, or through values that did not."""

    def is_on_the_way(value: Value | None) -> bool:
        return value is not None and (before[value.number].shape != after[value.number].shape) == is_changed

    starts = [value.node for value in node.inputs if value is not None and is_on_the_way(value)]
    reached: dict[Node, Node | None] = dict.fromkeys(starts)
    order = list(reached)
    for distance, one in enumerate(order):
        if distance > FARTHEST:
            break
        axis = _fixed_axis(one, before, after)
        if axis is not None:
            above = _supplier(one.values_in[1], axis, before)
            if above is not None:
                return Stray([*above, *path_down(one, reached)], before[one.outputs[0].number].shape.static[axis])
        for value in one.inputs:
            if value is not None and is_on_the_way(value) and value.node not in reached:
                reached[value.node] = one
                order.append(value.node)
    return None


def path_down(node: Node, reached: dict[Node, Node | None]) -> list[Node]:
    """The nodes from one that a search reached down to where it began."""
    path = [node]
    below = reached[node]
    while below is not None:
        path.append(below)
        below = reached[below]
    return path


def _fixed_axis(node: Node, before: Types, after: Types) -> int | None:
    """The axis of the output of a Reshape that kept its size though the axis of the input that it holds changed."""
    if canonical(node.type) != "Reshape" or len(node.inputs) != 2 or node.op is None:
        return None
    data, out = node.values_in[0], node.outputs[0]
    old, old_out, new_out = _sizes(data, before), _sizes(out, before), after[out.number].shape.dims
    new = after[data.number].shape.dims
    if old is None or old_out is None or new is None or new_out is None:
        return None
    if len(old) != len(new) or len(old_out) != len(new_out):
        return None
    changed = {axis for axis, dim in enumerate(new_out) if not dim.is_static or dim.lo != old_out[axis]}
    for axis, dim in enumerate(new):
        if not dim.is_static or dim.lo != old[axis]:
            holders = _holders(old, axis, old_out)
            if holders and not changed & {*holders, *_axes_before(old, axis, old_out)}:
                return holders[0]
    return None


def _holders(sizes: list[int], axis: int, out: list[int]) -> list[int]:
    """The axes of the reshaped tensor that are this one, or else those that it is a part of."""
    inner = prod(sizes[axis + 1 :])
    outer = inner * sizes[axis]
    spans = [(prod(out[place + 1 :]), prod(out[place:])) for place in range(len(out))]
    same = [place for place, span in enumerate(spans) if span == (inner, outer)]
    return same or [place for place, (start, end) in enumerate(spans) if start <= inner and outer <= end]


def _axes_before(sizes: list[int], axis: int, out: list[int]) -> list[int]:
    """Axes of size 1 right before the part that an axis became: where a batch that was merged into it comes out."""
    outer = prod(sizes[axis:])
    if 1 in (sizes[axis], *sizes[max(axis - 1, 0) : axis]):
        return []  # Nothing is merged into it, or the axis of size 1 is that of the input before it.
    return [place for place, size in enumerate(out) if size == 1 and prod(out[place + 1 :]) == outer]


def _sizes(value: Value, types: Types) -> list[int] | None:
    dims = types[value.number].shape.dims
    if dims is None or not all(dim.is_static for dim in dims):
        return None
    sizes = [dim.lo for dim in dims]
    return sizes if 0 not in sizes else None


def _supplier(value: Value, index: int, types: Types) -> list[Node] | None:
    """The constant that supplies an element of a vector, and the layers from there to the vector; None if none does."""
    below: list[Node] = []
    while not isinstance(value.node.op, Const):
        node = value.node
        below.append(node)
        type_name = canonical(node.type)
        if type_name == "Concat":
            found = _part(node, index, types)
            if found is None:
                return None
            value, index = found
        elif type_name in ("Unsqueeze", "Squeeze", "Convert", "Reshape") and node.inputs[0] is not None:
            value = node.values_in[0]
        else:
            return None
    known = types[value.number].value
    if known is not None and index >= np.size(known):
        return None
    return [value.node, *reversed(below)]


def _part(node: Node, index: int, types: Types) -> tuple[Value, int] | None:
    """The input of a Concat of vectors in which an element lies, and its place there."""
    for value in node.values_in:
        sizes = _sizes(value, types)
        if sizes is None or len(sizes) != 1:
            return None
        if index < sizes[0]:
            return value, index
        index -= sizes[0]
    return None
