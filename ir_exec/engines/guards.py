"""Layers with a different meaning on an engine than in the interpreter: errors, limits and repeatability."""

from __future__ import annotations

from collections.abc import Collection, Set

import numpy as np

from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.infer import Types
from ir_exec.kernels.limits import MOST_ITERATIONS
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.base.inputs import Divisor
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, Parameter, ReadsVariable, Result
from ir_exec.types import ElementType, TensorType

__all__ = ["find_guarded"]


def find_guarded(model: Model, *, sees_zeros: bool = False) -> dict[Node, str]:
    """Return the layers that must be interpreted for any engine, each with the reason.

    Args:
        sees_zeros: If true, the engine fails for integers divided by zero, instead of ending the process.
    """
    types = model.types
    shaped = _following_from_shapes(model.graph)
    reasons: dict[Node, str] = {}
    for node in model.graph.nodes:
        reason = _reason(node, types, shaped, sees_zeros=sees_zeros) or _inside(node, shaped, sees_zeros=sees_zeros)
        if reason is not None:
            reasons[node] = reason
    return reasons


def _inside(node: Node, outer: Set[Value], *, sees_zeros: bool) -> str | None:
    """Return the reason of a layer in a body.

    Args:
        outer: The values outside that follow from shapes.
    """
    for body in node.bodies:
        graph = body.graph
        declared = [value.declared for value in graph.values]
        shaped = _following_from_shapes(graph, _shaped_parameters(node, body, outer))
        for inner in graph.nodes:
            reason = _reason(inner, declared, shaped, sees_zeros=sees_zeros)
            reason = reason or _inside(inner, shaped, sees_zeros=sees_zeros)
            if reason is None and isinstance(inner.op, ReadsVariable | AssignsVariable):
                reason = "it reads or assigns a variable in a body"
            if reason is not None:
                return f"{inner.type} {inner.name!r} in its body: {reason}"
    return None


def _reason(node: Node, types: Types, shaped: Set[Value], *, sees_zeros: bool) -> str | None:
    op = node.op
    if op is None:
        return "ir_exec does not support the operator"
    if not type(op).__module__.startswith("ir_exec."):
        return "it is a custom operator"
    if isinstance(op, Const | Parameter | Result | ReadsVariable | AssignsVariable):
        return None
    if not op.deterministic:
        return "its random numbers are a sequence of the interpreter"
    if any(types[value.number].element_type is ElementType.string for value in (*node.values_in, *node.outputs)):
        return "strings are computed by the interpreter"
    read = [types[value.number] for value in node.values_in]
    # The lowest integer, which overflows, is not a dim, and is not computed from dims.
    is_small = sees_zeros and all(value in shaped for value in node.values_in)
    divisors = [types[value.number] for value in _divisors(node, op)]
    if not is_small and not all(map(_divides_safely, divisors)):
        return "a division of integers by zero is found only during a run"
    if op.sized_by and not _is_sized(node, op, types, shaped):
        return "the size of its output depends on values, and may exceed every limit"
    if op.has_condition and not _is_bounded(read):
        return "its number of iterations is known only during a run"
    return None


def _divisors(node: Node, op: Op) -> list[Value]:
    ports = zip(op.inputs, node.inputs, strict=False)
    return [value for declared, value in ports if value is not None and isinstance(declared.domain, Divisor)]


def _divides_safely(divisor: TensorType) -> bool:
    """Return True if integers can be divided by it: no element is 0, or -1, with which the lowest integer overflows."""
    if divisor.element_type.is_known and not divisor.element_type.is_integer:
        return True
    bounds = divisor.bounds if divisor.element_type.is_known else None
    if bounds is None:
        return False
    lower, upper = bounds
    return bool(np.all(lower > 0)) or (lower is upper and bool(np.all((lower != 0) & (lower != -1))))


def _is_sized(node: Node, op: Op, types: Types, shaped: Set[Value]) -> bool:
    """Return True if the sizes of the outputs follow from shapes, are known, or are small."""
    ports = zip(op.inputs, node.inputs, strict=False)
    sizes = [value for declared, value in ports if value is not None and declared.name in op.sized_by]
    if all(value in shaped or types[value.number].value is not None for value in sizes):
        return True
    return all(types[value.number].shape.size.hi <= _ANY_SIZE for value in node.outputs)


_ANY_SIZE = 2**24
"""Maximum elements of an output that is not checked against limits."""


def _is_bounded(read: list[TensorType]) -> bool:
    count = read[0].bounds if read and read[0].element_type.is_known else None
    return count is not None and bool(np.all((count[1] >= 0) & (count[1] <= MOST_ITERATIONS)))


def _shaped_parameters(node: Node, body: BodyGraph, outer: Set[Value]) -> list[Value]:
    """Return the inputs of a body with the same value in every iteration that follows from shapes outside."""
    if body.ties is None:
        return []
    return [
        body.graph.parameters[tie.parameter].outputs[0]
        for tie in body.ties.inputs
        if tie.parameter in body.ties.invariant_parameters and node.inputs[tie.position or 0] in outer
    ]


def _following_from_shapes(graph: Graph, shaped: Collection[Value] = ()) -> set[Value]:
    """Return the values that follow from constants, from shaped values, and from the shapes of other values alone."""
    following = set(shaped)
    for node in graph.nodes:
        op = node.op
        if op is None or op.evaluate_context - {"weights"} or not op.deterministic:
            continue
        read = [value for position, value in enumerate(node.inputs) if op.reads_elements(position)]
        if isinstance(op, Const) or (node.inputs and all(value is None or value in following for value in read)):
            following.update(node.outputs)
    return following
