"""SegmentMax: the greatest row of every segment."""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal

import numpy as np

from ir_exec.errors import IRError
from ir_exec.kernels.precision import CALCULABLE, round_to, type_limits, widen
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER
from ir_exec.ops.base.inputs import SegmentIds, ValueRange
from ir_exec.ops.base.segments import (
    given_count,
    number_of_rows,
    require_rising,
    run_starts,
    segment_faults,
    segments_of,
)
from ir_exec.ops.base.shapes import known_faults, known_ints, merge_dims, require_least_rank, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import INDEX, Array, Dim, Shape, TensorType

__all__ = ["SegmentMax"]


@op("SegmentMax", since=16)
class SegmentMax(Op):
    """output[i, ...] = the greatest of data[j, ...] over all j with segment_ids[j] = i.

    Specification: arithmetic/segment-max-16.

    Inputs:
        data: Rank 1 or more, any numeric type.
        segment_ids: A vector as long as the first axis of data, ascending, 0 or more.
        num_segments: A scalar, greater than every segment id; by default one more than the last segment id.

    Outputs:
        output: [num_segments, ...], the type of data. A segment without elements is 0 (`fill_mode` zero) or the lowest
            finite value of the type (lowest).

    Raises:
        IRError: IR501 for data that is a scalar; IR701 for a segment id out of range, where OpenVINO ignores the
            element; IR704 for segment ids that do not rise, and for a negative num_segments.
    """

    inputs = (
        In("data", types=CALCULABLE),
        In("segment_ids", types=INDEX, domain=SegmentIds("num_segments")),
        In("num_segments", types=INDEX, optional=True, domain=ValueRange(4, 4, "the number of segments")),
    )
    moved_inputs = ("data",)

    fills_with_lowest = True
    sized_by = ("segment_ids", "num_segments")

    fill_mode: Annotated[Literal["zero", "lowest"], LOWER]

    def infer(self, data: TensorType, segment_ids: TensorType, num_segments: TensorType | None = None) -> TensorType:
        require_rank(segment_ids, 1, "segment_ids")
        if num_segments is not None:
            require_rank(num_segments, 0, "num_segments")
        require_least_rank(data, 1, "data")
        if data.shape.dims is None:
            return data.without_values()
        if segment_ids.shape.dims is not None:
            what = "axis 0 of data and segment_ids"
            merge_dims(data.shape[0], segment_ids.shape[0], what, port="segment_ids")
        return data.with_shape(Shape([self._count(segment_ids, num_segments), *data.shape[1:]]))

    def _count(self, segment_ids: TensorType, num_segments: TensorType | None) -> Dim:
        if num_segments is not None:
            return number_of_rows(num_segments, "num_segments")
        segments = known_ints(segment_ids)
        return Dim.any() if segments is None else Dim(max((*segments, -1)) + 1)

    def evaluate(self, data: Array, segment_ids: Array, num_segments: Array | None = None) -> Array:
        require_rising(segment_ids, "segment_ids")
        last = int(segment_ids[-1]) if len(segment_ids) else -1
        count = last + 1 if num_segments is None else given_count(num_segments)
        segments = segments_of(segment_ids, count)
        fill = 0 if self.fill_mode == "zero" else type_limits(data.dtype)[0]
        output = np.full((count, *data.shape[1:]), fill, data.dtype)
        if len(segments):
            starts = run_starts(segments)
            greatest = _greatest(widen(data).reshape(len(data), prod(data.shape[1:])), starts)
            output[segments[starts]] = round_to(greatest, data.dtype).reshape(len(starts), *data.shape[1:])
        return output

    def check_values(self, *types: TensorType) -> list[IRError]:
        _, segment_ids, *num_segments = types
        order = known_faults(require_rising, segment_ids, port="segment_ids")
        return order + segment_faults(segment_ids, num_segments[0] if num_segments else None)


def _greatest(rows: Array, starts: Array) -> Array:
    """The greatest elements of the rows from each start to the next."""
    width = rows.shape[1]
    is_worth_calls = width >= thresholds.FEW_LINES and len(starts) * width >= thresholds.CALL_ELEMENTS
    sizes = np.diff(starts, append=len(rows)) if is_worth_calls else starts
    if not is_worth_calls or sizes.max() > thresholds.RUN_ELEMENTS:
        greatest: Array = np.maximum.reduceat(rows, starts, axis=0)
        return greatest
    # The first rows of all segments, then the second ones of those that have one, and so on.
    greatest = np.empty((len(starts), width), rows.dtype)
    step = max(thresholds.INTERMEDIATE_ELEMENTS // width, 1)
    for begin in range(0, len(starts), step):
        first, of_these, maxima = (array[begin : begin + step] for array in (starts, sizes, greatest))
        maxima[...] = rows[first]
        for offset in range(1, of_these.max()):
            has_one = of_these > offset
            some = slice(None) if has_one.all() else np.flatnonzero(has_one)
            maxima[some] = np.maximum(maxima[some], rows[first[some] + offset])
    return greatest
