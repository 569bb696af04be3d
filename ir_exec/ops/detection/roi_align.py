"""ROIAlign: regions of interest (ROIs), which are boxes in images, pooled to one size by bilinear interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ir_exec.errors import EvaluationError
from ir_exec.kernels.indices import as_integers
from ir_exec.kernels.limits import check_time, require_temporary
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.precision import CALCULABLE_FLOAT, widen
from ir_exec.kernels.resample import channels_last, read_between, sample_points
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Bool, Float, NonNegative, Positive
from ir_exec.ops.base.dims import dims_of, images_of
from ir_exec.ops.base.facts import SAMPLED
from ir_exec.ops.base.graph_facts import OlderVersion
from ir_exec.ops.base.inputs import AxisIndices, BoxCorners
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import INTEGER, Array, Dim, Shape, TensorType

__all__ = ["ROIAlign3", "ROIAlign9", "ROIAlignRotated"]

MOST_SAMPLES = 2**22
"""Maximum number of samples of a region: a larger size is a mistake and would waste memory."""

FEW_SAMPLES = 16
"""Maximum number of sampling points of a bin for reading all points of many boxes at once.

For more points, one axis after the other reads fewer elements.
"""


class _Align(Op):
    """The base of ROIAlign and ROIAlignRotated.

    Points more than one element outside the image count as zero. Everything is computed in f32 (f64 for f64).

    Inputs:
        data: [N, C, H, W], floats.
        rois: [NUM_ROIS, numbers of a box], the type of data.
        batch_indices: [NUM_ROIS], the index of the image of each box.

    Outputs:
        output: [NUM_ROIS, C, pooled_h, pooled_w], the type of data. A box is divided into pooled_h x pooled_w bins.
            Each bin has `sampling_ratio` x `sampling_ratio` sampling points; if that is 0, as many as it has elements,
            rounded up.

    Raises:
        IRError: IR701 for a batch index out of range, where OpenVINO's CPU plugin leaves the output unchanged; IR704
            for a box with more than 2^22 sampling points.
    """

    accuracy = SAMPLED

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("rois", types=CALCULABLE_FLOAT, like="data"),
        In("batch_indices", types=INTEGER, domain=AxisIndices()),
    )
    term_inputs = ("data",)

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
        element_type = data.element_type if data.element_type.is_known else rois.element_type
        return TensorType(element_type, Shape([count, dims_of(data, 4)[1], self.pooled_h, self.pooled_w]))

    def evaluate(self, data: Array, rois: Array, batch_indices: Array) -> Array:
        images = images_of(as_integers(batch_indices), len(data), "batch_indices")
        output = np.zeros((len(rois), data.shape[1], self.pooled_h, self.pooled_w), data.dtype)
        if output.size and data.size:
            self._pool_all(channels_last(widen(data)), widen(rois), np.array(images), output)
        return output

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The sampling points of a bin."""
        boxes = widen(inputs[1])
        sizes = self._extents(boxes) / np.array([self.pooled_h, self.pooled_w], boxes.dtype)
        return int(np.maximum(self._counts(sizes).prod(axis=-1), 1).max(initial=1))

    def _extents(self, boxes: Array) -> Array:
        """Height and width of each box, in elements of the image: [boxes, 2]."""
        raise NotImplementedError

    def _pool_all(self, data: Array, boxes: Array, images: Array, output: Array) -> None:
        """Pool every box in its image of data [N, H, W, C], into the output."""
        for index, image in enumerate(images):
            check_time()
            output[index] = self._pool(data[image], boxes[index]).transpose(2, 0, 1)

    def _pool(self, image: Array, box: Array) -> Array:
        """One region of an image [H, W, C], pooled: [pooled_h, pooled_w, C]."""
        raise NotImplementedError

    def _places(self, begin: Array, extent: Array) -> tuple[Array, Array]:
        """The sampling points of a box that begins at (y, x): y and x, each [bins, samples of a bin]."""
        bins = (self.pooled_h, self.pooled_w)
        sizes = extent / np.array(bins, extent.dtype)
        counts = self._counts(sizes).tolist()
        if prod(max(count, 1) for count in counts) * prod(bins) > MOST_SAMPLES:
            raise EvaluationError(
                "a region has",
                actual=f"{counts[0]} x {counts[1]}",
                detail="sampling points per bin",
                expected=f"at most {MOST_SAMPLES}",
                port="rois",
            )
        height, width = (
            first
            + np.arange(bin_count, dtype=size.dtype)[:, np.newaxis] * size
            + (size / size.dtype.type(max(count, 1))) * (np.arange(count, dtype=size.dtype) + size.dtype.type(0.5))
            for first, size, bin_count, count in zip(begin, sizes, bins, counts, strict=True)
        )
        return height, width

    def _counts(self, sizes: Array) -> Array:
        """The sampling points along bins of these sizes."""
        if self.sampling_ratio:
            return np.full(sizes.shape, self.sampling_ratio)
        # A bin whose size is NaN has no sampling points, like one of a negative size.
        return np.asarray(np.clip(np.nan_to_num(np.ceil(sizes), nan=0), 0, MOST_SAMPLES).astype(np.int64))


class _ROIAlign(_Align):
    """The base of both versions of ROIAlign.

    Points are interpolated between four elements; points beyond the last element, and up to one element before the
    first, count as on it. A bin is the mean of its points, or the greatest of them and zero, as in OpenVINO; the
    specification has no zero.

    Inputs:
        rois: x1, y1, x2, y2.
    """

    inputs = (
        _Align.inputs[0],
        _Align.inputs[1]._replace(domain=BoxCorners(scale="spatial_scale")),
        _Align.inputs[2],
    )

    is_discontinuous = True

    mode: Annotated[Literal["avg", "max"], LOWER]

    def infer(self, data: TensorType, rois: TensorType, batch_indices: TensorType) -> TensorType:
        return self._infer(data, rois, batch_indices, 4)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return 1 if self.mode == "max" else super().count_terms(inputs)

    def _extents(self, boxes: Array) -> Array:
        return self._box(boxes)[1]

    def _box(self, box: Array) -> tuple[Array, Array]:
        """The first corner (y, x), and height and width, in elements of the image, of one box or of several."""
        raise NotImplementedError

    def _pool_all(self, data: Array, boxes: Array, images: Array, output: Array) -> None:
        begins, extents = self._box(boxes)
        counts = self._counts(extents / np.array([self.pooled_h, self.pooled_w], extents.dtype))
        is_few = (counts.prod(axis=1) <= FEW_SAMPLES) & (counts.min(axis=1) > 0)
        few, many = np.flatnonzero(is_few), np.flatnonzero(~is_few)
        if many.size:
            pooled = np.empty((many.size, *output.shape[1:]), output.dtype)
            super()._pool_all(data, boxes[many], images[many], pooled)
            output[many] = pooled
        # Both counts as one number: np.unique is ten times slower for rows.
        alike = counts[few] @ np.array([FEW_SAMPLES + 1, 1])
        for number in np.unique(alike).tolist():
            some = few[alike == number]
            count = list(divmod(number, FEW_SAMPLES + 1))
            self._pool_alike(data, begins[some], extents[some], images[some], count, output, some)

    def _pool_alike(
        self,
        data: Array,
        begins: Array,
        extents: Array,
        images: Array,
        counts: list[int],
        output: Array,
        numbers: Array,
    ) -> None:
        """Pool boxes with equal counts of sampling points, many at a time; `numbers` are places in the output."""
        height, width, channels = data.shape[1:]
        elements = data.reshape(-1, channels)
        (row, row_weight), (column, column_weight) = (
            _taps_of_all(begins[:, axis], extents[:, axis], bins, counts[axis], size)
            for axis, (bins, size) in enumerate(((self.pooled_h, height), (self.pooled_w, width)))
        )
        row += images[:, np.newaxis] * height
        samples = counts[0] * counts[1]
        each = 4 * samples * self.pooled_h * self.pooled_w * channels
        # Places and weights of four elements of each sampling point, of all boxes and twice while they are reordered.
        points = 4 * samples * self.pooled_h * self.pooled_w * len(numbers)
        require_temporary(2 * points * (row.itemsize + row_weight.itemsize), data.nbytes + output.nbytes)
        places = _of_taps(row * width, column, np.add)
        weights = _of_taps(row_weight, column_weight, np.multiply)
        as_products = self.mode == "avg" and channels >= thresholds.FEW_LINES
        if as_products:
            places, weights = (np.ascontiguousarray(np.moveaxis(array, 0, -1)) for array in (places, weights))

        def mean(some: slice) -> Array:
            """For every bin, the product of its weights, a row, and its elements, a matrix."""
            read = elements.take(places[some], axis=0, mode="clip")
            return np.asarray(np.matmul(weights[some, :, np.newaxis], read) / samples)

        def pool_taps(some: slice) -> Array:
            read = elements.take(places[:, some], axis=0, mode="clip")
            read *= weights[:, some, :, np.newaxis]
            if self.mode == "avg":
                return np.asarray(np.add.reduce(read, axis=0) / samples)
            points = np.add.reduce(read.reshape(samples, 4, -1), axis=1)
            return np.asarray(np.maximum.reduce(points, axis=0, initial=0))

        def pool(start: int, stop: int) -> None:
            some = slice(start, stop)
            pooled_bins = mean(some) if as_products else pool_taps(some)
            output[numbers[some]] = pooled_bins.reshape(-1, self.pooled_h, self.pooled_w, channels).transpose(
                0, 3, 1, 2
            )

        at_once = max(thresholds.CHUNK_ELEMENTS // each, 1)
        for_ranges(len(numbers), at_once, pool, nanoseconds=len(numbers) * each * thresholds.ELEMENT_NANOSECONDS)

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
                line = _interpolate(image, row, 0)
                for column in columns:
                    np.maximum(pooled, _interpolate(line, column, 1), out=pooled)
            return pooled
        # The mean is separable: one axis after the other.
        line = _interpolate(image, rows[0], 0)
        for row in rows[1:]:
            line += _interpolate(image, row, 0)
        for column in columns:
            pooled += _interpolate(line, column, 1)
        return pooled / (len(rows) * len(columns))


def _taps_of_all(begins: Array, extents: Array, bins: int, count: int, size: int) -> tuple[Array, Array]:
    """Indices and weights along one axis of two elements for each sampling point of every box.

    Args:
        begins: The start of each box.
        extents: The extent of each box.

    Returns:
        Two arrays [count, 2, boxes, bins], of the lower element and of the higher one; positions outside have weight 0.
    """
    number = extents.dtype.type
    each = extents / number(bins)
    first = begins[:, np.newaxis] + np.arange(bins, dtype=extents.dtype) * each[:, np.newaxis]
    shares = np.arange(count, dtype=extents.dtype) + number(0.5)
    positions = first + (each / number(count))[:, np.newaxis] * shares[:, np.newaxis, np.newaxis]
    within = (positions >= -1) & (positions <= size)
    line = read_between(np.clip(np.where(within, positions, 0), 0, size - 1))
    elements = np.empty((count, 2, *first.shape), np.int64)
    elements[:, 0], elements[:, 1] = line.low, line.high
    weights = np.empty(elements.shape, line.share.dtype)
    weights[:, 0], weights[:, 1] = (1 - line.share) * within, line.share * within
    return elements, weights


def _of_taps(down: Array, across: Array, combine: np.ufunc) -> Array:
    """`_taps_of_all` of both axes combined: [sampling points * 4, boxes, bins].

    The bins down and across are always one axis, since calls over short axes are slow.
    """
    boxes, bins_down, bins_across = down.shape[2], down.shape[3], across.shape[3]
    rows, columns = np.divmod(np.arange(bins_down * bins_across), bins_across)
    vertical, horizontal = down.take(rows, axis=3), across.take(columns, axis=3)
    sampled = np.asarray(combine(vertical[:, np.newaxis, :, np.newaxis], horizontal[:, np.newaxis]))
    return sampled.reshape(-1, boxes, bins_down * bins_across)


class _Taps(NamedTuple):
    """One sampling point of every bin along an axis: the indices of two elements and their weights."""

    low: Array
    high: Array
    low_weight: Array
    high_weight: Array


def _tap_lists(positions: Array, size: int) -> tuple[slice, list[_Taps]]:
    """Taps for positions [bins, samples] on an axis of this size, one for each sample; positions outside have weight 0.

    The slice is the range of the axis that is read; the indices of the taps count from its beginning. There are no taps
    if every position is outside.
    """
    within = (positions >= -1) & (positions <= size)
    if not within.any():
        return slice(0), []
    line = read_between(np.clip(np.where(within, positions, positions[within][0]), 0, size - 1))
    first = int(line.low.min())
    low, high = line.low - first, line.high - first
    low_weight, high_weight = (1 - line.share) * within, line.share * within
    taps = [_Taps(low[:, i], high[:, i], low_weight[:, i], high_weight[:, i]) for i in range(positions.shape[1])]
    return slice(first, first + int(high.max()) + 1), taps


def _interpolate(image: Array, taps: _Taps, axis: int) -> Array:
    """An image [H, W, C] interpolated at one sampling point of every bin along axis 0 or 1."""
    shape = (-1, 1, 1) if axis == 0 else (-1, 1)
    read: Array = np.take(image, taps.low, axis) * taps.low_weight.reshape(shape)
    read += np.take(image, taps.high, axis) * taps.high_weight.reshape(shape)
    return read


@op("ROIAlign", since=3)
class ROIAlign3(_ROIAlign):
    """Regions of interest pooled to one size; see `_Align` and `_ROIAlign`.

    The corners of a box are multiplied by `spatial_scale`; it is at least one element high and wide.
    Specification: detection/roi-align-3.
    """

    def _box(self, box: Array) -> tuple[Array, Array]:
        corners = box * box.dtype.type(self.spatial_scale)
        begin = corners[..., 1::-1]
        return begin, np.maximum(corners[..., :1:-1] - begin, 1)


@op("ROIAlign", since=9)
class ROIAlign9(ROIAlign3):
    """Regions of interest pooled to one size; see `_Align` and `_ROIAlign`.

    The `aligned_mode` asymmetric is ROIAlign-3. With half_pixel_for_nn corners are moved by -0.5 after they are
    multiplied by `spatial_scale`, with half_pixel also by 0.5 before, and boxes may be of any size. A box of size 0
    gives 0 if `sampling_ratio` is 0; the mean of OpenVINO's CPU plugin is then NaN. Specification:
    detection/roi-align-9.
    """

    older = OlderVersion(3, without=(("aligned_mode", ("asymmetric",)),))

    aligned_mode: Annotated[Literal["asymmetric", "half_pixel_for_nn", "half_pixel"], LOWER] = "asymmetric"

    def _box(self, box: Array) -> tuple[Array, Array]:
        if self.aligned_mode == "asymmetric":
            return super()._box(box)
        number = box.dtype.type
        source = number(0.5 if self.aligned_mode == "half_pixel" else 0)
        corners = (box + source) * number(self.spatial_scale) - number(0.5)
        begin = corners[..., 1::-1]
        return begin, corners[..., :1:-1] - begin


@op("ROIAlignRotated", since=15)
class ROIAlignRotated(_Align):
    """Rotated regions of interest pooled to one size; see `_Align`.

    Center and size are multiplied by `spatial_scale`, the center is then moved by -0.5; the box is rotated
    counterclockwise, or clockwise with `clockwise_mode`. Points are interpolated as in ROIAlign; a bin is the mean of
    its points.

    Specification: detection/roi-align-rotated-15.

    Inputs:
        rois: x and y of the center, width, height, angle in radians.
    """

    is_discontinuous = True

    clockwise_mode: Bool = False

    def infer(self, data: TensorType, rois: TensorType, batch_indices: TensorType) -> TensorType:
        return self._infer(data, rois, batch_indices, 5)

    def _extents(self, boxes: Array) -> Array:
        return np.asarray(boxes[:, 3:1:-1] * boxes.dtype.type(self.spatial_scale))

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
        step = max(thresholds.WINDOW_ELEMENTS // max(y.size, 1), 1)
        for channel in range(0, image.shape[2], step):
            values = sample_points(image[..., channel : channel + step], *lines)
            values[outside.ravel()] = 0
            sums = values.reshape(*y.shape, -1).sum(axis=(1, 3))
            pooled[..., channel : channel + step] = sums / max(down.shape[1] * across.shape[1], 1)
        return pooled
