"""GridSample: an image sampled at the points of a grid."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.parallel import for_each
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool
from ir_exec.ops.base.dims import dims_of
from ir_exec.ops.base.facts import SAMPLED
from ir_exec.ops.base.inputs import ValueRange
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, saturate

__all__ = ["GridSample"]


class _Tap(NamedTuple):
    """Elements along both axes, [2, n, P], x first: indices and weights.

    Elements outside count as 0. The weights are None if only these elements are read.
    """

    element: Array
    outside: Array | None
    share: Array | None


@op("GridSample", since=9)
class GridSample(Op):
    """output[n, c, i, j] = data[n, c] sampled at the position (x, y) = grid[n, i, j].

    The specification's page exchanges the two meanings of align_corners; this class follows OpenVINO. As in OpenVINO's
    CPU plugin, integers of 8 bits are rounded and saturate, and others are truncated.

    Specification: image/grid-sample-9.

    Inputs:
        data: [N, C, H, W], any numeric type.
        grid: [N, H_out, W_out, 2], any float type.

    Attributes:
        align_corners: The positions -1 and 1 are the centers of the first and the last element; otherwise, the default,
            their outer edges.
        mode: `bilinear` (the default), `bicubic` with the parameter -0.75, or `nearest`, with ties to the even index.
        padding_mode: Elements outside of data are `zeros` (the default), the nearest on the `border`, or their
            `reflection` at it.

    Outputs:
        output: [N, C, H_out, W_out], the type of data.

    Raises:
        IRError: IR501 for other ranks, IR502 for a grid of another batch or without pairs, IR704 if data has no
            elements to sample.
    """

    accuracy = SAMPLED

    inputs = (
        In("data", types=CALCULABLE),
        In("grid", types=CALCULABLE_FLOAT, domain=ValueRange(-1, 1, "coordinates in an image")),
    )
    term_inputs = ("data",)
    is_discontinuous = True

    align_corners: Bool = False
    mode: Annotated[Literal["bilinear", "bicubic", "nearest"], LOWER] = "bilinear"
    padding_mode: Annotated[Literal["zeros", "border", "reflection"], LOWER] = "zeros"

    def infer(self, data: TensorType, grid: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        require_rank(grid, 4, "grid")
        batch, channels, _, _ = dims_of(data, 4)
        grids, rows, columns, pair = dims_of(grid, 4)
        merge_dims(pair, Dim(2), "the last axis of grid and 2", port="grid")
        batch = merge_dims(batch, grids, "the batches of data and grid", port="grid")
        return data.with_shape(Shape([batch, channels, rows, columns]))

    def evaluate(self, data: Array, grid: Array) -> Array:
        batch, channels, *size = data.shape
        output = np.empty((batch, channels, *grid.shape[1:3]), data.dtype)
        if output.size and not data.size:
            raise EvaluationError(
                f"data {list(data.shape)} is", actual="empty", expected="elements to sample", port="data"
            )
        element_type = ElementType.of(data)
        exact = self.mode == "nearest"
        working = np.dtype(
            np.float64 if element_type.bits >= 32 and element_type is not ElementType.f32 else np.float32
        )
        # Places are clipped to the axes as floats, which represent all indices below this limit.
        is_wide = grid.dtype == np.float64 or max(size) >= 2**24
        places = grid.astype(np.float64 if is_wide else np.float32, copy=False)
        if not output.size:
            return output
        # Adjacent channels of a place are read together; a copy of all is too expensive for a few points.
        images, edge = data.transpose(0, 2, 3, 1), 0
        if data.size <= 4 * output.size:
            # Zeros around each image represent the outside.
            edge = 1 if self.padding_mode == "zeros" else 0
            copied = np.zeros(
                (batch, size[0] + 2 * edge, size[1] + 2 * edge, channels), data.dtype if exact else working
            )
            copied[:, edge : edge + size[0], edge : edge + size[1]] = images
            images = copied
        points = places.reshape(batch, -1, 2)
        read_by_places = output.reshape(batch, channels, -1).swapaxes(1, 2)
        at_once = max(thresholds.CHUNK_ELEMENTS // channels, 1)
        some = max(at_once // points.shape[1], 1)
        chunks = -(-points.shape[1] // at_once)

        def work(number: int) -> None:
            first, part = divmod(number, chunks)
            chosen = np.s_[first * some : (first + 1) * some, part * at_once : (part + 1) * at_once]
            numbers = np.arange(batch)[chosen[0], np.newaxis]
            dtype = np.dtype(images.dtype if exact else working)
            read = self._read(images, numbers, points[chosen], edge, dtype)
            read_by_places[chosen] = read if exact else _narrow(read, element_type)

        taps = {"nearest": 1, "bilinear": 4, "bicubic": 16}[self.mode]
        nanoseconds = output.size * taps * thresholds.ELEMENT_NANOSECONDS
        for_each(-(-batch // some) * chunks, lambda: work, nanoseconds=nanoseconds)
        return output

    def _read(self, images: Array, numbers: Array, places: Array, edge: int, dtype: np.dtype[Any]) -> Array:
        """Images [N, H, W, C], selected by numbers [n, 1], sampled at places [n, P, 2]: [n, P, C] in dtype.

        Args:
            edge: The width of the border of zeros around each image.
        """
        height, width, channels = images.shape[1:]
        sizes = np.array([width - 2 * edge, height - 2 * edge])[:, np.newaxis, np.newaxis]
        # Both axes at once: most arrays are so short that a call takes longer than their elements.
        position = self._position(np.ascontiguousarray(places.transpose(2, 0, 1)), sizes.astype(places.dtype))
        taps = self._taps(position, sizes, edge)
        lines = images.reshape(-1, channels) if images.flags.c_contiguous else None
        starts = [(numbers * height + tap.element[1]) * width for tap in taps] if lines is not None else taps
        total: Array | None = None
        for row, start in zip(taps, starts, strict=True):
            for column in taps:
                if lines is not None:
                    element: Array = lines.take(start + column.element[0], axis=0, mode="clip")
                else:
                    element = images[numbers, row.element[1], column.element[0]]
                if row.outside is not None and column.outside is not None:
                    np.copyto(element, 0, where=(row.outside[1] | column.outside[0])[..., np.newaxis])
                if row.share is None or column.share is None:
                    return element
                element = element.astype(dtype, copy=False)
                element *= (row.share[1] * column.share[0]).astype(dtype, copy=False)[..., np.newaxis]
                total = element if total is None else np.add(total, element, out=total)
        assert total is not None, "every axis has a tap"
        return total

    def _position(self, coordinate: Array, size: Array) -> Array:
        coordinate = coordinate + 1
        coordinate *= size - 1 if self.align_corners else size
        if not self.align_corners:
            coordinate -= 1
        coordinate *= 0.5
        return coordinate

    def _taps(self, position: Array, size: Array, edge: int) -> list[_Tap]:
        """The elements along each axis that contribute to a position."""
        if self.mode == "nearest":
            return [self._tap(np.rint(position), None, size, edge)]
        low = np.floor(position)
        near = position - low
        far = 1 - near
        if self.mode == "bilinear":
            return [self._tap(low, far, size, edge), self._tap(low + 1, near, size, edge)]
        a = near.dtype.type(-0.75)
        return [
            self._tap(low - 1, a * near * far * far, size, edge),
            self._tap(low, ((a + 2) * near - (a + 3)) * near * near + 1, size, edge),
            self._tap(low + 1, ((a + 2) * far - (a + 3)) * far * far + 1, size, edge),
            self._tap(low + 2, a * far * near * near, size, edge),
        ]

    def _tap(self, index: Array, share: Array | None, size: Array, edge: int) -> _Tap:
        if self.padding_mode == "reflection":
            return _Tap(self._reflect(index, size), None, share)
        # NaN is clipped to the lowest index.
        clipped = np.fmin(np.fmax(index, -edge), (size - 1 + edge).astype(index.dtype))
        # NaN counts as outside.
        outside = clipped != index if self.padding_mode == "zeros" and not edge else None
        clipped += edge
        return _Tap(clipped.astype(np.int64), outside, share)

    def _reflect(self, index: Array, size: Array) -> Array:
        """The index inside the axis that a reflected index refers to; any index for NaN."""
        # Larger than any image, and within the range of i64.
        index = np.clip(np.nan_to_num(index, nan=0), -(2.0**53), 2.0**53).astype(np.int64)
        if self.align_corners:
            period = np.maximum(2 * (size - 1), 1)
            index = np.abs(index) % period
            return np.where(index < size, index, period - index)
        index %= 2 * size
        return np.where(index < size, index, 2 * size - 1 - index)


def _narrow(values: Array, element_type: ElementType) -> Array:
    """Convert sampled values to the element type of the image."""
    if not element_type.is_integer:
        return values.astype(element_type.dtype, copy=False)
    return saturate(np.rint(values) if element_type.bits <= 8 else values, element_type)
