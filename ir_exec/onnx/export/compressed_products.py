"""Products with compressed weights by MatMulNBits of com.microsoft, which reads 4 bits an element.

Weights of 8 bits are two factors of 4 bits: `16 * high + low`. The sums are those of f32 weights. Its own kernel for 8
bits, since onnxruntime 1.22, rounds the other factor to 8 bits or decodes the whole weight in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ir_exec.graph import Node
from ir_exec.onnx.export.compressed import Compressed, packed_reader
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array, ElementType

__all__ = ["ProductLevels", "emit_matmul", "fits_matmul"]

_LEAST_BLOCK = 16
_MOST_BLOCK = 256
"""The kernel returns zeros for blocks of 512 elements and more."""

_PADDED_BLOCK = 32
"""Elements of a block of rows whose length no block divides."""

_ROUNDED_BLOCK = 32
"""Maximum elements with one scale of rounded activations: fewer have a smaller error."""

_DOMAIN = "com.microsoft"


@dataclass
class ProductLevels:
    """The products with compressed weights whose other factor is rounded to 8 bits, with a scale for each block.

    Attributes:
        rounded: The names of their layers.
        is_measured: Each product is computed with and without rounding, for the difference between both.
        has_bytes: The kernel multiplies by weights of 8 bits.
        errors: For each measured layer, the output [2] with the sums of squares of the difference and of the product.
    """

    rounded: frozenset[str] = frozenset()
    is_measured: bool = False
    has_bytes: bool = True
    errors: dict[str, str] = field(default_factory=dict)

    def concerns(self, compressed: Compressed, layer_name: str) -> bool:
        """Return True if the layer's product is rounded or measured."""
        if not self.has_bytes and compressed.weight.constant.element_type.bits == 8:
            return False
        return self.is_measured or layer_name in self.rounded


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

    def divide(self, most: int) -> _Layout:
        """Return blocks of at most this power of two."""
        size = min(self.size, most)
        return _Layout(size, self.repeats * (self.size // size), self.is_padded)


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
    """Integers of 4 or 8 bits in a kernel: (codes - zero) * scale.

    Attributes:
        pack: Returns the codes as bytes [rows, blocks, bytes of a block].
        scale: [rows, blocks].
        zero: [rows, blocks].
        size: Elements of a block.
    """

    pack: Callable[[], Array]
    scale: Array
    zero: Array
    size: int
    bits: int = 4


def emit_matmul(
    lowerer: GraphLowerer, compressed: Compressed, a: str, name: str, *, is_transposed: bool, levels: ProductLevels
) -> str:
    """Emit MatMulNBits of com.microsoft, and return the name of the product."""
    layout = _find_layout(compressed, is_transposed=is_transposed)
    assert layout is not None, "fits_matmul"
    emitter = _ProductEmitter(lowerer, compressed, layout, is_transposed, a, name)
    if not levels.concerns(compressed, name):
        return emitter.emit()
    if not levels.is_measured:
        return emitter.emit_rounded()
    product = emitter.emit()
    levels.errors[name] = emitter.emit_error(product, emitter.emit_rounded())
    return product


@dataclass(frozen=True)
class _ProductEmitter:
    """Emits the product of a layer.

    Attributes:
        a: The name of the other factor.
        name: The name of the layer.
    """

    lowerer: GraphLowerer
    compressed: Compressed
    layout: _Layout
    is_transposed: bool
    a: str
    name: str

    @property
    def _columns(self) -> int:
        return self.compressed.shape[1 if self.is_transposed else 0]

    def emit(self) -> str:
        """Emit the product with sums in f32."""
        factors = _split(self.lowerer, self.compressed, self.layout, is_transposed=self.is_transposed)
        if len(factors) == 1:
            return self._emit_factor(factors[0], self.a, self._columns, 1)
        if not self.layout.is_padded:
            # One product of rows of twice the length. Equal concatenations are merged by onnxruntime.
            twice = self._emit("Concat", self.a, self.a, axis=-1)
            return self._emit_factor(_join(factors), twice, 2 * self._columns, 1)
        return self._emit("Add", *[self._emit_factor(factor, self.a, self._columns, 1) for factor in factors])

    def emit_rounded(self) -> str:
        """Emit the product with the other factor rounded to 8 bits."""
        lowerer, compressed, layout = self.lowerer, self.compressed, self.layout
        if compressed.weight.constant.element_type.bits < 8:
            (factor,) = _split(lowerer, compressed, layout, is_transposed=self.is_transposed)
        else:
            layout = layout.divide(_ROUNDED_BLOCK)
            scale = _to_rows(compressed.scale, layout, self.is_transposed).astype(np.float32)
            zero = _to_rows(_zeros(compressed), layout, self.is_transposed)
            factor = _Factor(partial(self._pack_bytes, layout.size), scale, zero, layout.size, 8)
        return self._emit_factor(factor, self.a, self._columns, 4)

    def _pack_bytes(self, size: int) -> Array:
        codes = _read_codes(self.compressed, self.lowerer, is_transposed=self.is_transposed)
        return _divide_into_blocks(codes, size)

    def emit_error(self, product: str, rounded: str) -> str:
        """Emit the sums of squares [2] of the difference and of the product."""
        shape = self.lowerer.writer.constant(np.array([1], np.int64), f"{self.name}/shape")
        difference = self._emit("Sub", product, rounded)
        sums = [self._emit("Reshape", self._emit("ReduceSumSquare", value), shape) for value in (difference, product)]
        return self._emit("Concat", *sums, axis=0)

    def _emit(self, operator: str, *inputs: str, **attributes: int) -> str:
        return self.lowerer.writer.emit(operator, inputs, 1, name=self.name, attributes=attributes)[0]

    def _emit_factor(self, factor: _Factor, a: str, columns: int, level: int) -> str:
        """Emit MatMulNBits: level 1 for sums in f32, 4 if the other factor may be rounded to 8 bits."""
        writer, name, (rows, blocks) = self.lowerer.writer, self.name, factor.scale.shape
        shape = (rows, blocks, factor.size * factor.bits // 8)
        stored = writer.element_constant(f"{name}/B", ElementType.u8, shape, factor.pack, is_computed=True)
        scales = writer.constant(factor.scale.reshape(-1), f"{name}/scales")
        zeros = _pack_pairs(factor.zero) if factor.bits == 4 else factor.zero
        inputs = [a, stored, scales, writer.constant(zeros.reshape(-1), f"{name}/zero_points")]
        output = writer.fresh(f"{name}/MatMulNBits")
        attributes = {
            "K": columns,
            "N": rows,
            "bits": factor.bits,
            "block_size": factor.size,
            "accuracy_level": level,
        }
        writer.node("MatMulNBits", inputs, [output], name=writer.node_name(name), domain=_DOMAIN, attributes=attributes)
        writer.codes[output] = writer.code(ElementType.f32)
        return output


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
            _Factor(lambda: pack(4), scale * np.float32(16), zero >> 4, size),
            _Factor(lambda: pack(0), scale, zero & np.uint8(15), size),
        ]
    read_bytes = packed_reader(constant, reader)
    if read_bytes is None or layout.is_padded or not is_transposed:

        def pack_codes() -> Array:
            return _pack_blocks(_read_codes(compressed, lowerer, is_transposed=is_transposed), size)

        return [_Factor(pack_codes, scale, zero, size)]
    # 8 is added to both halves of a byte of signed integers.
    change = np.uint8(0 if constant.element_type is ElementType.u4 else 0x88)
    shape = (compressed.shape[0], -1, size // 2)
    return [_Factor(lambda: (read_bytes() ^ change if change else read_bytes()).reshape(shape), scale, zero, size)]


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
        factors[0].size,
    )


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
    """Codes [rows, columns] of 4 bits as bytes [rows, blocks, size / 2]."""
    return _pack_pairs(_divide_into_blocks(codes, size))


def _divide_into_blocks(codes: Array, size: int) -> Array:
    """Codes [rows, columns] as [rows, blocks, size]; the last block is padded by zeros."""
    rows, columns = codes.shape
    blocks = -(-columns // size)
    if blocks * size != columns:
        codes = np.pad(codes, ((0, 0), (0, blocks * size - columns)))
    return codes.reshape(rows, blocks, size)


def _pack_pairs(numbers: Array) -> Array:
    """Numbers of 4 bits packed in pairs into bytes along the last axis, the first one in the low bits."""
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), np.uint8)], -1)
    packed: Array = numbers[..., 0::2] | numbers[..., 1::2] << np.uint8(4)
    return packed
