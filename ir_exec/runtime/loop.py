"""The loop: fetch, evaluate, observe, store, free."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.graph import Node
from ir_exec.runtime.plan import Step
from ir_exec.types import Array

__all__ = ["Observer", "run_steps"]

Observer: TypeAlias = Callable[[Node, list[Array], list[Array]], None]
"""Called after each node with its inputs and outputs, which it must not change.

They are what is computed: f32 where the file says f16 or bf16, unless the model is compiled with precision="file".
"""


def run_steps(steps: list[Step], slots: list[Array | None], observe: Observer | None = None) -> None:
    """Run the steps in order on the arrays in `slots`; a slot is None before its value and after the last use.

    An IRError gains the place of its layer; any other exception of an operator becomes an EvaluationError.
    """
    for step in steps:
        arrays: list[Array] = [slots[slot] for slot in step.inputs]  # type: ignore[misc]  # filled by earlier steps
        try:
            if step.check is not None:
                step.check(arrays)
            result = step.evaluate(*arrays)
        except Exception as error:
            raise _placed(error, step.node) from (error.__cause__ if isinstance(error, IRError) else error)
        if type(result) is tuple:
            for slot, output in zip(step.outputs, result, strict=False):
                slots[slot] = output
        else:
            slots[step.outputs[0]] = result
        if observe is not None:
            observe(step.node, arrays, list(result) if isinstance(result, tuple) else [result])
        for slot in step.dying:
            slots[slot] = None


def _placed(error: Exception, node: Node) -> IRError:
    if isinstance(error, IRError):
        return error.located(node.location)
    if isinstance(error, MemoryError):
        return ResourceError(f"out of memory: {error}").located(node.location)
    if isinstance(error, ValueError) and "array is too big" in str(error):
        # NumPy says so of empty arrays too, if the product of their other dims overflows.
        return ResourceError("a tensor of this shape is larger than NumPy can hold").located(node.location)
    message = f"{type(error).__name__} while computing the layer: {error}"
    return EvaluationError(message, code=Code.failed).located(node.location)
