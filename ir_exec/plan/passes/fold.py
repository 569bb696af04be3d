"""Folding: the values that depend on weights only, computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.graph import Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.plan.memory import byte_size, store
from ir_exec.plan.planner import Planner
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.records import Kernel, Step

__all__ = ["constant_values", "fold_constants", "foldable", "is_constant"]

SMALL = 2**12
"""Maximum bytes of constants that are always stored."""


def fold_constants(constants: ModelConstants) -> ModelConstants:
    """Compute values that depend on no input, variable or random number."""
    setting = constants.setting
    graph = setting.graph
    folded = foldable(graph, constants.types, expand_weights=setting.expand)
    nodes = [node for node in setting.nodes if node.outputs and node.outputs[0] in folded]
    read = {
        value.number
        for node in graph.nodes
        if not (node.outputs and node.outputs[0] in folded)
        for value in node.values_in
        if value in folded
    }
    slots: list[Array | None] = [None] * len(graph.values)
    plan = Planner(setting, nodes, constants.types, slots, sorted(read)).plan()
    if setting.weights is not None and setting.expand:
        plan.steps = [_release_pages(step, setting.weights) for step in plan.steps]
    setting.run(plan, slots)
    arrays = [None if array is None else store(array) for array in slots]
    constants.weight_memory.enter(arrays)
    return replace(constants, arrays=arrays, folded=frozenset(folded))


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
        if not is_constant(node, constant):
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
        if is_constant(node, constant):
            constant.update(node.outputs)
    return constant


def is_constant(node: Node, constant: Set[Value]) -> bool:
    """Return True if the outputs of a node are constants, given the constants among its inputs."""
    op = node.op
    if op is None or isinstance(op, Parameter) or not op.deterministic:
        return False
    if isinstance(op, Const):
        return True
    return not op.evaluate_context and bool(node.inputs) and all(value in constant for value in node.values_in)


LARGE = 2**16
"""Minimum bytes of a constant whose pages in the file are released."""


def _release_pages(step: Step, weights: Weights) -> Step:
    """The step with a release of file pages.

    Pages of large constants that only this step reads leave the process's memory after it, unless its output is a view
    of them.
    """
    stored = step.node.op if isinstance(step.node.op, Const) else None
    dying = tuple([position for position, slot in enumerate(step.inputs) if slot in step.dying])
    if not dying and (stored is None or stored.size < LARGE):
        return step
    return replace(step, evaluate=partial(_evaluate_and_release, weights, step.evaluate, stored, dying))


def _evaluate_and_release(
    weights: Weights, evaluate: Kernel, stored: Const | None, dying: Sequence[int], *arrays: Array
) -> Any:
    result = evaluate(*arrays)
    read = [arrays[position] for position in dying]
    if stored is not None:
        read.append(stored.evaluate(weights=weights))
    outputs = result if isinstance(result, tuple) else (result,)
    for array in read:
        is_large = array.nbytes >= LARGE and array.flags.c_contiguous and weights.maps(array)
        if is_large and not any(np.may_share_memory(array, output) for output in outputs):
            weights.forget(array)
    return result
