"""RoPEFusionGPTJ: rotary position embedding of neighbors on the last axis, as in GPT-J and CodeGen.

OpenVINO 2026.4, src/common/transformations/src/transformations/common_optimizations/
fuse_rotary_positional_embeddings.cpp. The angles are one value, split into sines and cosines, each repeated for two
neighbors.
"""

from __future__ import annotations

import numpy as np

from ir_exec.fusions.transformations.slices import axis_range, part_of
from ir_exec.graph import Value
from ir_exec.plan.patterns import Condition, Match, NodePattern, anything, constant, number, one_of, op

__all__ = ["interleaved_rope"]


def _has_four_axes(match: Match, value: Value) -> bool:
    return match.graph.type(value).rank == 4


def _repeats_pairs(match: Match, value: Value) -> bool:
    """Return True for the indices 0, 0, 1, 1, ..."""
    indices = match.graph.known(value)
    return indices is not None and np.array_equal(indices.reshape(-1), np.arange(indices.size) // 2)


def _is_every_second(start: int) -> Condition:
    def test(match: Match, value: Value) -> bool:
        part = axis_range(match, value)
        return part is not None and part.axis in (3, -1) and part[1:] == (start, None, 2)

    return test


def _is_front(match: Match, value: Value) -> bool:
    part = axis_range(match, value)
    return part is not None and part.axis in (3, -1) and (part.start, part.step) == (0, 1) and part.stop is not None


def _is_back(match: Match, value: Value) -> bool:
    back, front = axis_range(match, value), axis_range(match, match.values["rotated"])
    return back is not None and front is not None and back.start == front.stop and back.step == 1


def _is_along_last(match: Match, value: Value) -> bool:
    return bool(match.operator(value).axis == -1)


def _angle(name: str) -> NodePattern:
    """Sines or cosines, each twice."""
    angles = anything("angles").named("angles")
    half = op("VariadicSplit", angles, number("split_axis"), constant("split_lengths")).named(name)
    wide = op("Unsqueeze|Reshape", half, anything())
    pairs = constant("pairs").where("the indices 0, 0, 1, 1, ...", _repeats_pairs)
    return op("Gather", wide, pairs, number("gather_axis"))


def interleaved_rope() -> NodePattern:
    """The embedding of the front of the last axis, joined with the back."""
    data = anything("data").where("data of 4 axes", _has_four_axes)
    rotated = part_of(data).where("the front of the last axis", _is_front).named("rotated")
    odd = op("Slice|StridedSlice", rotated, more_inputs=True).where("odd elements", _is_every_second(1))
    even = op("Slice|StridedSlice", rotated, more_inputs=True).where("even elements", _is_every_second(0))
    negative = one_of(odd * -1, op("Negative", odd))
    stacked = op(
        "Concat", op("Unsqueeze|Reshape", negative, anything()), op("Unsqueeze|Reshape", even, anything())
    ).where("the axis -1", _is_along_last)
    turned = op("Reshape", stacked, anything())
    embedded = op("Add", turned * _angle("sin"), rotated * _angle("cos"))
    back = part_of(data).where("the back of the last axis", _is_back)
    return op("Concat", embedded, back).where("the axis -1", _is_along_last)
