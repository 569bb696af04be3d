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
from typing import NamedTuple

from ir_exec.graph import Graph, Node
from ir_exec.graph.compressed import CompressedWeight, ZeroPoint, describe_weight, find_weight
from ir_exec.graph.weight_encodings import types_of_mode
from ir_exec.ir import Weights
from ir_exec.ops.base.inputs import selects_slices
from ir_exec.ops.infrastructure.values import Const
from ir_exec.text.folders.folder import FolderPart

__all__ = ["PackedWeight", "format_differences", "packed_weights"]

_FEWEST = 256
"""Minimum number of elements of weights."""


class PackedWeight(NamedTuple):
    """A constant that is a weight, and its use.

    Attributes:
        weight: The constant and the layers that expand it.
        zero_point: The kind of its zero points.
        is_table: A layer looks up rows of the weight, as an embedding does.
    """

    weight: CompressedWeight
    zero_point: ZeroPoint
    is_table: bool

    @property
    def type_name(self) -> str:
        """The name of the element type."""
        return self.weight.element_type.name

    @property
    def rows(self) -> int:
        """The length of the first axis."""
        return self.weight.stored_shape[0]

    @property
    def is_scaled(self) -> bool:
        """True if the graph multiplies the constant by scales."""
        return self.weight.scale is not None


def packed_weights(part: FolderPart) -> list[PackedWeight]:
    """The weights of a model in the order of its layers, without scales and zero points."""
    if part.loaded is None:
        return []
    graphs = [part.loaded.graph, *(body.graph for node in part.nodes for body in node.bodies)]
    packed = {row.weight.codes: row for graph in graphs for row in _find_in_graph(graph, part.loaded.weights)}
    return [packed[node] for node in part.nodes if node in packed]


def _find_in_graph(graph: Graph, weights: Weights | None) -> Iterator[PackedWeight]:
    """The weights of a graph without its bodies."""
    nodes = [*graph.nodes, *graph.unreachable]
    tables = {node.inputs[0] for node in nodes if node.inputs and selects_slices(node.op_class.inputs)}
    inside: set[Node] = set()
    for node in reversed(nodes):
        for weight in () if node in inside else map(find_weight, node.values_in):
            if weight is not None and weight.codes not in inside:
                inside.update(weight.nodes)
                if weight.size >= _FEWEST:
                    yield PackedWeight(weight, weight.zero_point(weights), weight.value in tables)
    for node in nodes:
        plain = describe_weight(node.outputs[0]) if isinstance(node.op, Const) and node not in inside else None
        if isinstance(plain, CompressedWeight) and plain.size >= _FEWEST:
            yield PackedWeight(plain, "none", plain.value in tables)


_RATIO_TOLERANCE = 0.1
"""NNCF selects whole layers, so the actual share differs from the requested ratio."""


def format_differences(part: FolderPart, weights: Sequence[PackedWeight]) -> Iterator[str]:
    """Yield the differences of the graph from NNCF's settings in rt_info: mode, group size, symmetry, ratio."""

    def setting(name: str) -> str | None:
        return part.rt_info("nncf", "weight_compression", name)

    mode = setting("mode") or ""
    kinds = types_of_mode(mode)
    if kinds is None or part.loaded is None:
        return
    own = [weight for weight in weights if weight.type_name in kinds]
    if not own:
        types_of_weights = ", ".join(sorted({weight.type_name for weight in weights})) or "none"
        yield f"mode is {mode}, but the weights of the graph have {types_of_weights}"
        return
    yield from _symmetry(mode, own)
    group = setting("group_size")
    if group is not None and re.fullmatch(r"-?\d+", group):
        declared_size = int(group) if int(group) > 0 else None
        sizes = Counter(row.weight.group_size for row in own)
        others = {size: count for size, count in sizes.items() if size != declared_size}
        for size, count in others.items():
            what = "whole channels" if size is None else f"groups of {size}"
            yield f"group_size is {group}, but {count} of {len(own)} weights have {what}"
    ratio = setting("ratio")
    share = _share(own, weights, all_layers=setting("all_layers") == "True")
    is_number = ratio is not None and re.fullmatch(r"\d+(\.\d+)?", ratio)
    if is_number and share is not None and abs(share - float(ratio or 0)) > _RATIO_TOLERANCE:
        yield f"ratio is {ratio}, but {share:.2f} of the weights have this format"


def _symmetry(mode: str, own: Sequence[PackedWeight]) -> Iterator[str]:
    asymmetric = sum(weight.zero_point == "other" for weight in own)
    if mode.endswith("_sym") and asymmetric:
        yield f"mode is {mode}, but {asymmetric} of {len(own)} weights have zero points"
    elif mode.endswith("_asym") and all(weight.zero_point == "none" for weight in own):
        yield f"mode is {mode}, but no weights have zero points"


def _share(own: Sequence[PackedWeight], weights: Sequence[PackedWeight], *, all_layers: bool) -> float | None:
    """The share of the main format in the weights that NNCF's ratio counts.

    Embeddings and the last layer count only if all layers were compressed.
    """
    lengths = {row.rows for row in weights if row.is_table}
    counted = [
        row.weight for row in weights if row.is_scaled and (all_layers or not (row.is_table or row.rows in lengths))
    ]
    total = sum(weight.size for weight in counted)
    main = {row.weight.codes for row in own}
    return sum(weight.size for weight in counted if weight.codes in main) / total if total else None
