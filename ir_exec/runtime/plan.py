"""What is decided once for a set of input shapes: which nodes run, in which order, and what dies after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from ir_exec.errors import ResourceError
from ir_exec.graph import Graph, Node, Value, last_uses
from ir_exec.infer import Types, infer_node
from ir_exec.ops.sources import Const, Parameter, Result
from ir_exec.types import Array, TensorType

__all__ = ["Context", "Plan", "Step", "constant_values", "plan_steps"]

Context: TypeAlias = Mapping[str, Any]
"""What operators may ask for beyond their inputs: `weights`, `state`."""


@dataclass(slots=True)
class Step:
    """One node in the loop.

    inputs, outputs: slots, which are the numbers of the values. dying: slots that are empty after this step.
    check: None where the types were proven when planning; elsewhere it infers from the arrays that are really there.
    """

    node: Node
    evaluate: Callable[..., Any]
    inputs: list[int]
    outputs: list[int]
    dying: list[int]
    check: Callable[[list[Array]], None] | None


@dataclass(slots=True)
class Plan:
    """The steps for one set of input shapes, and the slots from which the outputs are taken at the end."""

    steps: list[Step]
    results: list[int]


def plan_steps(
    nodes: Iterable[Node],
    types: Types,
    keep: Iterable[int],
    context: Context,
    bodies: Mapping[Node, tuple[Any, ...]],
    max_memory: int,
) -> list[Step]:
    """Steps for these nodes; values whose numbers are in `keep` outlive the loop.

    Raises ResourceError where a tensor of known shape alone is over the budget.
    """
    nodes = [node for node in nodes if not isinstance(node.op, (Parameter, Result))]
    kept = set(keep)
    steps = []
    for node, dying in zip(nodes, last_uses(nodes), strict=True):
        op = node.op
        assert op is not None, "networks with unsupported operators are refused before"
        around = {**context, "bodies": bodies.get(node, ())}
        evaluate = op.evaluate
        if op.evaluate_context:
            evaluate = partial(evaluate, **{name: around[name] for name in op.evaluate_context})
        inputs = [value.number for value in node.values_in]
        outputs = [value.number for value in node.outputs]
        for value in node.outputs:
            check_budget(types[value.number], max_memory, node)
        proven = all(types[number].shape.is_static for number in (*inputs, *outputs))
        check = None if proven else partial(_check, node, around, max_memory)
        steps.append(Step(node, evaluate, inputs, outputs, [slot for slot in dying if slot not in kept], check))
    return steps


def constant_values(graph: Graph) -> set[Value]:
    """The values that no input and no variable has a part in."""
    constant: set[Value] = set()
    for node in graph.nodes:
        op = node.op
        if op is None or isinstance(op, Parameter) or not op.deterministic or op.evaluate_context - {"weights"}:
            continue
        if isinstance(op, Const) or (node.inputs and all(value in constant for value in node.values_in)):
            constant.update(node.outputs)
    return constant


def check_budget(type: TensorType, max_memory: int, node: Node) -> None:
    """Refuse a tensor whose least size is over the budget, before anything is allocated."""
    least = type.shape.size.lo * max(type.element_type.bits, 8) // 8
    if least > max_memory:
        message = f"the output {type} takes {least:,} bytes, the budget is {max_memory:,}"
        raise ResourceError(message, hint="max_memory of compile_model sets the budget").located(node.location)


def _check(node: Node, context: Context, max_memory: int, arrays: list[Array]) -> None:
    """Infer from the arrays that are really there; raises what `infer` finds wrong with them."""
    assert node.op is not None

    def report(error: Exception) -> None:
        raise error

    for type in infer_node(node.op, [TensorType.of(array) for array in arrays], context, report) or ():
        check_budget(type, max_memory, node)
