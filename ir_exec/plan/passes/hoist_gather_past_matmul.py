"""Loops: a whole value is multiplied once before elements are gathered from it in each iteration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ops import Op
from ir_exec.plan.graph import Fusion, PlanGraph

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants

__all__ = ["hoist_gather_past_matmul"]


def hoist_gather_past_matmul(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Multiply a value that is equal in all iterations before gathering from it in each."""
    fixed = constants.setting.fixed
    if fixed:
        nodes, graph.types = _hoist_past_matmul(graph, graph.types, fixed, constants.weight_memory.left_for_precomputed)
        graph.set_nodes(nodes)
    return graph


def _hoist_past_matmul(
    graph: PlanGraph, types: Types, fixed: Collection[int], max_bytes: int
) -> tuple[list[Node], Types]:
    """Move every Gather from a fixed value after the MatMul of its result by a known matrix.

    This is not a `FusionRule`: two nodes are exchanged, and the fixed values differ between loops.

    Args:
        fixed: The numbers of values that are equal in every iteration.
        max_bytes: Maximum bytes of a product.

    Returns:
        Nodes and types.
    """
    types, ordered = types.copy(), graph.nodes.copy()
    for position, node in enumerate(graph.nodes):
        product = _product(graph, node, fixed)
        if product is None:
            continue
        (data, *places), (rows, matrix) = node.values_in, product.values_in
        op = graph.operator(product)
        type = op.infer(types[data.number], types[matrix.number])
        if type.shape.size.hi * type.element_type.dtype.itemsize <= max_bytes:
            types[rows.number] = type
            ordered[position] = _replace(product, op, [data, matrix], (rows,))
            ordered[ordered.index(product)] = _replace(node, graph.operator(node), [rows, *places], product.outputs)
    return ordered, types


def _product(graph: PlanGraph, node: Node, fixed: Collection[int]) -> Node | None:
    """The MatMul of a Gather from a fixed value, not along its last axis, by a known matrix."""
    # The pattern, by the names that `PlanGraph.kind` gives.
    if graph.kind(node) != "Gather" or node.values_in[0].number not in fixed:
        return None
    product = graph.only_reader(node.outputs[0])
    if product is None or graph.kind(product) != "MatMul" or product.values_in[0] is not node.outputs[0]:
        return None
    matrix, axis = graph.known(product.values_in[1]), graph.number(node.values_in[2])
    rank = graph.type(node.values_in[0]).rank
    is_plain = not vars(graph.operator(node)).get("batch_dims") and not vars(graph.operator(product))["transpose_a"]
    if matrix is None or axis is None or rank is None or not is_plain:
        return None
    return product if matrix.ndim == 2 and axis % rank < rank - 1 else None


def _replace(node: Node, op: Op, inputs: list[Value], outputs: tuple[Value, ...]) -> Node:
    return replace(Fusion([node], op, inputs).make_node("hoist_gather_past_matmul"), outputs=outputs)
