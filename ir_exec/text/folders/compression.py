"""Formats of stored weights: element type, group size, zero points.

A compressed constant is decompressed by layers of the graph: Convert, Subtract (of a zero point), Multiply (by a
scale), Reshape. The group size follows from the axes of the scale: `[out, in]` with a scale of `[out, 1]` is
channel-wise, as is `[experts, out, in]` with `[experts, out, 1]`; `[out, groups, size]` is group-wise if a Reshape
merges the last two axes.

Source: https://docs.openvino.ai/2026/openvino-workflow/model-optimization-guide/weight-compression.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, chain_of, numbers_of
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.text.folders.folder import FolderPart
from ir_exec.types import ElementType

__all__ = ["PackedWeight", "ZeroPoint", "format_differences", "packed_weights", "types_of_mode"]

ZeroPoint = Literal["none", "middle", "other"]
"""`middle`: every zero point is the middle of an unsigned type (8 of u4): the weights are symmetric."""

_FEWEST = 256
"""Minimum number of elements of weights."""


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A constant that is a weight.

    Attributes:
        group_size: The number of elements that share a scale; None if a scale covers a whole channel or tensor, and
            without scales.
        is_scaled: True if the graph multiplies the constant by scales.
        uses: The types of the layers that read the weight.
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
        """True if zero is stored as the middle of the range."""
        return self.zero_point != "other"


def packed_weights(part: FolderPart) -> list[PackedWeight]:
    """The weights of a model in the order of its layers, without scales and zero points."""
    if part.loaded is None:
        return []
    graphs = [part.loaded.graph, *(body.graph for node in part.nodes for body in node.bodies)]
    found = {weight.node: weight for graph in graphs for weight in _of_graph(graph, part.loaded.weights)}
    return [found[node] for node in part.nodes if node in found]


def _of_graph(graph: Graph, weights: Weights | None) -> Iterator[PackedWeight]:
    """The weights of a graph without its bodies."""
    nodes = [*graph.nodes, *graph.unreachable]
    users: dict[Value, set[str]] = {}
    for node in nodes:
        for value in node.values_in:
            users.setdefault(value, set()).add(node.type)
    inside: set[Node] = set()
    for node in reversed(nodes):
        chains = [] if node in inside else [chain_of(value) for value in node.values_in]
        for chain in chains:
            if chain is not None and chain.codes not in inside:
                inside.update(chain.nodes)
                if prod(chain.constant.shape.static) >= _FEWEST:
                    yield _packed(chain, weights, frozenset(users.get(chain.value, ())))
    for node in nodes:
        if node in inside or not isinstance(node.op, Const) or not node.op.shape.is_static:
            continue
        shape, kind = node.op.shape.static, node.op.element_type
        if prod(shape) >= _FEWEST:
            uses = frozenset(users.get(node.outputs[0], ()))
            yield PackedWeight(node, kind, shape, None, is_scaled=False, zero_point="none", uses=uses)


def _packed(chain: CompressedWeight, weights: Weights | None, uses: frozenset[str]) -> PackedWeight:
    kind, shape = chain.element_type, chain.constant.shape.static
    zero_point = _zero_point(chain, weights)
    return PackedWeight(chain.codes, kind, shape, chain.group_size, chain.scale is not None, zero_point, uses)


def _zero_point(chain: CompressedWeight, weights: Weights | None) -> ZeroPoint:
    if chain.zero is None:
        return "none"
    try:
        array = None if weights is None else numbers_of(chain.zero, weights)
    except (IRError, ValueError):
        array = None
    if array is None or not array.size:
        return "other"
    middle = 0 if chain.element_type.is_signed else 2 ** (chain.element_type.bits - 1)
    if (array == middle).all():
        return "middle" if middle else "none"
    return "other"


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
"""The element types of the modes of NNCF, by the prefixes of their names."""


def types_of_mode(mode: str | None) -> frozenset[str] | None:
    """Return the element types of a mode of NNCF, `int4_asym`; None for an unknown mode."""
    return next((kinds for name, kinds in _MODES.items() if mode and mode.startswith(name)), None)


_RATIO_TOLERANCE = 0.1
"""NNCF selects whole layers, so the actual share differs from the requested ratio."""


def format_differences(part: FolderPart, weights: Sequence[PackedWeight]) -> Iterator[str]:
    """Yield the differences of the graph from NNCF's settings in rt_info: mode, group size, symmetry, ratio."""

    def declared(name: str) -> str | None:
        return part.rt_info("nncf", "weight_compression", name)

    mode = declared("mode") or ""
    kinds = types_of_mode(mode)
    if kinds is None or part.loaded is None:
        return
    own = [weight for weight in weights if weight.element_type.name in kinds]
    if not own:
        found = ", ".join(sorted({weight.element_type.name for weight in weights})) or "none"
        yield f"mode is {mode}, but the weights of the graph have {found}"
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
            yield f"group_size is {group}, but {count} of {len(own)} weights have {what}"
    ratio = declared("ratio")
    share = _share(own, weights, all_layers=declared("all_layers") == "True")
    is_number = ratio is not None and re.fullmatch(r"\d+(\.\d+)?", ratio)
    if is_number and share is not None and abs(share - float(ratio or 0)) > _RATIO_TOLERANCE:
        yield f"ratio is {ratio}, but {share:.2f} of the weights have this format"


def _symmetry(mode: str, own: Sequence[PackedWeight]) -> Iterator[str]:
    asymmetric = sum(not weight.is_symmetric for weight in own)
    if mode.endswith("_sym") and asymmetric:
        yield f"mode is {mode}, but {asymmetric} of {len(own)} weights have zero points"
    elif mode.endswith("_asym") and all(weight.zero_point == "none" for weight in own):
        yield f"mode is {mode}, but no weights have zero points"


def _share(own: Sequence[PackedWeight], weights: Sequence[PackedWeight], *, all_layers: bool) -> float | None:
    """The share of the main format in the weights that NNCF's ratio counts.

    Embeddings and the last layer count only if all layers were compressed.
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
