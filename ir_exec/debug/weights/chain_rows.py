"""Rows of compressed weights: a part of a chain of layers is computed without the others.

A weight of a vocabulary of 128,000 tokens takes gigabytes as f32, and megabytes in chunks of its rows.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np

from ir_exec.graph import Node, Value
from ir_exec.graph.compressed import CompressedWeight
from ir_exec.graph.constant_parts import read_numbers
from ir_exec.graph.decoding import decode_weight, mask_end_levels, read_range, read_steps
from ir_exec.graph.weight_encodings import level_gaps, range_of_type
from ir_exec.ir import Weights
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Array, ElementType, convert

__all__ = ["ChainRows"]


class ChainRows:
    """The numbers of a compressed weight, by rows of its first axis.

    Chains whose layers move elements between rows, and those with a FakeQuantize, are computed whole.
    """

    def __init__(self, chain: CompressedWeight, weights: Weights) -> None:
        self.chain = chain
        self._weights = weights
        self.shape = chain.output.shape.static if chain.output.shape.is_static else chain.stored_shape

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.shape[0] if self.shape else 1

    @cached_property
    def has_rows(self) -> bool:
        """Return True if rows of the weight are rows of its constants."""
        if self.chain.limits is not None or not self.shape or self.chain.stored_shape[:1] != self.shape[:1]:
            return False
        if self.chain.element_type.bits * prod(self.chain.stored_shape[1:]) % 8 or self.rows == 1:
            return False
        for node in self.chain.line:
            declared = node.outputs[0].declared.shape
            if node.op_class.changes_order or not declared.is_static or declared.static[:1] != self.shape[:1]:
                return False
        return all(
            self._is_by_rows(value) is not None for value in (self.chain.zero, self.chain.scale) if value is not None
        )

    def read(self, start: int, stop: int) -> Array:
        """Return the weight as f32."""
        if not self.has_rows:
            return np.asarray(self._all_numbers[start:stop])
        numbers = convert(self._codes(start, stop), ElementType.f32)
        if self.chain.table is not None:
            numbers = self._table[self._codes(start, stop).astype(np.int64)]
        for node in reversed(self.chain.line):
            numbers = self._apply(node, numbers, start, stop)
        return numbers.reshape(stop - start, *self.shape[1:])

    def read_steps(self, start: int, stop: int) -> Array:
        """Return the distance to a neighboring level for each element."""
        if not self.has_rows:
            return np.asarray(self._all_steps[start:stop])
        codes = self._codes(start, stop)
        if self.chain.table is not None:
            steps = level_gaps(self._table[codes.astype(np.int64)], self._table)
        elif self.chain.element_type.is_integer:
            steps = np.ones(codes.shape, np.float32)
        else:
            steps = level_gaps(convert(codes, ElementType.f32), self.chain.element_type)
        for node in reversed(self.chain.line):
            if self.chain.zero not in node.inputs:
                steps = self._apply(node, steps, start, stop)
        return np.abs(steps).reshape(stop - start, *self.shape[1:])

    def read_level_steps(self, start: int, stop: int) -> tuple[Array, tuple[int, ...]]:
        """Return the distances to a neighboring level as they broadcast to a shape, and the shape.

        The elements in this shape are those of the weight, in the same order.
        """
        constant = self.chain.scale
        is_simple = self.has_rows and self.chain.table is None and self.chain.element_type.is_integer
        if not is_simple or constant is None or self.chain.scaled_value.node.op_class.changes_order:
            return self.read_steps(start, stop), (stop - start, *self.shape[1:])
        scaled = self.chain.scaled_value
        shape = scaled.declared.shape.static if scaled.declared.shape.is_static else self.chain.stored_shape
        return np.abs(self._read_part(constant, start, stop)), (stop - start, *shape[1:])

    def mask_ends(self, start: int, stop: int) -> Array:
        """Return True for elements at the first or last level."""
        if not self.has_rows:
            return np.asarray(self._all_ends[start:stop])
        codes = self._codes(start, stop)
        if self.chain.table is not None:
            numbers = self._table[codes.astype(np.int64)]
            low, high = float(self._table.min()), float(self._table.max())
        else:
            numbers = convert(codes, ElementType.f32)
            low, high = range_of_type(self.chain.element_type)
        return np.asarray((numbers <= low) | (numbers >= high)).reshape(stop - start, *self.shape[1:])

    def release(self) -> None:
        """Release computed numbers, and the pages of the file with the codes."""
        for name in ("_all_numbers", "_all_steps", "_all_ends"):
            self.__dict__.pop(name, None)
        constant = self.chain.constant
        view = self._weights.read(ElementType.u8, (constant.size,), constant.offset, constant.size)
        if self._weights.maps(view):
            self._weights.forget(view)

    def _codes(self, start: int, stop: int) -> Array:
        return self._read_constant(self.chain.constant, start, stop)

    def _read_constant(self, constant: Const, start: int, stop: int) -> Array:
        shape = constant.shape.static
        bits = constant.element_type.bits * prod(shape[1:])
        size = bits // 8
        if bits % 8:
            return np.asarray(constant.evaluate(weights=self._weights)[start:stop])
        return self._weights.read(
            constant.element_type, (stop - start, *shape[1:]), constant.offset + start * size, (stop - start) * size
        )

    def _apply(self, node: Node, numbers: Array, start: int, stop: int) -> Array:
        """Apply a layer of the chain to rows."""
        if self.chain.zero is not None and self.chain.zero in node.inputs:
            return _calculate(np.subtract, numbers, self._read_part(self.chain.zero, start, stop))
        if self.chain.scale is not None and self.chain.scale in node.inputs:
            return _calculate(np.multiply, numbers, self._read_part(self.chain.scale, start, stop))
        if node.op_class.preserves_order and not node.op_class.is_conversion:
            return numbers.reshape(stop - start, *node.outputs[0].declared.shape.static[1:])
        return numbers

    def _read_part(self, value: Value, start: int, stop: int) -> Array:
        """The rows of a scale or a zero point, or all of one that is not by rows."""
        node = value.node
        if not self._is_by_rows(value):
            return read_numbers(value, self._weights)
        while not isinstance(node.op, Const):
            node = node.values_in[0].node
        rows = convert(self._read_constant(node.op, start, stop), ElementType.f32)
        shape = value.declared.shape.static if value.declared.shape.is_static else node.op.shape.static
        return rows.reshape(stop - start, *shape[1:])

    def _is_by_rows(self, value: Value) -> bool | None:
        """Return True if rows of the value are rows of a constant, False if rows share its values, None for others."""
        node = value.node
        while not isinstance(node.op, Const):
            if not node.op_class.preserves_order:
                return None
            node = node.values_in[0].node
        shape = value.declared.shape.static if value.declared.shape.is_static else node.op.shape.static
        if len(shape) < len(self.chain.stored_shape) or shape[0] == 1:
            return False if len(shape) <= len(self.chain.stored_shape) else None
        return True if shape[0] == self.rows and node.op.shape.static[:1] == shape[:1] else None

    @cached_property
    def _table(self) -> Array:
        assert self.chain.table is not None, "only codebooks have a table"
        return read_numbers(self.chain.table, self._weights)

    @cached_property
    def _all_numbers(self) -> Array:
        return decode_weight(self.chain, self._weights).reshape(self.rows, *self.shape[1:])

    @cached_property
    def _all_steps(self) -> Array:
        if self.chain.limits is not None:
            low, high = read_range(self.chain, self._weights)
            steps = np.broadcast_to(np.abs(high - low) / ((self.chain.levels or 2) - 1), self._all_numbers.shape)
        else:
            read = read_steps(self.chain, self._weights)
            assert read is not None, "only chains with a FakeQuantize have no steps"
            steps = read
        return np.broadcast_to(steps, self.shape).reshape(self.rows, *self.shape[1:])

    @cached_property
    def _all_ends(self) -> Array:
        if self.chain.limits is not None:
            low, high = read_range(self.chain, self._weights)
            return np.asarray((self._all_numbers <= low) | (self._all_numbers >= high))
        return mask_end_levels(self.chain, self._weights).reshape(self.rows, *self.shape[1:])


def _calculate(function: np.ufunc, numbers: Array, part: Array) -> Array:
    """Apply a function of two arrays, in place of the first one unless the second one is larger."""
    is_smaller = np.broadcast_shapes(numbers.shape, part.shape) == numbers.shape and part.dtype == numbers.dtype
    return np.asarray(function(numbers, part, out=numbers) if is_smaller else function(numbers, part))
