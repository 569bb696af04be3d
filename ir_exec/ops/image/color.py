"""Images in YUV converted to RGB and back.

NV12 and I420 store brightness for each pixel and color for each 2x2 pixels. Images are [N, H, W, C], of even height
and width, u8 or floats; the values of both are from 0 to 255. Everything is computed in f32 (f64 for f64), clipped to
that range, and for u8 rounded to the nearest: ties to even on the way to RGB, as in OpenVINO's CPU plugin, and up on
the way back, as in its reference kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import GraphError, ShapeError
from ir_exec.kernels.elementwise import clip_elements
from ir_exec.kernels.parallel import for_ranges
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.attributes import Bool
from ir_exec.ops.base.shapes import divide_dim, merge_dims, merge_shapes, require_rank
from ir_exec.tuning import thresholds
from ir_exec.types import Array, Dim, Shape, TensorType, element_types

__all__ = ["BGRtoNV12", "I420toBGR", "I420toRGB", "NV12toBGR", "NV12toRGB", "RGBtoNV12"]

_VALUES = element_types("u8") | CALCULABLE_FLOAT


class _FromYuv(Op):
    """The base of conversions from YUV.

    Values are u8 or floats from 0 to 255; H and W are even.

    Raises:
        IRError: IR501, IR502 and IR505 for planes of wrong ranks or sizes, or that do not match.
    """

    blue_first: ClassVar[bool] = False

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """Brightness and both colors."""
        return 3

    def _infer(self, y: TensorType, color: TensorType | None, channels: int) -> TensorType:
        """The type of the image.

        Args:
            color: A plane of half the height and width, with this number of channels; None if y includes all planes.
        """
        batch, rows, columns, _ = _image(y, 1, "y")
        if color is None:
            rows = divide_dim(rows * 2, 3, "1.5 times the height, twice the height of y,", port="y")
        elif color.shape.dims is not None:
            others, half_rows, half_columns, _ = _image(color, channels, "the plane of colors")
            batch = merge_dims(batch, others, "the batches of the planes")
            rows = merge_dims(rows, half_rows * 2, "the height of y and twice that of the colors")
            columns = merge_dims(columns, half_columns * 2, "the width of y and twice that of the colors")
        _require_even(rows, columns)
        return TensorType(y.element_type, Shape([batch, rows, columns, 3]))

    def _evaluate(self, y: Array, u: Array, v: Array) -> Array:
        """The image of these planes.

        Args:
            y: [N, H, W], u and v: [N, H/2, W/2].
        """
        batch, rows, columns = y.shape
        output = np.empty((batch * rows // 2, 2, columns, 3), y.dtype)
        pairs = y.reshape(output.shape[:3])
        halves = [plane.reshape(len(output), columns // 2) for plane in (u, v)]
        of = _working_type(y)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            # Repeated along the rows before the sum with the pixels: NumPy would iterate along axes of two.
            d, e = (of(_twice(plane[part])) - of(128) for plane in halves)
            # All upper rows of pairs before the lower ones, for sums with colors over all rows at once.
            luma = np.empty((2, *d.shape), d.dtype)
            luma[...] = pairs[part].swapaxes(0, 1)
            luma -= of(16)
            luma *= of(1.164)
            red, green, blue = [(1.596, e)], [(-0.391, d), (-0.813, e)], [(2.018, d)]
            values, product, target = np.empty_like(luma), np.empty_like(d), output[part].swapaxes(0, 1)
            for channel, terms in enumerate((blue, green, red) if self.blue_first else (red, green, blue)):
                total = luma
                for factor, color in terms:
                    np.multiply(color, of(factor), out=product)
                    total = np.add(total, product, out=values)
                clip_elements(values, lowest=of(0), highest=of(255), out=values)
                target[..., channel] = _as_bytes(values) if y.dtype == np.uint8 else values

        # With a quarter of these pixels at a time, two threads are 1.3x slower, and one is 1.1x slower.
        step = max(4 * thresholds.CHUNK_ELEMENTS // max(2 * columns, 1), 1)
        for_ranges(len(output), step, work, nanoseconds=output.size * thresholds.ELEMENT_NANOSECONDS)
        return output.reshape(batch, rows, columns, 3)


def _twice(plane: Array) -> Array:
    """[rows, columns] with each element twice: [rows, 2 * columns]; np.repeat is three times slower."""
    twice = np.empty((*plane.shape, 2), plane.dtype)
    twice[..., 0] = twice[..., 1] = plane
    return twice.reshape(len(plane), -1)


def _as_bytes(values: Array) -> Array:
    """f32 from 0 to 255 rounded to the nearest, ties to even, as u8; the input is overwritten.

    After adding 2**23 no bits are left for fractions: the lowest byte is the rounded number. Reading it costs half of a
    conversion.
    """
    values += np.float32(2**23)
    return values.view(np.uint8)[..., (0 if sys.byteorder == "little" else 3) :: 4]


@op("NV12toRGB", since=8)
class NV12toRGB(_FromYuv):
    """An image in RGB from brightness Y and color U, V.

    R = 1.164 (Y - 16) + 1.596 (V - 128), G = 1.164 (Y - 16) - 0.391 (U - 128) - 0.813 (V - 128),
    B = 1.164 (Y - 16) + 2.018 (U - 128).

    Specification: image/nv12-to-rgb-8.

    Inputs:
        y: [N, H, W, 1].
        uv: [N, H/2, W/2, 2], the type of y. Or y alone, [N, 1.5 H, W, 1], in which H/2 rows of alternating U and V
            follow the rows of Y.

    Outputs:
        output: [N, H, W, 3], the type of y.
    """

    inputs = (In("y", types=_VALUES), In("uv", types=_VALUES, like="y", optional=True))

    def infer(self, y: TensorType, uv: TensorType | None = None) -> TensorType:
        return self._infer(y, uv, 2)

    def evaluate(self, y: Array, uv: Array | None = None) -> Array:
        if uv is None:
            batch, rows, columns, _ = y.shape
            uv = y[:, rows // 3 * 2 :].reshape(batch, rows // 3, columns // 2, 2)
            y = y[:, : rows // 3 * 2]
        return self._evaluate(y[..., 0], uv[..., 0], uv[..., 1])


@op("NV12toBGR", since=8)
class NV12toBGR(NV12toRGB):
    """NV12toRGB-8 with the channels in the order B, G, R.

    Specification: image/nv12-to-bgr-8.
    """

    blue_first = True


@op("I420toRGB", since=8)
class I420toRGB(_FromYuv):
    """NV12toRGB-8 with U and V in separate planes.

    Specification: image/i420-to-rgb-8.

    Inputs:
        y: [N, H, W, 1].
        u: [N, H/2, W/2, 1], the type of y. Or y alone, [N, 1.5 H, W, 1], in which the planes of U and V follow the rows
            of Y.
        v: Like `u`.

    Outputs:
        output: [N, H, W, 3], the type of y.

    Raises:
        IRError: Also IR106 for y and u without v.
    """

    inputs = (
        In("y", types=_VALUES),
        In("u", types=_VALUES, like="y", optional=True),
        In("v", types=_VALUES, like="y", optional=True),
    )

    def infer(self, y: TensorType, u: TensorType | None = None, v: TensorType | None = None) -> TensorType:
        if u is not None and v is None:
            raise GraphError(
                "the layer has",
                actual=2,
                detail="inputs",
                expected="1 or 3",
                reason=" (y, u, v)",
                code=Code.wrong_number_of_inputs,
            )
        if u is not None and v is not None:
            u = u.with_shape(merge_shapes(u.shape, v.shape, "the shapes of u and v", port="v"))
        return self._infer(y, u, 1)

    def evaluate(self, y: Array, u: Array | None = None, v: Array | None = None) -> Array:
        if u is None or v is None:
            batch, rows, columns, _ = y.shape
            size = rows // 3 * columns // 2
            planes = y.reshape(batch, 6 * size)
            u, v = (
                planes[:, begin * size : (begin + 1) * size].reshape(batch, rows // 3, columns // 2) for begin in (4, 5)
            )
            return self._evaluate(planes[:, : 4 * size].reshape(batch, rows // 3 * 2, columns), u, v)
        return self._evaluate(y[..., 0], u[..., 0], v[..., 0])


@op("I420toBGR", since=8)
class I420toBGR(I420toRGB):
    """I420toRGB-8 with the channels in the order B, G, R.

    Specification: image/i420-to-bgr-8.
    """

    blue_first = True


@op("RGBtoNV12", since=17)
class RGBtoNV12(Op):
    """Brightness Y and color U, V of an image in RGB.

    Y = 0.257 R + 0.504 G + 0.098 B + 16, U = -0.148 R - 0.291 G + 0.439 B + 128,
    V = 0.439 R - 0.368 G - 0.071 B + 128; U and V, clipped and rounded, are the means of each 2x2 pixels.

    The specification does not define how pixels share U and V; the mean follows OpenVINO's reference kernel. The CPU
    plugin has no such operator.

    Specification: image/rgb-to-nv12-17.

    Inputs:
        image: [N, H, W, 3], u8 or floats.

    Outputs:
        y: The type of image, [N, H, W, 1]. With `single_plane`, the default, it is the only output, [N, 1.5 H, W, 1],
            in which H/2 rows of alternating U and V follow the rows of Y.
        uv: The type of image, [N, H/2, W/2, 2].

    Raises:
        IRError: IR501, IR502 and IR505 for an image of another rank or size.
    """

    inputs = (In("image", types=_VALUES),)
    outputs = ("y", "uv")

    blue_first: ClassVar[bool] = False

    single_plane: Bool = True

    def infer(self, image: TensorType) -> TensorType | tuple[TensorType, TensorType]:
        batch, rows, columns, _ = _image(image, 3, "image")
        _require_even(rows, columns)
        half = divide_dim(rows, 2, "the height"), divide_dim(columns, 2, "the width")
        if self.single_plane:
            return image.with_shape(Shape([batch, divide_dim(rows * 3, 2, "3 times the height"), columns, 1]))
        return image.with_shape(Shape([batch, rows, columns, 1])), image.with_shape(Shape([batch, *half, 2]))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """The mean of four pixels of three channels."""
        return 12

    def evaluate(self, image: Array) -> Array | tuple[Array, Array]:
        batch, rows, columns, _ = image.shape
        if self.single_plane:
            image_out = np.empty((batch, rows // 2 * 3, columns, 1), image.dtype)
            y, uv = image_out[:, :rows], image_out[:, rows:].reshape(batch, rows // 2, columns // 2, 2)
        else:
            y, uv = (
                np.empty((batch, rows, columns, 1), image.dtype),
                np.empty((batch, rows // 2, columns // 2, 2), image.dtype),
            )
        for i in range(batch):
            self._convert(image[i], y[i, ..., 0], uv[i])
        if not self.single_plane:
            return y, uv
        image_out[:, rows:] = uv.reshape(batch, rows // 2, columns, 1)
        return image_out

    def _convert(self, image: Array, y: Array, uv: Array) -> None:
        """One image, into the two planes."""
        of = _working_type(image)
        red, green, blue = (of(image[..., channel]) for channel in ((2, 1, 0) if self.blue_first else (0, 1, 2)))
        y[...] = _clip_to_image(of(0.257) * red + of(0.504) * green + of(0.098) * blue + 16, y.dtype, _half_up)
        u = of(-0.148) * red - of(0.291) * green + of(0.439) * blue + 128
        v = of(0.439) * red - of(0.368) * green - of(0.071) * blue + 128
        for channel, plane in enumerate((u, v)):
            blocks = of(_clip_to_image(plane, uv.dtype, _half_up)).reshape(len(plane) // 2, 2, plane.shape[1] // 2, 2)
            uv[..., channel] = _clip_to_image(blocks.sum(axis=(1, 3)) / 4, uv.dtype, _half_up)


@op("BGRtoNV12", since=17)
class BGRtoNV12(RGBtoNV12):
    """RGBtoNV12-17 for channels in the order B, G, R.

    Specification: image/bgr-to-nv12-17.
    """

    blue_first = True


def _image(image: TensorType, channels: int, name: str) -> tuple[Dim, ...]:
    """The dims N, H, W and C of an image with this number of channels.

    Raises:
        ShapeError: IR501 for another rank, or IR502 for another number of channels.
    """
    require_rank(image, 4, name)
    dims = (Dim.any(),) * 4 if image.shape.dims is None else image.shape.dims
    if channels not in dims[3]:
        raise ShapeError(
            f"{name} has", actual=dims[3], detail=f"channels ({image.shape})", expected=channels, code=Code.dims_differ
        )
    return dims


def _require_even(rows: Dim, columns: Dim) -> None:
    divide_dim(rows, 2, "the height of the image")
    divide_dim(columns, 2, "the width of the image")


def _working_type(image: Array) -> Callable[[Any], Array]:
    """The conversion to the type in which the image is computed: f64 for f64, else f32."""
    dtype = np.float64 if image.dtype == np.float64 else np.float32
    return lambda values: np.asarray(values, dtype)


def _clip_to_image(values: Array, dtype: np.dtype[Any], rounding: Callable[[Array], Array] = np.rint) -> Array:
    """Values from 0 to 255, in the dtype of an image; the input is overwritten."""
    clipped = np.clip(values, 0, 255, out=values)
    return (rounding(clipped) if dtype == np.uint8 else clipped).astype(dtype, copy=False)


def _half_up(values: Array) -> Array:
    return np.floor(values + np.float32(0.5))
