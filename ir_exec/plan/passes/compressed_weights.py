"""Nodes that work on compressed weights, instead of nodes that expand them first.

Files express compressed weights as a chain of layers after a constant: Convert, Subtract a zero point, Multiply by a
scale, Reshape the groups of a row into one, Convert. If MatMul multiplies by the end of such a chain, or Gather takes
rows of it, one node does so with the constant itself. Other chains are unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from math import prod

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import CompressedWeight, WeightMismatch, describe_weight
from ir_exec.graph.constant_parts import has_exact_conversion, read_numbers, stored_constant
from ir_exec.graph.weight_encodings import FLOAT_CODES
from ir_exec.infer import Types
from ir_exec.ir import Weights
from ir_exec.ir.packing import decode, is_packed, packed_size
from ir_exec.kernels.chunks import convert_by_chunks
from ir_exec.kernels.compressed import CompressedMatrix, multiply_columns, multiply_rows, take_rows
from ir_exec.ops import In, Op
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.constant_values import constant_values
from ir_exec.plan.graph import Fusion
from ir_exec.plan.passes.prepack import HoldsInput, replace_nodes
from ir_exec.plan.records import Skipped
from ir_exec.types import Array, ElementType, Shape, TensorType, element_types

__all__ = ["CompressedWeights"]

_CODES = element_types("u4 i4 nf4 f4e2m1 u8 i8 f8e4m3 f8e5m2 f16 bf16")
_FLOATS = element_types("f16 bf16 f32")
_PASS = "use_compressed_weights"


class _WeightFitError(Exception):
    """The reason why a constant is expanded.

    Attributes:
        node: The layer that does not fit.
        expected: A description of what fits.
        actual: What it is.
    """

    def __init__(self, node: Node, expected: str, actual: str) -> None:
        super().__init__(expected)
        self.node, self.expected, self.actual = node, expected, actual


class CompressedWeights:
    """The compressed weights of one graph that are not stored as constants.

    Attributes:
        skipped: Weights that are expanded in each run, with the reason.

    Args:
        types: The types of all values, in the run.
        kept: The values stored as constants.
        operator: The operator that runs for a node.
    """

    def __init__(
        self, graph: Graph, weights: Weights, types: Types, retained: Collection[Value], operator: Callable[[Node], Op]
    ) -> None:
        self._weights = weights
        self._types = types
        self._operator = operator
        self._fused: dict[Node, Node] = {}
        self.skipped: list[Skipped] = []
        if sys.byteorder != "little":
            return
        constants: set[Value] | None = None
        for node in graph.nodes:
            port = _weight_port(node)
            if port is None or not node.is_whole or node.inputs[port] in retained:
                continue
            try:
                self._fused[node] = self._product(node) if port else self._rows(node)
            except _WeightFitError as reason:
                constants = constant_values(graph) if constants is None else constants
                value = node.inputs[port]
                if value in constants and not isinstance(value.node.op, Const):
                    self.skipped.append(Skipped(_PASS, reason.node, reason.expected, reason.actual))

    def replace_nodes(self, nodes: list[Node], results: Collection[Value]) -> list[Node]:
        """The nodes of a plan with nodes for compressed weights, without layers that are then unused.

        Args:
            results: The values read at the end.
        """
        return replace_nodes(nodes, self._fused, results)

    def _product(self, node: Node) -> Node:
        data, value = node.values_in
        self._require_f32(node, data)
        weight = self._describe(node, value)
        shape, is_transposed = self._matrix_shape(weight)
        in_rows = bool(vars(node.op)["transpose_b"]) != is_transposed
        if not in_rows and len(shape) != 2:
            raise _WeightFitError(node, "one matrix, or summed axes at the end", f"a weight of shape {list(shape)}")
        matrix = self._matrix(node, weight, shape, in_rows=in_rows)
        op = CompressedMatMul(self._operator(node), self._types[value.number].shape, matrix, shape[:-2], in_rows)
        return Fusion([node], op, [data]).make_node(_PASS)

    def _rows(self, node: Node) -> Node:
        table, indices, axis = node.values_in
        weight = self._describe(node, table)
        shape, is_transposed = self._matrix_shape(weight)
        number = self._read(axis)
        if is_transposed or len(shape) != 2 or vars(node.op).get("batch_dims"):
            raise _WeightFitError(node, "a table of rows without batches", f"a weight of shape {list(shape)}")
        if number is None or number.size != 1 or int(number.reshape(())) not in (0, -2):
            raise _WeightFitError(node, "a Gather of rows", "another axis")
        matrix = self._matrix(node, weight, shape, in_rows=True)
        op = CompressedGather(self._operator(node), self._types[table.number].shape, number, matrix)
        return Fusion([node], op, [indices]).make_node(_PASS)

    def _require_f32(self, node: Node, *values: Value) -> None:
        for value in values:
            element_type = self._types[value.number].element_type
            if element_type is not ElementType.f32:
                raise _WeightFitError(node, "f32 in the run", element_type.name)

    def _describe(self, reader: Node, value: Value) -> CompressedWeight:
        """The description of a weight that is f32 in the run, and so are all steps of its arithmetic."""
        self._require_f32(reader, value)
        weight = describe_weight(value)
        if isinstance(weight, WeightMismatch):
            raise _WeightFitError(*weight)
        if weight.limits is not None or weight.table is not None:
            special = weight.value.node if weight.limits is None else weight.limits
            raise _WeightFitError(special, "codes with a scale and a zero point", "a codebook or FakeQuantize")
        for node in weight.line:
            if node.type in ("Convert", "Multiply", "Subtract"):
                self._require_f32(node, *node.outputs)
            is_in_table = weight.element_type in FLOAT_CODES and node is _first_conversion(weight)
            if node.type == "Convert" and not is_in_table and not has_exact_conversion(node):
                raise _WeightFitError(node, "a conversion without rounding", "a conversion that rounds")
        if not weight.line or weight.element_type not in _CODES:
            raise _WeightFitError(
                weight.codes,
                f"codes of {' '.join(sorted(code_type.name for code_type in _CODES))}",
                weight.element_type.name,
            )
        return weight

    def _matrix_shape(self, weight: CompressedWeight) -> tuple[tuple[int, ...], bool]:
        """The shape of the weight, before a Transpose if the last layers swap its axes, and True if they do."""
        end, scaled_shape = (self._types[value.number].shape for value in (weight.value, weight.scaled_value))
        if (
            not scaled_shape.is_static
            or not end.is_static
            or len(end) < 2
            or not weight.size
            or prod(end.static) != weight.size
        ):
            raise _WeightFitError(weight.value.node, "as many elements as codes, with at least two axes", str(end))
        shape, is_transposed = end.static, False
        scaled = [position for position, node in enumerate(weight.line) if node.type in ("Multiply", "Subtract")]
        for position, node in enumerate(weight.line):
            if node.type == "Reshape" and scaled and scaled[0] < position < scaled[-1]:
                raise _WeightFitError(node, "Multiply right after Subtract", "a Reshape between them")
            if node.type != "Transpose":
                continue
            order = self._read(node.values_in[1])
            is_swap = order is not None and order.tolist() in ([1, 0], []) and len(shape) == 2
            is_last = not is_transposed and self._types[node.outputs[0].number].shape.static == shape
            if not is_swap or not is_last or (scaled and position > scaled[0]):
                raise _WeightFitError(node, "one Transpose of two axes, after all other layers", "another Transpose")
            is_transposed, shape = True, shape[::-1]
        return shape, is_transposed

    def _read(self, value: Value | None) -> Array | None:
        """A constant before conversions, as stored; integers of less than a byte as bytes."""
        op = None if value is None else stored_constant(value)
        if op is None:
            return None
        element_type = op.element_type
        if element_type not in _FLOATS and not (
            element_type.is_integer and element_type.name not in ("u1", "u2", "u3", "u6")
        ):
            return None
        array = self._weights.read(element_type, op.shape.static, op.offset, op.size)
        return array.view(np.int8 if element_type.is_signed else np.uint8) if is_packed(element_type) else array

    def _numbers(self, weight: CompressedWeight, value: Value) -> Array:
        """The scale or the zero point of a weight: as stored, or f32 if layers compute it."""
        numbers = self._read(value)
        if numbers is not None:
            return numbers
        numbers = read_numbers(value, self._weights)
        if numbers.nbytes > packed_size(weight.element_type, weight.size):
            raise _WeightFitError(value.node, "fewer bytes of scales than of codes", f"{numbers.nbytes:,} bytes")
        return numbers

    def _matrix(
        self, reader: Node, weight: CompressedWeight, shape: tuple[int, ...], *, in_rows: bool
    ) -> CompressedMatrix:
        """The stored matrix [rows, columns] of a weight; all axes except the last are rows."""
        scaled = self._types[weight.scaled_value.number].shape.static
        rows, columns = prod(shape[:-1]), shape[-1]
        # The groups are a separate axis, before the last one or before the axes of the rows.
        is_grouped = in_rows and prod(scaled[:-2]) == rows
        if (scaled[-1] != columns and not is_grouped) or (not in_rows and len(scaled) not in (2, 3)):
            raise _WeightFitError(reader, "codes with groups along the summed axis", f"codes of shape {list(scaled)}")
        element_type = weight.element_type
        if scaled[-1] % 2 and element_type.bits in (4, 16) and (element_type.bits == 4 or len(scaled) > 2):
            raise _WeightFitError(weight.codes, "the elements of a byte or word in one group", f"shape {list(scaled)}")
        scale, zero = (
            None if value is None else _by_group(reader, self._numbers(weight, value), scaled, rows, in_rows)
            for value in (weight.scale, weight.zero)
        )
        matrix = CompressedMatrix.of(
            self._read_bytes(weight.constant).reshape(rows, -1),
            element_type,
            columns,
            scale=scale,
            zero=zero,
            high_first=self._weights.order.high_nibble_first,
            table=self._table(weight),
        )
        if matrix is None:
            raise _WeightFitError(
                weight.codes, "codes that the kernels decode", f"{element_type.name} of shape {list(shape)}"
            )
        return matrix

    def _table(self, weight: CompressedWeight) -> Array | None:
        """The f32 values of all 256 bytes, for float codes of at most 8 bits."""
        element_type = weight.element_type
        if element_type not in FLOAT_CODES:
            return None
        every = decode(element_type, (256, 8 // element_type.bits), np.arange(256, dtype=np.uint8), self._weights.order)
        conversion = _first_conversion(weight)
        first = ElementType.f32 if conversion is None else vars(conversion.op)["destination_type"]
        return convert_by_chunks(convert_by_chunks(every, first), ElementType.f32)

    def _read_bytes(self, op: Const) -> Array:
        # As bytes, since files rarely align constants, and an array that is not aligned would be copied.
        size = packed_size(op.element_type, prod(op.shape.static))
        return np.frombuffer(self._weights.slice(op.offset, size), np.uint8)


def _by_group(reader: Node, numbers: Array, scaled: tuple[int, ...], rows: int, in_rows: bool) -> Array:
    """Scales or zero points for elements of the shape `scaled` as [rows, groups] or [groups, columns]."""
    shared = (*scaled[:-1], 1) if in_rows else (*scaled[:-2], 1, scaled[-1])
    try:
        return np.broadcast_to(numbers, shared).reshape((rows, -1) if in_rows else (-1, scaled[-1]))
    except ValueError:
        message = f"scales of shape {list(numbers.shape)}"
        raise _WeightFitError(reader, f"equal numbers in a group, {list(shared)}", message) from None


def _weight_port(node: Node) -> int | None:
    """The position of the weight of a product or a look-up; None for other nodes."""
    # Names, since importing the classes would load modules of operators that the model does not have.
    if node.type == "MatMul":
        return 1
    return 0 if node.type == "Gather" else None


def _first_conversion(weight: CompressedWeight) -> Node | None:
    """The Convert of the codes; for float codes, its rounding is part of the table of their values."""
    return next((node for node in reversed(weight.line) if node.type == "Convert"), None)


class CompressedMatMul(HoldsInput):
    """MatMul of `a` by a compressed matrix; it is not an operator of files."""

    inputs = (In("a"),)

    _matrix: CompressedMatrix
    _shape: Shape
    _batch: tuple[int, ...]
    _is_transposed: bool

    def __init__(
        self, op: Op, shape: Shape, matrix: CompressedMatrix, batch: tuple[int, ...], is_transposed: bool
    ) -> None:
        """A MatMul that decodes its matrix while it multiplies.

        Args:
            op: The MatMul.
            shape: The shape of b.
            batch: The axes before the matrices.
        """
        vars(self).update(_op=op, _shape=shape, _matrix=matrix, _batch=batch, _is_transposed=is_transposed)

    def _complete_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [*types, TensorType(ElementType.f32, self._shape)]

    def evaluate(self, a: Array) -> Array:
        if a.ndim == 1:
            return np.asarray(self._products(a[np.newaxis])[..., 0, :])
        return self._products(a.swapaxes(-1, -2) if self._op.transpose_a else a)  # type: ignore[attr-defined]  # it is a MatMul

    def _products(self, a: Array) -> Array:
        matrix, batch = self._matrix, self._batch
        rows = matrix.rows // prod(batch)
        columns = rows if self._is_transposed else matrix.columns
        shape = np.broadcast_shapes(a.shape[:-2], batch)
        multiply = multiply_rows if self._is_transposed else multiply_columns
        if not a.size:
            return np.empty((*shape, a.shape[-2], columns), np.float32)
        if prod(batch) == 1:
            flat = np.ascontiguousarray(a).reshape(-1, a.shape[-1])
            products = multiply(flat, matrix, np.empty((len(flat), columns), np.float32))
            return products.reshape(*shape, a.shape[-2], columns)
        out = np.empty((*shape, a.shape[-2], columns), np.float32)
        starts = np.broadcast_to(np.arange(0, matrix.rows, rows).reshape(batch), shape)
        spread = np.broadcast_to(a, (*shape, *a.shape[-2:]))
        for index in np.ndindex(shape):
            start = int(starts[index])
            multiply(np.ascontiguousarray(spread[index]), matrix.part(start, start + rows), out[index])
        return out


class CompressedGather(HoldsInput):
    """Gather of rows of a compressed matrix; it is not an operator of files."""

    inputs = (In("indices"),)

    _matrix: CompressedMatrix
    _shape: Shape
    _axis: Array

    def __init__(self, op: Op, shape: Shape, axis: Array, matrix: CompressedMatrix) -> None:
        """A Gather that decodes the selected rows only.

        Args:
            op: The Gather.
            shape: The shape of data.
            axis: Its axis.
        """
        vars(self).update(_op=op, _shape=shape, _axis=axis, _matrix=matrix)

    def _complete_types(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [TensorType(ElementType.f32, self._shape), *types, TensorType.of(self._axis)]

    def evaluate(self, indices: Array) -> Array:
        matrix = self._matrix
        # The Gather itself maps indices to rows and reports faulty ones.
        numbers = np.arange(1, matrix.rows + 1)[:, np.newaxis]
        places = self._op.evaluate(numbers, indices, self._axis)[..., 0]
        rows = take_rows(matrix, np.maximum(places.reshape(-1) - 1, 0))
        rows[places.reshape(-1) == 0] = 0
        return rows.reshape(*places.shape, matrix.columns)
