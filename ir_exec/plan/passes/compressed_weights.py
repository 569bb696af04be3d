"""Nodes that work on compressed weights, instead of nodes that expand them first.

Files express compressed weights as a chain of layers after a constant: Convert, Subtract a zero point, Multiply by a
scale, Reshape the groups of a row into one, Convert. If MatMul multiplies by the end of such a chain, or Gather takes
rows of it, one node does so with the constant itself. Other chains are unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.graph.compressed import chain_of
from ir_exec.infer import Types
from ir_exec.ir import Weights
from ir_exec.ir.packing import decode, is_packed, packed_size
from ir_exec.kernels.chunks import converted
from ir_exec.kernels.compressed import CompressedMatrix, multiply_columns, multiply_rows, take_rows
from ir_exec.ops import In, Op
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.graph import Fusion
from ir_exec.plan.passes.prepack import HoldsInput, replaced
from ir_exec.types import Array, ElementType, Shape, TensorType, element_types

__all__ = ["CompressedWeights"]

_CODES = element_types("u4 i4 nf4 f4e2m1 u8 i8 f8e4m3 f8e5m2 f16 bf16")
_BY_TABLE = element_types("nf4 f4e2m1 f8e4m3 f8e5m2")
_FLOATS = element_types("f16 bf16 f32")


class _Chain(NamedTuple):
    """A constant and its expansion by layers: (codes - zero) * scale, in another shape, possibly transposed.

    Attributes:
        first: The element type of the first conversion of the codes, which may round them.
    """

    codes: Const
    first: ElementType
    zero: Array | None
    scale: Array | None
    shape: tuple[int, ...]
    is_transposed: bool


class CompressedWeights:
    """The chains of one graph whose ends are not stored as constants.

    Args:
        types: The types of all values, in the run.
        kept: The values stored as constants.
        operator: The operator that runs for a node.
    """

    def __init__(
        self, graph: Graph, weights: Weights, types: Types, kept: Collection[Value], operator: Callable[[Node], Op]
    ) -> None:
        self._weights = weights
        self._types = types
        self._operator = operator
        self._made = {output: node for node in graph.nodes for output in node.outputs}
        self._found: dict[Node, Node] = {}
        if sys.byteorder == "little":
            for node in graph.nodes:
                place = {"MatMul": 1, "Gather": 0}.get(node.type)
                if place is not None and node.is_whole and node.inputs[place] not in kept:
                    found = self._product(node) if node.type == "MatMul" else self._rows(node)
                    if found is not None:
                        self._found[node] = found

    def replaced(self, nodes: list[Node], results: Collection[Value]) -> list[Node]:
        """The nodes of a plan with nodes for compressed weights, without layers that are then unused.

        Args:
            results: The values read at the end.
        """
        return replaced(nodes, self._found, results)

    def _product(self, node: Node) -> Node | None:
        data, weight = node.values_in
        if any(self._kind(value) is not ElementType.f32 for value in (data, weight)):
            return None
        chain = self._chain(weight)
        if chain is None:
            return None
        transposed = bool(vars(node.op)["transpose_b"]) != chain.is_transposed
        matrix = self._matrix(chain, in_rows=transposed)
        if matrix is None or (not transposed and len(chain.shape) != 2):
            return None
        shape = self._types[weight.number].shape
        op = CompressedMatMul(self._operator(node), shape, matrix, chain.shape[:-2], transposed)
        return Fusion([node], op, [data]).fused("use_compressed_weights")

    def _rows(self, node: Node) -> Node | None:
        table, indices, axis = node.values_in
        chain = self._chain(table)
        place = self._constant(axis)
        if chain is None or chain.is_transposed or len(chain.shape) != 2 or place is None or place.size != 1:
            return None
        matrix = self._matrix(chain, in_rows=True)
        if matrix is None or int(place.reshape(())) not in (0, -2) or vars(node.op).get("batch_dims"):
            return None
        shape = self._types[table.number].shape
        op = CompressedGather(self._operator(node), shape, place, matrix)
        return Fusion([node], op, [indices]).fused("use_compressed_weights")

    def _kind(self, value: Value) -> ElementType:
        return self._types[value.number].element_type

    def _chain(self, value: Value) -> _Chain | None:
        """The chain that ends in a value, which is f32 in the run."""
        if self._kind(value) is not ElementType.f32 or not self._types[value.number].shape.is_static:
            return None
        found = chain_of(value)
        if found is None or found.table is not None or found.limits is not None:
            return None
        shape = self._types[value.number].shape.static
        is_transposed, first = False, ElementType.f32
        numbers: dict[str, Array] = {}
        for node in found.line:
            if self._kind(node.outputs[0]) is not ElementType.f32 and node.type in ("Convert", "Multiply", "Subtract"):
                return None
            if node.type == "Convert":
                if not self._is_exact(node):
                    return None
                first = vars(node.op)["destination_type"]
                continue
            first = ElementType.f32
            if node.type in ("Reshape", "Transpose"):
                if numbers:
                    return None
                if node.type == "Transpose":
                    order = self._constant(node.values_in[1])
                    is_swap = order is not None and order.tolist() in ([1, 0], []) and len(shape) == 2
                    if is_transposed or not is_swap or self._types[node.outputs[0].number].shape.static != shape:
                        return None
                    is_transposed, shape = True, shape[::-1]
                continue
            operand = found.scale if node.type == "Multiply" else found.zero
            number = None if operand is None else self._constant(operand)
            if number is None:
                return None
            numbers[node.type] = number
        codes = found.constant
        if len(shape) < 2 or not prod(shape):
            return None
        if codes.element_type not in _CODES or prod(codes.shape.static) != prod(shape):
            return None
        return _Chain(codes, first, numbers.get("Subtract"), numbers.get("Multiply"), shape, is_transposed)

    def _is_exact(self, node: Node) -> bool:
        """Return True if a Convert keeps every value, or rounds values of a table."""
        target: ElementType = vars(node.op)["destination_type"]
        if target is ElementType.f32:
            return True
        made = self._made.get(node.values_in[0])
        kind = made.op.element_type if made is not None and isinstance(made.op, Const) else None
        return target in _FLOATS and kind is not None and (kind is target or 0 < kind.bits <= 8)

    def _constant(self, value: Value) -> Array | None:
        """A constant before conversions, as stored; integers of less than a byte as bytes."""
        node = self._made.get(value)
        while node is not None and node.type == "Convert" and self._is_exact(node):
            node = self._made.get(node.values_in[0])
        if node is None or not isinstance(node.op, Const):
            return None
        op = node.op
        kind = op.element_type
        if kind not in _FLOATS and not (kind.is_integer and kind.name not in ("u1", "u2", "u3", "u6")):
            return None
        array = self._weights.read(kind, op.shape.static, op.offset, op.size)
        return array.view(np.int8 if kind.is_signed else np.uint8) if is_packed(kind) else array

    def _matrix(self, chain: _Chain, *, in_rows: bool) -> CompressedMatrix | None:
        """The stored matrix [rows, columns] of a chain; all axes except the last are rows."""
        stored, shape = chain.codes.shape.static, chain.shape
        rows, columns = prod(shape[:-1]), shape[-1]
        # The groups are a separate axis, before the last one or before the axes of the rows.
        if stored[-1] != columns and not (in_rows and prod(stored[:-2]) == rows):
            return None
        if not in_rows and len(stored) not in (2, 3):
            return None
        try:
            scale, zero = (self._by_group(number, stored, rows, in_rows) for number in (chain.scale, chain.zero))
        except ValueError:
            return None
        kind = chain.codes.element_type
        if stored[-1] % 2 and kind.bits in (4, 16) and (kind.bits == 4 or len(stored) > 2):
            # Elements in one word would belong to different groups.
            return None
        order = self._weights.order
        table = None
        if kind in _BY_TABLE:
            every = decode(kind, (256, 8 // kind.bits), np.arange(256, dtype=np.uint8), order)
            table = converted(converted(every, chain.first), ElementType.f32)
        return CompressedMatrix.of(
            self._stored(chain.codes).reshape(rows, -1),
            kind,
            columns,
            scale=scale,
            zero=zero,
            high_first=order.high_nibble_first,
            table=table,
        )

    def _stored(self, op: Const) -> Array:
        # As bytes, since files rarely align constants, and an array that is not aligned would be copied.
        size = packed_size(op.element_type, prod(op.shape.static))
        return np.frombuffer(self._weights.slice(op.offset, size), np.uint8)

    def _by_group(self, numbers: Array | None, stored: tuple[int, ...], rows: int, in_rows: bool) -> Array | None:
        """Numbers for elements of the shape `stored` as [rows, groups] or [groups, columns].

        Raises:
            ValueError: For unequal numbers in a group.
        """
        if numbers is None:
            return None
        if numbers.ndim > len(stored):
            raise ValueError
        if in_rows:
            return np.broadcast_to(numbers, (*stored[:-1], 1)).reshape(rows, -1)
        return np.broadcast_to(numbers, (*stored[:-2], 1, stored[-1])).reshape(-1, stored[-1])


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

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
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
            found = multiply(flat, matrix, np.empty((len(flat), columns), np.float32))
            return found.reshape(*shape, a.shape[-2], columns)
        out = np.empty((*shape, a.shape[-2], columns), np.float32)
        starts = np.broadcast_to(np.arange(0, matrix.rows, rows).reshape(batch), shape)
        spread = np.broadcast_to(a, (*shape, *a.shape[-2:]))
        for place in np.ndindex(shape):
            start = int(starts[place])
            multiply(np.ascontiguousarray(spread[place]), matrix.part(start, start + rows), out[place])
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

    def _whole(self, types: Sequence[TensorType]) -> list[TensorType]:
        return [TensorType(ElementType.f32, self._shape), *types, TensorType.of(self._axis)]

    def evaluate(self, indices: Array) -> Array:
        matrix = self._matrix
        # The Gather itself maps indices to rows and reports faulty ones.
        numbers = np.arange(1, matrix.rows + 1)[:, np.newaxis]
        places = self._op.evaluate(numbers, indices, self._axis)[..., 0]
        rows = take_rows(matrix, np.maximum(places.reshape(-1) - 1, 0))
        rows[places.reshape(-1) == 0] = 0
        return rows.reshape(*places.shape, matrix.columns)
