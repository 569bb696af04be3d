"""Folding: the values that depend on weights only, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_exec.ops.infrastructure.values import Const
from ir_exec.plan.constant_values import foldable
from ir_exec.plan.memory import store
from ir_exec.plan.planner import Planner
from ir_exec.types import Array

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.constants import ModelConstants
    from ir_exec.plan.records import Kernel, Step

__all__ = ["fold_constants"]


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
