"""Operators that move the elements of images between channels, batch, rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.precision import CALCULABLE, accumulator
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import LOWER, Int, NonNegatives, Positive, Positives, of_length
from ir_exec.ops.base.shapes import (
    divide_dim,
    ints,
    known_bounds,
    known_ints,
    merge_dims,
    merge_shapes,
    normalize_axis,
    require_least_rank,
    require_rank,
)
from ir_exec.ops.base.windowed import count_overlaps
from ir_exec.ops.movement.pad import pad_array
from ir_exec.types import INDEX, INTEGER, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "BatchToSpace",
    "Col2Im",
    "DepthToSpace",
    "ExtractImagePatches",
    "ShuffleChannels",
    "SpaceToBatch",
    "SpaceToDepth",
]

TWO = of_length(2, 2)


@op("ShuffleChannels", since=1)
class ShuffleChannels(Op):
    """Channels in the order of a transposed matrix, whose `group` rows hold them in their original order.

    Specification: movement/shuffle-channels-1.

    Inputs:
        data: Rank 1 or more, any type; its size along `axis` (1 by default) is a multiple of `group` (1 by default).

    Outputs:
        output: Like data.

    Raises:
        IRError: IR503 for an axis that data does not have, IR505 for a size that is not a multiple of group.
    """

    inputs = (In("data"),)
    changes_order = True
    increasing_in = ("data",)
    is_data_movement = True

    axis: Int = 1
    group: Positive = 1

    def infer(self, data: TensorType) -> TensorType:
        if data.shape.dims is not None:
            axis = normalize_axis(self.axis, len(data.shape))
            divide_dim(data.shape[axis], self.group, f"axis {axis} of data", port="data")
        return data.without_values()

    def evaluate(self, data: Array) -> Array:
        axis = self.axis % data.ndim
        size = data.shape[axis]
        split = data.reshape(*data.shape[:axis], self.group, size // self.group, *data.shape[axis + 1 :])
        return split.swapaxes(axis, axis + 1).copy().reshape(data.shape)


class _Depth(Op):
    """The base of DepthToSpace and SpaceToDepth.

    Inputs:
        data: [batch, depth, D1, ..., DK], any type, K spatial axes, at least one.

    Attributes:
        block_size: The size of a block along each spatial axis, by default 1.
        mode: The order of a block along the axis of depth. With `depth_first` the elements of one channel are adjacent,
            with `blocks_first` the elements of one position in the block.

    Raises:
        IRError: IR501 for a rank below 3.
    """

    inputs = (In("data"),)
    changes_order = True
    increasing_in = ("data",)
    is_data_movement = True

    block_size: Positive = 1
    mode: Annotated[Literal["blocks_first", "depth_first"], LOWER]

    def _require_image(self, data: TensorType) -> None:
        require_least_rank(data, 3, "data")


@op("DepthToSpace", since=1)
class DepthToSpace(_Depth):
    """Blocks moved from the axis of depth to the spatial axes.

    Specification: movement/depth-to-space-1.

    Outputs:
        output: [batch, depth / block_size ** K, D1 * block_size, ..., DK * block_size], the type of data.

    Raises:
        IRError: IR505 for a depth that is not a multiple of block_size ** K.
    """

    def infer(self, data: TensorType) -> TensorType:
        self._require_image(data)
        if data.shape.dims is None:
            return data.without_values()
        batch, depth, *space = data.shape
        depth = divide_dim(depth, self.block_size ** len(space), "the depth of data", port="data")
        return data.with_shape(Shape([batch, depth, *(dim * self.block_size for dim in space)]))

    def evaluate(self, data: Array) -> Array:
        batch, depth, *space = data.shape
        count = len(space)
        blocks = (self.block_size,) * count
        depth //= self.block_size**count
        if self.mode == "blocks_first":
            split = data.reshape(batch, *blocks, depth, *space)
            split = np.moveaxis(split, count + 1, 1)
        else:
            split = data.reshape(batch, depth, *blocks, *space)
        order = [axis for i in range(count) for axis in (2 + count + i, 2 + i)]
        return split.transpose(0, 1, *order).copy().reshape(batch, depth, *(size * self.block_size for size in space))


@op("SpaceToDepth", since=1)
class SpaceToDepth(_Depth):
    """Blocks moved from the spatial axes to the axis of depth.

    Specification: movement/space-to-depth-1.

    Outputs:
        output: [batch, depth * block_size ** K, D1 / block_size, ..., DK / block_size], the type of data.

    Raises:
        IRError: IR505 for a spatial size that is not a multiple of block_size.
    """

    def infer(self, data: TensorType) -> TensorType:
        self._require_image(data)
        if data.shape.dims is None:
            return data.without_values()
        batch, depth, *space = data.shape
        divided = [divide_dim(dim, self.block_size, f"axis {i} of data", port="data") for i, dim in enumerate(space, 2)]
        return data.with_shape(Shape([batch, depth * self.block_size ** len(space), *divided]))

    def evaluate(self, data: Array) -> Array:
        batch, depth, *space = data.shape
        count = len(space)
        space = [size // self.block_size for size in space]
        split = data.reshape(batch, depth, *(size for factor in space for size in (factor, self.block_size)))
        places, blocks = range(2, 2 + 2 * count, 2), range(3, 3 + 2 * count, 2)
        order = (*blocks, 1) if self.mode == "blocks_first" else (1, *blocks)
        depth *= self.block_size**count
        return split.transpose(0, *order, *places).copy().reshape(batch, depth, *space)


@op("BatchToSpace", since=2)
class BatchToSpace(Op):
    """Blocks moved from the batch axis to the spatial axes, whose ends are then cropped.

    Specification: movement/batch-to-space-2.

    Inputs:
        data: [batch, D1, D2, ...], rank 2 or more, any type.
        block_shape: A vector of integers, one for each axis of data, the first one 1.
        crops_begin: A vector of integers, one for each axis of data, the first one 0.
        crops_end: Like `crops_begin`.

    Outputs:
        output: [batch / product of block_shape, D1 * block_shape[1] - crops_begin[1] - crops_end[1], ...], the type of
            data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for numbers out of range, a batch that is not a multiple of the
            product, or crops larger than the axis. IR505 also for a first element of block_shape other than 1, or of
            crops other than 0, for which OpenVINO's outputs differ from the inferred shape.
    """

    inputs = (
        In("data"),
        In("block_shape", types=INTEGER),
        In("crops_begin", types=INTEGER, like="block_shape"),
        In("crops_end", types=INTEGER, like="block_shape"),
    )
    arranging_inputs = ("block_shape", "crops_begin", "crops_end")
    increasing_in = ("data",)
    is_data_movement = True

    def infer(
        self, data: TensorType, block_shape: TensorType, crops_begin: TensorType, crops_end: TensorType
    ) -> TensorType:
        _require_number_per_axis(data, block_shape=block_shape, crops_begin=crops_begin, crops_end=crops_end)
        if data.shape.dims is None:
            return data.without_values()
        blocks = _numbers(block_shape, "block_shape", 1)
        begins, ends = _numbers(crops_begin, "crops_begin", 0), _numbers(crops_end, "crops_end", 0)
        if blocks is None:
            return data.with_shape(Shape.of_rank(len(data.shape)))
        batch = divide_dim(data.shape[0], prod(blocks), "the batch of data", port="data")
        if begins is None or ends is None:
            return data.with_shape(Shape([batch, *(Dim.any() for _ in data.shape[1:])]))
        space = []
        for axis, dim in enumerate(data.shape[1:], 1):
            uncropped, cut = dim * blocks[axis], begins[axis] + ends[axis]
            if uncropped.hi < cut:
                raise ShapeError(
                    f"crops_begin and crops_end of axis {axis} are together",
                    actual=cut,
                    expected=f"at most {uncropped}",
                    reason="its size",
                    code=Code.impossible_shape,
                )
            space.append(uncropped - cut)
        return data.with_shape(Shape([batch, *space]))

    def evaluate(self, data: Array, block_shape: Array, crops_begin: Array, crops_end: Array) -> Array:
        blocks, begins, ends = (numbers.astype(np.int64).tolist() for numbers in (block_shape, crops_begin, crops_end))
        count, batch = data.ndim - 1, data.shape[0] // prod(blocks)
        split = data.reshape(*blocks[1:], batch, *data.shape[1:])
        order = [axis for i in range(count) for axis in (count + 1 + i, i)]
        uncropped = [size * block for size, block in zip(data.shape[1:], blocks[1:], strict=True)]
        cropping = [slice(begin, size - end) for begin, end, size in zip(begins[1:], ends[1:], uncropped, strict=True)]
        return split.transpose(count, *order).copy().reshape(batch, *uncropped)[(slice(None), *cropping)]


@op("SpaceToBatch", since=2)
class SpaceToBatch(Op):
    """Zeros added to the ends of the spatial axes, and blocks then moved to the batch axis.

    Specification: movement/space-to-batch-2.

    Inputs:
        data: [batch, D1, D2, ...], rank 2 or more, any type.
        block_shape: A vector of integers, one for each axis of data, the first one 1.
        pads_begin: A vector of integers (as in OpenVINO, possibly of another type), one for each axis of data, the
            first one 0.
        pads_end: Like `pads_begin`.

    Outputs:
        output: [batch * product of block_shape, (D1 + pads_begin[1] + pads_end[1]) / block_shape[1], ...], the type of
            data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for numbers out of range, or a padded size that is not a
            multiple of the block. IR505 also for a first element of block_shape other than 1, or of pads other than 0,
            for which OpenVINO's outputs differ from the inferred shape.
    """

    inputs = (
        In("data"),
        In("block_shape", types=INTEGER),
        In("pads_begin", types=INTEGER),
        In("pads_end", types=INTEGER),
    )
    arranging_inputs = ("block_shape",)
    is_data_movement = True
    sized_by = ("pads_begin", "pads_end")

    def infer(
        self, data: TensorType, block_shape: TensorType, pads_begin: TensorType, pads_end: TensorType
    ) -> TensorType:
        _require_number_per_axis(data, block_shape=block_shape, pads_begin=pads_begin, pads_end=pads_end)
        if data.shape.dims is None:
            return data.without_values()
        blocks = _numbers(block_shape, "block_shape", 1)
        begins, ends = _numbers(pads_begin, "pads_begin", 0), _numbers(pads_end, "pads_end", 0)
        if blocks is None:
            return data.with_shape(Shape.of_rank(len(data.shape)))
        batch = data.shape[0] * prod(blocks)
        if begins is None or ends is None:
            return data.with_shape(Shape([batch, *(Dim.any() for _ in data.shape[1:])]))
        space = [
            divide_dim(
                dim + (begins[axis] + ends[axis]), blocks[axis], f"axis {axis} of data with its pads", port="data"
            )
            for axis, dim in enumerate(data.shape[1:], 1)
        ]
        return data.with_shape(Shape([batch, *space]))

    def evaluate(self, data: Array, block_shape: Array, pads_begin: Array, pads_end: Array) -> Array:
        blocks, begins, ends = (numbers.astype(np.int64).tolist() for numbers in (block_shape, pads_begin, pads_end))
        padded = pad_array(data, begins, ends)
        batch, *space = padded.shape
        places = [size // block for size, block in zip(space, blocks[1:], strict=True)]
        split = padded.reshape(batch, *(size for pair in zip(places, blocks[1:], strict=True) for size in pair))
        order = (*range(2, split.ndim, 2), 0, *range(1, split.ndim, 2))
        return split.transpose(order).copy().reshape(batch * prod(blocks), *places)


def _require_number_per_axis(data: TensorType, **vectors: TensorType) -> None:
    """Raise ShapeError IR501 or IR502 unless data has rank 2 or more, and the length of each vector equals the rank."""
    require_least_rank(data, 2, "data")
    shape = Shape.unknown() if data.rank is None else Shape([data.rank])
    for name, vector in vectors.items():
        require_rank(vector, 1, name)
        shape = merge_shapes(
            shape, vector.shape, f"the rank of data and the lengths of {', '.join(vectors)}", port=name
        )


def _numbers(vector: TensorType, name: str, least: int) -> tuple[int, ...] | None:
    """The numbers of a vector, if known.

    Raises:
        ShapeError: IR505 for one below `least`, or a wrong first one.
    """
    values = known_ints(vector)
    if values is None:
        return None
    if min(values, default=least) < least:
        raise ShapeError(
            f"{name} is",
            actual=list(values),
            expected=f"numbers of {least} or more",
            code=Code.impossible_shape,
            port=name,
        )
    if values and values[0] != least:
        raise ShapeError(
            f"{name} is",
            actual=list(values),
            expected=f"{least} for the batch axis",
            code=Code.impossible_shape,
            port=name,
        )
    return values


@op("ExtractImagePatches", since=3)
class ExtractImagePatches(Op):
    """output[b, (kh, kw, c), i, j] = data[b, c, i * strides[0] + kh * rates[0], j * strides[1] + kw * rates[1]].

    Specification: movement/extract-image-patches-3.

    Inputs:
        data: [batch, depth, rows, columns], any type.

    Attributes:
        sizes: Two numbers, for rows and columns.
        strides: Like `sizes`.
        rates: Like `sizes`.
        auto_pad: With `same_upper` and `same_lower` there are ceil(size / stride) patches along an axis, and zeros are
            added at both ends; an odd zero is added at the end (`same_upper`) or at the beginning (`same_lower`). With
            `valid`, only complete patches count. If none fits, OpenVINO may count one that begins within the image and
            reads zeros outside.

    Outputs:
        output: [batch, sizes[0] * sizes[1] * depth, rows of patches, columns of patches], the type of data.

    Raises:
        IRError: IR501 for another rank.
    """

    inputs = (In("data"),)
    is_data_movement = True

    sizes: Annotated[Positives, TWO]
    strides: Annotated[Positives, TWO]
    rates: Annotated[Positives, TWO]
    auto_pad: Annotated[Literal["valid", "same_upper", "same_lower"], LOWER]

    def infer(self, data: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        if data.shape.dims is None:
            return data.with_shape(Shape.of_rank(4))
        batch, depth, *space = data.shape
        patches = []
        for axis, dim in enumerate(space):
            high = self._patches(dim.hi, axis) if dim.is_bounded else UNBOUNDED
            patches.append(Dim(self._patches(dim.lo, axis), high))
        return data.with_shape(Shape([batch, depth * prod(self.sizes), *patches]))

    def _patches(self, size: int, axis: int) -> int:
        reach = self._reach(axis) if self.auto_pad == "valid" else 1
        return max((size - reach) // self.strides[axis] + 1, 0)

    def _reach(self, axis: int) -> int:
        """The number of elements from the first to the last of a patch, inclusive."""
        return self.rates[axis] * (self.sizes[axis] - 1) + 1

    def evaluate(self, data: Array) -> Array:
        batch, depth, *space = data.shape
        patches = [self._patches(size, axis) for axis, size in enumerate(space)]
        begins, ends = [0, 0], [0, 0]
        for axis, count in enumerate(patches):
            if not count:
                return np.empty((batch, depth * prod(self.sizes), *patches), data.dtype)
            missing = max((count - 1) * self.strides[axis] + self._reach(axis) - space[axis], 0)
            if self.auto_pad != "valid":
                begins[axis] = (missing + (self.auto_pad == "same_lower")) // 2
            ends[axis] = missing - begins[axis]
        data = pad_array(data, [0, 0, *begins], [0, 0, *ends])
        batch_step, depth_step, *steps = data.strides
        shape = (batch, *self.sizes, depth, *patches)
        within = [step * rate for step, rate in zip(steps, self.rates, strict=True)]
        between = [step * stride for step, stride in zip(steps, self.strides, strict=True)]
        # Patches overlap in memory; each is within the padded image.
        view = as_strided(data, shape, (batch_step, *within, depth_step, *between), writeable=False)
        return view.copy().reshape(batch, depth * prod(self.sizes), *patches)


@op("Col2Im", since=15)
class Col2Im(Op):
    """An image composed of its patches, which are summed where they overlap: the reverse of im2col.

    L, the number of patches, is the product over both spatial axes of (output_size + pads_begin + pads_end - dilation *
    (kernel_size - 1) - 1) // stride + 1.

    Floats shorter than f32 are summed in f32, integers wrap.

    Specification: movement/col2im-15.

    Inputs:
        data: [N, C * product of kernel_size, L], or without N, any numeric type.
        output_size: Two integers, i32 or i64.
        kernel_size: Two integers, i32 or i64.

    Attributes:
        strides: 1 by default.
        dilations: 1 by default.
        pads_begin: 0 by default.
        pads_end: 0 by default.

    Outputs:
        output: [N, C, *output_size], or without N, the type of data.

    Raises:
        IRError: IR501 and IR502 for other shapes, IR505 for sizes, channels and patches that do not match.
    """

    inputs = (In("data", types=CALCULABLE), In("output_size", types=INDEX), In("kernel_size", types=INDEX))
    term_inputs = ("data",)
    arranging_inputs = ("kernel_size",)
    sized_by = ("output_size",)

    strides: Annotated[Positives, TWO] = (1, 1)
    dilations: Annotated[Positives, TWO] = (1, 1)
    pads_begin: Annotated[NonNegatives, TWO] = (0, 0)
    pads_end: Annotated[NonNegatives, TWO] = (0, 0)

    def infer(self, data: TensorType, output_size: TensorType, kernel_size: TensorType) -> TensorType:
        require_rank(data, (2, 3), "data")
        for name, vector in (("output_size", output_size), ("kernel_size", kernel_size)):
            require_rank(vector, 1, name)
            if vector.shape.dims is not None:
                merge_dims(Dim(2), vector.shape[0], f"2 and the length of {name}", port=name)
        if data.shape.dims is None:
            return data.without_values()
        *batch, channels, patches = data.shape
        kernel = known_ints(kernel_size)
        if kernel is None:
            channels = Dim.any()
        else:
            if min(kernel) < 1:
                raise ShapeError(
                    "kernel_size is",
                    actual=list(kernel),
                    expected="positive numbers",
                    code=Code.impossible_shape,
                    port="kernel_size",
                )
            channels = divide_dim(channels, prod(kernel), "the channels of data", port="data")
        sizes = known_bounds(output_size)
        if sizes is None:
            return data.with_shape(Shape([*batch, channels, Dim.any(), Dim.any()]))
        image = [Dim(max(low, 0), max(high, 0)) for low, high in sizes]
        if kernel is not None and all(dim.is_static for dim in image):
            expected = prod(self._patches([dim.size for dim in image], kernel))
            merge_dims(patches, Dim(expected), "the number of patches in data and that of the image", port="data")
        return data.with_shape(Shape([*batch, channels, *image]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        axes = zip(ints(inputs[2]), self.strides, self.dilations, strict=True)
        return prod([count_overlaps(*axis) for axis in axes])

    def _patches(self, image: list[int], kernel: tuple[int, ...]) -> list[int]:
        """The number of patches along each axis of the image."""
        counts = []
        for axis, size in enumerate(image):
            padded = size + self.pads_begin[axis] + self.pads_end[axis]
            reach = self.dilations[axis] * (kernel[axis] - 1) + 1
            counts.append(max((padded - reach) // self.strides[axis] + 1, 0))
        return counts

    def evaluate(self, data: Array, output_size: Array, kernel_size: Array) -> Array:
        image, kernel = output_size.tolist(), tuple(kernel_size.tolist())
        patches = self._patches(image, kernel)
        *batch, channels, _ = data.shape
        channels //= prod(kernel)
        columns = data.reshape(prod(batch), channels, *kernel, *patches)
        element_type = ElementType.of(data)
        dtype = accumulator(data.dtype) if element_type.is_float else data.dtype
        pads = zip(image, self.pads_begin, self.pads_end, strict=True)
        padded = np.zeros((prod(batch), channels, *(sum(sizes) for sizes in pads)), dtype)
        for offsets_in_kernel in np.ndindex(kernel):
            first = [offset * dilation for offset, dilation in zip(offsets_in_kernel, self.dilations, strict=True)]
            rows, lines = (
                slice(begin, begin + count * stride, stride)
                for begin, count, stride in zip(first, patches, self.strides, strict=True)
            )
            target = padded[:, :, rows, lines]
            target += columns[:, :, offsets_in_kernel[0], offsets_in_kernel[1]]
        cropping = [slice(begin, begin + size) for begin, size in zip(self.pads_begin, image, strict=True)]
        return padded[:, :, cropping[0], cropping[1]].astype(data.dtype, copy=False).reshape(*batch, channels, *image)
