"""Precomputed values, which depend on weights or input shapes only, and values of loops computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.plan.graph import Fusion, PlanGraph
from ir_exec.plan.memory import byte_size
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.planner import Kernel, Step

__all__ = [
    "PrecomputableNodes",
    "constant_values",
    "foldable",
    "hoist_past_matmul",
    "is_scattered",
    "letting_go",
    "partition_precomputable",
]

SMALL = 2**12
"""Maximum bytes of constants that are always stored."""


def foldable(
    graph: Graph, types: Types, *, expand_weights: bool, small: Callable[[Node], int] | None = None
) -> set[Value]:
    """The values that depend on no input, variable or random number.

    Without `expand_weights`, only values that take at most the memory of the weights they are computed from: others,
    for instance f32 from u4, are computed in every run and freed again.

    Args:
        types: The types of all values, in the run.
        small: Maximum bytes of a node's outputs that may take more memory.
    """
    constant: set[Value] = set()
    stored: dict[Value, int] = {}
    for node in graph.nodes:
        if not _is_constant(node, constant):
            continue
        sources = sum(stored[value] for value in node.values_in)
        if isinstance(node.op, Const):
            sources = node.op.size
        sizes = [byte_size(types[value.number]) for value in node.outputs]
        limit = SMALL if small is None else small(node)
        if not expand_weights and sum(sizes) > max(sources, limit):
            continue
        for value, size in zip(node.outputs, sizes, strict=True):
            constant.add(value)
            stored[value] = min(size, sources) if isinstance(node.op, Const) else size
    return constant


def constant_values(graph: Graph) -> set[Value]:
    """The values that depend on no input, variable or random number, of any size."""
    constant: set[Value] = set()
    for node in graph.nodes:
        if _is_constant(node, constant):
            constant.update(node.outputs)
    return constant


def _is_constant(node: Node, constant: set[Value]) -> bool:
    op = node.op
    if op is None or isinstance(op, Parameter) or not op.deterministic:
        return False
    if isinstance(op, Const):
        return True
    return not op.evaluate_context and bool(node.inputs) and all(value in constant for value in node.values_in)


LARGE = 2**16
"""Minimum bytes of a constant whose pages in the file are released."""


def letting_go(step: Step, weights: Weights) -> Step:
    """The step with a release of file pages.

    Pages of large constants that only this step reads leave the process's memory after it, unless its output is a view
    of them.
    """
    stored = step.node.op if isinstance(step.node.op, Const) else None
    dying = tuple([place for place, slot in enumerate(step.inputs) if slot in step.dying])
    if not dying and (stored is None or stored.size < LARGE):
        return step
    return replace(step, evaluate=partial(_let_go, weights, step.evaluate, stored, dying))


def _let_go(weights: Weights, evaluate: Kernel, stored: Const | None, dying: Sequence[int], *arrays: Array) -> Any:
    found = evaluate(*arrays)
    read = [arrays[place] for place in dying]
    if stored is not None:
        read.append(stored.evaluate(weights=weights))
    outputs = found if isinstance(found, tuple) else (found,)
    for array in read:
        is_large = array.nbytes >= LARGE and array.flags.c_contiguous and weights.maps(array)
        if is_large and not any(np.may_share_memory(array, output) for output in outputs):
            weights.forget(array)
    return found


class PrecomputableNodes(NamedTuple):
    """The partition of the nodes of a plan.

    Attributes:
        now: Nodes to compute before all runs, in order.
        kept: The numbers of their values that runs read.
        later: Nodes to run, in order, including nodes computed now whose values are read but not stored.
    """

    now: list[Node]
    kept: list[int]
    later: list[Node]


def partition_precomputable(
    nodes: Sequence[Node],
    types: Types,
    slots: Sequence[Array | None],
    results: Collection[int],
    *,
    passing: Set[Value],
    max_bytes: int,
) -> PrecomputableNodes:
    """Partition the nodes of a plan by their dependence on values known only in a run.

    Args:
        slots: The known values.
        results: The numbers of the values read at the end.
        passing: Values that are not stored.
        max_bytes: Maximum bytes of all stored values; values read by the last nodes come first.
    """
    known = {value for node in nodes for value in node.values_in if slots[value.number] is not None}
    early = set()
    for node in nodes:
        if isinstance(node.op, Const) or not _is_constant(node, known):
            continue
        # Sizes known only in the run cannot be compared with the maximum.
        if all(types[value.number].shape.is_static for value in node.outputs):
            early.add(node)
            known.update(node.outputs)
    if not early:
        return PrecomputableNodes([], [], list(nodes))
    read, needed = set(results), set[int]()
    now: list[Node] = []
    kept: list[int] = []
    later: list[Node] = []
    for node in reversed(nodes):
        inputs = [value.number for value in node.values_in]
        if node not in early:
            later.append(node)
            read.update(inputs)
            continue
        outputs = {value.number for value in node.outputs}
        wanted = outputs & read
        size = sum(byte_size(types[number]) for number in wanted)
        if not wanted or (size <= max_bytes and passing.isdisjoint(node.outputs)):
            max_bytes -= size
            kept += wanted
            needed |= wanted
        else:
            later.append(node)
            read.update(inputs)
        if not needed.isdisjoint(outputs):
            now.append(node)
            needed.update(inputs)
    return PrecomputableNodes(now[::-1], sorted(kept), later[::-1])


def is_scattered(array: Array) -> bool:
    """Return True if neither rows nor columns are contiguous, and no elements share memory."""
    if array.flags.c_contiguous:
        return False
    strides = array.squeeze().strides
    return 0 not in strides and array.itemsize not in strides[-2:]


def hoist_past_matmul(
    draft: PlanGraph, types: Types, fixed: Collection[int], max_bytes: int
) -> tuple[list[Node], Types]:
    """Move every Gather from a fixed value after the MatMul of its result by a known matrix.

    This is not a `FusionRule`: two nodes are exchanged, and the fixed values differ between loops.

    Args:
        fixed: The numbers of values that are equal in every iteration.
        max_bytes: Maximum bytes of a product.

    Returns:
        Nodes and types.
    """
    types, ordered = types.copy(), draft.nodes.copy()
    for place, node in enumerate(draft.nodes):
        product = _product(draft, node, fixed)
        if product is None:
            continue
        (whole, *which), (part, matrix) = node.values_in, product.values_in
        op = draft.operator(product)
        type = op.infer(types[whole.number], types[matrix.number])
        if type.shape.size.hi * type.element_type.dtype.itemsize <= max_bytes:
            types[part.number] = type
            ordered[place] = _moved(product, op, [whole, matrix], (part,))
            ordered[ordered.index(product)] = _moved(node, draft.operator(node), [part, *which], product.outputs)
    return ordered, types


def _product(draft: PlanGraph, node: Node, fixed: Collection[int]) -> Node | None:
    """The MatMul of a Gather from a fixed value, not along its last axis, by a known matrix."""
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


def _moved(node: Node, op: Op, inputs: list[Value], outputs: tuple[Value, ...]) -> Node:
    return replace(Fusion([node], op, inputs).fused("hoist_gather_past_matmul"), outputs=outputs)
