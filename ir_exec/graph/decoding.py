"""The numbers of compressed weights: decoded weights, steps between levels, elements at the ends of the range."""

from __future__ import annotations

import numpy as np

from ir_exec.graph.compressed import CompressedWeight
from ir_exec.graph.constant_parts import evaluate_constants, read_numbers
from ir_exec.graph.graph import Node
from ir_exec.graph.weight_encodings import level_gaps, range_of_type
from ir_exec.ir import Weights
from ir_exec.ops.base.registry import canonical
from ir_exec.types import Array, ElementType, convert

__all__ = ["decode_weight", "mask_end_levels", "read_range", "read_steps"]


def decode_weight(weight: CompressedWeight, weights: Weights) -> Array:
    """The weight as f32, computed in the order and the types of a run."""
    return read_numbers(weight.value, weights)


def read_steps(weight: CompressedWeight, weights: Weights) -> Array | None:
    """The greater distance to a neighboring level for each element of a compressed weight.

    None for levels of a FakeQuantize.
    """
    if weight.limits is not None:
        return None
    codes = weight.constant.evaluate(weights=weights)
    if weight.table is not None:
        numbers, table = _read_codebook(weight, codes, weights)
        steps = level_gaps(numbers, table)
    elif weight.element_type.is_integer:
        steps = np.ones(codes.shape, np.float32)
    else:
        steps = level_gaps(convert(codes, ElementType.f32), weight.element_type)
    for node in reversed(weight.line):
        if canonical(node.type) == "Multiply":
            assert weight.scale is not None
            steps = steps * read_numbers(weight.scale, weights)
        else:
            steps = _move(steps, node, weights)
    return np.abs(steps)


def mask_end_levels(weight: CompressedWeight, weights: Weights) -> Array:
    """A mask of elements of a compressed weight whose code is the first or last of the format's levels.

    The sign of the scale is not considered. A FakeQuantize has `read_range` instead.
    """
    codes = weight.constant.evaluate(weights=weights)
    if weight.table is not None:
        numbers, table = _read_codebook(weight, codes, weights)
        low, high = float(table.min()), float(table.max())
    else:
        numbers = convert(codes, ElementType.f32)
        low, high = range_of_type(weight.element_type)
    mask = (numbers <= low) | (numbers >= high)
    for node in reversed(weight.line):
        mask = _move(mask, node, weights)
    return np.array(mask)


def read_range(weight: CompressedWeight, weights: Weights) -> tuple[Array, Array]:
    """The lowest and the highest level of the FakeQuantize, as they broadcast to the weight."""
    assert weight.limits is not None
    low, high = (read_numbers(weight.limits.values_in[position], weights) for position in (3, 4))
    return low, high


def _move(array: Array, node: Node, weights: Weights) -> Array:
    """Apply a Reshape or Transpose; all other layers move no elements."""
    if canonical(node.type) not in ("Reshape", "Transpose"):
        return array
    assert node.op is not None, "only layers with known operators are recognized"
    return np.asarray(node.op.evaluate(array, *(evaluate_constants(value, weights) for value in node.values_in[1:])))


def _read_codebook(weight: CompressedWeight, codes: Array, weights: Weights) -> tuple[Array, Array]:
    """The value of each code, and all values of the table."""
    assert weight.table is not None
    table = read_numbers(weight.table, weights)
    return table[convert(codes, ElementType.i64)], table
