"""Internal operators that OpenVINO creates when it compiles a model, and that files of compiled models contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import ShapeError, UnsupportedError
from ir_exec.kernels.precision import CALCULABLE_FLOAT
from ir_exec.ops.base import In, Op
from ir_exec.ops.base.attributes import AttributeValueError, Bool, ElementTypeName, Int, Named, NonNegative
from ir_exec.ops.base.shapes import broadcast_shapes, normalize_axis, require_rank
from ir_exec.text.ops.base import text_op
from ir_exec.types import INTEGER, Array, Dim, ElementType, Shape, TensorType

__all__ = ["GLU", "RMS", "RoPE"]


def _to_element_type(array: Array, element_type: ElementType) -> Array:
    stored: Array = array.astype(element_type.dtype, copy=False)
    return stored


@text_op("RMS", version="ie_internal_opset")
class RMS(Op):
    """data / sqrt(mean(data^2 along the last axis) + epsilon), times gamma.

    Computed in f32.

    Source: OpenVINO, ov_ops/rms.hpp.

    Inputs:
        data: Floats.
        gamma: Floats that broadcast to data; 1 by default.

    Outputs:
        output: The shape of data, of `output_type`, or of the type of data if `output_type` is dynamic.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT), In("gamma", types=CALCULABLE_FLOAT, optional=True))

    epsilon: float = 1e-5
    output_type: ElementTypeName = ElementType.dynamic
    elementwise_affine: bool = True

    def infer(self, data: TensorType, gamma: TensorType | None = None) -> TensorType:
        element_type = self.output_type if self.output_type.is_known else data.element_type
        shape = data.shape if gamma is None else broadcast_shapes(data.shape, gamma.shape)
        return TensorType(element_type, shape)

    def count_terms(self, inputs: Sequence[Array]) -> int:
        return int(inputs[0].shape[-1])

    def evaluate(self, data: Array, gamma: Array | None = None) -> Array:
        wide = data.astype(np.float32)
        scale = np.sqrt(np.mean(np.square(wide), axis=-1, keepdims=True) + np.float32(self.epsilon))
        scaled = wide / scale
        if gamma is not None:
            scaled = scaled * gamma.astype(np.float32)
        return _to_element_type(scaled, self.output_type if self.output_type.is_known else ElementType.of(data))


@text_op("GLU", version="ie_internal_opset")
class GLU(Op):
    """Swish(first slice of data) * second slice of data, split along `axis`.

    The first slice has `split_lengths` elements, the second has the remaining elements; they broadcast. Computed in
    f32.

    OpenVINO writes neither the activation (Swish, Gelu, Gelu_Tanh) nor the position of the gate to a file, and reads
    the file with their defaults, Swish and the first slice. This class uses the same defaults.

    Source: OpenVINO, ov_ops/glu.hpp.

    Inputs:
        data: Floats.

    Outputs:
        output: The shape of the first slice, of `output_type`, or of the type of data if `output_type` is dynamic.

    Raises:
        IRError: IR503 for an axis out of range, IR505 for a first slice longer than the axis.
    """

    inputs = (In("data", types=CALCULABLE_FLOAT),)

    axis: Int = 0
    split_lengths: Int = 0
    output_type: ElementTypeName = ElementType.dynamic

    def check_attributes(self) -> None:
        if self.split_lengths < 1:
            raise AttributeValueError("attribute split_lengths is", actual=self.split_lengths, expected="1 or more")

    def infer(self, data: TensorType) -> TensorType:
        element_type = self.output_type if self.output_type.is_known else data.element_type
        if data.shape.dims is None:
            return TensorType(element_type, Shape.unknown())
        axis = normalize_axis(self.axis, len(data.shape))
        dims = list(data.shape)
        if dims[axis].hi < self.split_lengths:
            raise ShapeError(
                f"axis {axis} of data is",
                actual=dims[axis],
                expected=f"{self.split_lengths} or more by split_lengths",
                code=Code.impossible_shape,
                port="data",
            )
        dims[axis] = Dim(self.split_lengths)
        return TensorType(element_type, Shape(dims))

    def evaluate(self, data: Array) -> Array:
        gate, value = np.split(data.astype(np.float32), [self.split_lengths], axis=self.axis)
        with np.errstate(over="ignore"):
            gated = gate / (1 + np.exp(-gate)) * value
        return _to_element_type(gated, self.output_type if self.output_type.is_known else ElementType.of(data))


@text_op("RoPE", version="ie_internal_opset")
class RoPE(Op):
    """Rotary position embedding: pairs of channels are rotated by the angle of their position.

    Computed in f32.

    Channel c is paired with c + rotary_ndims / 2, or with its neighbor if `is_interleaved` or `is_chatglm`.
    is_interleaved with tables of rank 3: `cos` is one table [batch, positions, sines | cosines].

    Source: OpenVINO, ov_ops/rotary_positional_embeddings.hpp and its kernel in the CPU plugin.

    Inputs:
        data: Floats, [batch, heads, positions, channels], or another layout depending on the flags.
        cos: Floats that broadcast to data, tables of cosines and sines with `rotary_ndims` channels, or with half as
            many if both halves share them.
        sin: Like `cos`.
        positions: Integers, rows of the tables for each position, [batch, positions] or [batch, heads, positions, 1].

    Attributes:
        slice_start: The first of the channels of data that are used; all channels are used if both limits are equal.
        slice_stop: The end of these channels, exclusive.
        input_trans0213: Exchange axes 1 and 2 of the input.
        output_trans0213: Exchange axes 1 and 2 of the output.
        is_chatglm: data is [positions, batch, heads * channels], `cos` is [positions, batch, pairs, 2] with interleaved
            cosines and sines.
        is_qwen: data is [batch, positions, heads * channels], tables are [1, positions of the cache, 1, channels], and
            the last positions are used.

    Outputs:
        output: Data with its first `rotary_ndims` channels rotated, and the others unchanged. [batch, positions,
            head_cnt, head_size]. [positions, batch, head_cnt, head_size]. With support_2d_rope the first two axes of
            data and table are exchanged, the output is [batch, head_cnt, positions, head_size], and without
            use_rope_cache the tables are [batch, 1, 1, pairs].

    Raises:
        IRError: IR501 for a rank that does not match the flags, IR900 for is_ltx_video.
    """

    inputs = (
        In("data", types=CALCULABLE_FLOAT),
        In("cos", types=CALCULABLE_FLOAT),
        In("sin", types=CALCULABLE_FLOAT),
        In("positions", types=INTEGER, optional=True),
    )

    slice_start: Annotated[NonNegative, Named("config.slice_start")] = 0
    slice_stop: Annotated[NonNegative, Named("config.slice_stop")] = 0
    input_trans0213: Annotated[Bool, Named("config.input_trans0213")] = False
    output_trans0213: Annotated[Bool, Named("config.output_trans0213")] = False
    is_interleaved: Annotated[Bool, Named("config.is_interleaved")] = False
    rotary_ndims: Annotated[NonNegative, Named("config.rotary_ndims")] = 0
    cos_sin_ndims: Annotated[NonNegative, Named("config.cos_sin_ndims")] = 0
    is_chatglm: Annotated[Bool, Named("config.is_chatglm")] = False
    support_2d_rope: Annotated[Bool, Named("config.support_2d_rope")] = False
    support_3d_rope: Annotated[Bool, Named("config.support_3d_rope")] = False
    is_qwen: Annotated[Bool, Named("config.is_qwen")] = False
    use_rope_cache: Annotated[Bool, Named("config.use_rope_cache")] = False
    is_ltx_video: Annotated[Bool, Named("config.is_ltx_video")] = False
    head_cnt: Annotated[NonNegative, Named("config.head_cnt")] = 0
    head_size: Annotated[NonNegative, Named("config.head_size")] = 0
    gather_position_arg_id: Annotated[NonNegative, Named("config.gather_position_arg_id")] = 0

    def check_attributes(self) -> None:
        if self.rotary_ndims % 2:
            raise AttributeValueError(
                "attribute config.rotary_ndims is", actual=self.rotary_ndims, expected="an even number"
            )
        if self.slice_stop < self.slice_start:
            raise AttributeValueError(
                "attribute config.slice_stop is", actual=self.slice_stop, expected=f"{self.slice_start} or more"
            )
        if self.gather_position_arg_id not in (0, 3):
            raise AttributeValueError(
                "attribute config.gather_position_arg_id is", actual=self.gather_position_arg_id, expected="0 or 3"
            )

    @property
    def _is_split(self) -> bool:
        """True if the last axis of data contains all heads of a position."""
        return self.is_qwen or self.is_chatglm

    def infer(
        self, data: TensorType, cos: TensorType, sin: TensorType, positions: TensorType | None = None
    ) -> TensorType:
        if self.is_ltx_video:
            raise UnsupportedError("RoPE of LTX-Video")
        if (self.gather_position_arg_id > 0) != (positions is not None):
            layer_inputs = "no positions" if positions is None else "positions"
            expected = 0 if positions is None else 3
            raise ShapeError(
                "gather_position_arg_id is",
                actual=self.gather_position_arg_id,
                expected=expected,
                reason=f" for a layer with {layer_inputs}",
            )
        require_rank(data, 3 if self._is_split or self.support_3d_rope else 4, "data")
        if positions is not None:
            require_rank(positions, (2, 4), "positions")
        if data.shape.dims is None:
            return data.with_shape(Shape.unknown() if not self._is_split else Shape.of_rank(4))
        first, second, *others = data.shape
        if self._is_split:
            heads = [Dim(self.head_cnt), second] if self.support_2d_rope else [second, Dim(self.head_cnt)]
            return data.with_shape(Shape([first, *heads, Dim(self.head_size)]))
        dims = [first, second, *others]
        if self.slice_stop > self.slice_start:
            dims[-1] = Dim(self.slice_stop - self.slice_start)
        if self.input_trans0213 or self.output_trans0213:
            dims[1], dims[2] = dims[2], dims[1]
        return data.with_shape(Shape(dims))

    def count_terms(self, inputs: Sequence[Array]) -> int:
        """An element and its partner, each with its factor."""
        return 2

    def evaluate(self, data: Array, cos: Array, sin: Array, positions: Array | None = None) -> Array:
        wide = data.astype(np.float32)
        cosines, sines = cos.astype(np.float32), sin.astype(np.float32)
        if self.slice_stop > self.slice_start:
            wide = wide[..., self.slice_start : self.slice_stop]
        if self._is_split:
            wide = wide[..., : self.head_cnt * self.head_size]
            wide = wide.reshape(*wide.shape[:2], self.head_cnt, self.head_size)
        if self.is_chatglm:
            rotated = self._of_chatglm(wide, cosines, sines)
        elif self.is_qwen:
            rotated = self._of_qwen(wide, cosines, sines, positions)
        elif self.is_interleaved:
            rotated = self._rotate_interleaved(wide, cosines, sines)
        else:
            if self.input_trans0213:
                wide = wide.swapaxes(1, 2)
            cosines, sines = (_rows_at(table, positions) for table in (cosines, sines))
            rotated = _rotated_halves(wide, cosines, sines, self.rotary_ndims)
        if self.output_trans0213 and not self.input_trans0213 and not self._is_split:
            rotated = rotated.swapaxes(1, 2)
        return _to_element_type(rotated, ElementType.of(data))

    def _rotate_interleaved(self, wide: Array, cos: Array, sin: Array) -> Array:
        half = self.rotary_ndims // 2
        if cos.ndim == 3:
            # [batch, positions, 1, channels]: the heads are the axis after the positions.
            table = cos[:, :, np.newaxis]
            return _rotated_neighbors(wide, table[..., half : 2 * half], table[..., :half])
        return _rotated_neighbors(wide, cos[..., ::2], sin[..., ::2])

    def _of_qwen(self, wide: Array, cos: Array, sin: Array, positions: Array | None) -> Array:
        if positions is None:
            start = cos.shape[1] - wide.shape[1]
            cosines, sines = cos[:, start:], sin[:, start:]
        else:
            # [batch, 1, positions, channels] to [batch, positions, 1, channels].
            cosines, sines = (_rows_at(table.swapaxes(1, 2), positions).swapaxes(1, 2) for table in (cos, sin))
        return _rotated_halves(wide, cosines, sines, cos.shape[-1])

    def _of_chatglm(self, wide: Array, cos: Array, sin: Array) -> Array:
        if self.support_2d_rope and not self.use_rope_cache:
            cosines, sines = cos, sin
        else:
            # [positions, batch, 1, pairs]: equal for all heads.
            cosines, sines = cos[..., np.newaxis, :, 0], cos[..., np.newaxis, :, 1]
        half = self.rotary_ndims // 2
        rotated = _rotated_neighbors(wide, cosines[..., :half], sines[..., :half])
        return rotated.swapaxes(1, 2) if self.support_2d_rope else rotated


def _rows_at(table: Array, positions: Array | None) -> Array:
    """Gather rows of a table [..., rows, channels] at positions, [batch, 1 or heads, positions, channels]."""
    if positions is None:
        return table
    tables = table.reshape((1,) * (4 - table.ndim) + table.shape)
    rows = positions[:, np.newaxis] if positions.ndim == 2 else positions[..., 0]
    batch, heads = np.broadcast_shapes(tables.shape[:2], rows.shape[:2])
    tables = np.broadcast_to(tables, (batch, heads, *tables.shape[2:]))
    rows = np.broadcast_to(rows, (batch, heads, rows.shape[2]))
    gathered: Array = np.take_along_axis(tables, rows[..., np.newaxis].astype(np.int64), axis=2)
    return gathered


def _rotated_halves(wide: Array, cos: Array, sin: Array, count: int) -> Array:
    """Rotate the first `count` channels, c with c + count / 2; the tables have `count` channels or half as many."""
    half = count // 2
    last = half if cos.shape[-1] > half else 0
    first, second = wide[..., :half], wide[..., half:count]
    low = first * cos[..., :half] - second * sin[..., :half]
    high = second * cos[..., last : last + half] + first * sin[..., last : last + half]
    return np.concatenate(
        [low, high, np.broadcast_to(wide[..., count:], (*low.shape[:-1], wide.shape[-1] - count))], -1
    )


def _rotated_neighbors(wide: Array, cos: Array, sin: Array) -> Array:
    """Rotate the first channels, each even one with the next; the tables have one channel for each pair."""
    count = 2 * cos.shape[-1]
    even, odd = wide[..., :count:2], wide[..., 1:count:2]
    rotated = wide.copy()
    rotated[..., :count:2] = even * cos - odd * sin
    rotated[..., 1:count:2] = odd * cos + even * sin
    return rotated
