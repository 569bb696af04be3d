"""Products with compressed weights by MatMulNBits of com.microsoft, which reads 4 bits an element.

Weights of 8 bits are two factors of 4 bits: `16 * high + low`. The sums are those of f32 weights. Its own kernel for 8
bits, since onnxruntime 1.22, rounds the other factor to 8 bits or decodes the whole weight in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ir_exec.graph import Node
from ir_exec.onnx.export.compressed import Compressed, packed_reader
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array, ElementType

__all__ = ["emit_matmul", "fits_matmul"]

_LEAST_BLOCK = 16
_MOST_BLOCK = 256
"""The kernel returns zeros for blocks of 512 elements and more."""

_PADDED_BLOCK = 32
"""Elements of a block of rows whose length no block divides."""

_DOMAIN = "com.microsoft"


def fits_matmul(compressed: Compressed, node: Node, rank: int | None) -> bool:
    """Return True if MatMulNBits can multiply by the weight.

    Args:
        rank: The rank of the other factor.
    """
    op = node.op
    if not isinstance(op, MatMul) or op.transpose_a or node.values_in[1] is not compressed.weight.value:
        return False
    if len(compressed.shape) != 2 or compressed.element_type is not ElementType.f32 or (rank or 0) < 2:
        return False
    return _find_layout(compressed, is_transposed=op.transpose_b) is not None


@dataclass(frozen=True)
class _Layout:
    """The blocks of a kernel in a weight [rows, columns], of which columns are summed.

    Attributes:
        size: Elements of a block.
        repeats: Blocks of the kernel that share a scale.
        is_padded: The last block of a row has fewer elements.
    """

    size: int
    repeats: int
    is_padded: bool


def _find_layout(compressed: Compressed, *, is_transposed: bool) -> _Layout | None:
    """The blocks of a kernel; None if its scales cannot express those of the weight."""
    first, last = compressed.shape
    if not is_transposed:
        if compressed.block or compressed.axis != 1:
            return None
        return _divide_rows(first, first)
    return _divide_rows(compressed.block, last) if compressed.block and compressed.axis == 1 else None


def _divide_rows(block: int, columns: int) -> _Layout | None:
    """The blocks of a kernel in rows whose blocks share a scale."""
    size = min(block & -block, _MOST_BLOCK)
    if size >= _LEAST_BLOCK:
        return _Layout(size, block // size, False)
    if block != columns:
        return None
    return _Layout(_PADDED_BLOCK, -(-columns // _PADDED_BLOCK), True)


@dataclass(frozen=True)
class _Factor:
    """Integers of 4 bits in a kernel: (codes - zero) * scale.

    Attributes:
        pack: Returns the codes as bytes [rows, blocks, size / 2].
        scale: [rows, blocks].
        zero: [rows, blocks].
    """

    pack: Callable[[], Array]
    scale: Array
    zero: Array


def emit_matmul(lowerer: GraphLowerer, compressed: Compressed, a: str, name: str, *, is_transposed: bool) -> str:
    """Emit MatMulNBits of com.microsoft, and return the name of the product."""
    layout = _find_layout(compressed, is_transposed=is_transposed)
    assert layout is not None, "fits_matmul"
    columns = compressed.shape[1 if is_transposed else 0]
    factors = _split(lowerer, compressed, layout, is_transposed=is_transposed)
    if len(factors) == 1:
        return _emit_product(lowerer, factors[0], layout.size, columns, a, name)
    writer = lowerer.writer
    if not layout.is_padded:
        # One product of rows of twice the length. Equal concatenations are merged by onnxruntime.
        (twice,) = writer.emit("Concat", [a, a], 1, name=name, attributes={"axis": -1})
        return _emit_product(lowerer, _join(factors), layout.size, 2 * columns, twice, name)
    products = [_emit_product(lowerer, factor, layout.size, columns, a, name) for factor in factors]
    (total,) = writer.emit("Add", products, 1, name=name, attributes={})
    return total


def _split(lowerer: GraphLowerer, compressed: Compressed, layout: _Layout, *, is_transposed: bool) -> list[_Factor]:
    """The factors of 4 bits whose sum is the weight."""
    reader, constant = lowerer.weights, compressed.weight.constant
    assert reader is not None
    scale, zero = _to_rows(compressed.scale, layout, is_transposed), _to_rows(_zeros(compressed), layout, is_transposed)
    scale = scale.astype(np.float32)
    size = layout.size
    if constant.element_type.bits == 8:

        def pack(shift: int) -> Array:
            codes = _read_codes(compressed, lowerer, is_transposed=is_transposed)
            return _pack_blocks(codes >> np.uint8(shift) & np.uint8(15), size)

        return [
            _Factor(lambda: pack(4), scale * np.float32(16), zero >> 4),
            _Factor(lambda: pack(0), scale, zero & np.uint8(15)),
        ]
    read_bytes = packed_reader(constant, reader)
    if read_bytes is None or layout.is_padded or not is_transposed:
        return [
            _Factor(
                lambda: _pack_blocks(_read_codes(compressed, lowerer, is_transposed=is_transposed), size), scale, zero
            )
        ]
    # 8 is added to both halves of a byte of signed integers.
    change = np.uint8(0 if constant.element_type is ElementType.u4 else 0x88)
    shape = (compressed.shape[0], -1, size // 2)
    return [_Factor(lambda: (read_bytes() ^ change if change else read_bytes()).reshape(shape), scale, zero)]


def _read_codes(compressed: Compressed, lowerer: GraphLowerer, *, is_transposed: bool) -> Array:
    """The codes as unsigned integers, one in a byte, in rows of the summed axis."""
    assert lowerer.weights is not None
    codes = to_unsigned(compressed.weight.constant.evaluate(weights=lowerer.weights)).reshape(compressed.shape)
    return codes if is_transposed else codes.T


def _join(factors: Sequence[_Factor]) -> _Factor:
    """One factor of longer rows: the blocks of all factors."""
    return _Factor(
        lambda: np.concatenate([factor.pack() for factor in factors], 1),
        np.concatenate([factor.scale for factor in factors], 1),
        np.concatenate([factor.zero for factor in factors], 1),
    )


def _emit_product(lowerer: GraphLowerer, factor: _Factor, size: int, columns: int, a: str, name: str) -> str:
    writer, (rows, blocks) = lowerer.writer, factor.scale.shape
    stored = writer.element_constant(
        f"{name}/B", ElementType.u8, (rows, blocks, size // 2), factor.pack, is_computed=True
    )
    scales = writer.constant(factor.scale.reshape(-1), f"{name}/scales")
    zeros = writer.constant(_pack_pairs(factor.zero).reshape(-1), f"{name}/zero_points")
    output = writer.fresh(f"{name}/MatMulNBits")
    # 1: sums in f32, as for f32 weights; otherwise the other factor may be rounded to 8 bits.
    attributes = {"K": columns, "N": rows, "bits": 4, "block_size": size, "accuracy_level": 1}
    inputs = [a, stored, scales, zeros]
    writer.node("MatMulNBits", inputs, [output], name=writer.node_name(name), domain=_DOMAIN, attributes=attributes)
    writer.codes[output] = writer.code(ElementType.f32)
    return output


def _to_rows(numbers: Array, layout: _Layout, is_transposed: bool) -> Array:
    """Scales or zero points of the blocks of a kernel."""
    return np.repeat(numbers if is_transposed else numbers.T, layout.repeats, 1)


def _zeros(compressed: Compressed) -> Array:
    """The zero points of unsigned codes."""
    if compressed.zero is None:
        dtype = compressed.weight.constant.element_type.dtype
        return to_unsigned(np.zeros(compressed.scale.shape, np.int8).astype(dtype))
    return to_unsigned(compressed.zero)


def to_unsigned(array: Array) -> Array:
    """Integers of 4 or 8 bits as unsigned ones in bytes: half of the range is added to signed ones."""
    element_type = ElementType.of(array)
    if element_type is ElementType.u8:
        return array
    if element_type is ElementType.i8:
        return np.ascontiguousarray(array).view(np.uint8) ^ np.uint8(0x80)
    numbers = array.astype(np.int8)
    return (numbers + 8 if element_type is ElementType.i4 else numbers).astype(np.uint8)


def _pack_blocks(codes: Array, size: int) -> Array:
    """Codes [rows, columns] as bytes [rows, blocks, size / 2]; the last block is padded by zeros."""
    rows, columns = codes.shape
    blocks = -(-columns // size)
    if blocks * size != columns:
        codes = np.pad(codes, ((0, 0), (0, blocks * size - columns)))
    return _pack_pairs(codes.reshape(rows, blocks, size))


def _pack_pairs(numbers: Array) -> Array:
    """Numbers of 4 bits packed in pairs into bytes along the last axis, the first one in the low bits."""
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), np.uint8)], -1)
    packed: Array = numbers[..., 0::2] | numbers[..., 1::2] << np.uint8(4)
    return packed
