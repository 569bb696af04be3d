"""The loop: fetch, evaluate, observe, store, free."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ir_exec.errors import EvaluationError, IRError, ResourceError
from ir_exec.graph import Node
from ir_exec.runtime.plan import Step
from ir_exec.types import Array

__all__ = ["Observer", "placed", "run_steps"]

Observer: TypeAlias = Callable[[Node, list[Array], list[Array]], None]
"""Called after each node with its inputs and outputs, which it must not change."""


def run_steps(steps: list[Step], slots: list[Array | None], observe: Observer | None = None) -> None:
    """Run the steps one after the other on the arrays in `slots`; a slot is None before its value and after its death.

    An IRError gains the place of its layer; any other exception of an operator becomes an EvaluationError.
    """
    for step in steps:
        arrays: list[Array] = [slots[slot] for slot in step.inputs]  # type: ignore[misc]  # filled by earlier steps
        try:
            if step.check is not None:
                step.check(arrays)
            result = step.evaluate(*arrays)
        except Exception as error:
            raise placed(error, step.node) from (None if isinstance(error, IRError) else error)
        if type(result) is tuple:
            for slot, output in zip(step.outputs, result, strict=False):
                slots[slot] = output
        else:
            slots[step.outputs[0]] = result
        if observe is not None:
            observe(step.node, arrays, list(result) if isinstance(result, tuple) else [result])
        for slot in step.dying:
            slots[slot] = None


def placed(error: Exception, node: Node) -> IRError:
    """The IRError that an exception of an operator becomes, with the place of its layer."""
    if isinstance(error, IRError):
        return error.located(node.location)
    if isinstance(error, MemoryError):
        return ResourceError(f"out of memory: {error}").located(node.location)
    if isinstance(error, ValueError) and "array is too big" in str(error):
        # Also an array of no elements is, for NumPy, when its other dims are beyond what it can count.
        return ResourceError("a tensor of this shape is larger than NumPy can hold").located(node.location)
    message = f"{type(error).__name__} while computing the layer: {error}"
    return EvaluationError(message, code="IR700").located(node.location)
