"""MVN: operators of the file, and normalization by mean and variance in parts (MVNFusion).

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/mvn_fusion.cpp. The kernel of the
CPU plugin computes all axes but the first, or all but the first two, of at most five
(src/plugins/intel_cpu/src/nodes/mvn.cpp); the plugin expands others, and a GroupNormalization to an MVN.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget, MissedFusion
from ir_exec.fusions.transformation import Matches, Transformation, node_of, openvino_source, search
from ir_exec.graph import Node, Value
from ir_exec.ops.normalization import MVN6
from ir_exec.plan.patterns import Match, NodePattern, anything, constant, explain, number, one_of, op

__all__ = ["MVN", "has_kernel_axes", "normalized_axes"]

_MOST_AXES = 5


def normalized_axes(match: Match, value: Value) -> tuple[int, ...] | None:
    """The axes of a reduction or an MVN, counted from the first; None if they are unknown."""
    node = match.node(value)
    rank = match.graph.type(node.values_in[0]).rank
    axes = match.graph.known(node.values_in[1])
    if rank is None or axes is None:
        return None
    return tuple(sorted(int(axis) % rank for axis in axes.reshape(-1)))


def has_kernel_axes(match: Match, value: Value) -> bool:
    """Return True if the kernel of the CPU plugin computes an MVN along its axes."""
    axes = normalized_axes(match, value)
    rank = match.graph.type(match.node(value).values_in[0]).rank
    if axes is None or rank is None or rank > _MOST_AXES:
        return False
    return rank == 1 or axes in (tuple(range(1, rank)), tuple(range(2, rank)))


def _have_equal_axes(match: Match, value: Value) -> bool:
    first, second = (match.graph.known(match.values[name]) for name in ("mean_axes", "variance_axes"))
    return first is not None and second is not None and np.array_equal(np.sort(first.ravel()), np.sort(second.ravel()))


def _axes(match: Match, value: Value) -> str:
    return " and ".join(str(match.known(name).tolist()) for name in ("mean_axes", "variance_axes"))


def _keeps_dims(match: Match, value: Value) -> bool:
    return bool(match.operator(value).keep_dims)


def _mean(value: NodePattern, axes: str) -> NodePattern:
    return op("ReduceMean", value, constant(axes)).where("kept dims", _keeps_dims)


def _difference() -> NodePattern:
    x = anything("x")
    mean = _mean(x, "mean_axes")
    return one_of(op("Subtract", x, mean), op("Add", x, one_of(mean * -1, op("Negative", mean))))


def _parts() -> NodePattern:
    difference = _difference()
    variance = _mean(one_of(difference**2, difference * difference), "variance_axes")
    epsilon = number("epsilon").with_hint("store epsilon as a constant of one element")
    inside = variance + epsilon
    root = one_of(op("Sqrt", inside), inside**0.5, op("Add", one_of(op("Sqrt", variance), variance**0.5), epsilon))
    return one_of(op("Divide", difference, root), op("Multiply", root**-1, difference)).where(
        "equal axes of mean and variance", _have_equal_axes, _axes
    )


_PARTS = _parts()
_ANCHOR = _mean(one_of(_difference() ** 2, op("Multiply", _difference(), _difference())), "variance_axes")
_OPERATOR = op("MVN")


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    parts = search(graph, _PARTS, _ANCHOR, least=1)
    for root, match in zip(parts.roots, parts.details, strict=True):
        root_kinds = {graph.kind(node) for node in match.nodes}
        is_inside = _adds_inside(graph, match) or "Sqrt" not in root_kinds
        mode: Literal["inside_sqrt", "outside_sqrt"] = "inside_sqrt" if is_inside else "outside_sqrt"
        operator = MVN6(normalize_variance=True, eps=match.number("epsilon"), eps_mode=mode)
        graph.add_fused(node_of(graph, root), operator, [match.values["x"], match.values["mean_axes"]])
    if parts.roots:
        graph.remove_unread()
    roots, missed = [], list(parts.missed)
    for node in graph.nodes:
        if graph.kind(node) == "GroupNormalization" and target in ("cpu", "genai"):
            roots.append(node.outputs[0])
        if graph.kind(node) == "MVN":
            reason = _rejection_by_cpu(graph, node) if target in ("cpu", "genai") else None
            if reason is None:
                roots.append(node.outputs[0])
            else:
                missed.append(reason)
    return Matches(tuple(roots), parts.details, tuple(missed))


def _adds_inside(graph: FusionGraph, match: Match) -> bool:
    """Return True if epsilon is added to the variance, not to its root."""
    epsilon = match.values["epsilon"]
    return any(
        graph.kind(node) == "Add"
        and epsilon in node.values_in
        and any(
            source is not None and graph.kind(source) == "ReduceMean"
            for source in (graph.producer(value) for value in node.values_in)
        )
        for node in match.nodes
    )


def _rejection_by_cpu(graph: FusionGraph, node: Node) -> MissedFusion | None:
    if len(node.values_in) < 2:
        return None  # MVN-1, over all spatial axes
    match = explain(_OPERATOR, graph, node)
    assert isinstance(match, Match), "the pattern matches every MVN"
    if has_kernel_axes(match, node.outputs[0]):
        return None
    axes = normalized_axes(match, node.outputs[0])
    actual = "unknown axes" if axes is None else f"the axes {list(axes)} of {graph.type(node.values_in[0])}"
    return MissedFusion(
        layer=node.name, expected="all axes but the first, or all but the first two, of at most five", actual=actual
    )


MVN = Transformation(
    name="MVN",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "MVNFusion", "src/common/transformations/src/transformations/common_optimizations/mvn_fusion.cpp"
    ),
    find=_find,
    is_step=lambda step: step["type"] == "MVN",
)
