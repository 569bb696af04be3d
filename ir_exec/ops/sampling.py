"""Operators that read images between their elements: GridSample, ROIAlign, ROIAlignRotated.

A region of interest (ROI) is a box in an image; pooling gives each region an output of one size.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.ops.attributes import LOWER, Bool, Float, NonNegative, Positive
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.indexing import as_integers
from ir_exec.ops.precision import CALCULABLE, CALCULABLE_FLOAT, widened
from ir_exec.ops.rules import merge_dims, require_rank
from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType, saturated

__all__ = [
    "GridSample",
    "Line",
    "ROIAlign3",
    "ROIAlign9",
    "ROIAlignRotated",
    "channels_last",
    "dims_of",
    "images_of",
    "read_between",
    "sample_lattice",
    "sample_points",
]

_MOST_SAMPLES = 1 << 22
"""More samples of one region than this are refused: its size is a mistake, and no memory should pay for it."""

_CHUNK = 1 << 20


class Line(NamedTuple):
    """Places on one axis: element `low` counts 1 - `share`, element `high` counts `share`."""

    low: Array
    high: Array
    share: Array


def read_between(positions: Array) -> Line:
    """Positions that lie on an axis as the elements around them."""
    low = np.floor(positions)
    return Line(low.astype(np.int64), np.ceil(positions).astype(np.int64), positions - low)


def channels_last(images: Array) -> Array:
    """Images [N, C, H, W] as [N, H, W, C]: the channels of a place are read in one piece then."""
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1))


def sample_lattice(image: Array, rows: Line, columns: Line) -> Array:
    """An image [H, W, C] read where rows and columns cross: [rows, columns, C]."""
    if not (rows.low.size and columns.low.size):
        return np.zeros((rows.low.size, columns.low.size, image.shape[2]), image.dtype)
    first = int(columns.low.min())
    part = image[:, first : int(columns.high.max()) + 1]
    share = rows.share[:, np.newaxis, np.newaxis]
    lines = part[rows.low] * (1 - share)
    lines += part[rows.high] * share
    share = columns.share[:, np.newaxis]
    crossings: Array = lines[:, columns.low - first] * (1 - share)
    crossings += lines[:, columns.high - first] * share
    return crossings


def sample_points(image: Array, rows: Line, columns: Line) -> Array:
    """An image [H, W, C] read at points, given by their places on both axes: [points, C]."""
    share, across = rows.share[:, np.newaxis], columns.share[:, np.newaxis]
    points: Array = image[rows.low, columns.low] * ((1 - share) * (1 - across))
    points += image[rows.low, columns.high] * ((1 - share) * across)
    points += image[rows.high, columns.low] * (share * (1 - across))
    points += image[rows.high, columns.high] * (share * across)
    return points


@op("GridSample", since=9)
class GridSample(Op):
    """output[n, c, i, j] = data[n, c] read at the place (x, y) = grid[n, i, j].

    data: [N, C, H, W], numbers. grid: [N, H_out, W_out, 2], floats. output: [N, C, H_out, W_out], the type of data.
    -1 and 1 are the centres of the first and the last element with `align_corners`, else their outer edges. What lies
    outside is zero, the nearest element, or mirrored at those places. nearest: halves go to the even element. bicubic
    has the parameter -0.75. Integers of 8 bits are rounded and saturate, the fractions of others are cut off, as
    OpenVINO's CPU plugin does.

    Errors: IR704 where data has no elements to read. Specification: image/grid-sample-9.
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
        """Planes [C, H * W] read at places [P, 2]: [C, P]."""
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
        """The elements along one axis that count, each with its share."""
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
        """planes[:, row * W + column] for whole numbers that may lie outside."""
        inside = self._inside(row, size[0])
        across = self._inside(column, size[1])
        taken = np.take(planes, inside * size[1] + across, axis=1, mode="clip")
        if self.padding_mode == "zeros":
            taken[:, (row < 0) | (row >= size[0]) | (column < 0) | (column >= size[1]) | np.isnan(row + column)] = 0
        return taken

    def _inside(self, index: Array, size: int) -> Array:
        """The index that stands for one that may lie outside; what is no number becomes some index."""
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


class _Align(Op):
    """What ROIAlign and ROIAlignRotated share.

    data: [N, C, H, W], floats. rois: [NUM_ROIS, numbers of a box], the type of data. batch_indices: [NUM_ROIS], which
    image each box lies in. output: [NUM_ROIS, C, pooled_h, pooled_w], the type of data.
    A box is divided into pooled_h x pooled_w bins; of each bin `sampling_ratio` x `sampling_ratio` places are read, or
    as many as it has elements, rounded up, if that is 0. A place beyond an element outside the image counts as zero.
    All is computed in f32 (f64 for f64).

    Errors: IR701 for an index of no image, where OpenVINO's CPU plugin leaves the output as it was; IR704 for a box
    with more than 2^22 places to read.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("rois", types=CALCULABLE_FLOAT, like="data"),
        In("batch_indices", types=INTEGER),
    )

    pooled_h: Positive
    pooled_w: Positive
    sampling_ratio: NonNegative
    spatial_scale: Float

    def _infer(self, data: TensorType, rois: TensorType, batch_indices: TensorType, numbers: int) -> TensorType:
        require_rank(data, 4, "data")
        require_rank(rois, 2, "rois")
        require_rank(batch_indices, 1, "batch_indices")
        count, box = dims_of(rois, 2)
        merge_dims(box, Dim(numbers), f"the last axis of rois and {numbers}", port="rois")
        what = "the number of rois and the length of batch_indices"
        count = merge_dims(count, dims_of(batch_indices, 1)[0], what, port="batch_indices")
        kind = data.element_type if data.element_type.is_known else rois.element_type
        return TensorType(kind, Shape([count, dims_of(data, 4)[1], self.pooled_h, self.pooled_w]))

    def evaluate(self, data: Array, rois: Array, batch_indices: Array) -> Array:
        images = images_of(as_integers(batch_indices), len(data), "batch_indices")
        output = np.zeros((len(rois), data.shape[1], self.pooled_h, self.pooled_w), data.dtype)
        wide, boxes = channels_last(widened(data)), widened(rois)
        for index, image in enumerate(images if output.size and data.size else ()):
            output[index] = self._pool(wide[image], boxes[index]).transpose(2, 0, 1)
        return output

    def _pool(self, image: Array, box: Array) -> Array:
        """What one region of an image [H, W, C] gives: [pooled_h, pooled_w, C]."""
        raise NotImplementedError

    def _places(self, begin: Array, extent: Array) -> tuple[Array, Array]:
        """Where a box that begins at (y, x) is read along its height and its width: [bins, samples of a bin] each."""
        bins = (self.pooled_h, self.pooled_w)
        sizes = extent / np.array(bins, extent.dtype)
        # A bin of a size that is no number has no places, as one of a negative size.
        adaptive = np.clip(np.nan_to_num(np.ceil(sizes), nan=0), 0, _MOST_SAMPLES).astype(np.int64).tolist()
        counts = [self.sampling_ratio or count for count in adaptive]
        if prod(max(count, 1) for count in counts) * prod(bins) > _MOST_SAMPLES:
            message = (
                f"a region has {counts[0]} x {counts[1]} places in each bin, all together more than {_MOST_SAMPLES}"
            )
            raise EvaluationError(message, port="rois")
        height, width = (
            first
            + np.arange(bin_count, dtype=size.dtype)[:, np.newaxis] * size
            + (size / size.dtype.type(max(count, 1))) * (np.arange(count, dtype=size.dtype) + size.dtype.type(0.5))
            for first, size, bin_count, count in zip(begin, sizes, bins, counts, strict=True)
        )
        return height, width


class _ROIAlign(_Align):
    """rois: x1, y1, x2, y2.

    A place is between four elements, which count by their nearness; places beyond the last element, and less than one
    element before the first, count as on it. The bin is the mean of its places, or the greatest of them and zero: so
    OpenVINO has it, while the specification speaks of a maximum alone.
    """

    mode: Annotated[Literal["avg", "max"], LOWER]

    def infer(self, data: TensorType, rois: TensorType, batch_indices: TensorType) -> TensorType:
        return self._infer(data, rois, batch_indices, 4)

    def _box(self, box: Array) -> tuple[Array, Array]:
        """(y, x) of the beginning, and height and width, in elements of the image."""
        raise NotImplementedError

    def _pool(self, image: Array, box: Array) -> Array:
        (high, rows), (wide, columns) = (
            _tap_lists(positions, size)
            for positions, size in zip(self._places(*self._box(box)), image.shape[:2], strict=True)
        )
        pooled = np.zeros((self.pooled_h, self.pooled_w, image.shape[2]), image.dtype)
        if not (rows and columns):
            return pooled
        image = image[high, wide]
        if self.mode == "max":
            for row in rows:
                line = _weighted(image, row, 0)
                for column in columns:
                    np.maximum(pooled, _weighted(line, column, 1), out=pooled)
            return pooled
        # A mean may be taken along one axis after the other.
        line = _weighted(image, rows[0], 0)
        for row in rows[1:]:
            line += _weighted(image, row, 0)
        for column in columns:
            pooled += _weighted(line, column, 1)
        return pooled / (len(rows) * len(columns))


class Taps(NamedTuple):
    """One place of every bin along an axis: two elements, and how much each of them counts."""

    low: Array
    high: Array
    far: Array
    near: Array


def _tap_lists(positions: Array, size: int) -> tuple[slice, list[Taps]]:
    """Positions [bins, places] on an axis of this size, place by place; a position beyond it does not count.

    The slice is the part of the axis in which all the elements lie; the taps count from its beginning on. There are
    none where no position counts.
    """
    within = (positions >= -1) & (positions <= size)
    if not within.any():
        return slice(0), []
    line = read_between(np.clip(np.where(within, positions, positions[within][0]), 0, size - 1))
    first = int(line.low.min())
    low, high = line.low - first, line.high - first
    far, near = (1 - line.share) * within, line.share * within
    taps = [Taps(low[:, i], high[:, i], far[:, i], near[:, i]) for i in range(positions.shape[1])]
    return slice(first, first + int(high.max()) + 1), taps


def _weighted(image: Array, taps: Taps, axis: int) -> Array:
    """An image [H, W, C] read at one place of every bin along axis 0 or 1."""
    shape = (-1, 1, 1) if axis == 0 else (-1, 1)
    read: Array = np.take(image, taps.low, axis) * taps.far.reshape(shape)
    read += np.take(image, taps.high, axis) * taps.near.reshape(shape)
    return read


@op("ROIAlign", since=3)
class ROIAlign3(_ROIAlign):
    """Regions of interest pooled to one size; see `_Align` and `_ROIAlign`.

    The corners of a box are multiplied by `spatial_scale`; it is at least one element high and wide.
    Specification: detection/roi-align-3.
    """

    def _box(self, box: Array) -> tuple[Array, Array]:
        corners = box * box.dtype.type(self.spatial_scale)
        begin = corners[1::-1]
        return begin, np.maximum(corners[:1:-1] - begin, 1)


@op("ROIAlign", since=9)
class ROIAlign9(ROIAlign3):
    """Regions of interest pooled to one size; see `_Align` and `_ROIAlign`.

    With the `aligned_mode` asymmetric as in ROIAlign-3. With half_pixel_for_nn corners are moved by -0.5 after they are
    multiplied by `spatial_scale`, with half_pixel also by 0.5 before; then boxes have the size that they have. One of
    no size gives 0 if `sampling_ratio` is 0; the mean of OpenVINO's CPU plugin is NaN then.
    Specification: detection/roi-align-9.
    """

    aligned_mode: Annotated[Literal["asymmetric", "half_pixel_for_nn", "half_pixel"], LOWER] = "asymmetric"

    def _box(self, box: Array) -> tuple[Array, Array]:
        if self.aligned_mode == "asymmetric":
            return super()._box(box)
        number = box.dtype.type
        source = number(0.5 if self.aligned_mode == "half_pixel" else 0)
        corners = (box + source) * number(self.spatial_scale) - number(0.5)
        begin = corners[1::-1]
        return begin, corners[:1:-1] - begin


@op("ROIAlignRotated", since=15)
class ROIAlignRotated(_Align):
    """Rotated regions of interest pooled to one size; see `_Align`.

    rois: x and y of the centre, width, height, angle in radians. Centre and size are multiplied by `spatial_scale`, the
    centre is then moved by -0.5; the box is turned counterclockwise, or clockwise with `clockwise_mode`. A place is
    between four elements as in ROIAlign; the bin is the mean of its places.
    Specification: detection/roi-align-rotated-15.
    """

    clockwise_mode: Bool = False

    def infer(self, data: TensorType, rois: TensorType, batch_indices: TensorType) -> TensorType:
        return self._infer(data, rois, batch_indices, 5)

    def _pool(self, image: Array, box: Array) -> Array:
        number = box.dtype.type
        center, extent = box[1::-1] * number(self.spatial_scale) - number(0.5), box[3:1:-1] * number(self.spatial_scale)
        down, across = self._places(-extent / 2, extent)
        angle = -box[4] if self.clockwise_mode else box[4]
        sine, cosine = np.sin(angle), np.cos(angle)
        down = down[:, :, np.newaxis, np.newaxis]
        y = down * cosine - across * sine + center[0]
        x = down * sine + across * cosine + center[1]
        rows, columns = image.shape[:2]
        outside = ~((y >= -1) & (y <= rows) & (x >= -1) & (x <= columns))
        lines = [
            read_between(np.clip(np.where(outside, 0, places), 0, size - 1).ravel())
            for places, size in ((y, rows), (x, columns))
        ]
        pooled = np.empty((self.pooled_h, self.pooled_w, image.shape[2]), image.dtype)
        step = max(_CHUNK // max(y.size, 1), 1)
        for channel in range(0, image.shape[2], step):
            values = sample_points(image[..., channel : channel + step], *lines)
            values[outside.ravel()] = 0
            sums = values.reshape(*y.shape, -1).sum(axis=(1, 3))
            pooled[..., channel : channel + step] = sums / max(down.shape[1] * across.shape[1], 1)
        return pooled


def images_of(numbers: Array, batches: int, port: str) -> list[int]:
    """Indices of images; raises EvaluationError IR701 where there is no such image."""
    # Written so that what is no number is wrong too.
    wrong = ~((numbers >= 0) & (numbers < batches))
    if wrong.any():
        first = int(np.argmax(wrong))
        allowed = f"allowed are 0 to {batches - 1}" if batches else "none is allowed"
        message = f"{port}[{first}] is {numbers[first]}, {allowed}: data has {batches} images"
        raise EvaluationError(message, code="IR701", port=port)
    images: list[int] = numbers.astype(np.int64).tolist()
    return images


def dims_of(tensor: TensorType, rank: int) -> tuple[Dim, ...]:
    """The dims of a tensor of this rank, unknown ones if the rank is not known."""
    return (Dim.any(),) * rank if tensor.shape.dims is None else tensor.shape.dims


def _narrowed(values: Array, kind: ElementType) -> Array:
    """What was read, in the element type of the image."""
    if not kind.is_integer:
        return values.astype(kind.dtype, copy=False)
    return saturated(np.rint(values) if kind.bits <= 8 else values, kind)
