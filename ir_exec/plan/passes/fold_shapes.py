"""Values that follow from the input shapes, computed once for each set of shapes."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.kernels.limits import owner_of
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.constant_values import constant_values, is_constant
from ir_exec.plan.memory import byte_size, freeze
from ir_exec.plan.passes.relayout_constants import is_scattered
from ir_exec.plan.planner import Planner
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.graph import PlanGraph
    from ir_exec.plan.passes.prepack import WeightMemoryBudget

__all__ = ["PrecomputableNodes", "fold_shapes", "partition_precomputable"]


def fold_shapes(graph: PlanGraph, constants: ModelConstants) -> PlanGraph:
    """Compute values that follow from the input shapes, within the memory limit.

    Raises:
        IRError: The errors of the computed layers.
        ResourceError: If the memory of the enclosing run is insufficient.
    """
    # Without `expand` these are computed in every run.
    weights = frozenset() if constants.setting.expand else constant_values(constants.setting.graph)
    max_bytes = constants.weight_memory.left_for_precomputed
    now, stored, later = partition_precomputable(
        graph.nodes, graph.types, graph.slots, graph.results, passing=weights, max_bytes=max_bytes
    )
    if now:
        graph.precomputed_bytes += _precompute(now, stored, graph, constants)
    graph.set_nodes(later)
    return graph


def _precompute(nodes: list[Node], numbers: list[int], graph: PlanGraph, constants: ModelConstants) -> int:
    """Run the nodes and store the values of these numbers in the slots.

    Returns:
        Their bytes of memory.
    """
    size = 0
    setting, weight_memory = constants.setting, constants.weight_memory
    plan = Planner(setting, nodes, graph.types, graph.slots.copy(), numbers, constants=constants).plan()
    setting.run(plan, plan.slots)
    for number in numbers:
        array, plan.slots[number] = plan.slots[number], None
        assert array is not None, "its node has run"
        array = _compact(array, weight_memory)
        owner = owner_of(array)
        if owner.flags.writeable:
            size += owner.nbytes
            weight_memory.count_precomputed(owner)
        graph.slots[number] = freeze(array)
        # It is freed before the next one is copied.
        del array, owner
    return size


def _compact(array: Array, weight_memory: WeightMemoryBudget) -> Array:
    """An array that keeps no larger one in memory, and is fast to read."""
    owner = owner_of(array)
    is_part = owner.flags.writeable and owner.nbytes > array.nbytes
    return array.copy() if is_part or (is_scattered(array) and not weight_memory.is_stored(array)) else array


class PrecomputableNodes(NamedTuple):
    """The partition of the nodes of a plan.

    Attributes:
        now: Nodes to compute before all runs, in order.
        stored: The numbers of their values that runs read.
        later: Nodes to run, in order, including nodes computed now whose values are read but not stored.
    """

    now: list[Node]
    stored: list[int]
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
    available = {value for node in nodes for value in node.values_in if slots[value.number] is not None}
    early = set()
    for node in nodes:
        if isinstance(node.op, Const) or not is_constant(node, available):
            continue
        # Sizes known only in the run cannot be compared with the maximum.
        if all(types[value.number].shape.is_static for value in node.outputs):
            early.add(node)
            available.update(node.outputs)
    if not early:
        return PrecomputableNodes([], [], list(nodes))
    read, needed = set(results), set[int]()
    now: list[Node] = []
    stored: list[int] = []
    later: list[Node] = []
    for node in reversed(nodes):
        inputs = [value.number for value in node.values_in]
        if node not in early:
            later.append(node)
            read.update(inputs)
            continue
        outputs = {value.number for value in node.outputs}
        read_outputs = outputs & read
        size = sum(byte_size(types[number]) for number in read_outputs)
        if not read_outputs or (size <= max_bytes and passing.isdisjoint(node.outputs)):
            max_bytes -= size
            stored += read_outputs
            needed |= read_outputs
        else:
            later.append(node)
            read.update(inputs)
        if not needed.isdisjoint(outputs):
            now.append(node)
            needed.update(inputs)
    return PrecomputableNodes(now[::-1], sorted(stored), later[::-1])
