"""Operators that sort elements, and sums along an axis."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import ints, known_rank, known_scalar, normal_axis, number, shape_of

__all__: list[str] = []


def _topk(data: Value, k: Value, axis: int, mode: Literal["max", "min"]) -> list[Value]:
    """Equal elements keep their order."""
    return list(build.topk(data, k, axis, mode, "value", index_element_type="i64", stable=True))


def _scalar(value: Value) -> Value:
    return value if value.rank == 0 else build.reshape(value, build.constant([], "i64"), special_zero=False)


@onnx_op("TopK", since=1)
def topk_1(data: Value, *, axis: int, k: int) -> list[Value]:
    return _topk(data, build.constant(k), axis, "max")


@onnx_op("TopK", since=(10, 11), unused=("sorted",))
def topk(data: Value, k: Value, *, axis: int, largest: bool) -> list[Value]:
    return _topk(data, _scalar(k), axis, "max" if largest else "min")


@onnx_op("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Value,
    scores: Value,
    most: Value | None,
    iou_threshold: Value | None,
    score_threshold: Value | None,
    *,
    center_point_box: bool,
) -> Value:
    """Without a threshold every score is high enough; without a maximum number nothing is selected."""
    lowest = build.constant(np.float32(np.finfo(np.float32).min))
    outputs = build.non_max_suppression(
        boxes,
        scores,
        build.constant(0) if most is None else _scalar(most),
        _just_above(build.constant(np.float32(0)) if iou_threshold is None else _scalar(iou_threshold)),
        lowest if score_threshold is None else _scalar(score_threshold),
        sort_result_descending=False,
        box_encoding="center" if center_point_box else "corner",
        output_type="i64",
    )
    return outputs[0]


def _just_above(threshold: Value) -> Value:
    """The next larger f32: ONNX removes a box with an overlap above the threshold, IR also one equal to it."""
    share = build.constant(np.float32(0.6 * 2.0**-23))
    least = build.constant(np.nextafter(np.float32(0), np.float32(1)))
    return build.maximum(build.add(threshold, build.multiply(threshold, share)), least)


@onnx_op("Unique", since=11)
def unique(data: Value, *, axis: int | None, sorted: bool) -> list[Value]:
    return list(
        build.unique(
            data,
            None if axis is None else ints(axis),
            sorted=sorted,
            index_element_type="i64",
            count_element_type="i64",
        )
    )


@onnx_op("CumSum", since=11)
def cumsum(data: Value, axis: Value, *, exclusive: bool, reverse: bool) -> Value:
    return build.cum_sum(data, _scalar(axis), exclusive=exclusive, reverse=reverse)


@onnx_op("CumProd", since=26)
def cumprod(data: Value, axis: Value, *, exclusive: bool, reverse: bool) -> Value:
    """Step by step along the axis: a TensorIterator carries the previous products."""
    scan_axis = normal_axis(int(known_scalar(axis, "the axis")), known_rank(data, "the input"))
    order = (-1, 0, -1) if reverse else (0, -1, 1)

    def step(so_far: Value, part: Value) -> tuple[list[Value], list[build.Collected]]:
        after = build.multiply(so_far, part)
        return [after], [build.Collected(so_far if exclusive else after, scan_axis, *order)]

    first = build.slice(data, ints(0), ints(1), ints(1), ints(scan_axis))
    ones = build.broadcast(number(1, data), shape_of(first))
    return build.tensor_iterator(step, [ones], [build.Sliced(data, scan_axis, *order)])[1]
