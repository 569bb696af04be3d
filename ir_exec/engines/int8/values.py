"""Movements of QuantizeLinear and DequantizeLinear that change no value: more layers are between integers."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto

from ir_exec.engines.int8.graph import CUSTOM, EditedGraph, get_attribute
from ir_exec.engines.int8.integers import grid_of

__all__ = ["move_clips", "move_copies", "move_quantizers", "remove_casts"]

_SHORT_FLOATS = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})

_COPYING = (
    "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Expand", "Tile", "Gather", "MaxPool", "Split",
)  # fmt: skip
"""Operators whose outputs are elements of the first input."""


_OF_FLOATS = frozenset(
    {
        "AveragePool", "Conv", "ConvTranspose", "DequantizeLinear", "Elu", "Gelu", "GlobalAveragePool", "HardSigmoid",
        "HardSwish", "LayerNormalization", "LeakyRelu", "PRelu", "Sigmoid", "Softmax", "Tanh",
    }
)  # fmt: skip
_OF_ANY = frozenset({"Add", "Clip", "Concat", "Div", "MatMul", "Mul", "Relu", "Sub", *_COPYING})


def remove_casts(graph: EditedGraph) -> None:
    """Remove conversions from f32 to f32, and of dequantized numbers to a 16-bit float and back.

    A graph of 16-bit floats that is computed in f32 has them; the interpreter rounds neither value.
    """
    for node in graph.of_type("Cast"):
        source, output = node.input[0], node.output[0]
        if get_attribute(node, "to") != TensorProto.FLOAT or graph.is_output(output):
            continue
        rounded = graph.producer(source, "Cast")
        if rounded is not None and get_attribute(rounded, "to") in _SHORT_FLOATS:
            source = rounded.input[0]
            if graph.producer(source, "DequantizeLinear") is None:
                continue
        elif not _is_float(graph, source):
            continue
        graph.redirect(output, source)
        graph.remove(node)


def _is_float(graph: EditedGraph, name: str) -> bool:
    """Return True for tensors of f32, as far as their nodes show it."""
    while (node := graph.producer(name)) is not None:
        if node.op_type in _OF_FLOATS:
            return True
        if node.op_type == "Cast":
            return bool(get_attribute(node, "to") == TensorProto.FLOAT)
        if node.op_type not in _OF_ANY:
            return False
        name = node.input[0]
    return graph.is_float(name)


def move_quantizers(graph: EditedGraph) -> None:
    """Quantize the sums of convolutions before layers that only copy them, such as a Concat."""
    for node in reversed(graph.in_order()):
        if node.op_type == "QuantizeLinear" and not node.domain:
            _move_quantizer(graph, node)


def _move_quantizer(graph: EditedGraph, quantize: NodeProto) -> None:
    copy = graph.producer(quantize.input[0], "Concat", *_COPYING)
    grid = grid_of(graph, quantize)
    if copy is None or grid is None or grid.axis is not None or len(copy.output) > 1:
        return
    if graph.only_reader(copy.output[0], "QuantizeLinear") is None:
        return
    sources = list(copy.input) if copy.op_type == "Concat" else [copy.input[0]]
    if any(graph.producer(name, "DequantizeLinear") is not None for name in sources):
        return
    if not any(_is_sum(graph, name) for name in sources):
        return
    moved = []
    for position, name in enumerate(sources):
        integers = graph.add("QuantizeLinear", [name, *quantize.input[1:]], "", f"{quantize.name}/QuantizeLinear")
        graph.set_input(copy, position, integers)
        moved.append(graph.producer(integers))
    output = quantize.output[0]
    graph.remove(quantize)
    graph.set_output(copy, 0, output)
    for node in moved:
        assert node is not None
        _move_quantizer(graph, node)


def _is_sum(graph: EditedGraph, name: str) -> bool:
    """Return True for the output of a convolution, perhaps with a bias, clipped or copied."""
    node = graph.producer(name, "Conv", "Add", "Relu", "Clip", "Concat", *_COPYING)
    if node is None or graph.is_output(name) or len(graph.readers(name)) != 1:
        return False
    return node.op_type == "Conv" or any(_is_sum(graph, source) for source in node.input)


def move_clips(graph: EditedGraph) -> None:
    """Quantize before Relu and Clip instead of after them: the limits become integers, or those of the type.

    Quantization is monotonic, and numbers that are equal after it differ only where the limits round them.
    """
    for node in graph.of_type("Relu", "Clip"):
        limits = _read_limits(graph, node)
        output = node.output[0]
        readers = graph.readers(output)
        if limits is None or graph.is_output(output) or not readers:
            continue
        moved = [_quantized_limits(graph, reader, limits) for reader in readers]
        if any(ends is None for ends in moved):
            continue
        graph.redirect(output, node.input[0])
        graph.remove(node)
        for reader, ends in zip(readers, moved, strict=True):
            assert ends is not None
            _clip_integers(graph, reader, *ends)


def _read_limits(graph: EditedGraph, node: NodeProto) -> tuple[float, float] | None:
    """The limits of a Relu or Clip; None if they are no constants."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    limits = []
    for position, default in ((1, -np.inf), (2, np.inf)):
        name = node.input[position] if position < len(node.input) else ""
        numbers = graph.numbers(name) if name else np.float32(default)
        if numbers is None or numbers.size != 1:
            return None
        limits.append(float(numbers.reshape(())))
    return (limits[0], limits[1]) if limits[0] <= limits[1] else None


def _quantized_limits(graph: EditedGraph, reader: NodeProto, limits: tuple[float, float]) -> tuple[int, int] | None:
    """The integers that limits become, if the reader is a QuantizeLinear and they are the same for all channels."""
    grid = grid_of(graph, reader) if reader.op_type == "QuantizeLinear" else None
    if grid is None:
        return None
    ends = [np.unique(grid.round(limit)) for limit in limits]
    return (int(ends[0][0]), int(ends[1][0])) if all(end.size == 1 for end in ends) else None


def _clip_integers(graph: EditedGraph, quantize: NodeProto, low: int, high: int) -> None:
    """Clip the integers of a QuantizeLinear, unless the limits are those of their type."""
    grid = grid_of(graph, quantize)
    assert grid is not None
    if (low, high) == grid.limits:
        return
    output = quantize.output[0]
    integers = graph.unique(f"{quantize.name}/integers")
    graph.set_output(quantize, 0, integers)
    ends = [graph.add_constant(np.array(end, grid.zero.dtype), f"{quantize.name}/limit") for end in (low, high)]
    graph.add("Clip", [integers, *ends], output, f"{quantize.name}/Clip")


_LAST = (0, 2, 3, 1)
_FIRST = (0, 3, 1, 2)


def _pool_last(graph: EditedGraph, node: NodeProto) -> None:
    """Pool integers with channels last: onnxruntime's kernel for channels first is a hundred times slower."""
    last = graph.add("Transpose", [node.input[0]], "", f"{node.name}/Transpose", perm=_LAST)
    attributes = {entry.name: get_attribute(node, entry.name) for entry in node.attribute}
    attributes.pop("storage_order", None)
    pooled = graph.add("NhwcMaxPool", [last], "", node.name, domain=CUSTOM, **attributes)
    output = node.output[0]
    graph.remove(node)
    graph.add("Transpose", [pooled], output, f"{node.name}/Transpose", perm=_FIRST)


def move_copies(graph: EditedGraph) -> None:
    """Dequantize after layers that only copy elements, and after a Concat of integers of one grid."""
    for node in graph.in_order():
        if node.domain or (node.op_type == "MaxPool" and len(node.output) > 1):
            continue
        if node.op_type in _COPYING or (
            node.op_type == "Resize" and get_attribute(node, "mode", b"nearest") == b"nearest"
        ):
            sources = [0]
        elif node.op_type == "Concat":
            sources = list(range(len(node.input)))
        else:
            continue
        dequantized = [graph.producer(node.input[position], "DequantizeLinear") for position in sources]
        grids = [None if source is None else grid_of(graph, source) for source in dequantized]
        grid = grids[0]
        if grid is None or grid.axis is not None or any(other is None or not grid.equals(other) for other in grids):
            continue
        rank = graph.rank(node.input[0])
        if node.op_type == "MaxPool" and rank != 4:
            continue
        for position, source in zip(sources, dequantized, strict=True):
            assert source is not None
            graph.set_input(node, position, source.input[0])
        first = dequantized[0]
        assert first is not None
        for position, output in enumerate(node.output):
            if output:
                integers = graph.unique(f"{output}/integers")
                graph.set_output(node, position, integers)
                graph.add("DequantizeLinear", [integers, *first.input[1:]], output, f"{node.name}/DequantizeLinear")
        if node.op_type == "MaxPool":
            _pool_last(graph, node)
        for source in dequantized:
            if source is not None and not graph.is_read(source.output[0]):
                graph.remove(source)
