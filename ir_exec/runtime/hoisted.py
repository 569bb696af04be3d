"""Bodies of loops: products of parts of what is the same in every iteration, as one product before the first."""

from __future__ import annotations

from collections.abc import Collection

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ops import Op
from ir_exec.runtime.rewrite.draft import Draft, FusedNode

__all__ = ["products_first"]


def products_first(draft: Draft, types: Types, fixed: Collection[int], room: int) -> tuple[list[Node], Types]:
    """The nodes of a draft with every Gather behind the MatMul that multiplies what it takes from a fixed value by a
    known matrix, and the types of their values.

    fixed: the numbers of values that are the same in every iteration. room: bytes that a product may take.
    """
    types, ordered = types.copy(), draft.nodes.copy()
    for place, node in enumerate(draft.nodes):
        product = _product(draft, node, fixed)
        if product is None:
            continue
        (whole, *which), (part, matrix) = node.values_in, product.values_in
        op = draft.operator(product)
        type = op.infer(types[whole.number], types[matrix.number])
        if type.shape.size.hi * type.element_type.dtype.itemsize <= room:
            types[part.number] = type
            ordered[place] = _moved(product, op, [whole, matrix], (part,))
            ordered[ordered.index(product)] = _moved(node, draft.operator(node), [part, *which], product.outputs)
    return ordered, types


def _product(draft: Draft, node: Node, fixed: Collection[int]) -> Node | None:
    """The MatMul of what a Gather takes from a fixed value, along another axis than the last, and a known matrix."""
    if draft.kind(node) != "Gather" or node.values_in[0].number not in fixed:
        return None
    product = draft.only_reader(node.outputs[0])
    if product is None or draft.kind(product) != "MatMul" or product.values_in[0] is not node.outputs[0]:
        return None
    matrix, axis = draft.known(product.values_in[1]), draft.number(node.values_in[2])
    rank = draft.type(node.values_in[0]).rank
    is_plain = not vars(draft.operator(node)).get("batch_dims") and not vars(draft.operator(product))["transpose_a"]
    if matrix is None or axis is None or rank is None or not is_plain:
        return None
    return product if matrix.ndim == 2 and axis % rank < rank - 1 else None


def _moved(node: Node, op: Op, inputs: list[Value | None], outputs: tuple[Value, ...]) -> FusedNode:
    return FusedNode(node.layer, op, node.path, type(op), inputs, outputs, members=(node,))
