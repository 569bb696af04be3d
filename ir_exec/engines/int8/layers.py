"""Convolutions and products of integers of 8 bits, as the patterns of onnxruntime require them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, helper

from ir_exec.engines.int8.graph import CUSTOM, EditedGraph, get_attribute
from ir_exec.engines.int8.integers import Grid, IntegerConstant, grid_of, match_constant
from ir_exec.types import Array

__all__ = ["convert_convolutions", "convert_products", "expand_weights"]

_LARGEST_BIAS = 2.0**30
"""Maximum magnitude of a bias: the sum of 2**15 products of integers of 8 bits is as large, and both fit into i32."""


@dataclass
class _IntegerLayer:
    """A layer with integers as data and weights.

    Attributes:
        data: The integers of the data.
        weights: The weights, with zero points of 0.
        scale: The scale of each output channel.
        bias: In f32, for each output channel; None without one.
        output: The tensor after the addition of the bias.
        addition: The node that adds the bias; None if the node itself does, or without a bias.
    """

    node: NodeProto
    data: str
    grid: Grid
    weights: IntegerConstant
    scale: Array
    bias: Array | None
    output: str
    addition: NodeProto | None = None


def convert_convolutions(graph: EditedGraph, *, is_unsigned: bool) -> list[NodeProto]:
    """Give convolutions whose data and results are quantized an integer bias and weights, and return them.

    Args:
        is_unsigned: Weights are u8 instead of i8.
    """
    converted = []
    for node in graph.of_type("Conv"):
        layer = _match_convolution(graph, node)
        if layer is None:
            continue
        quantizers = graph.readers(layer.output)
        grids = [grid_of(graph, reader) if reader.op_type == "QuantizeLinear" else None for reader in quantizers]
        grid = grids[0] if grids else None
        if graph.is_output(layer.output) or len(grids) != 1 or grid is None or grid.zero.dtype != np.uint8:
            continue
        if grid.axis is not None and (grid.axis != 1 or np.unique(grid.zero).size != 1):
            continue
        _convert_convolution(graph, layer, quantizers[0], grid, is_unsigned=is_unsigned)
        converted.append(node)
    return converted


def _match_convolution(graph: EditedGraph, node: NodeProto) -> _IntegerLayer | None:
    source = graph.producer(node.input[0], "DequantizeLinear")
    grid = None if source is None else grid_of(graph, source)
    weights = match_constant(graph, node.input[1])
    if source is None or grid is None or weights is None or grid.zero.dtype != np.uint8:
        return None
    weights = weights.to_signed()
    vectors = weights.along(0)
    if vectors is None or vectors[1].any():
        return None
    scale, size = vectors[0], weights.shape[0]
    if grid.axis is not None:
        # Each output channel of a depthwise convolution reads one channel.
        if grid.axis != 1 or get_attribute(node, "group", 1) != grid.scale.size or np.unique(grid.zero).size != 1:
            return None
        scale = scale * np.repeat(grid.scale, size // grid.scale.size)
        grid = Grid(np.ones((), np.float32), grid.zero[0].reshape(()))
    layer = _IntegerLayer(node, source.input[0], grid, weights, scale, None, node.output[0])
    if len(node.input) > 2 and node.input[2]:
        layer.bias = graph.numbers(node.input[2])
        return None if layer.bias is None else layer
    _match_bias(graph, layer, len(weights.shape) - 2)
    return layer


def _match_bias(graph: EditedGraph, layer: _IntegerLayer, trailing: int) -> None:
    """Take the bias of a layer from an addition after it.

    Args:
        trailing: The number of axes after the axis of the channels.
    """
    addition = graph.only_reader(layer.output, "Add")
    if addition is None:
        return
    bias = graph.numbers(next(name for name in addition.input if name != layer.output))
    size = layer.scale.size
    if bias is None or (bias.ndim > trailing + 2 and bias.shape[: -trailing - 1] != (1,) * (bias.ndim - trailing - 1)):
        return
    is_vector = bias.size == 1 or (bias.ndim > trailing and bias.shape[bias.ndim - trailing - 1] == bias.size == size)
    rank = graph.rank(layer.output)
    if is_vector and (rank is None or bias.ndim <= rank):
        layer.bias = np.broadcast_to(bias.reshape(-1), (size,))
        layer.output, layer.addition = addition.output[0], addition


def _convert_convolution(
    graph: EditedGraph, layer: _IntegerLayer, quantize: NodeProto, grid: Grid, *, is_unsigned: bool
) -> None:
    node, name = layer.node, layer.node.name
    if layer.addition is not None:
        graph.redirect(layer.output, node.output[0])
        graph.remove(layer.addition)
    scale, data = layer.scale, layer.grid
    weights = layer.weights
    if layer.bias is not None:
        # The integers of a bias that is large for its scale would not fit into i32.
        limit = np.abs(layer.bias) / (_LARGEST_BIAS * data.scale)
        if (limit > scale).any():
            larger = np.maximum(limit, scale).astype(np.float32)
            weights = weights.raise_scales(larger / scale, 0)
            scale = larger
        bias = np.rint(layer.bias.astype(np.float64) / (data.scale * scale.astype(np.float64))).astype(np.int32)
    if grid.axis is not None:
        # The scales of output channels become part of the scales of the weights.
        scale = scale / grid.scale
        _set_scalar_grid(graph, quantize, grid)
    graph.set_input(node, 0, _dequantize(graph, layer.data, data, name))
    weights = weights.to_unsigned() if is_unsigned else weights
    integers = graph.store(weights.integers, f"{name}/integers")
    graph.set_input(node, 1, _dequantize_vector(graph, integers, scale, name, zero=128 if is_unsigned else 0))
    if layer.bias is not None:
        integers = graph.add_constant(bias, f"{name}/bias")
        graph.set_input(node, 2, _dequantize_vector(graph, integers, data.scale * scale, name))


def _set_scalar_grid(graph: EditedGraph, quantize: NodeProto, grid: Grid) -> None:
    """Let a QuantizeLinear round to integers."""
    scale = graph.add_constant(np.ones((), np.float32), f"{quantize.name}/scale")
    graph.set_input(quantize, 1, scale)
    graph.set_input(quantize, 2, graph.add_constant(grid.zero[0].reshape(()), f"{quantize.name}/zero"))


def _dequantize(graph: EditedGraph, integers: str, grid: Grid, name: str) -> str:
    inputs = [
        integers,
        graph.add_constant(grid.scale.astype(np.float32), f"{name}/scale"),
        graph.add_constant(grid.zero, f"{name}/zero"),
    ]
    return graph.add("DequantizeLinear", inputs, "", f"{name}/DequantizeLinear")


def _dequantize_vector(graph: EditedGraph, integers: str, scale: Array, name: str, *, zero: int = 0) -> str:
    """Dequantize a constant with a scale for each element of its first axis."""
    constant = graph.constant(integers)
    assert constant is not None
    zeros = np.full(scale.shape, zero, helper.tensor_dtype_to_np_dtype(constant.code))
    inputs = [
        integers,
        graph.add_constant(scale.astype(np.float32), f"{name}/scales"),
        graph.add_constant(zeros, f"{name}/zeros"),
    ]
    return graph.add("DequantizeLinear", inputs, "", f"{name}/DequantizeLinear", axis=0)


def expand_weights(graph: EditedGraph, converted: Sequence[NodeProto]) -> None:
    """Store weights in f32 that would be dequantized in each run, and those whose products onnxruntime might add.

    Args:
        converted: Convolutions of integers.
    """
    excluded = {id(node) for node in converted}
    for node in graph.of_type("Conv", "ConvTranspose", "MatMul"):
        is_product = node.op_type == "MatMul"
        if id(node) in excluded or (is_product and graph.producer(node.input[0], "DequantizeLinear") is None):
            continue
        if graph.producer(node.input[1], "DequantizeLinear", "Reshape", "Transpose") is None:
            continue
        weights = match_constant(graph, node.input[1])
        if weights is not None:
            graph.set_input(node, 1, graph.store(weights.numbers(), f"{node.name}/weights"))


def convert_products(graph: EditedGraph, *, is_unsigned: bool) -> int:
    """Multiply quantized data by constant matrices of integers, with floats as result; return their number.

    Args:
        is_unsigned: Matrices are u8 instead of i8.
    """
    count = 0
    for node in graph.of_type("MatMul"):
        layer = _match_product(graph, node)
        if layer is None:
            continue
        weights = layer.weights.to_unsigned() if is_unsigned else layer.weights
        vectors = weights.along(1)
        assert vectors is not None
        bias = [] if layer.bias is None else [graph.add_constant(layer.bias.astype(np.float32), f"{node.name}/bias")]
        integers = graph.store(weights.integers, f"{node.name}/integers")
        inputs = [
            layer.data,
            integers,
            graph.add_constant(layer.grid.scale.astype(np.float32), f"{node.name}/scale"),
            graph.add_constant(layer.scale, f"{node.name}/scales"),
            graph.add_constant(layer.grid.zero, f"{node.name}/zero"),
            graph.add_constant(vectors[1].astype(np.uint8 if is_unsigned else np.int8), f"{node.name}/zeros"),
            *bias,
        ]
        if layer.addition is not None:
            graph.remove(layer.addition)
        graph.remove(node)
        graph.add("MatMulIntegerToFloat", inputs, layer.output, node.name, domain=CUSTOM)
        count += 1
    return count


def _match_product(graph: EditedGraph, node: NodeProto) -> _IntegerLayer | None:
    source = graph.producer(node.input[0], "DequantizeLinear")
    grid = None if source is None else grid_of(graph, source)
    weights = match_constant(graph, node.input[1])
    if source is None or grid is None or grid.axis is not None or weights is None or len(weights.shape) != 2:
        return None
    weights = weights.to_signed()
    vectors, rank = weights.along(1), graph.rank(node.input[0])
    if vectors is None or rank is None or rank < 2 or grid.zero.dtype != np.uint8:
        return None
    layer = _IntegerLayer(node, source.input[0], grid, weights, vectors[0], None, node.output[0])
    _match_bias(graph, layer, 0)
    return layer
