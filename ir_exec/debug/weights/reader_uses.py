"""The use of a weight by the layer that reads it, from the facts that its operator declares."""

from __future__ import annotations

from typing import Literal

from ir_exec.graph import Node
from ir_exec.ops.base.inputs import selects_slices

__all__ = ["ReaderUse", "arranges_elements", "axes_of_sums", "find_use", "is_product", "scales_elements"]

ReaderUse = Literal["matrix", "filters", "table", "other matrix", "elements"]
"""`table`: rows are looked up, as those of tokens; `other matrix`: the weights of recurrent layers and others that
compute sums; `elements`: a bias, a scale or a mask."""


def axes_of_sums(node: Node, position: int) -> tuple[int, ...]:
    """The axes of an input along which products are summed; empty for other inputs."""
    value = node.inputs[position]
    rank = None if value is None else value.declared.shape.rank
    if node.op is None or rank is None or not node.op_class.inputs:
        return ()
    return node.op.weight_axes(position, rank) or ()


def is_product(node: Node) -> bool:
    """Return True for a product of two matrices."""
    return len(node.inputs) == 2 and all(len(axes_of_sums(node, position)) == 1 for position in (0, 1))


def find_use(node: Node, position: int) -> ReaderUse:
    """The use of an input of a layer."""
    axes = axes_of_sums(node, position)
    if axes:
        return "matrix" if len(axes) == 1 else "filters"
    if position == 0 and selects_slices(node.op_class.inputs):
        return "table"
    moves = node.op_class.is_data_movement or node.op_class.is_conversion
    return "elements" if node.op_class.is_elementwise or moves else "other matrix"


def arranges_elements(node: Node) -> bool:
    """Return True for a layer that only converts elements, or gives them another shape or order."""
    return node.op_class.is_conversion or node.op_class.preserves_order or node.op_class.changes_order


def scales_elements(node: Node) -> bool:
    """Return True for a product of the elements of two inputs."""
    return node.op_class.is_elementwise and node.op_class.neutral == 1 and node.op_class.absorbing == 0
