"""Prior boxes: boxes at every point of a grid over an image, moved and scaled by a detector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import AttributeValueError, Bool, Float, Floats
from ir_exec.ops.base.shapes import ints, known_bounds, merge_dims, require_rank
from ir_exec.types import INTEGER, UNBOUNDED, Array, Dim, ElementType, Shape, TensorType

__all__ = ["PriorBox1", "PriorBox8", "PriorBoxClustered"]


def _one_or_four(variance: tuple[float, ...]) -> tuple[float, ...]:
    if len(variance) not in (0, 1, 4):
        raise ValueError("expected no value, one value or four")
    return variance


Variance = Annotated[Floats, _one_or_four]


class _Priors(Op):
    """The base of PriorBox and PriorBoxClustered.

    Inputs:
        output_size: Integers, [2], height and width of the grid and of the image.
        image_size: Like `output_size`.

    Outputs:
        output: f32, [2, 4 * height * width * priors per point]; the first row holds the boxes (x0, y0, x1, y1) as
            fractions of the image, point by point, the second row four `variance` for each box, 0.1 if none is given.

    Raises:
        IRError: IR704 for sizes below 0.
    """

    inputs = (In("output_size", types=INTEGER), In("image_size", types=INTEGER))
    redundant_attributes = "flip img_h img_w img_size step_h step_w width height aspect_ratio"
    sized_by = ("output_size",)

    variance: Variance = ()

    def _count(self) -> int:
        """The number of boxes at each point."""
        raise NotImplementedError

    def _boxes(self, height: int, width: int, image_height: int, image_width: int) -> Array:
        """All boxes as f32, point by point, in any shape."""
        raise NotImplementedError

    def infer(self, output_size: TensorType, image_size: TensorType) -> TensorType:
        for name, tensor in (("output_size", output_size), ("image_size", image_size)):
            require_rank(tensor, 1, name)
            if tensor.shape.dims is not None:
                merge_dims(tensor.shape[0], Dim.of(2), f"axis 0 of {name} and its 2 elements", port=name)
        total = Dim.of(4 * self._count())
        for low, high in known_bounds(output_size) or [(0, UNBOUNDED)]:
            if high < 0:
                raise ShapeError(
                    "output_size has", actual=high, expected="0 or more", code=Code.impossible_shape, port="output_size"
                )
            total = total * Dim(max(low, 0), high)
        return TensorType(ElementType.f32, Shape([2, total]))

    def evaluate(self, output_size: Array, image_size: Array) -> Array:
        sizes: list[int] = []
        for name, tensor in (("output_size", output_size), ("image_size", image_size)):
            sizes += ints(tensor)
            if min(sizes) < 0:
                raise EvaluationError(f"{name} has", actual=min(sizes), expected="0 or more", port=name)
        height, width, image_height, image_width = sizes
        output = np.zeros((2, height * width * self._count() * 4), np.float32)
        if height and width:
            boxes = self._boxes(height, width, image_height, image_width).ravel()[: output.shape[1]]
            output[0, : boxes.size] = boxes
        output[1].reshape(-1, 4)[...] = self.variance or 0.1
        return output


def _points(count: int, offset: float, step: np.float32) -> Array:
    """The coordinates of the points of a grid along one axis."""
    return (np.arange(count, dtype=np.float32) + np.float32(offset)) * step


@op("PriorBoxClustered", since=1)
class PriorBoxClustered(_Priors):
    """Boxes of given widths and heights at every point of a grid; see `_Priors` for inputs and output.

    The points are at (index + offset) * step, `step_w` and `step_h` or `step` for both; if all are 0 the points
    cover the image evenly. With `clip` boxes are clipped to the image. Without width and height there are no boxes, as
    in OpenVINO; the specification has one of width and height 1.

    Specification: detection/prior-box-clustered-1.
    """

    width: Floats = ()
    height: Floats = ()
    clip: Bool = True
    step: Float = 0.0
    step_w: Float = 0.0
    step_h: Float = 0.0
    offset: Float = 0.0

    def check_attributes(self) -> None:
        if len(self.width) != len(self.height):
            raise AttributeValueError(
                "attributes width and height have",
                actual=f"{len(self.width)} and {len(self.height)}",
                detail="values",
                expected="equal numbers",
            )

    def _count(self) -> int:
        return len(self.width)

    def _boxes(self, height: int, width: int, image_height: int, image_width: int) -> Array:
        step_x, step_y = (np.float32(own or self.step) for own in (self.step_w, self.step_h))
        if step_x == 0 and step_y == 0:
            step_x, step_y = np.float32(image_width) / width, np.float32(image_height) / height
        boxes = np.empty((height, width, len(self.width), 4), np.float32)
        center_x = _points(width, self.offset, step_x)[np.newaxis, :, np.newaxis]
        center_y = _points(height, self.offset, step_y)[:, np.newaxis, np.newaxis]
        half_width, half_height = (np.array(sizes, np.float32) / 2 for sizes in (self.width, self.height))
        boxes[..., 0] = (center_x - half_width) / np.float32(image_width)
        boxes[..., 1] = (center_y - half_height) / np.float32(image_height)
        boxes[..., 2] = (center_x + half_width) / np.float32(image_width)
        boxes[..., 3] = (center_y + half_height) / np.float32(image_height)
        return np.clip(boxes, 0, 1, out=boxes) if self.clip else boxes


class _PriorBox(_Priors):
    """The base of both versions of PriorBox; see PriorBox8."""

    min_size: Floats = ()
    max_size: Floats = ()
    aspect_ratio: Floats = ()
    flip: Bool = False
    clip: Bool = False
    step: Float = 0.0
    offset: Float = 0.0
    scale_all_sizes: Bool = True
    fixed_ratio: Floats = ()
    fixed_size: Floats = ()
    density: Floats = ()

    min_max_aspect_ratios_order = True

    def check_attributes(self) -> None:
        if len(self.density) < len(self.fixed_size):
            raise AttributeValueError(
                "attribute density has",
                actual=len(self.density),
                detail="values",
                expected=f"{len(self.fixed_size)} or more",
                reason="one for each fixed_size",
            )
        if any(density < 1 for density in self.density):
            raise AttributeValueError("attribute density has", actual=min(self.density), expected="1 or more")
        for ratio in (*self.aspect_ratio, *self.fixed_ratio):
            if ratio <= 0:
                raise AttributeValueError("a ratio is", actual=ratio, expected="a number above 0")

    def _count(self) -> int:
        ratios = {round(ratio * 1e6) for ratio in self.aspect_ratio} | {10**6}
        if self.flip:
            ratios |= {round(1e6 / ratio) for ratio in self.aspect_ratio}
        if self.fixed_size:
            count = len(ratios) * len(self.fixed_size)
        elif self.scale_all_sizes:
            count = len(ratios) * len(self.min_size) + len(self.max_size)
        else:
            count = len(ratios) + len(self.min_size) - 1
        kinds = len(self.fixed_ratio or ratios)
        return count + sum(kinds * (int(density) ** 2 - 1) for density in self.density)

    def _boxes(self, height: int, width: int, image_height: int, image_width: int) -> Array:
        step, lengths = np.float32(self.step), np.array(self.min_size, np.float32)
        if not self.scale_all_sizes:
            step = np.float32(image_height) / np.float32(height) if step == -1 else step * np.float32(image_height)
            lengths *= np.float32(image_height)
        if step == 0:
            step_x, step_y = np.float32(image_width) / width, np.float32(image_height) / height
            center_x, center_y = _points(width, 0.5, step_x), _points(height, 0.5, step_y)
        else:
            center_x, center_y = (_points(count, self.offset, step) for count in (width, height))
        single = [np.array([[0, 0, *half, 0]], np.float32) for half in self._half_sizes(lengths)]
        shift_x, shift_y, half_width, half_height, cut = np.concatenate([*self._dense_boxes(), *single]).T
        boxes = np.empty((height, width, len(cut), 4), np.float32)
        x = center_x[np.newaxis, :, np.newaxis] + shift_x
        y = center_y[:, np.newaxis, np.newaxis] + shift_y
        one_x, one_y = np.float32(1) / np.float32(image_width), np.float32(1) / np.float32(image_height)
        boxes[..., 0], boxes[..., 2] = (x - half_width) * one_x, (x + half_width) * one_x
        boxes[..., 1], boxes[..., 3] = (y - half_height) * one_y, (y + half_height) * one_y
        cut = cut.astype(bool)
        boxes[:, :, cut, :2] = np.maximum(boxes[:, :, cut, :2], 0)
        boxes[:, :, cut, 2:] = np.minimum(boxes[:, :, cut, 2:], 1)
        return np.clip(boxes, 0, 1, out=boxes) if self.clip else boxes

    def _ratios(self) -> list[float]:
        """The aspect ratios other than 1, each once, and with `flip` their reciprocals."""
        ratios = [1.0]
        for ratio in self.aspect_ratio:
            if all(abs(ratio - listed) >= 1e-6 for listed in ratios):
                ratios += [ratio, 1 / ratio] if self.flip else [ratio]
        return [ratio for ratio in ratios if abs(ratio - 1) >= 1e-6]

    def _half_sizes(self, lengths: Array) -> list[tuple[Any, Any]]:
        """Half the width and height of the boxes that are centered on a point, in f32."""
        ratios = self._roots(self._ratios())
        halves: list[tuple[Any, Any]] = []
        for i, length in enumerate(lengths):
            own = length * np.float32(0.5)
            halves.append((own, own))
            largest = []
            if i < len(self.max_size):
                mean = np.sqrt(length * np.float32(self.max_size[i])) * np.float32(0.5)
                largest.append((mean, mean))
            stretched = []
            if self.scale_all_sizes or i == len(lengths) - 1:
                base = (length if self.scale_all_sizes else lengths[0]) * np.float32(0.5)
                stretched = [(base * ratio, base / ratio) for ratio in ratios]
            halves += [*largest, *stretched] if self.min_max_aspect_ratios_order else [*stretched, *largest]
        return halves

    def _dense_boxes(self) -> list[Array]:
        """Rows of x and y from the point, half width, half height, and 1 for being clipped to the image, in f32."""
        parts = [np.zeros((0, 5), np.float32)]
        for size, density in zip(self.fixed_size, self.density, strict=False):
            count, side = int(density), int(size)
            shift = int(np.float32(size) / np.float32(count))
            half = np.float32(size) * np.float32(0.5)
            kinds = [(half * ratio, half / ratio) for ratio in self._roots(self.fixed_ratio)]
            if not kinds:
                square = np.float32(side) * np.float32(0.5)
                kinds = [(square, square), *((half * ratio, half / ratio) for ratio in self._roots(self._ratios()))]
            places = shift / 2 - side // 2 + shift * np.arange(count, dtype=np.float32)
            for sizes in kinds:
                rows = np.ones((count * count, 5), np.float32)
                rows[:, 0], rows[:, 1], rows[:, 2:4] = np.tile(places, count), np.repeat(places, count), sizes
                parts.append(rows)
        return parts

    @staticmethod
    def _roots(ratios: Iterable[float]) -> list[Any]:
        return [np.sqrt(np.float32(ratio)) for ratio in ratios]


@op("PriorBox", since=1)
class PriorBox1(_PriorBox):
    """PriorBox-8 without `min_max_aspect_ratios_order`, which is true.

    Specification: detection/prior-box-1.
    """


@op("PriorBox", since=8)
class PriorBox8(_PriorBox):
    """Boxes of several sizes and aspect ratios at every point of a grid; see `_Priors` for inputs and output.

    The points are at (index + offset) * step; for a `step` of 0 they cover the image evenly. At each point there are:
    - for each `fixed_size` boxes of every `fixed_ratio` (without these a square, and boxes of every `aspect_ratio`),
      density * density of each, shifted against one another and clipped to the image;
    - for each `min_size` a square, a square of the geometric mean of it and its `max_size`, and boxes of every
      `aspect_ratio`, with `flip` also of its reciprocal. Without `min_max_aspect_ratios_order` the mean comes last.

    Without `scale_all_sizes`, sizes and step are fractions of the image's height (step -1: the height over that of the
    grid), and only the last size has boxes of other ratios, which have the first size. With `clip` all boxes are
    clipped to the image.

    The size of the output counts neither boxes of min_size in addition to boxes of fixed_size nor repeated ratios; as
    in OpenVINO, excess boxes are omitted at the end.

    Specification: detection/prior-box-8.
    """

    min_max_aspect_ratios_order: Bool = True
