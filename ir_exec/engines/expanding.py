"""Compressed weights that no kernel of a session reads, as constants of f32: otherwise each run decodes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, numpy_helper

from ir_exec.onnx.export.writer import StoredTensor
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["expand_weights"]


def expand_weights(exported: Exported) -> Exported:
    """Replace each DequantizeLinear of constants by a constant, except of tables whose rows are gathered.

    The graph of the model is changed in place.
    """
    graph = exported.proto.graph
    small = {tensor.name: tensor for tensor in graph.initializer}
    retained = {output.name for output in graph.output}
    retained |= {node.input[0] for node in graph.node if node.op_type == "Gather"}
    tensors = dict(exported.tensors)

    def find_reader(name: str) -> Callable[[], Array] | None:
        if name in small:
            return lambda: numpy_helper.to_array(small[name])
        return tensors[name].read if name in tensors else None

    remaining = []
    for node in graph.node:
        readers = [find_reader(name) for name in node.input]
        is_constant = node.op_type == "DequantizeLinear" and not node.domain and None not in readers
        if not is_constant or _code(node.input[1], exported, small) != TensorProto.FLOAT or node.output[0] in retained:
            copy = NodeProto()
            copy.CopyFrom(node)
            remaining.append(copy)
            continue
        name, data = node.output[0], node.input[0]
        shape = tuple(small[data].dims) if data in small else tensors[data].shape
        attributes = {attribute.name: attribute.i for attribute in node.attribute}
        read = _make_reader([reader for reader in readers if reader is not None], attributes)
        tensors[name] = StoredTensor(name, TensorProto.FLOAT, shape, read, is_computed=True)
    if len(remaining) == len(graph.node):
        return exported
    del graph.node[:]
    graph.node.extend(remaining)
    read_names = {name for node in remaining for name in node.input}
    return replace(
        exported, tensors={name: tensor for name, tensor in tensors.items() if name in read_names | retained}
    )


def _code(name: str, exported: Exported, small: dict[str, TensorProto]) -> int:
    return small[name].data_type if name in small else exported.tensors[name].code


def _make_reader(readers: list[Callable[[], Array]], attributes: dict[str, int]) -> Callable[[], Array]:
    """A function that returns (codes - zero) * scale for the functions that return these."""

    def read() -> Array:
        codes, *numbers = (reader() for reader in readers)
        scale, *zeros = (_broadcast(number.astype(np.float32), codes.shape, attributes) for number in numbers)
        weights = codes.astype(np.float32)
        if zeros:
            weights -= zeros[0]
        weights *= scale
        return weights

    return read


def _broadcast(numbers: Array, shape: tuple[int, ...], attributes: dict[str, int]) -> Array:
    """Scales or zero points in a shape that broadcasts to that of the codes."""
    axis, block = attributes.get("axis", 1), attributes.get("block_size", 0)
    if numbers.ndim == 0 or numbers.size == 1:
        return numbers.reshape(())
    axis %= len(shape)
    if not block:
        return numbers.reshape([-1 if position == axis else 1 for position in range(len(shape))])
    if numbers.shape[axis] == 1:
        return numbers
    return np.repeat(numbers, block, axis)[tuple(slice(size) for size in shape)]
