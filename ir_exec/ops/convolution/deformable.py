"""DeformableConvolution: convolution with windows whose elements are moved by learned offsets."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.gemm.product import matrix_product
from ir_exec.kernels.gemm.sharing import share_products
from ir_exec.kernels.parallel import Worker
from ir_exec.kernels.precision import CALCULABLE, round_to, widen
from ir_exec.kernels.resample import copy_channels
from ir_exec.kernels.windows import Scratch, SlidingAxis, block_sizes, blocks
from ir_exec.ops.base import In, op
from ir_exec.ops.base.attributes import Bool, Positive
from ir_exec.ops.base.dims import element_type_of
from ir_exec.ops.base.facts import SAMPLED
from ir_exec.ops.base.inputs import ImagePixels
from ir_exec.ops.base.shapes import merge_dims, require_rank
from ir_exec.ops.convolution.convolution import Convolving
from ir_exec.tuning import thresholds
from ir_exec.tuning.machine import machine
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["DeformableConvolution1", "DeformableConvolution8"]


class _Deformable(Convolving):
    """output[b, o, i] = sum over c and k of sample[b, c, k, i] * filters[o, c, k].

    sample[b, c, k, i] is data[b, c] at `i * stride + k * dilation - pad + offset`. The offset of element k of window i
    is offsets[b, 2 * k] along the height and offsets[b, 2 * k + 1] along the width; k counts through the kernel row by
    row, after all elements of the preceding groups.

    A sample between four elements of the data is interpolated bilinearly; one outside of the data is 0. In the
    specification, a sample less than one element outside counts as on the border; in OpenVINO, and here, this holds
    only after the last element of an axis.

    Inputs:
        data: [batch, channels, height, width], any numeric type.
        offsets: [batch, 2 * deformable_group * kernel, windows...], any numeric type.
        filters: [outputs, channels / group, kernel...], the type of data.

    Attributes:
        group: The number of channel groups with separate filters, 1 by default.
        deformable_group: The number of channel groups with separate offsets, 1 by default.

    Outputs:
        output: [batch, outputs, windows...], the type of data.

    Raises:
        IRError: IR501 for ranks other than 4, IR502 for dims that do not match each other or the groups, IR505 as
            Convolution.
    """

    accuracy = SAMPLED

    group: Positive = 1
    deformable_group: Positive = 1

    @property
    def _beyond(self) -> bool:
        """Return True if a sample less than one element outside of the data is interpolated with surrounding zeros."""
        return False

    def _infer(self, data: TensorType, offsets: TensorType, filters: TensorType, mask: TensorType | None) -> TensorType:
        for name, operand in (("data", data), ("offsets", offsets), ("filters", filters), ("mask", mask)):
            if operand is not None:
                require_rank(operand, 4, name)
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
        axes = self.sliding(data.shape[2:], filters.shape[2:])
        (batch, channels), outputs = data.shape[:2], len(filters)
        counts = [axis.count for axis in axes]
        elements, parts = prod([axis.kernel for axis in axes]), self.deformable_group
        images = _with_nothing(_calculable(data).reshape(batch, parts, channels // parts, -1))
        shifts = _calculable(offsets).reshape(batch, parts, elements, 2, *counts)
        scales = None if mask is None else _calculable(mask).reshape(batch, parts, elements, *counts)
        kernels = _calculable(filters).reshape(self.group, outputs // self.group, channels // self.group, elements)
        result = np.empty((batch, self.group, outputs // self.group, *counts), images.dtype)
        columns = kernels.transpose(0, 3, 2, 1).reshape(self.group, -1, outputs // self.group)
        # If the products with all elements of the kernel are computed first, a window is one sum of rows of these.
        products = images.size // max(channels, 1) * elements * outputs
        first = self.group == 1 and products <= thresholds.WORKING_ELEMENTS // 4 and parts * outputs <= 2 * channels
        if first:
            factors = kernels.reshape(outputs, parts, -1, elements).transpose(1, 2, 3, 0)
            products_of = matrix_product(images, factors.reshape(parts, -1, elements * outputs))
        each = parts * outputs if first else channels
        sizes = block_sizes(counts, thresholds.INTERMEDIATE_ELEMENTS // max(each * elements, 1))
        chunks = [(b, block) for b in range(batch) for block in blocks(counts, sizes)]

        def make_worker() -> Worker:
            scratch = Scratch(images.dtype)

            def work(number: int) -> None:
                b, block = chunks[number]
                chosen: tuple[Any, ...] = (..., *block)
                windows = prod([some.stop - some.start for some in block])
                sums: Any = 0
                samples = scratch.array((0 if first else windows * elements, parts, channels // parts))
                for part in range(parts):
                    places = _places(axes, block, shifts[b, part][chosen])
                    scale = None if scales is None else scales[b, part][chosen].reshape(elements, -1).T.ravel()
                    points, weights = _neighbors(data.shape[2:], places, scale, self._beyond, images.dtype)
                    if first:
                        points = points.reshape(windows, elements, 4) * elements + np.arange(elements)[:, np.newaxis]
                        rows = products_of[b, part].reshape(-1, outputs)
                        sums = sums + _sum_weighted(rows, points.reshape(windows, -1), weights.reshape(windows, -1))
                    else:
                        samples[:, part] = _sum_weighted(images[b, part], points, weights)
                if not first:
                    rows = samples.reshape(windows, elements, self.group, -1).transpose(2, 0, 1, 3)
                    sums = matrix_product(rows.reshape(self.group, windows, columns.shape[1]), columns)
                result[b][chosen] = sums.swapaxes(-1, -2).reshape(result[b][chosen].shape)

            return work

        nanoseconds = result.size * columns.shape[1] / machine().multiplications_a_nanosecond
        nanoseconds += batch * prod(counts) * elements * channels * 4 * thresholds.NEAR_ELEMENT_NANOSECONDS
        share_products(len(chunks), make_worker, nanoseconds=nanoseconds)
        return round_to(result.reshape(batch, outputs, *counts), data.dtype)


@op("DeformableConvolution", since=1)
class DeformableConvolution1(_Deformable):
    """A convolution of windows whose elements are moved by offsets.

    Specification: convolution/deformable-convolution-1.
    """

    inputs = (
        In("data", types=CALCULABLE, domain=ImagePixels()),
        In("offsets", types=CALCULABLE),
        In("filters", types=CALCULABLE, like="data"),
    )
    term_inputs = ("data", "filters")

    def infer(self, data: TensorType, offsets: TensorType, filters: TensorType) -> TensorType:
        return self._infer(data, offsets, filters, None)

    def evaluate(self, data: Array, offsets: Array, filters: Array) -> Array:
        return self._evaluate(data, offsets, filters, None)


@op("DeformableConvolution", since=8)
class DeformableConvolution8(_Deformable):
    """A convolution of windows whose elements are moved by offsets and multiplied by a mask.

    Specification: convolution/deformable-convolution-8.

    Inputs:
        mask: Optional, [batch, deformable_group * kernel, windows...], any numeric type: the factor of element k of
            window i.

    Attributes:
        bilinear_interpolation_pad: A sample less than one element outside of the data is interpolated with surrounding
            zeros; false by default.
    """

    inputs = (
        In("data", types=CALCULABLE, domain=ImagePixels()),
        In("offsets", types=CALCULABLE),
        In("filters", types=CALCULABLE, like="data"),
        In("mask", types=CALCULABLE, optional=True),
    )
    term_inputs = ("data", "filters", "mask")
    is_discontinuous = True

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
    """The array in a float type: samples between integers are fractions."""
    return array.astype(np.float64) if ElementType.of(array).is_integer else widen(array)


def _require_divisible(dim: Dim, groups: int, what: str, port: str | None = None) -> None:
    if dim.is_bounded and dim.ceil_div(groups).lo > (dim // groups).hi:
        raise ShapeError(f"the {dim} {what} are not a multiple of {groups} groups", code=Code.dims_differ, port=port)


def _with_nothing(images: Array) -> Array:
    """Images [..., channels, places] as [..., places + 1, channels]; the last place holds zeros."""
    *others, channels, places = images.shape
    rows = np.empty((*others, places + 1, channels), images.dtype)
    copy_channels(images.swapaxes(-1, -2), rows[..., :places, :])
    rows[..., places, :] = 0
    return rows


def _places(axes: list[SlidingAxis], block: tuple[slice, ...], shifts: Array) -> tuple[Array, Array]:
    """The positions of the elements of a block of windows along height and width: two vectors, window by window.

    Args:
        shifts: [kernel, axis, windows...].
    """
    shape: tuple[Any, ...] = (*[axis.kernel for axis in axes], *shifts.shape[2:])
    positions = []
    for i, (axis, windows) in enumerate(zip(axes, block, strict=True)):
        starts = np.arange(windows.start, windows.stop) * axis.stride - axis.pad
        regular = starts + np.arange(axis.kernel)[:, np.newaxis] * axis.dilation
        regular = np.expand_dims(regular, (1, 3) if i == 0 else (0, 2))
        places = shifts[:, i].reshape(shape) + regular.astype(shifts.dtype)
        positions.append(places.reshape(len(shifts), -1).T.ravel())
    return positions[0], positions[1]


def _neighbors(
    sizes: tuple[int, ...], places: tuple[Array, Array], scale: Array | None, beyond: bool, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """The four elements next to places (two vectors) in an image, and weights: [places, 4].

    Outside of the image the index is that of the element after the last one.

    Args:
        sizes: Height and width.
        scale: A factor for each place.
        beyond: A place less than one element outside of the image is interpolated with surrounding zeros; otherwise it
            counts as outside, and the last element extends to the end of its pixel.
    """
    end, inside = prod(sizes), np.ones(places[0].shape, np.bool_)
    for position, size in zip(places, sizes, strict=True):
        inside &= position > -1 if beyond else position >= 0
        inside &= position < size
    neighbors = []
    for position, size, stride in zip(places, sizes, (sizes[1], 1), strict=True):
        safe = np.where(inside, position, position.dtype.type(0))
        below = np.floor(safe)
        share, low = safe - below, below.astype(np.int64)
        high = low + 1
        if beyond:
            low[low < 0] = high[high == size] = end
        else:
            np.minimum(high, size - 1, out=high)
        neighbors.append([(low * stride, 1 - share), (high * stride, share)])
    points, weights = np.empty((len(inside), 4), np.int64), np.empty((len(inside), 4), dtype)
    for number, ((y, share_y), (x, share_x)) in enumerate(product(*neighbors)):
        np.add(y, x, out=points[:, number])
        np.multiply(share_y, share_x, out=weights[:, number])
    points[~inside] = end
    if scale is not None:
        weights *= scale[:, np.newaxis]
    return np.minimum(points, end, out=points), weights


def _sum_weighted(rows: Array, points: Array, weights: Array) -> Array:
    """The sums of the weighted rows [n, columns] of each place: [places, columns].

    Args:
        points: The rows of each place, [places, each].
        weights: The weights of these rows, [places, each].
    """
    # A product of a row and some rows for each place is 1.5x faster than multiplications and sums of all places.
    sums: Array = np.matmul(weights[:, np.newaxis], rows.take(points, axis=0, mode="clip"))
    return sums[:, 0]
