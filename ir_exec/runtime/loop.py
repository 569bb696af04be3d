"""The loop: fetch, evaluate, store, free. Hooks observe or change the values of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, array_limit_error
from ir_exec.graph import Node
from ir_exec.kernels.limits import Limits, owners
from ir_exec.plan.memory import read_only
from ir_exec.plan.records import DynamicStepMemory, Step
from ir_exec.types import Array

__all__ = ["Hooks", "Observer", "Observing", "placed", "run_steps"]

Observer: TypeAlias = Callable[[Node, list[Array], list[Array]], None]
"""Called after each node with its inputs and outputs, which it cannot change: the arrays are read-only.

The arrays have the computed type: f32 for f16 and bf16 of the file, unless the model is compiled with
precision="file".
"""


class Hooks:
    """Calls at every step of a run; a subclass overrides those that it needs.

    An exception of a hook ends the run unchanged.
    """

    def before(self, step: Step, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the inputs of the step: `inputs`, or replacements."""
        return inputs

    def after(self, step: Step, inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        """Return the arrays that later steps read: `outputs`, or replacements."""
        return outputs


class Observing(Hooks):
    """Passes every step to an observer."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe

    def after(self, step: Step, inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        self._observe(step.node, [read_only(array) for array in inputs], [read_only(array) for array in outputs])
        return outputs


def run_steps(steps: Sequence[Step], slots: list[Array | None], limits: Limits, hooks: Hooks | None = None) -> None:
    """Run the steps in order on the arrays in `slots`; a slot is None before its value and after the last use.

    An IRError gains the location of its layer; any other exception of an operator becomes an EvaluationError.

    Args:
        limits: The limits of the run; memory that was unknown to planning is counted in it.
    """
    around, is_timed = limits.planned, limits.is_timed
    for step in steps:
        arrays: Sequence[Array] = step.fetch(slots)
        if hooks is not None:
            arrays = hooks.before(step, arrays)
        try:
            if is_timed:
                limits.check_time()
            if step.dynamic_memory is not None:
                limits.planned = around + step.dynamic_memory.other_bytes
            result = step.evaluate(*arrays)
            if step.dynamic_memory is not None:
                _keep(step.dynamic_memory, arrays, result, limits)
        except Exception as error:
            raise placed(error, step.node) from (error.__cause__ if isinstance(error, IRError) else error)
        if hooks is not None:
            result = tuple(hooks.after(step, arrays, result if isinstance(result, tuple) else (result,)))
        if type(result) is tuple:
            for slot, output in zip(step.outputs, result, strict=False):
                slots[slot] = output
        elif step.outputs:  # files may omit the output port of an Assign
            slots[step.outputs[0]] = result
        for slot in step.dying:
            slots[slot] = None
    limits.planned = around


SMALL = 2**10
"""Maximum bytes of an output that is not counted: the bookkeeping of a layer takes more."""


def _keep(memory: DynamicStepMemory, arrays: Sequence[Array], result: Any, limits: Limits) -> None:
    if type(result) is not tuple and result.nbytes <= SMALL:
        return
    outputs = result if type(result) is tuple else (result,)
    large = [pair for pair in zip(outputs, memory.outputs, strict=False) if np.asarray(pair[0]).nbytes > SMALL]
    given = owners(arrays) if large else ()
    for output, planned in large:
        limits.keep(output, planned=planned, excluded=given)


def placed(error: Exception, node: Node) -> IRError:
    """Return the IRError for an exception of an operator, with the location of its layer."""
    if isinstance(error, IRError):
        return error.located(node.location)
    limit = array_limit_error(error)
    if limit is not None:
        # NumPy raises it for empty arrays too, if the product of their other dims overflows.
        return limit.located(node.location)
    message = f"{type(error).__name__} while computing the layer: {error}"
    return EvaluationError(message, code=Code.failed).located(node.location)
