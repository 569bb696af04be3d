"""RMSFusion: normalization by the root mean square along the last axis.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/rms_fusion.cpp. The CPU plugin
fuses the pattern without a scale too, and expands the operator again unless the data has two axes or more, the last of
them static, and the scale has one element or as many as the last axis (src/plugins/intel_cpu/src/nodes/rms_norm.cpp).
It also expands an MVN that its kernel does not compute, and then finds the pattern in it.
"""

from __future__ import annotations

from math import prod

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source, search
from ir_exec.fusions.transformations.mvn import has_kernel_axes, normalized_axes
from ir_exec.graph import Value
from ir_exec.plan.patterns import Match, NodePattern, anything, constant, number, one_of, op

__all__ = ["RMS"]


def _is_last_axis(match: Match, value: Value) -> bool:
    axis = match.number("axis")
    rank = match.type("x").rank
    return axis == -1 or (rank is not None and axis == rank - 1)


def _fits_last_axis(match: Match, value: Value) -> bool:
    """Return True for one number, or one for each element of the last axis."""
    last = match.type("x").shape[-1]
    size = prod(match.graph.type(value).shape.static)
    return size == 1 or (last.is_static and size == last.size)


def _has_static_last_dim(match: Match, value: Value) -> bool:
    shape = match.graph.type(value).shape
    return shape.dims is not None and len(shape.dims) > 1 and shape.dims[-1].is_static


def _has_no_constant_scale(match: Match, value: Value) -> bool:
    graph = match.graph
    reader = graph.only_reader(value)
    if reader is None or graph.kind(reader) != "Multiply":
        return True
    return all(graph.known(source) is None for source in reader.values_in)


def _is_along_last(match: Match, value: Value) -> bool:
    rank = match.type("x").rank
    axes = normalized_axes(match, value)
    is_along_last = rank is not None and axes == (rank - 1,)
    mvn = match.operator(value)
    is_root_mean_square = mvn.normalize_variance and mvn.eps_mode.casefold() == "inside_sqrt"
    return is_along_last and is_root_mean_square and not has_kernel_axes(match, value)


def _computed_value(name: str) -> NodePattern:
    return anything(name).where("a value that is computed", lambda match, value: match.graph.known(value) is None)


def _mean_of_squares(x: NodePattern) -> NodePattern:
    axis = number("axis").where("the last axis", _is_last_axis)
    return op("ReduceMean", one_of(x**2, x * x), axis)


def _norm(x: NodePattern) -> NodePattern:
    epsilon = number("epsilon").with_hint("store epsilon as a constant of one element")
    sum = _mean_of_squares(x) + epsilon
    sum = sum.perhaps(lambda value: op("Reshape|Unsqueeze", value, anything()))
    root = op("Sqrt", sum)
    return one_of(op("Multiply", one_of(root**-1, 1 / root, sum**-0.5), x), op("Divide", x, root))


_SCALE = constant("scale").with_hint("store the scale as a constant")
_WITH_SCALE = op("Multiply", _norm(_computed_value("x")), _SCALE)
_ON_CPU_NORM = _norm(_computed_value("x").where("two axes or more, the last of them static", _has_static_last_dim))
_EXPANDED_MVN = op("MVN", anything("x"), constant("axes"))
_ON_CPU = one_of(
    op("Multiply", _ON_CPU_NORM, _SCALE.where("one element, or as many as the last axis of the data", _fits_last_axis)),
    _ON_CPU_NORM.where("no constant scale of another shape", _has_no_constant_scale),
    _EXPANDED_MVN.where("the last of four axes or more", _is_along_last),
)
_ANCHOR = op("ReduceMean", one_of(anything("x") ** 2, op("Multiply", anything("x"), anything("x"))), anything())


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    return search(graph, _ON_CPU if target in ("cpu", "genai") else _WITH_SCALE, _ANCHOR)


RMS = Transformation(
    name="RMS",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "RMSFusion", "src/common/transformations/src/transformations/common_optimizations/rms_fusion.cpp"
    ),
    find=_find,
    is_step=lambda step: step["type"] == "RMS",
)
