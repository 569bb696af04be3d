"""Passes that precompute values before a run, and store constants in the form that kernels read.

The functions are those of `PASSES` in `ir_exec/plan/compiler.py`, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.kernels.limits import current_limits, owner_of
from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.graph import PlanGraph
from ir_exec.plan.memory import read_only
from ir_exec.plan.passes.fold import (
    constant_values,
    foldable,
    hoist_past_matmul,
    is_scattered,
    letting_go,
    partition_precomputable,
)
from ir_exec.plan.passes.prepack import (
    PackedMatrices,
    PackedWeights,
    WeightMemoryBudget,
    may_be_panelled,
    may_have_sums,
)
from ir_exec.plan.planner import Planner
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.compiler import Compiler, Draft

__all__ = [
    "eliminate_known_values",
    "fold_constants",
    "fold_shapes",
    "hoist_gather_past_matmul",
    "hoist_loop_invariants",
    "prepack_weights",
    "relayout_constants",
    "sink_large_constants",
    "transform_filters",
    "use_compressed_weights",
    "use_packed_weights",
]

_GIVEN = np.empty(0)
"""A placeholder for the value of an input during planning."""


def fold_constants(compiler: Compiler, draft: Draft) -> None:
    """Compute values that depend on no input, variable or random number."""
    if compiler.constants is not None:
        return
    graph = compiler.graph
    compiler.folded = foldable(graph, draft.types, expand_weights=compiler.expand)
    nodes = [node for node in compiler.steps() if compiler.is_folded(node)]
    used = {
        value.number
        for node in graph.nodes
        if not compiler.is_folded(node)
        for value in node.values_in
        if value in compiler.folded
    }
    slots: list[Array | None] = [None] * len(graph.values)
    plan = Planner(compiler.setting, nodes, draft.types, slots, sorted(used), overwrite=draft.is_for_runs).plan()
    if compiler.weights is not None and compiler.expand:
        plan.steps = [letting_go(step, compiler.weights) for step in plan.steps]
    compiler.run(plan, slots)
    compiler.constants = [None if array is None else _kept(array) for array in slots]
    compiler.weight_memory.enter(compiler.constants)


def prepack_weights(compiler: Compiler, draft: Draft) -> None:
    """Multiply by matrices that only MatMul reads in panels.

    The number of rows is taken from the declared shapes: results do not depend on the sizes of the first run.
    """
    constants = compiler.constants
    if compiler.matrices is not None or constants is None or not any(map(may_be_panelled, constants)):
        return
    types = _declared_types(compiler, draft)
    compiler.matrices = PackedMatrices(
        compiler.graph, constants, types, compiler.setting.operator, compiler.weight_memory
    )
    _take_over(compiler, constants, compiler.matrices)


def transform_filters(compiler: Compiler, draft: Draft) -> None:
    """Multiply by transformed filters, for declared shapes, as for matrices, and merge several convolutions."""
    constants = compiler.constants
    if compiler.filters is not None or constants is None or not may_have_sums(compiler.graph):
        return
    from ir_exec.plan.passes.conv_weights import PackedFilters  # not needed without convolutions

    types = _declared_types(compiler, draft)
    compiler.filters = PackedFilters(
        compiler.graph, constants, types, compiler.setting.operator, compiler.weight_memory
    )
    _take_over(compiler, constants, compiler.filters)


def _take_over(compiler: Compiler, constants: Sequence[Array | None], packed: PackedWeights) -> None:
    """Let observers see what nodes hold, and pack it at once with optimize="full"."""
    _compute_for_observers(compiler, constants, packed.values)
    if compiler.tier == "full":
        packed.pack()


def _compute_for_observers(compiler: Compiler, constants: Sequence[Array | None], values: Collection[Value]) -> None:
    """Run the layers that compute values held by nodes in plans that run the layers of the file."""
    again = set(values)
    for node in reversed(compiler.graph.nodes):
        if not again.isdisjoint(node.outputs):
            again.update(value for value in node.values_in if constants[value.number] is None)
    compiler.folded -= again


def _declared_types(compiler: Compiler, draft: Draft) -> Types:
    """The types for the declared input shapes; the types of the plan if a body's declarations do not match."""
    faults: list[IRError] = []

    def settle(node: Node, inferred: list[TensorType] | None, found: list[IRError]) -> list[TensorType]:
        faults.extend(found)
        return inferred_or_declared(node, inferred, found)

    types = compiler.types or infer_types(
        compiler.graph, weights=compiler.weights, given={}, ops=compiler.ops, settle=settle
    )
    return draft.types if faults else types


def relayout_constants(compiler: Compiler, draft: Draft) -> None:
    """Copy non-contiguous constants, and unaligned constants of ONNX files."""
    constants = compiler.constants
    assert constants is not None, "constants are folded by an earlier pass"
    if compiler.has_layout:
        return
    compiler.has_layout = True
    ordered = constants.copy()
    constants.clear()
    for number, array in enumerate(ordered):
        if array is None:
            continue
        is_aligned = array.flags.aligned or not compiler.expand
        if not is_aligned or (is_scattered(array) and compiler.weight_memory.is_own(array)):
            # One at a time: the previous array is freed.
            ordered[number] = _kept(array.copy())
            if not is_aligned:
                compiler.weight_memory.leave_file(array)
    compiler.constants = ordered
    compiler.setting.budget.constants += compiler.constant_bytes


def sink_large_constants(compiler: Compiler, draft: Draft) -> None:
    """Begin with the layers of the file, each constant that is not stored right before its first reader."""
    assert compiler.constants is not None, "constants are folded by an earlier pass"
    draft.slots = compiler.constants.copy()
    waiting: dict[Value, Node] = {}
    ordered: list[Node] = []
    for node in compiler.steps():
        if compiler.is_folded(node):
            continue
        if isinstance(node.op, Const):
            waiting[node.outputs[0]] = node
            continue
        ordered += [waiting.pop(value) for value in dict.fromkeys(node.values_in) if value in waiting]
        ordered.append(node)
    draft.set_nodes(ordered + list(waiting.values()))


def use_packed_weights(compiler: Compiler, draft: Draft) -> None:
    """Replace nodes that read a packed weight by nodes that hold it."""
    results = [node.values_in[0] for node in compiler.graph.results]
    for packed in (compiler.matrices, compiler.filters):
        if packed is not None:
            draft.set_nodes(packed.replaced(draft.nodes, results))


def use_compressed_weights(compiler: Compiler, draft: Draft) -> None:
    """Multiply by compressed weights, and gather from them, chunk by chunk, if they are not expanded."""
    if compiler.expand or compiler.weights is None:
        return
    if compiler.compressed is None:
        from ir_exec.plan.passes.compressed_weights import CompressedWeights  # few models run on compressed weights

        compiler.compressed = CompressedWeights(
            compiler.graph, compiler.weights, draft.types, compiler.folded, compiler.setting.operator
        )
    results = [node.values_in[0] for node in compiler.graph.results]
    draft.set_nodes(compiler.compressed.replaced(draft.nodes, results))
    draft.skipped += compiler.compressed.skipped


def eliminate_known_values(compiler: Compiler, draft: Draft) -> None:
    """Remove values known from inference, and unused values."""
    slots = draft.slots
    for node in draft.nodes:
        if isinstance(node.op, Const):
            # It is too large to store.
            continue
        values = [draft.types[value.number].value for value in node.outputs] if node.op else []
        if all(value is not None for value in values):
            for output, value in zip(node.outputs, values, strict=False):
                slots[output.number] = None if value is None else read_only(value)
    wanted = {number for number in draft.results if slots[number] is None}
    needed = []
    for node in reversed(draft.nodes):
        has_effect = node.op is not None and bool(node.op.evaluate_context)
        if has_effect or any(value.number in wanted for value in node.outputs):
            needed.append(node)
            wanted.update(value.number for value in node.values_in if slots[value.number] is None)
    draft.set_nodes(needed[::-1])


def fold_shapes(compiler: Compiler, draft: Draft) -> None:
    """Compute values that follow from the input shapes, within the memory limit.

    Raises:
        IRError: The errors of the computed layers.
        ResourceError: If the memory of the enclosing run is insufficient.
    """
    # Without `expand` these are computed in every run.
    weights = frozenset() if compiler.expand else constant_values(compiler.graph)
    max_bytes = compiler.weight_memory.left_for_precomputed
    now, kept, later = partition_precomputable(
        draft.nodes, draft.types, draft.slots, draft.results, passing=weights, max_bytes=max_bytes
    )
    draft.slots = draft.slots.copy()
    if now:
        draft.kept = _precompute(compiler, now, kept, draft)
    draft.set_nodes(later)


def _precompute(compiler: Compiler, nodes: list[Node], kept: list[int], draft: Draft) -> int:
    """Run the nodes and store the values of these numbers in the slots.

    Returns:
        Their bytes of memory.
    """
    size = 0
    plan = Planner(compiler.setting, nodes, draft.types, draft.slots.copy(), kept, overwrite=True).plan()
    compiler.run(plan, plan.slots)
    for number in kept:
        array, plan.slots[number] = plan.slots[number], None
        assert array is not None, "its node has run"
        array = _compact(array, compiler.weight_memory)
        owner = owner_of(array)
        if owner.flags.writeable:
            size += owner.nbytes
            compiler.weight_memory.count_precomputed(owner)
        draft.slots[number] = _frozen(array)
        # It is freed before the next one is copied.
        del array, owner
    return size


def hoist_gather_past_matmul(compiler: Compiler, draft: Draft) -> None:
    """Multiply a value that is equal in all iterations before gathering from it in each."""
    if compiler.fixed:
        nodes, draft.types = hoist_past_matmul(
            draft, draft.types, compiler.fixed, compiler.weight_memory.left_for_precomputed
        )
        draft.set_nodes(nodes)


def hoist_loop_invariants(compiler: Compiler, draft: Draft) -> None:
    """Compute values only in the first iteration that the others would compute again."""
    if not compiler.fixed:
        return
    known = draft.slots.copy()
    for number in compiler.fixed:
        known[number] = _GIVEN
    max_bytes = compiler.weight_memory.left_for_precomputed
    now, kept, later = partition_precomputable(
        draft.nodes, draft.types, known, draft.results, passing=frozenset(), max_bytes=max_bytes
    )
    draft.set_nodes(later)
    if now:
        draft.prologue = PlanGraph(now, draft.types, draft.slots, kept, draft.operator)


def _compact(array: Array, weight_memory: WeightMemoryBudget) -> Array:
    """An array that keeps no larger one in memory, and is fast to read."""
    owner = owner_of(array)
    is_part = owner.flags.writeable and owner.nbytes > array.nbytes
    return array.copy() if is_part or (is_scattered(array) and not weight_memory.is_stored(array)) else array


def _kept(array: Array) -> Array:
    """A constant protected from writes by layers and callers; the run no longer counts its memory."""
    owner = owner_of(array)
    if owner.flags.writeable:
        current_limits().keep(owner, planned=owner.nbytes)
    return _frozen(array)


def _frozen(array: Array) -> Array:
    owner_of(array).flags.writeable = False
    return read_only(array)
