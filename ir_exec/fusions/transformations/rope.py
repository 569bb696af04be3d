"""RoPEFusion: rotary position embedding, of halves of the last axis.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/
fuse_rotary_positional_embeddings.cpp: the matchers RoPEFusionGPTNEOX (Llama, Qwen 2, Gemma, Phi, ...), RoPEFusionVIT3D
and RoPEFusionGPTOSS. The position of an axis is compared as it is written: the split has the axis 3 and the
concatenation the axis -1; slices are converted to such a split first.
"""

from __future__ import annotations

from ir_exec.fusions.network import FusionGraph
from ir_exec.fusions.records import FusionTarget
from ir_exec.fusions.transformation import Matches, Transformation, openvino_source, search
from ir_exec.fusions.transformations.rope_interleaved import interleaved_rope
from ir_exec.fusions.transformations.slices import AxisRange, axis_range, part_of
from ir_exec.graph import Value
from ir_exec.plan.patterns import Condition, Match, NodePattern, anything, one_of, op

__all__ = ["ROPE"]


def _has_rank(*ranks: int) -> Condition:
    return lambda match, value: match.graph.type(value).rank in ranks


def _half(match: Match, value: Value) -> AxisRange | None:
    """The range of a slice or a split of the last axis; a split must count the axis from the first."""
    part = axis_range(match, value)
    rank = match.type("x").rank
    if part is None or rank is None or part.step != 1 or part.axis not in (-1, rank - 1):
        return None
    is_slice = match.graph.kind(match.node(value)) == "Slice"
    return part if is_slice or part.axis >= 0 else None


def _is_first_half(match: Match, value: Value) -> bool:
    half = _half(match, value)
    return half is not None and half.start == 0 and half.stop is not None


def _is_second_half(match: Match, value: Value) -> bool:
    half = _half(match, value)
    return half is not None and half.start > 0 and _ends_axis(match, half)


def _ends_axis(match: Match, half: AxisRange) -> bool:
    dim = match.type("x").shape[-1]
    return half.stop is None or (dim.is_static and half.stop >= dim.size)


def _are_halves(match: Match, value: Value) -> bool:
    first, second = (_half(match, match.values[name]) for name in ("first", "second"))
    return first is not None and second is not None and first.stop == second.start


def _is_along_last(match: Match, value: Value) -> bool:
    return bool(match.operator(value).axis == -1)


def _axis(match: Match, value: Value) -> str:
    return f"the axis {match.operator(value).axis}"


def _halves(x: NodePattern) -> tuple[NodePattern, NodePattern]:
    first = part_of(x).where("the first part of the last axis", _is_first_half).named("first")
    second = part_of(x).where("the second part of the last axis", _is_second_half).named("second")
    return first, second


def _negative(value: NodePattern) -> NodePattern:
    return one_of(value * -1, op("Negative", value))


def _concatenation(left: NodePattern, right: NodePattern) -> NodePattern:
    return (
        op("Concat", left, right)
        .where("two halves of the last axis", _are_halves)
        .where("the axis -1", _is_along_last, _axis)
        .with_hint("write the axis of the concatenation as -1")
    )


def _rotated_halves(rank: int) -> NodePattern:
    """x · cos + (-second half, first half) · sin."""
    x = anything("x").where(f"data of {rank} axes", _has_rank(rank))
    first, second = _halves(x)
    angle = f"an angle of {rank} axes"
    rotated = _concatenation(_negative(second), first) * anything("sin").where(angle, _has_rank(rank))
    return op("Add", rotated, x * anything("cos").where(angle, _has_rank(rank)))


def _has_half_angles(match: Match, value: Value) -> bool:
    """Return True for [?, 1, ?, half of the last axis of x], whose marked dims are dynamic."""
    dims = match.graph.type(value).shape.dims
    half = _half(match, match.values["first"])
    if dims is None or len(dims) != 4 or half is None:
        return False
    return not dims[0].is_static and not dims[2].is_static and dims[1] == 1 and dims[3] == half.stop


def _split_halves() -> NodePattern:
    """(first · cos - second · sin, second · cos + first · sin)."""
    x = anything("x").where("data of 4 axes", _has_rank(4))
    first, second = _halves(x)
    angles = "angles of the dims [?, 1, ?, half]"
    cos, sin = (anything(name).where(angles, _has_half_angles) for name in ("cos", "sin"))
    product = op("Multiply", second, sin)
    left = one_of(op("Subtract", first * cos, product), op("Add", first * cos, _negative(product)))
    return _concatenation(left, second * cos + first * sin)


_PATTERN = one_of(_rotated_halves(4), _rotated_halves(3), _split_halves(), interleaved_rope())
_ANY_PART = "Slice|StridedSlice|VariadicSplit|Split"
_ANCHOR = op("Concat", _negative(part_of(anything("x"), _ANY_PART)), part_of(anything("x"), _ANY_PART))


def _find(graph: FusionGraph, target: FusionTarget) -> Matches:
    return search(graph, _PATTERN, _ANCHOR, least=1)


ROPE = Transformation(
    name="RoPE",
    targets=frozenset({"cpu", "genai", "gpu", "npu"}),
    source=openvino_source(
        "RoPEFusion",
        "src/common/transformations/src/transformations/common_optimizations/fuse_rotary_positional_embeddings.cpp",
    ),
    find=_find,
    is_step=lambda step: step["type"] == "RoPE",
)
