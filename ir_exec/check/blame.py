"""The cause of a failure with new input shapes: the constant or input that fixes an old size.

The cause is the pattern of a Reshape that drops or moves the change, or else a constant with an old dim. The
search goes upwards from the inputs of the layer that fails with the new shapes.

A Reshape of `[1,12,64]` with the pattern `[1,12,-1]` accepts a batch of 3 as well, and returns `[1,12,192]`: the layer
that does not accept the 192 is far below, and its other inputs are not the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.errors import Location
from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ops.movement.join import Concat
from ir_exec.ops.shape import Reshape
from ir_exec.types import TensorType

__all__ = ["FARTHEST", "Blame", "Cause", "Stray", "path_down", "sizes_of", "stray"]


FARTHEST = 10_000
"""Maximum number of layers that the search for a cause visits."""


class Stray(NamedTuple):
    """The path from the constant that fixes a dim to the layer above the failing layer, and the old size."""

    path: list[Node]
    size: int


def stray(node: Node, before: Types, after: Types) -> Stray | None:
    """Find the nearest Reshape above a layer that drops new dims, or else moves them to another axis.

    Args:
        before: The types with the old input shapes, by the numbers of the values.
        after: The types with the new input shapes, by the numbers of the values.
    """
    for is_changed in (False, True):
        match = _search(node, before, after, is_changed=is_changed)
        if match is not None:
            return match
    return None


def _search(node: Node, before: Types, after: Types, *, is_changed: bool) -> Stray | None:
    """Find the nearest such Reshape through values that changed, or through values that did not change."""

    def is_on_the_way(value: Value | None) -> bool:
        return value is not None and (before[value.number].shape != after[value.number].shape) == is_changed

    starts = [value.node for value in node.inputs if value is not None and is_on_the_way(value)]
    reached: dict[Node, Node | None] = dict.fromkeys(starts)
    order = list(reached)
    for distance, node_above in enumerate(order):
        if distance > FARTHEST:
            break
        axis = _fixed_axis(node_above, before, after)
        if axis is not None:
            above = _supplier(node_above.values_in[1], axis, before)
            if above is not None:
                return Stray(
                    [*above, *path_down(node_above, reached)], before[node_above.outputs[0].number].shape.static[axis]
                )
        for value in node_above.inputs:
            if value is not None and is_on_the_way(value) and value.node not in reached:
                reached[value.node] = node_above
                order.append(value.node)
    return None


def path_down(node: Node, reached: dict[Node, Node | None]) -> list[Node]:
    """The nodes from one that a search reached down to the start of the search."""
    path = [node]
    below = reached[node]
    while below is not None:
        path.append(below)
        below = reached[below]
    return path


def _fixed_axis(node: Node, before: Types, after: Types) -> int | None:
    """The output axis of a Reshape that kept its size although the corresponding input axis changed."""
    if not isinstance(node.op, Reshape) or len(node.inputs) != 2:
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
    """The axes of the reshaped tensor that are equal to this axis, or else the axes that contain it."""
    inner = prod(sizes[axis + 1 :])
    outer = inner * sizes[axis]
    spans = [(prod(out[position + 1 :]), prod(out[position:])) for position in range(len(out))]
    same = [position for position, span in enumerate(spans) if span == (inner, outer)]
    return same or [position for position, (start, end) in enumerate(spans) if start <= inner and outer <= end]


def _axes_before(sizes: list[int], axis: int, out: list[int]) -> list[int]:
    """Axes of size 1 directly before the axes that an axis was reshaped to; a batch merged into it may move there."""
    outer = prod(sizes[axis:])
    if 1 in (sizes[axis], *sizes[max(axis - 1, 0) : axis]):
        return []  # No batch is merged, or the axis of size 1 is the input's axis before this one.
    return [position for position, size in enumerate(out) if size == 1 and prod(out[position + 1 :]) == outer]


def _sizes(value: Value, types: Types) -> list[int] | None:
    dims = types[value.number].shape.dims
    if dims is None or not all(dim.is_static for dim in dims):
        return None
    sizes = [dim.lo for dim in dims]
    return sizes if 0 not in sizes else None


def _supplier(value: Value, index: int, types: Types) -> list[Node] | None:
    """The path from the constant that supplies an element of a vector down to the vector; None without a constant."""
    below: list[Node] = []
    while not isinstance(value.node.op, Const):
        node = value.node
        below.append(node)
        if isinstance(node.op, Concat):
            source = _part(node, index, types)
            if source is None:
                return None
            value, index = source
        elif node.op is not None and node.op.preserves_order and node.inputs[0] is not None:
            value = node.values_in[0]
        else:
            return None
    constant = types[value.number].value
    if constant is not None and index >= np.size(constant):
        return None
    return [value.node, *reversed(below)]


def _part(node: Node, index: int, types: Types) -> tuple[Value, int] | None:
    """The input of a Concat of vectors that contains an element, and the index of the element in it."""
    for value in node.values_in:
        sizes = _sizes(value, types)
        if sizes is None or len(sizes) != 1:
            return None
        if index < sizes[0]:
            return value, index
        index -= sizes[0]
    return None


_MOST_LAYERS_OF_A_PATH = 8

_SHORT = 16
"""Maximum number of elements of integer constants that may be sizes."""

_NO_SIZES = frozenset({"axis", "axes", "axes_mapping", "input_order"})
"""Input ports whose elements are axes."""


class Blame:
    """Finds the causes of failures of a second inference pass over a graph.

    Args:
        before: The types of the first pass, of every value by number.
        after: The types of the second pass; equal to `before` for values that it has not reached.
        given_sizes: The sizes that the caller requested for the second pass, which are not a cause.
    """

    def __init__(self, before: Types, after: Types, given_sizes: set[int]) -> None:
        self.before = before
        self.after = after
        self._given_sizes = given_sizes

    def has_changed(self, value: Value) -> bool:
        return self.before[value.number].shape != self.after[value.number].shape

    def cause(self, node: Node) -> Cause | None:
        """The constant or input that most likely causes the failure of the layer, if there is one."""
        lost = stray(node, self.before, self.after)
        if lost is not None:
            return Cause(lost.path, lost.size, self._describe_value(lost.path[0]))
        inputs = _with_sizes(node)
        suspects = self._suspects(inputs)
        ranked = [candidate for value in inputs for candidate in self._sources(value, suspects)]
        return min(ranked, key=lambda cause: cause[0])[1] if ranked else None

    def _suspects(self, inputs: list[Value]) -> list[int]:
        """Sizes that may contradict the new shapes, without the requested sizes.

        Old sizes that were replaced come first, then sizes that only one input has. Sizes that a changed input already
        had before are excluded.
        """
        old = {size for value in inputs if self.has_changed(value) for size in self._replaced_sizes(value)}
        present = [self._static_sizes(self.after, value) for value in inputs]
        unchanged = [self._static_sizes(self.before, value) if self.has_changed(value) else set() for value in inputs]
        alone = {
            size
            for sizes, same in zip(present, unchanged, strict=True)
            for size in sizes - same
            if sum(size in other for other in present) == 1
        }
        none = self._given_sizes | {1}
        return [*sorted(old - none), *sorted(alone - old - none)]

    def _static_sizes(self, types: Types, value: Value) -> set[int]:
        return {dim.lo for dim in types[value.number].shape.dims or () if dim.is_static}

    def _replaced_sizes(self, value: Value) -> set[int]:
        """The old sizes of the dims of a value that have changed."""
        before, after = self.before[value.number].shape.dims, self.after[value.number].shape.dims
        if before is None or after is None or len(before) != len(after):
            return set()
        return {old.lo for old, new in zip(before, after, strict=True) if old.is_static and old != new}

    def _sources(self, value: Value, suspects: list[int]) -> list[tuple[tuple[int, int], Cause]]:
        """Constants and inputs above a value, with a sort key; the lowest is the most likely cause.

        Those with a suspected size come before the others, which count only if no value between them and the layer has
        changed.
        """
        causes = []
        reached: dict[Node, Node | None] = {value.node: None}
        changed = {value.node: self.has_changed(value)}
        order = [value.node]
        for distance, node in enumerate(order):
            if distance > FARTHEST:
                break
            if isinstance(node.op, Const) or (node.op_class.is_parameter and not changed[node]):
                sizes = self._sizes(node)
                hit = next((size for size in suspects if size in sizes), None)
                if hit is not None or not changed[node]:
                    penalty = (4 if hit is None else 0) + (2 if node.op_class.is_parameter else 0) + changed[node]
                    cause = Cause(path_down(node, reached), hit, self._describe_value(node))
                    causes.append(((penalty, distance), cause))
            for above in _with_sizes(node):
                if above.node not in reached:
                    reached[above.node] = node
                    changed[above.node] = changed[node] or self.has_changed(above)
                    order.append(above.node)
        return causes

    def _sizes(self, node: Node) -> set[int]:
        return sizes_of(node, self.before[node.outputs[0].number])

    def _describe_value(self, node: Node) -> str:
        type = self.before[node.outputs[0].number]
        if isinstance(node.op, Const) and type.element_type.is_integer and type.shape.size.hi <= _SHORT:
            value = type.value
            if value is not None:
                return f"= {np.asarray(value).tolist()}".replace(" ", "").replace("=", "= ")
        return f"{type.element_type}{type.shape}"


@dataclass(frozen=True)
class Cause:
    """The cause of a layer's failure.

    Attributes:
        path: The layers from the constant, or the input, down to the layer above the failing layer.
        size: The dim that the constant or input fixes; None if it is unknown.
        shown: Its value, or its type.
    """

    path: list[Node]
    size: int | None
    shown: str

    def sentence(self, node: Node) -> str:
        source = self.path[0]
        what = "the shape" if self.size is None else f"dim {self.size}"
        if source.op_class.is_parameter:
            text = f"{what} is fixed by {_name(source)} {self.shown}, whose shape was not changed"
        else:
            text = f"{what} is fixed by {_name(source)} {self.shown}"
        steps = [_name(step) for step in (*self.path[1:], node)]
        if len(steps) > _MOST_LAYERS_OF_A_PATH:
            left_out = len(steps) - _MOST_LAYERS_OF_A_PATH + 1
            steps = [*steps[:3], f"{left_out} more", *steps[-4:]]
        return f"{text}; path: {' -> '.join(steps)}"


def sizes_of(node: Node, type: TensorType) -> set[int]:
    """The sizes that a constant or an input fixes.

    For a short list of integers its elements, otherwise its dims, and the elements of a short integer constant.
    """
    sizes = {dim.lo for dim in type.shape.dims or () if dim.is_static}
    if isinstance(node.op, Const) and type.element_type.is_integer and type.shape.size.hi <= _SHORT:
        value = type.value
        elements = set() if value is None else {int(element) for element in np.ravel(value)}
        return elements if type.rank == 1 and elements else sizes | elements
    return sizes


def _with_sizes(node: Node) -> list[Value]:
    """The inputs of a layer, without inputs that are axes."""
    ports = [port.name for port in node.op_class.inputs for _ in range(len(node.inputs) if port.variadic else 1)]
    return [
        value for value, port in zip(node.inputs, ports, strict=False) if value is not None and port not in _NO_SIZES
    ]


def _name(node: Node) -> str:
    return str(Location(layer_id=node.id, layer_name=node.name, layer_type=node.type))
