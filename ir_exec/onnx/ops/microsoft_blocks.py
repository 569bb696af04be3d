"""Weights of the domain com.microsoft with a scale for each block."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import GraphError, InvalidAttributeError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import (
    as_i64,
    cast,
    ints,
    known_array,
    known_rank,
    normal_axis,
    number,
    shape_of,
    size_along,
)
from ir_exec.types import ElementType

__all__ = ["spread_blocks", "unpack_bits"]


def unpack_bits(stored: Value, bits: int) -> Value:
    """The integers of 2, 4 or 8 bits in bytes, as i32 along the last axis, the lowest bits first."""
    wide = cast(stored, ElementType.i32)
    if bits == 8:
        return wide
    steps = build.constant(2 ** np.arange(0, 8, bits, dtype=np.int32))
    apart = build.floor_mod(build.divide(build.unsqueeze(wide, -1), steps), build.constant(np.int32(2**bits)))
    rank = known_rank(stored, "the packed weights")
    return build.reshape(apart, ints(*[0] * (rank - 1), -1), special_zero=True)


def spread_blocks(value: Value, size: Value, axis: int, block: int) -> Value:
    """Repeat one element for each block of an axis for each of the `size` elements of the blocks."""
    places = build.divide(build.range(0, size, 1, output_type="i64"), build.constant(np.int64(block)))
    return build.gather(value, places, axis)


@onnx_op("GatherBlockQuantized", since=1, domain=MICROSOFT)
def gather_block_quantized(
    data: Value,
    indices: Value,
    scales: Value,
    zero_points: Value | None,
    *,
    bits: int,
    block_size: int,
    gather_axis: int,
    quantize_axis: int,
) -> Value:
    """Gathered elements are dequantized after gathering; an index out of range gathers zeros."""
    rank = known_rank(data, "the data")
    gathered, axis = normal_axis(gather_axis, rank), normal_axis(quantize_axis, rank)
    is_packed, is_float = data.element_type is ElementType.u8, data.element_type.is_float
    _check_blocks(bits, block_size, is_float, zero_points)
    if is_packed and (gathered != 0 or axis != rank - 1 or axis == gathered):
        raise UnsupportedError("packed data requires gathering along axis 0 and blocks along the last axis")
    for name, value in (("scales", scales), ("zero_points", zero_points)):
        if value is not None and known_rank(value, f"the {name}") != rank:
            raise ShapeError(
                f"{name} has rank",
                actual=value.rank,
                expected=rank,
                reason="the rank of data",
                code=Code.wrong_rank,
                port=name,
            )
    elements = build.gather(data, indices, gathered)
    if gathered == axis:
        size = build.gather(shape_of(data), axis, 0)
        blocks = _blocks_of(as_i64(indices), size, block_size)
        factors = build.gather(scales, blocks, axis)
        zeros = None if zero_points is None else build.gather(zero_points, blocks, axis)
        wide = cast(elements, scales.element_type)
    else:
        behind = known_rank(indices, "the indices") - 1 if axis > gathered else 0
        wide = cast(unpack_bits(elements, bits) if is_packed else elements, scales.element_type)
        size = build.gather(shape_of(wide), axis + behind, 0)
        factors = _gather_scales(scales, indices, gathered)
        factors = spread_blocks(factors, size, axis + behind, block_size) if block_size else factors
        zeros = None if zero_points is None else build.gather(zero_points, indices, gathered)
        if zeros is not None:
            zeros = spread_blocks(unpack_bits(zeros, bits) if is_packed else zeros, size, axis + behind, block_size)
    if zeros is not None:
        wide = build.subtract(wide, cast(zeros, wide.element_type))
    elif is_packed:
        wide = build.subtract(wide, number(2 ** (bits - 1), wide))
    return build.multiply(wide, factors)


def _check_blocks(bits: int, block: int, is_float: bool, zero_points: Value | None) -> None:
    if bits not in (2, 4, 8):
        raise InvalidAttributeError("bits is", actual=bits, expected="2, 4 or 8")
    if not (is_float and block == 0) and (block < 16 or block & (block - 1)):
        raise InvalidAttributeError("block_size is", actual=block, expected="a power of 2 of at least 16")
    if is_float and zero_points is not None:
        raise GraphError(
            "zero_points is given", expected="none for floats", code=Code.wrong_number_of_inputs, port="zero_points"
        )


def _gather_scales(scales: Value, indices: Value, axis: int) -> Value:
    """The scales of elements gathered along an axis other than the block axis; one scale may apply to all."""
    size = size_along(scales, axis)
    if size.is_static and size.size == 1:
        indices = build.multiply(indices, number(0, indices))
    return build.gather(scales, indices, axis)


def _blocks_of(indices: Value, size: Value, block: int) -> Value:
    """The block of each index; out of range if the index is, to make the scale zero."""
    zero = build.constant(np.int64(0))
    places = build.select(build.less(indices, zero), build.add(indices, size), indices)
    inside = build.logical_and(build.greater_equal(places, zero), build.less(places, size))
    return build.select(inside, build.divide(places, build.constant(np.int64(block))), size) if block else zero


_FP4 = (0.0, 5.208333333e-03, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_TABLES = {0: (*_FP4, *(-value for value in _FP4)), 1: _NF4}
"""The numbers represented by 4 bits, by quant_type."""


@onnx_op("MatMulBnb4", since=1, domain=MICROSOFT, unused=("training_mode",))
def matmul_bnb4(
    a: Value,
    b: Value,
    absmax: Value,
    *,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    transB: bool,
) -> Value:
    """a times weights [N, K], or their transpose: indices into a table, two in a byte, the first in the upper bits."""
    if quant_type not in _TABLES:
        raise InvalidAttributeError("quant_type is", actual=quant_type, expected="0 or 1")
    if K < 1 or N < 1 or block_size < 16 or block_size & (block_size - 1):
        raise InvalidAttributeError(
            "K, N and block_size are", actual=f"{K}, {N} and {block_size}", expected="1 or more, 1 or more, 2^n >= 16"
        )
    stored, count = known_array(b, "the packed weights"), N * K
    if stored.dtype != np.uint8 or stored.size != (count + 1) // 2:
        raise GraphError(
            "the packed weights have",
            actual=stored.size,
            detail="bytes",
            expected=f"{(count + 1) // 2} of u8",
            code=Code.constant_size,
            port="b",
        )
    pairs = np.stack([stored.ravel() >> 4, stored.ravel() & 15], axis=1)
    places = build.constant(pairs.reshape(-1)[:count].astype(ElementType.u4.dtype))
    table = build.constant(np.array(_TABLES[quant_type], np.float32))
    plain = build.gather(table, cast(places, ElementType.i32), 0)
    scales = cast(build.reshape(absmax, ints(-1), special_zero=False), ElementType.f32)
    plain = build.multiply(plain, spread_blocks(scales, build.constant(np.int64(count)), 0, block_size))
    weights = cast(build.reshape(plain, ints(N, K), special_zero=False), a.element_type)
    return build.matmul(a, weights, transpose_b=transB)
