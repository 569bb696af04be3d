"""Compressed weights: layers that decompress a constant, as a DequantizeLinear or by operators of onnxruntime.

Const (u8, i8, u4, i4) -> Convert [-> Subtract] -> Multiply [-> Reshape] [-> Convert]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import chain_of
from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.ops.arithmetic.binary import Multiply
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.ops.movement.gather import Gather1, Gather7, Gather8
from ir_exec.ops.shape import Reshape
from ir_exec.ops.type import Convert
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["Compressed", "emit_gather", "emit_matmul", "emit_weight", "find_compressed", "fits_gather", "fits_matmul"]

_STORED = (ElementType.u8, ElementType.i8, ElementType.u4, ElementType.i4)
_GATHERS = (Gather1, Gather7, Gather8)
_LEAST_BLOCK = 16
_BLOCKED_SINCE = 21


@dataclass(frozen=True, eq=False)
class Compressed:
    """A constant of integers, and its conversion to floats: (stored - zero) * scale.

    Attributes:
        value: The decompressed value.
        shape: The shape of the stored integers. It differs from the shape of `value` only if ONNX keeps a following
            Reshape.
        scale: Arrays of the rank of the stored integers; zero is of their type, None for 0.
        zero: See `scale`.
        block: Elements of an axis that share a scale, 0 if the axis has one scale.
        nodes: The layers that this replaces.
    """

    value: Value
    stored: Const
    shape: tuple[int, ...]
    scale: Array
    zero: Array | None
    kind: ElementType
    axis: int
    block: int
    nodes: frozenset[Node]


def find_compressed(
    graph: Graph, types: Mapping[Value, TensorType], weights: WeightsReader | None, opset: int
) -> dict[Node, Compressed]:
    """The decompressions of a graph by their last layers."""
    if weights is None:
        return {}
    uses = Counter(value for node in graph.nodes for value in node.inputs if value is not None)
    readers: dict[Value, Node] = {value: node for node in graph.nodes for value in node.values_in}
    found: dict[Node, Compressed] = {}
    for node in graph.nodes:
        if isinstance(node.op, Multiply) and types[node.outputs[0]].shape.is_static:
            one = _decompressed(node, types, weights, opset, lambda value: readers[value] if uses[value] == 1 else None)
            if one is not None:
                found[one.value.node] = one
    return found


def _constant(value: Value | None, weights: WeightsReader) -> tuple[Const, list[Node]] | None:
    """The constant from which a value originates, and the conversion between them."""
    if value is None:
        return None
    nodes: list[Node] = []
    if isinstance(value.node.op, Convert):
        nodes.append(value.node)
        value = value.node.values_in[0]
    return (value.node.op, nodes) if isinstance(value.node.op, Const) else None


def _decompressed(
    node: Node,
    types: Mapping[Value, TensorType],
    weights: WeightsReader,
    opset: int,
    only_reader: Callable[[Value], Node | None],
) -> Compressed | None:
    chain = chain_of(node.outputs[0])
    if chain is None or chain.scale is None or chain.line[0] is not node:
        return None
    nodes = {*chain.line}
    plain = ("Multiply", "Convert") if chain.zero is None else ("Multiply", "Subtract", "Convert")
    if tuple([one.type for one in chain.line]) != plain:
        return None
    if any(only_reader(below.outputs[0]) is not above for above, below in pairwise(chain.line)):
        return None
    scale_of = _constant(chain.scale, weights)
    zero_of = _constant(chain.zero, weights)
    if scale_of is None or (chain.zero is not None and zero_of is None):
        return None
    stored, kind = chain.constant, types[node.outputs[0]].element_type
    if stored.element_type not in _STORED or is_carried(stored.element_type, opset):
        return None
    if kind not in (ElementType.f16, ElementType.f32) or (kind is ElementType.f16 and opset < 19):
        return None
    shape = stored.shape.static
    scale = scale_of[0].evaluate(weights=weights)
    if not ElementType.of(scale).is_float or ElementType.of(scale).bits < 16:
        return None
    ranked = _ranked(scale, len(shape))
    zero = None if zero_of is None else _whole(zero_of[0].evaluate(weights=weights), stored.element_type)
    if ranked is None or (zero_of is not None and zero is None):
        return None
    scale = ranked
    if zero is not None:
        zero = _ranked(zero, len(shape))
        if zero is None or any(size not in (1, other) for size, other in zip(zero.shape, scale.shape, strict=True)):
            return None
        zero = np.broadcast_to(zero, scale.shape)
    if len(shape) == 2 and scale.size == 1:
        scale = np.broadcast_to(scale, (shape[0], 1))
        zero = None if zero is None else np.broadcast_to(zero, scale.shape)
    layout = _layout(shape, scale.shape, opset)
    if layout is None:
        return None
    axis, block = layout
    value = node.outputs[0]
    after = only_reader(value)
    if after is not None and isinstance(after.op, Reshape) and after.values_in[0] is value and block:
        wanted = types[after.outputs[0]].shape
        if wanted.is_static and wanted.static == (*shape[:-2], shape[-2] * shape[-1]):
            nodes.add(after)
            shape, scale = wanted.static, scale.reshape(scale.shape[:-1])
            zero = None if zero is None else zero.reshape(scale.shape)
            axis, value = len(shape) - 1, after.outputs[0]
            after = only_reader(value)
    if after is not None and isinstance(after.op, Convert) and after.op.destination_type is ElementType.f32:
        nodes.add(after)
        value, kind = after.outputs[0], ElementType.f32
    return Compressed(value, stored, shape, scale.astype(kind.dtype), zero, kind, axis, block, frozenset(nodes))


def _ranked(array: Array, rank: int) -> Array | None:
    """The array with leading axes of size 1; None if it has more axes."""
    return None if array.ndim > rank else array.reshape((1,) * (rank - array.ndim) + array.shape)


def _whole(zero: Array, kind: ElementType) -> Array | None:
    """Zero points as integers of the stored type; None if they are not integers."""
    numbers = zero.astype(np.float32)
    low = -(2 ** (kind.bits - 1)) if kind.is_signed else 0
    is_whole = (numbers == np.rint(numbers)) & (numbers >= low) & (numbers < low + 2**kind.bits)
    return numbers.astype(np.int16).astype(kind.dtype) if bool(is_whole.all()) else None


def _layout(shape: tuple[int, ...], scale: tuple[int, ...], opset: int) -> tuple[int, int] | None:
    """The axis of the scales, and the elements that share one; None if DequantizeLinear cannot express them."""
    if any(size not in (1, full) for size, full in zip(scale, shape, strict=True)) or 0 in shape:
        return None
    if len(shape) == 2 and scale == (shape[0], 1) and opset >= _BLOCKED_SINCE:
        # As rows of one block: with scales of an axis onnxruntime multiplies with activations rounded to 8 bits.
        return 1, shape[1]
    own = [axis for axis, size in enumerate(scale) if size > 1]
    if len(own) <= 1 and (len(shape) < 3 or scale[-2] == 1 or shape[-2] == 1):
        return (own[0] if own else -1), 0
    if scale[-1] == 1 and scale[:-1] == shape[:-1] and opset >= _BLOCKED_SINCE:
        return len(shape) - 1, shape[-1]
    return (own[0], 0) if len(own) == 1 else None


def emit_weight(lowerer: GraphLowerer, one: Compressed) -> str:
    """Emit a DequantizeLinear and return the name of its output."""
    writer, node = lowerer.writer, one.value.node
    reader = lowerer.weights
    assert reader is not None
    name = lowerer.new_name(one.value)
    stored = writer.element_constant(
        f"{name}/stored",
        one.stored.element_type,
        one.shape,
        lambda: one.stored.evaluate(weights=reader).reshape(one.shape),
    )
    shape: tuple[int, ...] = one.scale.shape
    if not one.block:
        shape = () if one.axis < 0 else (-1,)
    inputs = [stored, writer.constant(one.scale.reshape(shape), f"{name}/scale")]
    if one.zero is not None:
        inputs.append(writer.constant(one.zero.reshape(shape), f"{name}/zero_point"))
    attributes = {"axis": one.axis if one.axis >= 0 else None, "block_size": one.block or None}
    writer.node("DequantizeLinear", inputs, [name], name=writer.node_name(node.name), attributes=attributes)
    writer.codes[name] = writer.code(one.kind)
    return name


def fits_matmul(one: Compressed, node: Node) -> bool:
    """Return True if MatMulNBits can multiply by the weight: 4 bits in blocks along the summed axis."""
    op = node.op
    if not isinstance(op, MatMul) or not op.transpose_b or op.transpose_a or node.values_in[1] is not one.value:
        return False
    return _is_packable(one) and len(one.shape) == 2 and one.kind is ElementType.f32


def fits_gather(one: Compressed, node: Node) -> bool:
    """Return True if GatherBlockQuantized can gather rows of the weight."""
    if not isinstance(node.op, _GATHERS) or node.values_in[0] is not one.value or node.op._batch(None):
        return False
    return _is_packable(one) and len(one.shape) == 2


def _is_packable(one: Compressed) -> bool:
    is_power = one.block >= _LEAST_BLOCK and one.block & (one.block - 1) == 0
    return is_power and one.stored.element_type in (ElementType.u4, ElementType.i4)


def _biased(array: Array) -> Array:
    """Integers of 4 bits as unsigned ones: 8 is added to signed ones."""
    numbers = array.astype(np.int8)
    return (numbers + 8 if ElementType.of(array) is ElementType.i4 else numbers).astype(np.uint8)


def _packed(numbers: Array) -> Array:
    """Numbers of 4 bits packed in pairs into bytes along the last axis, the first one in the low bits."""
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), np.uint8)], -1)
    found: Array = numbers[..., 0::2] | numbers[..., 1::2] << 4
    return found


def _zeros(one: Compressed) -> Array:
    zero = np.zeros(one.scale.shape, one.stored.element_type.dtype) if one.zero is None else one.zero
    return _biased(np.ascontiguousarray(zero))


def emit_matmul(lowerer: GraphLowerer, one: Compressed, a: str, name: str) -> str:
    """Emit MatMulNBits of com.microsoft."""
    writer, reader = lowerer.writer, lowerer.weights
    assert reader is not None
    rows, columns = one.shape
    blocks = columns // one.block

    def packed() -> Array:
        numbers = _biased(one.stored.evaluate(weights=reader)).reshape(rows, blocks, one.block)
        return _packed(numbers)

    stored = writer.element_constant(f"{name}/B", ElementType.u8, (rows, blocks, one.block // 2), packed)
    scales = writer.constant(one.scale.reshape(rows, blocks).astype(np.float32).reshape(-1), f"{name}/scales")
    zeros = writer.constant(_packed(_zeros(one).reshape(rows, blocks)).reshape(-1), f"{name}/zero_points")
    found = writer.fresh(f"{name}/MatMulNBits")
    # 1: sums in f32, as for f32 weights; otherwise activations may be rounded to 8 bits.
    attributes = {"K": columns, "N": rows, "bits": 4, "block_size": one.block, "accuracy_level": 1}
    inputs = [a, stored, scales, zeros]
    writer.node(
        "MatMulNBits", inputs, [found], name=writer.node_name(name), domain="com.microsoft", attributes=attributes
    )
    writer.codes[found] = writer.code(ElementType.f32)
    return found


def emit_gather(lowerer: GraphLowerer, one: Compressed, indices: str, name: str) -> str:
    """Emit GatherBlockQuantized of com.microsoft."""
    writer, reader = lowerer.writer, lowerer.weights
    assert reader is not None
    kind = one.stored.element_type
    stored = writer.element_constant(
        f"{name}/data", kind, one.shape, lambda: one.stored.evaluate(weights=reader).reshape(one.shape)
    )
    inputs = [stored, indices, writer.constant(one.scale, f"{name}/scales")]
    if one.zero is not None:
        inputs.append(writer.constant(np.ascontiguousarray(one.zero), f"{name}/zero_points"))
    found = writer.fresh(f"{name}/GatherBlockQuantized")
    attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": one.block, "bits": 4}
    writer.node(
        "GatherBlockQuantized",
        inputs,
        [found],
        name=writer.node_name(name),
        domain="com.microsoft",
        attributes=attributes,
    )
    writer.codes[found] = writer.code(one.kind)
    return found
