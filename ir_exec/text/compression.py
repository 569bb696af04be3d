"""How the weights of a network are stored: element type, elements per scale, zero points.

A compressed constant is unpacked by layers of the graph: Convert, Subtract (a zero point), Multiply (a scale), Reshape.
Its group size follows from the axis that a scale covers: `[out, in]` with a scale of `[out, 1]` is channel-wise, and so
is `[experts, out, in]` with `[experts, out, 1]`; `[out, groups, size]` is group-wise where a Reshape merges the last
two axes again.

Source: https://docs.openvino.ai/2026/openvino-workflow/model-optimization-guide/weight-compression.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import Literal

from ir_exec.graph import Node, Value
from ir_exec.ops.infrastructure.values import Const
from ir_exec.text.folder import FolderPart, constant_of
from ir_exec.types import ElementType

__all__ = ["PackedWeight", "ZeroPoint", "format_differences", "packed_weights", "types_of_mode"]

ZeroPoint = Literal["none", "middle", "other"]
"""`middle`: every zero point is the middle of an unsigned type (8 of u4), so that the weights are symmetric."""

_FEWEST = 256
"""Constants of fewer elements are no weights."""

_MOST_STEPS = 8
"""Layers from a constant to its first use."""


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A constant that is a weight.

    group_size: elements that share a scale; None where a scale covers a whole channel or tensor, or there is none.
    is_scaled: True where the graph multiplies the constant by scales.
    uses: types of the layers that take the weight.
    """

    node: Node
    element_type: ElementType
    shape: tuple[int, ...]
    group_size: int | None
    is_scaled: bool
    zero_point: ZeroPoint
    uses: frozenset[str]

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def is_symmetric(self) -> bool:
        """True where zero is stored as the middle of the range."""
        return self.zero_point != "other"


def packed_weights(part: FolderPart) -> list[PackedWeight]:
    """The weights of a network, in the order of its layers; scales and zero points are none."""
    users: dict[Value, list[Node]] = {}
    for node in part.nodes:
        for value in node.values_in:
            users.setdefault(value, []).append(node)
    auxiliary: set[Node] = set()
    found = [
        _packed(part, node, users, auxiliary)
        for node in part.nodes
        if isinstance(node.op, Const) and node.op.shape.is_static and prod(node.op.shape.static) >= _FEWEST
    ]
    return [weight for weight in found if weight.node not in auxiliary]


def _packed(part: FolderPart, node: Node, users: dict[Value, list[Node]], auxiliary: set[Node]) -> PackedWeight:
    assert isinstance(node.op, Const), "the caller looks for constants"
    shape = node.op.shape.static
    value: Value = node.outputs[0]
    zero_point: ZeroPoint = "none"
    scale: Node | None = None
    group: int | None = None
    for _ in range(_MOST_STEPS):
        user = _unpacking(users.get(value, ()))
        if user is None:
            break
        other = _other_input(user, value)
        if user.type == "Subtract":
            if user.inputs[0] is not value:
                break
            zero_point = _zero_point(part, other, node.op.element_type)
            auxiliary |= _constants(other)
        elif user.type == "Multiply":
            factor = next(iter(_constants(other)), None)
            if factor is None or not isinstance(factor.op, Const) or not factor.op.shape.is_static:
                break
            size = prod(factor.op.shape.static)
            if size > prod(shape) or (size == prod(shape) and user.inputs[0] is not value):
                # The constant is a scale itself.
                break
            scale = factor
            auxiliary.add(scale)
            group = _group(shape, factor.op.shape.static, None)
        elif user.type == "Reshape" and scale is not None and isinstance(scale.op, Const):
            after = user.outputs[0].declared.shape
            if after.is_static:
                group = _group(shape, scale.op.shape.static, after.static)
        value = user.outputs[0]
    uses = frozenset(user.type for user in users.get(value, ()))
    return PackedWeight(node, node.op.element_type, shape, group, scale is not None, zero_point, uses)


_UNPACKING = ("Convert", "Subtract", "Multiply", "Reshape")


def _unpacking(users: Sequence[Node]) -> Node | None:
    """The layer that unpacks a constant further, whose other input is a constant too."""
    for user in users:
        if user.type not in _UNPACKING or not user.outputs:
            continue
        if user.type == "Convert" or all(
            isinstance(root.op, Const) for value in user.values_in for root in [_root(value)] if root is not None
        ):
            return user
    return None


def _root(value: Value) -> Node:
    """The layer that a value comes from, before what unpacks constants."""
    node = value.node
    for _ in range(2 * _MOST_STEPS):
        if node.type not in _UNPACKING or not node.inputs or node.inputs[0] is None:
            break
        node = node.inputs[0].node
    return node


def _other_input(node: Node, value: Value) -> Value | None:
    return next((one for one in node.values_in if one is not value), None)


def _constants(value: Value | None) -> set[Node]:
    root = None if value is None else _root(value)
    return {root} if root is not None and isinstance(root.op, Const) else set()


def _zero_point(part: FolderPart, value: Value | None, kind: ElementType) -> ZeroPoint:
    array = None if value is None else constant_of(part, value)
    if array is None or not array.size:
        return "other"
    middle = 2 ** (kind.bits - 1) if kind.name.startswith("u") else 0
    if (array == middle).all():
        return "middle" if middle else "none"
    return "other"


def _group(shape: Sequence[int], scale: Sequence[int], after: Sequence[int] | None) -> int | None:
    """The elements that share a scale along the one axis that scales do not tell apart; None for whole channels.

    after: the shape that a Reshape gives the scaled weights.
    """
    if len(scale) > len(shape):
        return None
    aligned = (1,) * (len(shape) - len(scale)) + tuple(scale)
    shared = [axis for axis, size in enumerate(shape) if aligned[axis] == 1 and size > 1]
    if not shared:
        return 1 if prod(scale) > 1 else None
    if after is None or len(shared) == sum(size > 1 for size in shape):
        return None
    axis = shared[-1]
    for axes in _merged(shape, after):
        if axis in axes:
            return shape[axis] if prod([shape[one] for one in axes]) > shape[axis] else None
    return None


def _merged(before: Sequence[int], after: Sequence[int]) -> Iterator[range]:
    """The axes that a Reshape merges into one, or splits and merges."""
    ends = set(accumulate(after, mul))
    start = 0
    for axis, product in enumerate(accumulate(before, mul)):
        if product in ends:
            yield range(start, axis + 1)
            start = axis + 1
    if start < len(before):
        yield range(start, len(before))


_MODES = {
    "int4": frozenset({"i4", "u4"}),
    "int8": frozenset({"i8", "u8"}),
    "nf4": frozenset({"nf4"}),
    "e2m1": frozenset({"f4e2m1"}),
    "mxfp4": frozenset({"f4e2m1"}),
    "mxfp8": frozenset({"f8e4m3", "f8e5m2"}),
    "nvfp4": frozenset({"f4e2m1"}),
    "fp8": frozenset({"f8e4m3", "f8e5m2"}),
    "fp4": frozenset({"f4e2m1"}),
}
"""The element types of the modes of NNCF, by how their names begin."""


def types_of_mode(mode: str | None) -> frozenset[str] | None:
    """The element types of a mode of NNCF, `int4_asym`; None for one that is not known."""
    return next((kinds for name, kinds in _MODES.items() if mode and mode.startswith(name)), None)


_RATIO_TOLERANCE = 0.1
"""NNCF chooses whole layers, so that the share of a model differs from the ratio that was asked for."""


def format_differences(part: FolderPart, weights: Sequence[PackedWeight]) -> Iterator[str]:
    """Where the graph differs from what NNCF left in rt_info: mode, group size, symmetry, ratio."""

    def declared(name: str) -> str | None:
        return part.rt_info("nncf", "weight_compression", name)

    mode = declared("mode") or ""
    kinds = types_of_mode(mode)
    if kinds is None or part.loaded is None:
        return
    own = [weight for weight in weights if weight.element_type.name in kinds]
    if not own:
        found = ", ".join(sorted({weight.element_type.name for weight in weights})) or "none"
        yield f"mode is {mode}, and the weights of the graph have {found}"
        return
    yield from _symmetry(mode, own)
    group = declared("group_size")
    if group is not None and re.fullmatch(r"-?\d+", group):
        wanted = int(group) if int(group) > 0 else None
        sizes = Counter({weight.group_size: 0 for weight in own})
        for weight in own:
            sizes[weight.group_size] += 1
        others = {size: count for size, count in sizes.items() if size != wanted}
        for size, count in others.items():
            what = "whole channels" if size is None else f"groups of {size}"
            yield f"group_size is {group}, and {count} of {len(own)} weights have {what}"
    ratio = declared("ratio")
    share = _share(own, weights, all_layers=declared("all_layers") == "True")
    is_number = ratio is not None and re.fullmatch(r"\d+(\.\d+)?", ratio)
    if is_number and share is not None and abs(share - float(ratio or 0)) > _RATIO_TOLERANCE:
        yield f"ratio is {ratio}, and {share:.2f} of the weights have this format"


def _symmetry(mode: str, own: Sequence[PackedWeight]) -> Iterator[str]:
    asymmetric = sum(not weight.is_symmetric for weight in own)
    if mode.endswith("_sym") and asymmetric:
        yield f"mode is {mode}, and {asymmetric} of {len(own)} weights have zero points"
    elif mode.endswith("_asym") and all(weight.zero_point == "none" for weight in own):
        yield f"mode is {mode}, and no weights have zero points"


def _share(own: Sequence[PackedWeight], weights: Sequence[PackedWeight], *, all_layers: bool) -> float | None:
    """The share of weights of the main format among those for which NNCF defines the ratio.

    Embeddings and the last layer count only where all layers were compressed.
    """
    tables = {weight.shape[0] for weight in weights if "Gather" in weight.uses}
    counted = [
        weight
        for weight in weights
        if weight.is_scaled and (all_layers or not ("Gather" in weight.uses or weight.shape[0] in tables))
    ]
    total = sum(weight.count for weight in counted)
    chosen = {weight.node for weight in own}
    return sum(weight.count for weight in counted if weight.node in chosen) / total if total else None
