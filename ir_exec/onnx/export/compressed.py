"""Compressed weights: layers that decompress a constant, as a DequantizeLinear or by operators of onnxruntime.

Const (u8, i8, u4, i4) -> Convert [-> Subtract] -> Multiply [-> Reshape] [-> Convert]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, find_weight
from ir_exec.graph.constant_parts import read_numbers
from ir_exec.ir import Weights
from ir_exec.onnx.export.carriers import is_carried
from ir_exec.onnx.export.graph_lowerer import GraphLowerer
from ir_exec.ops.arithmetic.binary import Multiply, Subtract
from ir_exec.ops.base.bodies import WeightsReader
from ir_exec.ops.infrastructure.values import Const
from ir_exec.ops.movement.gather import Gather1, Gather7, Gather8
from ir_exec.ops.shape import Reshape
from ir_exec.ops.type import Convert
from ir_exec.types import Array, ElementType, TensorType

__all__ = [
    "Compressed",
    "emit_gather",
    "emit_weight",
    "find_compressed",
    "fits_gather",
    "is_table",
    "packed_reader",
]

_STORED = (ElementType.u8, ElementType.i8, ElementType.u4, ElementType.i4)
_GATHERS = (Gather1, Gather7, Gather8)
_LEAST_BLOCK = 16
_BLOCKED_SINCE = 21


@dataclass(frozen=True, eq=False)
class Compressed:
    """A weight of integers that ONNX can dequantize: (codes - zero) * scale.

    Attributes:
        weight: The constant, and the layers that this replaces.
        shape: The shape of the codes in ONNX. It differs from the shape of the weight only if ONNX keeps a following
            Reshape.
        scale: The scales, of the rank of the stored integers.
        zero: The zero points, of the rank and the type of the stored integers; None for 0.
        block: Elements of an axis that share a scale, 0 if the axis has one scale.
    """

    weight: CompressedWeight
    shape: tuple[int, ...]
    scale: Array
    zero: Array | None
    axis: int
    block: int

    @property
    def element_type(self) -> ElementType:
        """The element type of the weight."""
        return ElementType.of(self.scale)


def find_compressed(
    graph: Graph, types: Mapping[Value, TensorType], weights: WeightsReader | None, opset: int
) -> dict[Node, Compressed]:
    """The compressed weights of a graph by their last layers."""
    if weights is None:
        return {}
    uses = Counter(value for node in graph.nodes for value in node.inputs if value is not None)
    readers: dict[Value, Node] = {value: node for node in graph.nodes for value in node.values_in}

    def only_reader(value: Value) -> Node | None:
        return readers[value] if uses[value] == 1 else None

    compressed: dict[Node, Compressed] = {}
    for node in graph.nodes:
        if isinstance(node.op, Multiply) and types[node.outputs[0]].shape.is_static:
            candidate = _describe(node, types, weights, opset, only_reader)
            if candidate is not None:
                compressed[candidate.weight.value.node] = candidate
    return compressed


def _describe(
    node: Node,
    types: Mapping[Value, TensorType],
    weights: WeightsReader,
    opset: int,
    only_reader: Callable[[Value], Node | None],
) -> Compressed | None:
    weight, value = find_weight(node.outputs[0]), node.outputs[0]
    if weight is None or weight.scale is None or weight.line[0] is not node:
        return None
    arithmetic = [Multiply, *([] if weight.zero is None else [Subtract]), Convert]
    if [type(layer.op) for layer in weight.line] != arithmetic:
        return None
    if any(only_reader(below.outputs[0]) is not above for above, below in pairwise(weight.line)):
        return None
    element_type, shape = types[value].element_type, weight.stored_shape
    if weight.element_type not in _STORED or is_carried(weight.element_type, opset):
        return None
    if element_type not in (ElementType.f16, ElementType.f32) or (element_type is ElementType.f16 and opset < 19):
        return None
    numbers = _read_numbers(weight, element_type, weights)
    layout = None if numbers is None else _layout(shape, numbers[0].shape, opset)
    if numbers is None or layout is None:
        return None
    (scale, zero), (axis, block) = numbers, layout
    after = only_reader(value)
    if after is not None and isinstance(after.op, Reshape) and after.values_in[0] is value and block:
        merged = types[after.outputs[0]].shape
        if merged.is_static and merged.static == (*shape[:-2], shape[-2] * shape[-1]):
            shape, scale = merged.static, scale.reshape(scale.shape[:-1])
            zero = None if zero is None else zero.reshape(scale.shape)
            axis, value = len(shape) - 1, after.outputs[0]
            after = only_reader(value)
    if after is not None and isinstance(after.op, Convert) and after.op.destination_type is ElementType.f32:
        value, element_type = after.outputs[0], ElementType.f32
    end = find_weight(value)
    return None if end is None else Compressed(end, shape, scale.astype(element_type.dtype), zero, axis, block)


def _read_numbers(
    weight: CompressedWeight, element_type: ElementType, weights: WeightsReader
) -> tuple[Array, Array | None] | None:
    """The scale, exact in an element type, and the zero point, of one shape and the rank of the codes."""
    assert weight.scale is not None
    rank = len(weight.stored_shape)
    scale = _align_rank(read_numbers(weight.scale, weights), rank)
    if scale is None or not _is_exact(scale, element_type):
        return None
    zero = None
    if weight.zero is not None:
        integers = _to_stored_integers(read_numbers(weight.zero, weights), weight.element_type)
        zero = None if integers is None else _align_rank(integers, rank)
        if zero is None or any(size not in (1, other) for size, other in zip(zero.shape, scale.shape, strict=True)):
            return None
    if rank == 2 and scale.size == 1:
        scale = np.broadcast_to(scale, (weight.stored_shape[0], 1))
    return scale, None if zero is None else np.broadcast_to(zero, scale.shape)


def _is_exact(numbers: Array, element_type: ElementType) -> bool:
    with np.errstate(over="ignore"):
        return np.array_equal(numbers.astype(element_type.dtype).astype(np.float32), numbers, equal_nan=True)


def _align_rank(array: Array, rank: int) -> Array | None:
    """The array with leading axes of size 1; None if it has more axes."""
    return None if array.ndim > rank else array.reshape((1,) * (rank - array.ndim) + array.shape)


def _to_stored_integers(zero: Array, element_type: ElementType) -> Array | None:
    """Zero points as integers of the stored type; None if they are not integers."""
    low = -(2 ** (element_type.bits - 1)) if element_type.is_signed else 0
    is_whole = (zero == np.rint(zero)) & (zero >= low) & (zero < low + 2**element_type.bits)
    return zero.astype(np.int16).astype(element_type.dtype) if bool(is_whole.all()) else None


def _layout(shape: tuple[int, ...], scale: tuple[int, ...], opset: int) -> tuple[int, int] | None:
    """The axis of the scales, and the elements that share one; None if DequantizeLinear cannot express them."""
    if any(size not in (1, full) for size, full in zip(scale, shape, strict=True)) or 0 in shape:
        return None
    if len(shape) == 2 and scale == (shape[0], 1) and opset >= _BLOCKED_SINCE:
        # As rows of one block: with scales of an axis onnxruntime multiplies with activations rounded to 8 bits.
        return 1, shape[1]
    if len(shape) == 3 and shape[1] == 1 and scale == (shape[0], 1, 1) and opset >= _BLOCKED_SINCE:
        return 2, shape[2]
    own = [axis for axis, size in enumerate(scale) if size > 1]
    if len(own) <= 1 and (len(shape) < 3 or scale[-2] == 1 or shape[-2] == 1):
        return (own[0] if own else -1), 0
    if scale[-1] == 1 and scale[:-1] == shape[:-1] and opset >= _BLOCKED_SINCE:
        return len(shape) - 1, shape[-1]
    return (own[0], 0) if len(own) == 1 else None


def emit_weight(lowerer: GraphLowerer, compressed: Compressed) -> str:
    """Emit a DequantizeLinear and return the name of its output."""
    writer, node = lowerer.writer, compressed.weight.value.node
    reader = lowerer.weights
    assert reader is not None
    name = lowerer.new_name(compressed.weight.value)
    stored = writer.element_constant(
        f"{name}/stored",
        compressed.weight.constant.element_type,
        compressed.shape,
        lambda: compressed.weight.constant.evaluate(weights=reader).reshape(compressed.shape),
        read_packed=packed_reader(compressed.weight.constant, reader),
    )
    shape: tuple[int, ...] = compressed.scale.shape
    if not compressed.block:
        shape = () if compressed.axis < 0 else (-1,)
    inputs = [stored, writer.constant(compressed.scale.reshape(shape), f"{name}/scale")]
    if compressed.zero is not None:
        inputs.append(writer.constant(compressed.zero.reshape(shape), f"{name}/zero_point"))
    attributes = {"axis": compressed.axis if compressed.axis >= 0 else None, "block_size": compressed.block or None}
    writer.node("DequantizeLinear", inputs, [name], name=writer.node_name(node.name), attributes=attributes)
    writer.codes[name] = writer.code(compressed.element_type)
    return name


def is_table(compressed: Compressed, readers: Iterable[Node]) -> bool:
    """Return True if a layer gathers rows of the weight."""
    return any(isinstance(node.op, _GATHERS) and node.values_in[0] is compressed.weight.value for node in readers)


def fits_gather(compressed: Compressed, node: Node) -> bool:
    """Return True if GatherBlockQuantized can gather rows of the weight."""
    if not isinstance(node.op, _GATHERS) or node.values_in[0] is not compressed.weight.value or node.op._batch(None):
        return False
    return _is_packable(compressed) and len(compressed.shape) == 2


def _is_packable(compressed: Compressed) -> bool:
    is_power = compressed.block >= _LEAST_BLOCK and compressed.block & (compressed.block - 1) == 0
    return is_power and compressed.weight.constant.element_type in (ElementType.u4, ElementType.i4)


def packed_reader(constant: Const, weights: WeightsReader) -> Callable[[], Array] | None:
    """A function that returns the bytes of a constant of 4-bit integers as in ONNX; None for other constants."""
    if constant.element_type not in (ElementType.u4, ElementType.i4) or not isinstance(weights, Weights):
        return None
    return partial(weights.read_packed, constant.element_type, constant.shape.static, constant.offset, constant.size)


def emit_gather(lowerer: GraphLowerer, compressed: Compressed, indices: str, name: str) -> str:
    """Emit GatherBlockQuantized of com.microsoft."""
    writer, reader = lowerer.writer, lowerer.weights
    assert reader is not None
    element_type = compressed.weight.constant.element_type
    stored = writer.element_constant(
        f"{name}/data",
        element_type,
        compressed.shape,
        lambda: compressed.weight.constant.evaluate(weights=reader).reshape(compressed.shape),
        read_packed=packed_reader(compressed.weight.constant, reader),
    )
    inputs = [stored, indices, writer.constant(compressed.scale, f"{name}/scales")]
    if compressed.zero is not None:
        inputs.append(writer.constant(np.ascontiguousarray(compressed.zero), f"{name}/zero_points"))
    output = writer.fresh(f"{name}/GatherBlockQuantized")
    attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": compressed.block, "bits": 4}
    writer.node(
        "GatherBlockQuantized",
        inputs,
        [output],
        name=writer.node_name(name),
        domain="com.microsoft",
        attributes=attributes,
    )
    writer.codes[output] = writer.code(compressed.element_type)
    return output
