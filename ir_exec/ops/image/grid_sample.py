"""GridSample: an image sampled at the points of a grid."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.precision import CALCULABLE, CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool
from ir_exec.ops.base.images import dims_of
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, saturated

__all__ = ["GridSample"]


@op("GridSample", since=9)
class GridSample(Op):
    """output[n, c, i, j] = data[n, c] sampled at the position (x, y) = grid[n, i, j].

    data: [N, C, H, W], any numeric type. grid: [N, H_out, W_out, 2], any float type. output: [N, C, H_out, W_out], the
    type of data.

    align_corners: the positions -1 and 1 are the centres of the first and the last element; otherwise, the default,
    their outer edges. mode: `bilinear` (the default), `bicubic` with the parameter -0.75, or `nearest`, where ties go
    to the even index. padding_mode: elements outside of data are `zeros` (the default), the nearest on the `border`, or
    those of the `reflection` at it.

    The specification's page has the two meanings of align_corners the other way round; OpenVINO does as said here. As
    in OpenVINO's CPU plugin, integers of 8 bits are rounded and saturate, and fractions of others are cut off.

    Errors: IR501 for other ranks, IR502 for a grid of another batch or without pairs, IR704 where data has no elements
    to sample. Specification: image/grid-sample-9.
    """

    inputs = (In("data", types=CALCULABLE), In("grid", types=CALCULABLE_FLOAT))

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
            raise EvaluationError(f"data {list(data.shape)} has no elements to read", port="data")
        kind = ElementType.of(data)
        exact = self.mode == "nearest"
        working = np.dtype(np.float64 if kind.bits >= 32 and kind is not ElementType.f32 else np.float32)
        places = grid.astype(np.float64 if grid.dtype == np.float64 else np.float32, copy=False)
        for n in range(batch if output.size else 0):
            planes = data[n].reshape(channels, -1)
            read = self._read(planes if exact else planes.astype(working, copy=False), places[n].reshape(-1, 2), size)
            output[n] = (read if exact else _narrowed(read, kind)).reshape(output.shape[1:])
        return output

    def _read(self, planes: Array, places: Array, size: list[int]) -> Array:
        """Planes [C, H * W] sampled at places [P, 2]: [C, P]."""
        y, x = (self._position(places[:, 1 - axis], size[axis]) for axis in (0, 1))
        if self.mode == "nearest":
            return self._element(planes, np.rint(y), np.rint(x), size)
        rows, columns = self._taps(y), self._taps(x)
        total = np.zeros((len(planes), len(y)), planes.dtype)
        for row, row_share in rows:
            for column, column_share in columns:
                element = self._element(planes, row, column, size)
                element *= (row_share * column_share).astype(planes.dtype, copy=False)
                total += element
        return total

    def _position(self, place: Array, size: int) -> Array:
        if self.align_corners:
            return np.asarray((place + 1) * (size - 1) / 2)
        return np.asarray(((place + 1) * size - 1) / 2)

    def _taps(self, position: Array) -> list[tuple[Array, Array]]:
        """The elements along one axis that a position mixes, each with its weight."""
        low = np.floor(position)
        near = position - low
        far = 1 - near
        if self.mode == "bilinear":
            return [(low, far), (low + 1, near)]
        a = near.dtype.type(-0.75)
        return [
            (low - 1, a * near * far * far),
            (low, ((a + 2) * near - (a + 3)) * near * near + 1),
            (low + 1, ((a + 2) * far - (a + 3)) * far * far + 1),
            (low + 2, a * far * near * near),
        ]

    def _element(self, planes: Array, row: Array, column: Array, size: list[int]) -> Array:
        """planes[:, row * W + column], for rows and columns that may lie outside."""
        inside = self._inside(row, size[0])
        across = self._inside(column, size[1])
        taken = np.take(planes, inside * size[1] + across, axis=1, mode="clip")
        if self.padding_mode == "zeros":
            taken[:, (row < 0) | (row >= size[0]) | (column < 0) | (column >= size[1]) | np.isnan(row + column)] = 0
        return taken

    def _inside(self, index: Array, size: int) -> Array:
        """The index inside that an index stands for; NaN becomes some index."""
        # Far enough for any image, near enough for i64.
        index = np.clip(np.nan_to_num(index, nan=0), -(2.0**53), 2.0**53).astype(np.int64)
        if self.padding_mode != "reflection":
            return np.clip(index, 0, size - 1)
        if self.align_corners:
            period = max(2 * (size - 1), 1)
            index = np.abs(index) % period
            return np.where(index < size, index, period - index)
        index %= 2 * size
        return np.where(index < size, index, 2 * size - 1 - index)


def _narrowed(values: Array, kind: ElementType) -> Array:
    """What was read, in the element type of the image."""
    if not kind.is_integer:
        return values.astype(kind.dtype, copy=False)
    return saturated(np.rint(values) if kind.bits <= 8 else values, kind)
