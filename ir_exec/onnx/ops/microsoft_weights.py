"""Matrix products of the domain com.microsoft with block-quantized weights of few bits."""

from __future__ import annotations

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, ShapeError, UnsupportedError
from ir_exec.onnx.lowering.registry import MICROSOFT, onnx_op
from ir_exec.onnx.lowering.values import cast, ints, known_array, known_ints, known_size, number
from ir_exec.onnx.ops.microsoft_blocks import spread_blocks
from ir_exec.types import Array, ElementType

__all__: list[str] = []

_PACKED = {2: ElementType.u2, 4: ElementType.u4, 8: ElementType.u8}


def _unpack(stored: Array, bits: int, shape: tuple[int, ...]) -> Array:
    """Integers of 2, 4 or 8 bits from bytes, the lowest bits first, truncated to the shape along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    apart = (stored[..., None] >> shifts) & np.uint8(2**bits - 1)
    flat = apart.reshape(*stored.shape[:-1], -1)[..., : shape[-1]]
    return flat.reshape(shape).astype(_PACKED[bits].dtype)


@onnx_op("MatMulNBits", since=1, domain=MICROSOFT, unused=("accuracy_level",))
def matmul_n_bits(
    a: Value,
    b: Value,
    scales: Value,
    zero_points: Value | None,
    g_idx: Value | None,
    bias: Value | None,
    *,
    K: int,
    N: int,
    bits: int,
    block_size: int,
    weight_prepacked: bool,
) -> Value:
    """a times the transpose of weights of N rows, in blocks of K with a scale and a zero point each.

    The weights become a constant of that element type: a byte of the file has several of them.
    """
    if bits not in _PACKED or weight_prepacked or block_size < 1 or K < 1 or N < 1:
        raise UnsupportedError(f"weights of {bits} bits, or packed for a processor, are not supported")
    blocks = -(-K // block_size)
    stored = known_array(b, "the packed weights")
    if stored.dtype != np.uint8 or stored.size * 8 != N * blocks * block_size * bits:
        raise GraphError(
            "the packed weights have",
            actual=stored.size,
            detail="bytes",
            expected=f"{N * blocks * block_size * bits // 8} of u8",
            code=Code.constant_size,
            port="b",
        )
    packed = stored.reshape(N, blocks, block_size * bits // 8)
    weights = cast(build.constant(_unpack(packed, bits, (N, blocks, block_size))), a.element_type)
    zeros = _zero_points(zero_points, a, bits, N, blocks)
    factors = build.reshape(cast(scales, a.element_type), ints(N, blocks, 1), special_zero=False)
    if g_idx is None:
        plain = build.multiply(build.subtract(weights, zeros), factors)
        plain = _columns(plain, N, blocks * block_size, K)
    else:
        groups = _groups(g_idx, K, blocks)
        factors, zeros = (
            tensor if tensor.rank == 0 else build.gather(build.squeeze(tensor, 2), groups, 1)
            for tensor in (factors, zeros)
        )
        plain = build.multiply(build.subtract(_columns(weights, N, blocks * block_size, K), zeros), factors)
    product = build.matmul(a, plain, transpose_b=True)
    return product if bias is None else build.add(product, bias)


def _zero_points(zero_points: Value | None, like: Value, bits: int, rows: int, blocks: int) -> Value:
    """The zero points [rows, blocks, 1]; the default, one number, for a node without zero points."""
    if zero_points is None:
        return number(2 ** (bits - 1), like)
    if zero_points.element_type is not ElementType.u8:
        return build.reshape(zero_points, ints(rows, blocks, 1), special_zero=False)
    packed = known_array(zero_points, "the zero points")
    width = -(-blocks * bits // 8)
    if packed.size != rows * width:
        raise GraphError(
            "the zero points have",
            actual=packed.size,
            detail="bytes",
            expected=rows * width,
            code=Code.constant_size,
            port="zero_points",
        )
    zeros = cast(build.constant(_unpack(packed.reshape(rows, width), bits, (rows, blocks))), like.element_type)
    return build.unsqueeze(zeros, 2)


def _columns(weights: Value, rows: int, stored: int, columns: int) -> Value:
    """The weights as rows, without the padding of the last block."""
    plain = build.reshape(weights, ints(rows, stored), special_zero=False)
    return plain if stored == columns else build.slice(plain, ints(0), ints(columns), ints(1), ints(1))


def _groups(g_idx: Value, columns: int, blocks: int) -> Value:
    """The block of each column, which determines its scale and zero point."""
    groups = known_array(g_idx, "the groups").ravel()[:columns]
    if groups.size != columns:
        raise GraphError(
            "g_idx has", actual=groups.size, detail="elements", expected=columns, code=Code.constant_size, port="g_idx"
        )
    outside = groups[(groups < 0) | (groups >= blocks)]
    if outside.size:
        raise EvaluationError(
            "g_idx contains",
            actual=outside[0],
            expected=f"0 to {blocks - 1}",
            code=Code.index_out_of_range,
            port="g_idx",
        )
    return build.constant(groups.astype(np.int64))


_FP_Q4 = {0: False, 1: True}
"""True if a block has an offset, by blk_quant_type."""

_BLOCK = 32


@onnx_op("MatMulFpQ4", since=1, domain=MICROSOFT)
def matmul_fp_q4(a: Value, b: Value, b_shape: Value, *, blk_quant_type: int) -> Value:
    """a times weights [K, N], packed as in onnxruntime: column by column, in blocks of 32.

    A block has its scale, an f32, then an optional zero point, and 16 bytes: the low bits are the first half of its
    elements, the high bits the second half.
    """
    if blk_quant_type not in _FP_Q4:
        raise UnsupportedError(f"blk_quant_type is {blk_quant_type}: the packing of onnxruntime is not documented")
    rows, columns = known_ints(b_shape, "the shape of the weights")
    has_offset, blocks = _FP_Q4[blk_quant_type], -(-rows // _BLOCK)
    stored, size = known_array(b, "the packed weights"), 4 + has_offset + _BLOCK // 2
    if stored.dtype != np.uint8 or stored.size != columns * blocks * size:
        raise GraphError(
            "the packed weights have",
            actual=stored.size,
            detail="bytes",
            expected=f"{columns * blocks * size} of u8",
            code=Code.constant_size,
            port="b",
        )
    packed = stored.reshape(columns, blocks, size)
    scales = np.ascontiguousarray(packed[..., :4]).view(np.float32)
    zeros = packed[..., 4:5] if has_offset else np.full_like(packed[..., :1], 8)
    halves = packed[..., 4 + has_offset :]
    codes = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(ElementType.u4.dtype)
    offsets = build.constant(zeros.astype(np.float32))
    plain = build.subtract(cast(build.constant(codes), ElementType.f32), offsets)
    plain = _columns(build.multiply(plain, build.constant(scales)), columns, blocks * _BLOCK, rows)
    return build.matmul(a, cast(plain, a.element_type), transpose_b=True)


@onnx_op("MatMulBlockQuantizedFp4Weight", since=1, domain=MICROSOFT)
def matmul_of_fp4_weights(
    a: Value,
    b: Value,
    weight_scale: Value,
    weight_scale_2: Value,
    input_scale: Value | None,
    bias: Value | None,
    *,
    block_size: int,
) -> Value:
    """a times the transpose of weights f4e2m1 [N, K], two in a byte: a scale f8e4m3 for each block, and one for all.

    Args:
        input_scale: The scale of the activations in a product of f4, without effect on the result here.
    """
    stored, scales = known_array(b, "the packed weights"), known_array(weight_scale, "the scales")
    if stored.ndim != 2 or block_size < 1:
        raise ShapeError("the packed weights have rank", actual=stored.ndim, expected=2, code=Code.wrong_rank, port="b")
    rows, columns = stored.shape[0], 2 * stored.shape[1]
    codes = np.stack([stored & 15, stored >> 4], axis=-1).reshape(rows, columns)
    scaled_weights = build.multiply(
        cast(build.constant(codes.astype(np.uint8).view(ElementType.f4e2m1.dtype)), ElementType.f32),
        cast(build.reshape(weight_scale_2, ints(1), special_zero=False), ElementType.f32),
    )
    factors = cast(build.constant(scales.view(ElementType.f8e4m3.dtype)), ElementType.f32)
    return _with_scales(a, scaled_weights, factors, block_size, columns, bias)


@onnx_op("MatMulBlockQuantizedFp8Weight", since=1, domain=MICROSOFT)
def matmul_of_fp8_weights(
    a: Value, b: Value, b_scale: Value, a_scale: Value | None, bias: Value | None, *, block_size: int
) -> Value:
    """a times the transpose of weights f8e4m3 [N, K] with a scale for each block; `a_scale` rounds a to f8."""
    columns = known_size(b, 1, "the last dim of the weights")
    if a_scale is not None:
        scale = cast(build.reshape(a_scale, ints(1), special_zero=False), ElementType.f32)
        narrow = cast(build.divide(cast(a, ElementType.f32), scale), ElementType.f8e4m3)
        rounded = cast(build.multiply(cast(narrow, ElementType.f32), scale), a.element_type)
    else:
        rounded = a
    return _with_scales(rounded, cast(b, ElementType.f32), b_scale, block_size, columns, bias)


def _with_scales(a: Value, weights: Value, scales: Value, block: int, columns: int, bias: Value | None) -> Value:
    spread = spread_blocks(scales, build.constant(np.int64(columns)), 1, block)
    plain = cast(build.multiply(weights, spread), a.element_type)
    product = build.matmul(a, plain, transpose_b=True)
    return product if bias is None else build.add(product, bias)
