"""The last layers of YOLO detectors: RegionYolo and ReorgYolo."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError
from ir_exec.kernels.elementwise import sigmoid
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.kernels.softmax import softmax
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool, Floats, Int, Ints, NonNegative, Positives, of_length
from ir_exec.ops.base.facts import SIGMOID
from ir_exec.ops.base.shapes import divide_dim, normalize_axis, require_rank
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType, convert

__all__ = ["RegionYolo", "ReorgYolo"]


@op("RegionYolo", since=1)
class RegionYolo(Op):
    """The output of a YOLO detector after the logistic function and, with `do_softmax`, a softmax over its classes.

    With `do_softmax` there are `num` regions: the logistic function is applied to the first two numbers of a region and
    its confidence, a softmax to its classes; further channels are unchanged, and the axes from `axis` to `end_axis` are
    flattened. Without it there are as many regions as `mask` has values, the logistic function is applied to the
    classes too, and further channels are omitted. anchors have no effect.

    `do_softmax` is false by default, as in OpenVINO; the specification has true.
    Specification: detection/region-yolo-1.

    Inputs:
        data: Floating, [N, regions * (coords + classes + 1), H, W].

    Outputs:
        output: The type of data.
    """

    accuracy = SIGMOID

    inputs = (In("data", types=CALCULABLE_FLOAT),)
    redundant_attributes = "bias_term"

    anchors: Floats = ()
    axis: Int
    coords: NonNegative
    classes: NonNegative
    end_axis: Int
    num: NonNegative
    do_softmax: Bool = False
    mask: Ints = ()

    def _regions(self) -> int:
        return self.num if self.do_softmax else len(self.mask)

    def infer(self, data: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown())
        dims, channels = list(data.shape), self._regions() * (self.coords + self.classes + 1)
        if dims[1].hi < channels:
            raise ShapeError(
                "axis 1 of data is",
                actual=dims[1],
                expected=channels,
                reason=": regions * (coords + classes + 1)",
                code=Code.dims_differ,
                port="data",
            )
        if not self.do_softmax:
            dims[1] = Dim.of(channels)
            return data.with_shape(Shape(dims))
        first = normalize_axis(self.axis, 4)
        last = max(normalize_axis(self.end_axis, 4, name="end_axis"), first)
        flat = prod(dims[first : last + 1], start=Dim.of(1))
        return data.with_shape(Shape([*dims[:first], flat, *dims[last + 1 :]]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return max(self.classes, 1) if self.do_softmax else 1

    def evaluate(self, data: Array) -> Array:
        batch, channels, height, width = data.shape
        regions, numbers = self._regions(), self.coords + self.classes + 1
        values = convert(data, ElementType.f32).reshape(batch, channels, height * width)
        total = values if self.do_softmax else values[:, : regions * numbers]
        logits = values[:, : regions * numbers].reshape(batch, regions, numbers, height * width)
        output = total.copy()
        predictions = output[:, : regions * numbers].reshape(batch, regions, numbers, height * width)
        sigmoid(predictions[:, :, :2])
        end = self.coords + 1 if self.do_softmax else numbers
        sigmoid(predictions[:, :, self.coords : end])
        if self.do_softmax and self.classes:
            predictions[:, :, self.coords + 1 :] = softmax(logits[:, :, self.coords + 1 :], axis=2)
        output[:, : regions * numbers] = predictions.reshape(batch, regions * numbers, height * width)
        shape = self.infer(TensorType.of(data)).shape.static
        return convert(output, ElementType.of(data)).reshape(shape)


@op("ReorgYolo", since=2)
class ReorgYolo(Op):
    """Places of a block of space moved into channels (space to depth), in the order of YOLO v2.

    Element [n, c, h, w] of an output in the shape [N, C, H, W] is element [n, c % K, h * stride + c // K // stride, w *
    stride + c // K % stride] of data read as [N, K, H * stride, W * stride], K = C // stride². Only the first of
    several strides is used, as in OpenVINO.

    Specification: detection/reorg-yolo-1.

    Inputs:
        data: [N, C, H, W], C at least stride², H and W multiples of stride.

    Outputs:
        output: [N, C * stride², H / stride, W / stride].
    """

    inputs = (In("data"),)
    increasing_in = ("data",)
    is_data_movement = True

    stride: Annotated[Positives, of_length(1)]

    def infer(self, data: TensorType) -> TensorType:
        require_rank(data, 4, "data")
        if data.shape.dims is None:
            return data.without_values()
        stride = self.stride[0]
        batch, channels, rows, columns = data.shape
        if channels.hi < stride * stride:
            raise ShapeError(
                "data has", actual=channels, detail="channels", expected=f"{stride * stride} or more", port="data"
            )
        space = [
            divide_dim(dim, stride, f"axis {axis} of data", port="data") for axis, dim in ((2, rows), (3, columns))
        ]
        return data.with_shape(Shape([batch, channels * (stride * stride), *space]))

    def evaluate(self, data: Array) -> Array:
        batch, channels, rows, columns = data.shape
        stride = self.stride[0]
        depth = channels // stride**2
        block, channel = np.divmod(np.arange(channels)[:, np.newaxis, np.newaxis], depth)
        row = np.arange(rows)[:, np.newaxis] * stride + block // stride
        column = np.arange(columns) * stride + block % stride
        indices = (channel * rows * stride + row) * columns * stride + column
        flat, output = data.reshape(-1), np.empty((batch, channels, rows, columns), data.dtype)
        for i in range(batch if indices.size else 0):
            np.take(flat[i * depth * rows * columns * stride**2 :], indices, out=output[i], mode="clip")
        return output.reshape(batch, channels * stride**2, rows // stride, columns // stride)
