"""Regions of interest (ROIs) pooled by bins: ROIPooling, PSROIPooling, DeformablePSROIPooling.

A region is five numbers: the index of its image, x1, y1, x2, y2. As in OpenVINO, the list of regions ends at the first
whose image is -1; the outputs of this region and all further ones are zero. Everything is computed in f32 (f64 for
f64).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated, Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.pool import reduce_bins
from ir_exec.kernels.precision import CALCULABLE_FLOAT, widen
from ir_exec.kernels.resample import Line, channels_last, copy_channels, read_between, sample_lattice, sample_points
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, AttributeValueError, Float, Int, NonNegatives, Positive
from ir_exec.ops.base.dims import dims_of, images_of
from ir_exec.ops.base.shapes import divide_dim, merge_dims, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import Array, Dim, Shape, TensorType

__all__ = ["DeformablePSROIPooling", "PSROIPooling", "ROIPooling"]


def _positive(scale: float) -> float:
    if not 0 < scale < inf:
        raise ValueError("expected a number above 0")
    return scale


Scale = Annotated[Float, _positive]

_FAR = 2.0**31
"""Coordinates are clipped to -_FAR .. _FAR before they become integers."""


class _RegionPooling(Op):
    """The base of all operators of this module.

    Inputs:
        data: [N, C, H, W].
        rois: [NUM_ROIS, 5].
    """

    is_discontinuous = True

    spatial_scale: Scale

    def _regions(self, data: TensorType, rois: TensorType) -> tuple[Dim, Dim]:
        """The number of regions, and the number of channels of data."""
        require_rank(data, 4, "data")
        require_rank(rois, 2, "rois")
        count, numbers = dims_of(rois, 2)
        merge_dims(numbers, Dim(5), "the last axis of rois and 5", port="rois")
        return count, dims_of(data, 4)[1]

    def _images(self, rois: Array, batches: int) -> list[int]:
        """The index of the image of each region to the end of the list."""
        numbers = np.trunc(rois[:, 0])
        ended = np.flatnonzero(numbers == -1)
        return images_of(numbers[: ended[0]] if ended.size else numbers, batches, "rois")


@op("ROIPooling", since=2)
class ROIPooling(_RegionPooling):
    """Regions of interest pooled to one size.

    max: the corners times `spatial_scale`, rounded, are the first and the last element of the region, which has at
    least one; it is divided into bins that may share elements, and a bin is its greatest element, or 0 without
    elements.

    bilinear: corners are fractions of the image, 0 being its first element and 1 its last; pooled_h x pooled_w points
    from corner to corner are interpolated (a single one is in the middle), and are 0 outside.

    `output_size` and `output_roi`, which OpenVINO writes in addition to `pooled_h` and `pooled_w`, have no effect.

    Specification: detection/roi-pooling-1.

    Inputs:
        data: [N, C, H, W], floats.
        rois: [NUM_ROIS, 5], the type of data.

    Outputs:
        output: [NUM_ROIS, C, pooled_h, pooled_w].

    Raises:
        IRError: IR701 for an image out of range.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("rois", types=CALCULABLE_FLOAT, like="data"))

    pooled_h: Positive
    pooled_w: Positive
    method: Annotated[Literal["max", "bilinear"], LOWER] = "max"
    output_size: NonNegatives = ()
    output_roi: NonNegatives = ()

    def infer(self, data: TensorType, rois: TensorType) -> TensorType:
        count, channels = self._regions(data, rois)
        return data.with_shape(Shape([count, channels, self.pooled_h, self.pooled_w]))

    def evaluate(self, data: Array, rois: Array) -> Array:
        output = np.zeros((len(rois), data.shape[1], self.pooled_h, self.pooled_w), data.dtype)
        wide, boxes = widen(data), widen(rois)
        images = self._images(boxes, len(data)) if output.size and data.size else []
        if self.method == "max" and images:
            output[: len(images)] = self._greatest(wide, boxes[: len(images)], images)
        elif images:
            wide = channels_last(wide)
            for index, image in enumerate(images):
                check_time()
                self._between(wide[image], boxes[index], output[index])
        return output

    def _greatest(self, data: Array, boxes: Array, images: list[int]) -> Array:
        corners = _round(boxes[:, 1:] * boxes.dtype.type(self.spatial_scale))
        extents = np.maximum(corners[:, 2:] - corners[:, :2] + 1, 1)
        height, width = data.shape[2:]
        rows = _bins(corners[:, 1], extents[:, 1], self.pooled_h, height, boxes.dtype)
        columns = _bins(corners[:, 0], extents[:, 0], self.pooled_w, width, boxes.dtype)
        starts = np.array(images)[:, np.newaxis] * (height * width), np.array(0)
        greatest = reduce_bins(np.maximum, data.transpose(0, 2, 3, 1), width, starts, rows, columns, -np.inf)
        greatest[_are_empty(rows)[:, :, np.newaxis] | _are_empty(columns)[:, np.newaxis]] = 0
        return greatest.transpose(0, 3, 1, 2)

    def _between(self, image: Array, box: Array, output: Array) -> None:
        lines, inside = [], []
        for axis, bins, size in ((2, self.pooled_h, image.shape[0]), (1, self.pooled_w, image.shape[1])):
            last = box.dtype.type(size - 1)
            first, end = box[axis], box[axis + 2]
            if bins == 1:
                places = np.array([(first + end) / 2 * last])
            else:
                step = (end - first) * last / box.dtype.type(bins - 1)
                places = np.arange(bins, dtype=box.dtype) * step + first * last
                # Rounding errors must not push the last point out of the image.
                places[-1] = end * last
            within = np.flatnonzero((places >= 0) & (places <= last))
            lines.append(read_between(places[within]))
            inside.append(within)
        output[:, inside[0][:, np.newaxis], inside[1]] = sample_lattice(image, *lines).transpose(2, 0, 1)


@op("PSROIPooling", since=1)
class PSROIPooling(_RegionPooling):
    """Regions of interest pooled to one size, every bin from separate channels (position-sensitive).

    average: C = output_dim * group_size²; the region from x1, y1, rounded, to one after x2, y2, rounded, times
    `spatial_scale`, is divided into bins that may share elements; a bin is the mean of its elements in channel [output
    channel, row of bins, column of bins], 0 without elements.

    bilinear: C = spatial_bins_x * spatial_bins_y * output_dim; the corners times `spatial_scale` are fractions of the
    image, 0 being its first element and 1 its last. The region is divided into spatial_bins_y rows of spatial_bins_x
    cells; in each, group_size² points from corner to corner are interpolated in channel [cell, output channel], 0
    outside, and a bin is the mean over all cells.

    What the specification leaves open is as in OpenVINO's CPU plugin.

    Specification: detection/psroi-pooling-1.

    Inputs:
        data: [N, C, H, W], floats.
        rois: [NUM_ROIS, 5], floats.

    Outputs:
        output: [NUM_ROIS, output_dim, group_size, group_size].

    Raises:
        IRError: IR502 for a wrong number of channels, IR701 for an image out of range.
    """

    term_inputs = ("data",)
    inputs = (In("data", types=CALCULABLE_FLOAT), In("rois", types=CALCULABLE_FLOAT))
    redundant_attributes = "no_trans part_size trans_std"

    output_dim: Positive
    group_size: Positive = 1
    mode: Annotated[Literal["average", "bilinear"], LOWER] = "average"
    spatial_bins_x: Int = 1
    spatial_bins_y: Int = 1

    def check_attributes(self) -> None:
        # In the mode average they have no meaning, and files have zeros there.
        for name in ("spatial_bins_x", "spatial_bins_y") if self.mode == "bilinear" else ():
            if (bins := getattr(self, name)) < 1:
                raise AttributeValueError(
                    f"attribute {name} is", actual=bins, expected="1 or more", reason=" in the mode bilinear"
                )

    def infer(self, data: TensorType, rois: TensorType) -> TensorType:
        count, channels = self._regions(data, rois)
        parts = self.group_size**2 if self.mode == "average" else self.spatial_bins_x * self.spatial_bins_y
        expected = Dim(self.output_dim * parts)
        merge_dims(channels, expected, "the channels of data and those of all bins together", port="data")
        return data.with_shape(Shape([count, self.output_dim, self.group_size, self.group_size]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        if self.mode == "bilinear":
            return self.spatial_bins_x * self.spatial_bins_y
        rows, columns = self._mean_bins(widen(inputs[1]), inputs[0].shape[2:])
        return int(_sizes(rows).max(initial=1)) * int(_sizes(columns).max(initial=1))

    def evaluate(self, data: Array, rois: Array) -> Array:
        output = np.zeros((len(rois), self.output_dim, self.group_size, self.group_size), data.dtype)
        wide, boxes = widen(data), widen(rois)
        images = self._images(boxes, len(data)) if data.size else []
        if self.mode == "average" and images:
            output[: len(images)] = self._mean(wide, boxes[: len(images)], images)
        elif images:
            for index, image in enumerate(images):
                check_time()
                self._between(wide[image], boxes[index], output[index])
        return output

    def _mean(self, data: Array, boxes: Array, images: list[int]) -> Array:
        group, (height, width) = self.group_size, data.shape[2:]
        rows, columns = self._mean_bins(boxes, (height, width))
        # The channels of a bin, adjacent for all output channels.
        planes = data.reshape(len(data), self.output_dim, group**2, height * width).transpose(0, 2, 3, 1)
        planes_down = (np.array(images)[:, np.newaxis] * group + np.arange(group)) * group
        starts = planes_down * (height * width), np.arange(group) * (height * width)
        total = reduce_bins(np.add, planes, width, starts, rows, columns, 0)
        counts = _sizes(rows)[:, :, np.newaxis] * _sizes(columns)[:, np.newaxis]
        total /= np.maximum(counts, 1).astype(total.dtype)[..., np.newaxis]
        return total.transpose(0, 3, 1, 2)

    def _mean_bins(self, boxes: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
        """The rows and the columns of the bins of every region, for images of this height and width."""
        number, (height, width) = boxes.dtype.type, sizes
        corners = np.concatenate([_round(boxes[:, 1:3]), _round(boxes[:, 3:] + 1)], 1).astype(boxes.dtype)
        corners *= number(self.spatial_scale)
        extents = np.maximum(corners[:, 2:] - corners[:, :2], number(0.1))
        rows = _bins(corners[:, 1], extents[:, 1], self.group_size, height, boxes.dtype)
        return rows, _bins(corners[:, 0], extents[:, 0], self.group_size, width, boxes.dtype)

    def _between(self, image: Array, box: Array, output: Array) -> None:
        corners = box[1:] * box.dtype.type(self.spatial_scale)
        rows = self._places(corners[1], corners[3], self.spatial_bins_y, image.shape[1])
        columns = self._places(corners[0], corners[2], self.spatial_bins_x, image.shape[2])
        parts = image.reshape(len(rows), len(columns), self.output_dim, *image.shape[1:]).transpose(0, 1, 3, 4, 2)
        total = np.zeros(output.shape, image.dtype)
        for y, row in enumerate(rows):
            top = np.flatnonzero((row >= 0) & (row <= image.shape[1] - 1))
            for x, column in enumerate(columns):
                left = np.flatnonzero((column >= 0) & (column <= image.shape[2] - 1))
                lines = read_between(row[top]), read_between(column[left])
                read = sample_lattice(parts[y, x], *lines)
                total[:, top[:, np.newaxis], left] += read.transpose(2, 0, 1)
        output[...] = total / (len(rows) * len(columns))

    def _places(self, first: Array, end: Array, parts: int, size: int) -> Array:
        """The coordinates of the points of each cell along one axis: [cells, group_size]."""
        number = first.dtype.type
        edges = first + np.arange(parts + 1, dtype=first.dtype) * ((end - first) / number(parts))
        begins, ends, last = edges[:-1, np.newaxis], edges[1:, np.newaxis], number(size - 1)
        if self.group_size == 1:
            return np.asarray(number(0.5) * (begins + ends) * last)
        step = (ends - begins) * last / number(self.group_size - 1)
        return np.asarray(np.arange(self.group_size, dtype=first.dtype) * step + begins * last)


@op("DeformablePSROIPooling", since=1)
class DeformablePSROIPooling(_RegionPooling):
    """Regions of interest pooled to one size, every bin from a separate channel and moved by offsets.

    The region goes from x1, y1, rounded, to one after x2, y2, rounded, all times `spatial_scale` less 0.5, and is
    divided into bins. Each bin is moved by offset * trans_std times the size of the region, with the offsets of its
    cell. It is the mean of spatial_bins_y x spatial_bins_x points, starting at its corner, in channel [output channel,
    row of bins, column of bins]; points more than half an element outside are ignored, and a bin without points is 0.

    Specification: detection/deformable-psroi-pooling-1.

    Inputs:
        data: [N, C, H, W], C at least output_dim * group_size², floats.
        rois: [NUM_ROIS, 5], floats.
        offsets: [NUM_ROIS, 2 * classes, part_size, part_size], floats, x and y for each class of output channels; the
            classes are equally large.

    Outputs:
        output: [NUM_ROIS, output_dim, group_size, group_size], the type of data.

    Raises:
        IRError: IR502, IR505 for channels or offsets that do not match, IR701 for an image out of range.
    """

    term_inputs = ("data",)
    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("rois", types=CALCULABLE_FLOAT),
        In("offsets", types=CALCULABLE_FLOAT, optional=True),
    )

    output_dim: Positive
    group_size: Positive = 1
    mode: Annotated[Literal["bilinear_deformable"], LOWER] = "bilinear_deformable"
    spatial_bins_x: Positive = 1
    spatial_bins_y: Positive = 1
    trans_std: Float = 1.0
    part_size: Positive = 1

    def infer(self, data: TensorType, rois: TensorType, offsets: TensorType | None = None) -> TensorType:
        count, channels = self._regions(data, rois)
        least = self.output_dim * self.group_size**2
        if channels.hi < least:
            raise ShapeError(
                "data has",
                actual=channels,
                detail="channels",
                expected=f"{least} or more",
                code=Code.dims_differ,
                port="data",
            )
        if offsets is not None:
            self._check_offsets(offsets, count)
        return data.with_shape(Shape([count, self.output_dim, self.group_size, self.group_size]))

    def _check_offsets(self, offsets: TensorType, count: Dim) -> None:
        require_rank(offsets, 4, "offsets")
        regions, numbers, *parts = dims_of(offsets, 4)
        merge_dims(count, regions, "the number of rois and the first axis of offsets", port="offsets")
        for dim in parts:
            merge_dims(dim, Dim(self.part_size), "the last two axes of offsets and part_size", port="offsets")
        classes = divide_dim(numbers, 2, "the number of x and y in offsets", port="offsets")
        if classes.is_static and (not classes.size or self.output_dim % classes.size):
            raise ShapeError(
                "offsets has",
                actual=classes,
                detail="classes of x and y",
                expected=f"a divisor of output_dim {self.output_dim}",
                code=Code.impossible_shape,
                port="offsets",
            )

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return self.spatial_bins_x * self.spatial_bins_y

    def evaluate(self, data: Array, rois: Array, offsets: Array | None = None) -> Array:
        output = np.zeros((len(rois), self.output_dim, self.group_size, self.group_size), data.dtype)
        wide, boxes = widen(data), widen(rois)
        moves = np.zeros((len(rois), 2, self.part_size, self.part_size), boxes.dtype)
        if offsets is not None:
            moves = widen(offsets) * boxes.dtype.type(self.trans_std)
        part = np.arange(self.group_size) * self.part_size // self.group_size
        moves = moves[:, :, part[:, np.newaxis], part]
        images = self._images(boxes, len(data)) if output.size and data.size else []
        if images:
            output[: len(images)] = self._pool(wide, boxes[: len(images)], moves[: len(images)], np.array(images))
        return output

    def _pool(self, data: Array, boxes: Array, moves: Array, images: Array) -> Array:
        """The bins of all regions.

        Args:
            boxes: [regions, 5].
            moves: [regions, 2 * classes, group_size, group_size].
            images: The image of each region.
        """
        group, (height, width) = self.group_size, data.shape[2:]
        classes = moves.shape[1] // 2
        channels = self.output_dim // classes
        # One tall image with the planes of all bins stacked; a place holds the channels of a class.
        planes = data[:, : self.output_dim * group**2].reshape(len(data), classes, channels, group**2, height * width)
        places = np.empty((len(data) * classes * group**2 * height, width, channels), data.dtype)
        copy_channels(planes.transpose(0, 1, 3, 4, 2), places.reshape(len(data), classes, group**2, -1, channels))
        bins = np.arange(group**2).reshape(group, group, 1, 1)
        result = np.empty((len(boxes), classes, group, group, channels), data.dtype)
        # The number of regions for which the four neighbors of all points fit into the cache.
        points = classes * group**2 * self.spatial_bins_y * self.spatial_bins_x
        step = max(thresholds.CHUNK_ELEMENTS // (points * channels), 1)
        for start in range(0, len(boxes), step):
            check_time()
            some = slice(start, start + step)
            y, x = self._points(boxes[some], moves[some].reshape(-1, classes, 2, group, group))
            counted = (y >= -0.5) & (y <= height - 0.5) & (x >= -0.5) & (x <= width - 0.5)
            down, across = (
                read_between(np.clip(np.where(counted, coordinate, 0), 0, size - 1))
                for coordinate, size in ((y, height), (x, width))
            )
            planes_of = (images[some, np.newaxis] * classes + np.arange(classes)).reshape(-1, classes, 1, 1, 1, 1)
            first = (planes_of * group**2 + bins) * height
            down = down._replace(low=first + down.low, high=first + down.high)
            lines = [Line(*(coordinate.ravel() for coordinate in line)) for line in (down, across)]
            values = sample_points(places, *lines).reshape(*counted.shape, channels)
            values[~counted] = 0
            total = values.reshape(*counted.shape[:4], -1, channels).sum(axis=4)
            result[some] = total / np.maximum(counted.sum(axis=(4, 5)), 1)[..., np.newaxis]
        return result.transpose(0, 1, 4, 2, 3).reshape(len(boxes), self.output_dim, group, group)

    def _points(self, boxes: Array, moves: Array) -> tuple[Array, Array]:
        """y and x of the points, [regions, classes, group_size, group_size, spatial_bins_y, spatial_bins_x].

        Args:
            moves: [regions, classes, 2, group_size, group_size].
        """
        number = boxes.dtype.type
        scale, half = number(self.spatial_scale), number(0.5)
        corners = _round(boxes[:, 1:]).astype(boxes.dtype)
        firsts, ends = corners[:, :2] * scale - half, (corners[:, 2:] + 1) * scale - half
        extents = np.maximum(ends - firsts, number(0.1))
        places = []
        for axis, parts in ((1, self.spatial_bins_y), (0, self.spatial_bins_x)):
            extent = extents[:, axis, np.newaxis]
            size = extent / number(self.group_size)
            grid = np.arange(self.group_size, dtype=boxes.dtype) * size + firsts[:, axis, np.newaxis]
            grid = grid[:, np.newaxis, :, np.newaxis] if axis else grid[:, np.newaxis, np.newaxis]
            begins = grid + moves[:, :, axis] * extent[..., np.newaxis, np.newaxis]
            steps = np.arange(parts, dtype=boxes.dtype) * (size / number(parts))
            places.append(begins[..., np.newaxis] + steps[:, np.newaxis, np.newaxis, np.newaxis])
        y, x = np.broadcast_arrays(places[0][..., np.newaxis], places[1][..., np.newaxis, :])
        return y, x


def _round(values: Array) -> Array:
    """Rounded to integers, halves away from zero, and clipped to -_FAR .. _FAR; 0 for NaN."""
    exact = np.clip(values.astype(np.float64), -_FAR, _FAR)
    # np.nan_to_num takes 20 us longer for few values.
    exact[np.isnan(exact)] = 0
    return np.trunc(exact + np.copysign(0.5, exact))


def _bins(firsts: Array, extents: Array, count: int, size: int, dtype: np.dtype[Any]) -> Array:
    """Begin and end of each of `count` bins of every region, clipped to the axis; bins may share elements.

    Args:
        firsts: The start of each region.
        extents: The extent of each region.

    Returns:
        [regions, count, 2] i64.
    """
    bin_sizes = extents.astype(dtype) / dtype.type(count)
    edges = np.arange(count + 1, dtype=dtype) * bin_sizes[:, np.newaxis]
    begins = firsts.astype(dtype)[:, np.newaxis]
    limits = np.stack([np.floor(edges[:, :-1] + begins), np.ceil(edges[:, 1:] + begins)], 2)
    return np.asarray(np.clip(limits, 0, size).astype(np.int64))


def _sizes(bins: Array) -> Array:
    """The number of rows, or columns, of each bin."""
    return np.asarray(np.maximum(bins[..., 1] - bins[..., 0], 0))


def _are_empty(bins: Array) -> Array:
    return np.asarray(bins[..., 0] >= bins[..., 1])
