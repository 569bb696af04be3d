"""Forms of an ONNX graph whose constants onnxruntime reads in place instead of copying them.

Its optimizer computes what depends on constants alone: the transposed factor of a product, and a table of 16-bit floats
as f32, each as large as the constant or twice as large. Tables of integers are dequantized in each run. Its kernels for
the CPU multiply by a transposed factor, and rows of a table can be cast or dequantized after they are gathered. The
results are the same bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from ir_exec.onnx.export.writer import free_names

if TYPE_CHECKING:
    from ir_exec.onnx.export.lower import Exported

__all__ = ["count_copied_bytes", "find_transposable", "read_in_place"]

_CUSTOM = "com.microsoft"
_SHORT = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
_BYTES = frozenset({TensorProto.UINT8, TensorProto.INT8})
_EXPANDING = frozenset({"Cast", "DequantizeLinear"})
_LEAST_BLOCK = 16
_GATHERS_BYTES = (1, 23)
"""The first release whose GatherBlockQuantized has 8 bits."""


def read_in_place(exported: Exported, version: tuple[int, ...]) -> Exported:
    """Rewrite the graph of the model in place, and return the model.

    Args:
        version: The release of onnxruntime.
    """
    _Rewriter(exported, gathers_bytes=version >= _GATHERS_BYTES).rewrite()
    return exported


def count_copied_bytes(exported: Exported, *, packs: bool) -> int:
    """Return the bytes of constants in a session that are not those of a file.

    16-bit floats are cast to f32, and compressed weights are packed for their kernels or become f32.

    Args:
        packs: Count f32 constants, too, which kernels pack.
    """
    cast = {
        node.input[0]
        for node in exported.proto.graph.node
        if node.op_type == "Cast" and _attribute(node, "to", 0) == TensorProto.FLOAT
    }
    counted = {name for name in exported.tensors if name in cast}
    if packs:
        counted |= {name for name, tensor in exported.tensors.items() if tensor.code == TensorProto.FLOAT}
    size = sum(4 * math.prod(exported.tensors[name].shape) for name in counted)
    packed = [tensor for tensor in exported.tensors.values() if tensor.is_computed and tensor.name not in counted]
    return size + sum((4 if tensor.code == TensorProto.FLOAT else 1) * math.prod(tensor.shape) for tensor in packed)


_PASSING = _EXPANDING | {"Transpose"}
"""Operators that constants reach other operators through."""

_WEIGHT_READERS = frozenset(
    {
        "Attention", "Conv", "ConvInteger", "ConvTranspose", "DynamicQuantizeMatMul", "Einsum",
        "EmbedLayerNormalization", "FusedConv", "FusedGemm", "FusedMatMul", "GRU", "Gather", "GatherBlockQuantized",
        "Gemm", "LSTM", "MatMul", "MatMulBnb4", "MatMulInteger", "MatMulIntegerToFloat", "MatMulNBits", "QAttention",
        "QGemm", "QLinearConv", "QLinearMatMul", "RNN",
    }
)  # fmt: skip
"""Operators whose constants the optimizer does not transpose."""


def find_transposable(graph: GraphProto) -> set[str]:
    """The constants that onnxruntime's optimizer may transpose when it moves a Transpose past their readers.

    It gives the result the name of the constant, and a session that has been given an array of this name would read
    that array in its place.
    """
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in free_names([node]):
            readers.setdefault(name, []).append(node)

    def is_weight(name: str) -> bool:
        return all(
            reader.op_type in _WEIGHT_READERS or (reader.op_type in _PASSING and is_weight(reader.output[0]))
            for reader in readers.get(name, ())
        )

    constants = {tensor.name for tensor in graph.initializer}
    return {name for name in readers.keys() & constants if not is_weight(name)}


class _Rewriter:
    """The rewriting of one graph."""

    def __init__(self, exported: Exported, *, gathers_bytes: bool) -> None:
        self._gathers_bytes = gathers_bytes
        self._proto = exported.proto
        self._nodes = list(exported.proto.graph.node)
        self._value_shapes = exported.shapes
        self._outputs = {output.name for output in exported.proto.graph.output}
        self._shapes: dict[str, tuple[int, ...]] = {name: tensor.shape for name, tensor in exported.tensors.items()}
        self._codes = {name: tensor.code for name, tensor in exported.tensors.items()}
        for tensor in exported.proto.graph.initializer:
            self._shapes[tensor.name], self._codes[tensor.name] = tuple(tensor.dims), tensor.data_type
        self._producers = {name: node for node in self._nodes for name in node.output}
        self._reads = Counter(free_names(self._nodes))
        self._readers = {name: node for node in self._nodes for name in node.input}
        self._names = {*self._producers, *self._reads, *self._shapes}
        self._removed: set[int] = set()
        self._before: dict[int, list[NodeProto]] = {}
        self._after: dict[int, list[NodeProto]] = {}

    def rewrite(self) -> None:
        for node in self._nodes:
            if node.op_type == "MatMul" and not node.domain:
                self._multiply_transposed(node)
            elif node.op_type == "Gather" and _attribute(node, "axis", 0) == 0:
                self._gather_short(node)
                self._gather_quantized(node)
        rewritten = []
        for node in self._nodes:
            if id(node) not in self._removed:
                rewritten += [*self._before.get(id(node), ()), node, *self._after.get(id(node), ())]
        copies = [_copy(node) for node in _without_unread_constants(rewritten, self._outputs)]
        del self._proto.graph.node[:]
        self._proto.graph.node.extend(copies)

    def _multiply_transposed(self, product: NodeProto) -> None:
        """Let the node of a product multiply by a transposed constant matrix."""
        transpose = self._producers.get(product.input[1])
        if transpose is None or transpose.op_type != "Transpose" or transpose.output[0] in self._outputs:
            return
        shape, code = self._constant(transpose.input[0])
        factor = self._value_shapes.get(product.input[0])
        if shape is None or len(shape) != 2 or code != TensorProto.FLOAT or factor is None or (factor.rank or 0) < 2:
            return
        product.input[1] = transpose.input[0]
        self._reads[transpose.output[0]] -= 1
        if not self._reads[transpose.output[0]]:
            self._removed.add(id(transpose))
        product.attribute.append(helper.make_attribute("transB", 1))
        is_matrix = factor.rank == 2 or (factor.is_static and 0 not in factor.static)
        addition = self._addition(product, shape[0]) if is_matrix else None
        if addition is None:
            product.op_type, product.domain = "FusedMatMul", _CUSTOM
            self._use_custom_domain()
            return
        self._add_in_product(product, addition)
        if factor.rank != 2:
            self._multiply_rows(product, factor.static, shape[0])

    def _addition(self, product: NodeProto, size: int) -> NodeProto | None:
        """Return the Add of a constant vector that alone reads the product.

        onnxruntime would fuse both into a Gemm, unless the shapes of more than two dims are dynamic.
        """
        name = product.output[0]
        reader = self._readers.get(name)
        if reader is None or reader.op_type != "Add" or self._reads[name] != 1 or name in self._outputs:
            return None
        vector = next((operand for operand in reader.input if operand != name), "")
        return reader if self._constant(vector) == ((size,), TensorProto.FLOAT) else None

    def _add_in_product(self, product: NodeProto, addition: NodeProto) -> None:
        product.op_type = "Gemm"
        product.input.append(next(name for name in addition.input if name != product.output[0]))
        product.output[0] = addition.output[0]
        self._removed.add(id(addition))

    def _multiply_rows(self, product: NodeProto, shape: Sequence[int], columns: int) -> None:
        """Reshape the first factor of a Gemm to a matrix, and the product to its own shape."""
        output = product.output[0]
        rows, matrix = self._new_name(f"{output}/rows"), self._new_name(f"{output}/product")
        self._before[id(product)] = [self._reshape(product.input[0], rows, [math.prod(shape[:-1]), shape[-1]])]
        self._after[id(product)] = [self._reshape(matrix, output, [*shape[:-1], columns])]
        product.input[0], product.output[0] = rows, matrix

    def _reshape(self, source: str, result: str, shape: Sequence[int]) -> NodeProto:
        name = self._new_name(f"{result}/shape")
        self._proto.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
        return helper.make_node("Reshape", [source, name], [result], name=f"{result}/Reshape")

    def _new_name(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def _constant(self, name: str) -> tuple[tuple[int, ...] | None, int]:
        """Return the shape and the type of a constant, which may be cast; no shape for other values."""
        producer = self._producers.get(name)
        if producer is None:
            return self._shapes.get(name), self._codes.get(name, 0)
        if producer.op_type != "Cast":
            return None, 0
        return self._constant(producer.input[0])[0], _attribute(producer, "to", 0)

    def _gather_short(self, gather: NodeProto) -> None:
        """Gather rows of a table of 16-bit floats that is cast to f32, and cast the rows."""
        name = gather.input[0]
        while (producer := self._producers.get(name)) is not None:
            if producer.op_type != "Cast" or _attribute(producer, "to", 0) != TensorProto.FLOAT:
                return
            name = producer.input[0]
        if self._codes.get(name) not in _SHORT or name == gather.input[0]:
            return
        output = gather.output[0]
        gather.input[0], gather.output[0] = name, self._new_name(f"{output}/stored")
        self._after[id(gather)] = [self._cast_to_f32(gather.output[0], output)]

    def _gather_quantized(self, gather: NodeProto) -> None:
        """Gather rows of a table of integers, with the scales and zero points of the rows, and dequantize them."""
        dequantize = self._producers.get(gather.input[0])
        if dequantize is None or dequantize.op_type != "DequantizeLinear" or dequantize.domain:
            return
        (table, code), (scale, scale_code) = (self._constant(name) for name in dequantize.input[:2])
        if table is None or len(table) != 2 or code not in _BYTES or scale_code != TensorProto.FLOAT:
            return
        if scale != (table[0], 1):
            return
        if self._gathers_bytes and code == TensorProto.UINT8:
            self._gather_blocks(gather, dequantize, table)
            return
        output, indices = gather.output[0], gather.input[1]
        rows = self._new_name(f"{output}/codes")
        gather.input[0], gather.output[0] = dequantize.input[0], rows
        numbers = self._new_name(f"{rows}/f32")
        added = [self._cast_to_f32(rows, numbers)]
        if len(dequantize.input) > 2:
            zeros, shifts, shifted = (self._new_name(f"{output}/{part}") for part in ("zeros", "shifts", "shifted"))
            added += [
                _gather_rows(dequantize.input[2], indices, zeros),
                self._cast_to_f32(zeros, shifts),
                helper.make_node("Sub", [numbers, shifts], [shifted], name=shifted),
            ]
            numbers = shifted
        scales = self._new_name(f"{output}/scales")
        added.append(_gather_rows(dequantize.input[1], indices, scales))
        added.append(helper.make_node("Mul", [numbers, scales], [output], name=f"{gather.name}/dequantized"))
        self._after[id(gather)] = added

    def _gather_blocks(self, gather: NodeProto, dequantize: NodeProto, table: tuple[int, ...]) -> None:
        """Gather rows of a table of bytes by one node; a row is one block, which may be longer."""
        scale = dequantize.input[1]
        if len(dequantize.input) > 2:
            zeros = dequantize.input[2]
        else:
            zeros = self._new_name(f"{gather.output[0]}/zeros")
            self._proto.graph.initializer.append(numpy_helper.from_array(np.zeros((table[0], 1), np.uint8), zeros))
        block = max(_LEAST_BLOCK, 1 << (table[1] - 1).bit_length())
        gather.op_type, gather.domain = "GatherBlockQuantized", _CUSTOM
        gather.input[:] = [dequantize.input[0], gather.input[1], scale, zeros]
        del gather.attribute[:]
        attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": 8}
        gather.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self._use_custom_domain()

    def _use_custom_domain(self) -> None:
        if all(entry.domain != _CUSTOM for entry in self._proto.opset_import):
            self._proto.opset_import.append(helper.make_opsetid(_CUSTOM, 1))

    @staticmethod
    def _cast_to_f32(source: str, result: str) -> NodeProto:
        return helper.make_node("Cast", [source], [result], name=f"{result}/Cast", to=TensorProto.FLOAT)


def _gather_rows(table: str, indices: str, result: str) -> NodeProto:
    return helper.make_node("Gather", [table, indices], [result], name=result, axis=0)


def _without_unread_constants(nodes: list[NodeProto], outputs: set[str]) -> list[NodeProto]:
    """The nodes without casts and dequantized constants without readers."""
    required = {*outputs, *free_names(nodes)}
    retained = [node for node in nodes if node.op_type not in _EXPANDING or not required.isdisjoint(node.output)]
    return retained if len(retained) == len(nodes) else _without_unread_constants(retained, outputs)


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _attribute(node: NodeProto, name: str, default: int) -> Any:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)
