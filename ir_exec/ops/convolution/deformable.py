"""DeformableConvolution: convolution with windows whose elements are moved by learned offsets."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels import costs
from ir_exec.kernels.limits import check_time
from ir_exec.kernels.precision import CALCULABLE, rounded, widened
from ir_exec.kernels.products import matrix_product
from ir_exec.kernels.windows import Scratch, SlidingAxis, block_sizes, blocks
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import Bool, Positive
from ir_exec.ops.base.named_dims import element_type_of
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["DeformableConvolution1", "DeformableConvolution8"]


class _Deformable(Convolving):
    """output[b, o, i] = sum over c and k of sample[b, c, k, i] * filters[o, c, k].

    sample[b, c, k, i] is data[b, c] at `i * stride + k * dilation - pad + offset`. The offset of element k of window i
    is offsets[b, 2 * k] along the height and offsets[b, 2 * k + 1] along the width; k counts through the kernel row by
    row, behind all elements of the groups before. group: into how many groups with filters of their own the channels
    are divided. deformable_group: into how many groups with offsets of their own. Both are 1 by default.

    A sample between four elements of the data is interpolated bilinearly; one outside of the data is 0. By the
    specification, one less than an element outside counts as on the border; in OpenVINO, and here, that is so behind
    the last element of an axis alone.

    data: [batch, channels, height, width], any numeric type. offsets: [batch, 2 * deformable_group * kernel,
    windows...], any numeric type. filters: [outputs, channels / group, kernel...], the type of data. output: [batch,
    outputs, windows...], the type of data.
    Errors: IR501 for ranks other than 4, IR502 for dims that do not fit each other or the groups, IR505 as
    Convolution.
    """

    group: Positive = 1
    deformable_group: Positive = 1

    @property
    def _beyond(self) -> bool:
        """Whether a sample less than an element outside of the data is interpolated with zeros around it."""
        return False

    def _infer(self, data: TensorType, offsets: TensorType, filters: TensorType, mask: TensorType | None) -> TensorType:
        for name, given in (("data", data), ("offsets", offsets), ("filters", filters), ("mask", mask)):
            if given is not None:
                require_rank(given, 4, name)
        if all(tensor.rank is None for tensor in (data, offsets, filters)):
            return TensorType(element_type_of((data, filters)), Shape.unknown())
        batch, channels, *sizes = data.shape if data.shape.dims is not None else Shape.of_rank(4)
        outputs, each, *kernel = filters.shape if filters.shape.dims is not None else Shape.of_rank(4)
        for name, dim in (("channels of data", channels), ("outputs of filters", outputs)):
            _require_divisible(dim, self.group, name)
        merge_dims(channels, each * self.group, "the channels of data and those of filters in all groups")
        counts = self._counts(sizes, kernel)
        elements = kernel[0] * kernel[1] * self.deformable_group
        for name, tensor, numbers in (("offsets", offsets, 2), ("mask", mask, 1)):
            if tensor is None or tensor.shape.dims is None:
                continue
            batch = merge_dims(batch, tensor.shape[0], f"the batches of data and {name}", port=name)
            _require_divisible(tensor.shape[1], self.deformable_group, f"channels of {name}", name)
            merge_dims(
                tensor.shape[1], elements * numbers, f"the channels of {name} and the elements of windows", port=name
            )
            for i, (dim, count) in enumerate(zip(tensor.shape[2:], counts, strict=True)):
                merge_dims(dim, count, f"axis {i + 2} of {name} and the output", port=name)
        return self._output(data, filters, outputs, counts).with_shape(Shape([batch, outputs, *counts]))

    def _evaluate(self, data: Array, offsets: Array, filters: Array, mask: Array | None) -> Array:
        axes = self._sliding(data.shape[2:], filters.shape[2:])
        batch, channels = data.shape[:2]
        kernel, counts = [axis.kernel for axis in axes], [axis.count for axis in axes]
        elements, parts = prod(kernel), self.deformable_group
        # The channels of a place are side by side.
        images = _calculable(data).reshape(batch, parts, channels // parts, *data.shape[2:])
        images = np.ascontiguousarray(images.transpose(0, 1, 3, 4, 2))
        shifts = _calculable(offsets).reshape(batch, parts, elements, 2, *counts)
        scales = None if mask is None else _calculable(mask).reshape(batch, parts, elements, *counts)
        rows = _calculable(filters).reshape(self.group, len(filters) // self.group, channels // self.group * elements)
        result = np.empty((batch, self.group, rows.shape[1], *counts), images.dtype)
        sizes = block_sizes(counts, costs.INTERMEDIATE_ELEMENTS // max(channels * elements, 1))
        scratch = Scratch(images.dtype)
        for b in range(batch):
            for block in blocks(counts, sizes):
                check_time()
                chosen: tuple[Any, ...] = (..., *block)
                windows = tuple([some.stop - some.start for some in block])
                columns = scratch.array((parts, channels // parts, *kernel, *windows))
                for part in range(parts):
                    places = _places(axes, block, shifts[b, part][chosen])
                    scale = None if scales is None else scales[b, part][chosen].reshape(*kernel, *windows)
                    _sample(images[b, part], places, scale, self._beyond, columns[part])
                products = matrix_product(rows, columns.reshape(self.group, rows.shape[2], prod(windows)))
                result[b][chosen] = products.reshape(*products.shape[:2], *windows)
        return rounded(result.reshape(batch, len(filters), *counts), data.dtype)


@op("DeformableConvolution", since=1)
class DeformableConvolution1(_Deformable):
    """A convolution of windows whose elements are moved by offsets.

    Specification: convolution/deformable-convolution-1.
    """

    inputs = (
        In("data", types=CALCULABLE),
        In("offsets", types=CALCULABLE),
        In("filters", types=CALCULABLE, like="data"),
    )

    def infer(self, data: TensorType, offsets: TensorType, filters: TensorType) -> TensorType:
        return self._infer(data, offsets, filters, None)

    def evaluate(self, data: Array, offsets: Array, filters: Array) -> Array:
        return self._evaluate(data, offsets, filters, None)


@op("DeformableConvolution", since=8)
class DeformableConvolution8(_Deformable):
    """A convolution of windows whose elements are moved by offsets and multiplied with a mask.

    mask: optional, [batch, deformable_group * kernel, windows...], any numeric type: the factor of element k of window
    i. bilinear_interpolation_pad: a sample less than an element outside of the data is interpolated with zeros around
    it; false by default.

    Specification: convolution/deformable-convolution-8.
    """

    inputs = (
        In("data", types=CALCULABLE),
        In("offsets", types=CALCULABLE),
        In("filters", types=CALCULABLE, like="data"),
        In("mask", types=CALCULABLE, optional=True),
    )
    jumps = True

    bilinear_interpolation_pad: Bool = False

    @property
    def _beyond(self) -> bool:
        return self.bilinear_interpolation_pad

    def infer(
        self, data: TensorType, offsets: TensorType, filters: TensorType, mask: TensorType | None = None
    ) -> TensorType:
        return self._infer(data, offsets, filters, mask)

    def evaluate(self, data: Array, offsets: Array, filters: Array, mask: Array | None = None) -> Array:
        return self._evaluate(data, offsets, filters, mask)


def _calculable(array: Array) -> Array:
    """The array in a float type: samples between integers are fractions too."""
    return array.astype(np.float64) if ElementType.of(array).is_integer else widened(array)


def _require_divisible(dim: Dim, groups: int, what: str, port: str | None = None) -> None:
    if dim.is_bounded and dim.ceil_div(groups).lo > (dim // groups).hi:
        raise ShapeError(f"the {dim} {what} are no multiple of {groups} groups", code=Code.dims_differ, port=port)


def _places(axes: list[SlidingAxis], block: tuple[slice, ...], shifts: Array) -> tuple[Array, Array]:
    """The positions of the elements of a block of windows along height and width: two arrays [kernel..., windows...].

    shifts: [kernel, axis, windows...].
    """
    shape: tuple[Any, ...] = (*[axis.kernel for axis in axes], *shifts.shape[2:])
    found = []
    for i, (axis, windows) in enumerate(zip(axes, block, strict=True)):
        starts = np.arange(windows.start, windows.stop) * axis.stride - axis.pad
        regular = starts + np.arange(axis.kernel)[:, np.newaxis] * axis.dilation
        regular = np.expand_dims(regular, (1, 3) if i == 0 else (0, 2))
        found.append(shifts[:, i].reshape(shape) + regular.astype(shifts.dtype))
    return found[0], found[1]


def _sample(image: Array, places: tuple[Array, Array], scale: Array | None, beyond: bool, out: Array) -> None:
    """Interpolate image [height, width, channels] at places, two arrays of one shape, into out [channels, shape...].

    beyond: whether a place less than one element outside of the image is interpolated with zeros around it; if not,
    it counts as outside, and the last element reaches to the end of its pixel. scale: a factor for each place.
    """
    height, width, channels = image.shape
    if not image.size:
        out[...] = 0
        return
    inside = np.ones(places[0].shape, np.bool_)
    for place, size in zip(places, (height, width), strict=True):
        inside &= (place > -1 if beyond else place >= 0) & (place < size)
    neighbours = []
    for place, size in zip(places, (height, width), strict=True):
        known = np.where(inside, place, place.dtype.type(0))
        below = np.floor(known)
        share, low = known - below, below.astype(np.int64)
        neighbours.append([(_Neighbour(low, size), 1 - share), (_Neighbour(low + 1, size), share)])
    flat = image.reshape(height * width, channels)
    total = np.zeros((inside.size, channels), image.dtype)
    values = np.empty_like(total)
    for y, share_y in neighbours[0]:
        for x, share_x in neighbours[1]:
            weight = (share_y * share_x).astype(image.dtype)
            if scale is not None:
                weight *= scale
            np.take(flat, (y.nearest * width + x.nearest).ravel(), axis=0, out=values, mode="clip")
            values *= weight.reshape(-1, 1)
            if beyond:
                values[~(y.exists & x.exists).ravel()] = 0
            total += values
    total[~inside.ravel()] = 0
    out[...] = total.T.reshape(out.shape)


class _Neighbour:
    """The elements of an axis on one side of places: the nearest one that there is, and whether it is the neighbour."""

    def __init__(self, places: Array, size: int) -> None:
        self.nearest = np.clip(places, 0, size - 1)
        self.exists = self.nearest == places
