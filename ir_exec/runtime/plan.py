"""Plans: which nodes run for a set of input shapes, in which order, by which kernels, in whose memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ir_exec.errors import EvaluationError, IRError, ResourceError, raise_error
from ir_exec.graph import Node, last_uses
from ir_exec.infer import Types, infer_outputs
from ir_exec.ops import Op
from ir_exec.runtime.memory import Buffers, byte_size
from ir_exec.types import Array, TensorType

__all__ = ["Context", "Kernel", "Plan", "Planner", "Setting", "Step"]

Context: TypeAlias = Mapping[str, Any]
"""What operators may ask for beyond their inputs: `weights`, `state`."""

Kernel: TypeAlias = Callable[..., Any]
"""Computes the outputs of a node from the arrays of its inputs."""

OVERWRITE_FROM = 2**14
"""Bytes of an output from which on it pays to reuse the buffer of an input."""


@dataclass(slots=True)
class Step:
    """One node in the loop.

    inputs, outputs: slots, which are the numbers of the values. dying: slots that are empty after this step.
    check: None where planning has proven the types; elsewhere it infers them from the arrays of the run.
    """

    node: Node
    evaluate: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: tuple[int, ...]
    check: Callable[[list[Array]], None] | None


@dataclass(slots=True)
class Plan:
    """The steps for one set of input shapes.

    slots: what every slot holds when a run begins: constants, and values that follow from the input shapes.
    results: the slots that hold the outputs at the end.
    live: for each step the bytes of all tensors of known size that exist when it has computed its outputs, without the
        inputs of the network and the constants.
    """

    steps: list[Step]
    slots: list[Array | None]
    results: list[int]
    live: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Setting:
    """What all plans of a graph share.

    bodies: the running bodies of the nodes that have any. max_memory: the budget of a run in bytes.
    with_constants: the kernel of a node whose constant inputs make a better one than `evaluate`, None for other nodes.
    """

    context: Context
    bodies: Mapping[Node, tuple[Any, ...]]
    max_memory: int
    with_constants: Callable[[Node], Kernel | None]


class Planner:
    """Makes one plan.

    nodes: what runs, in this order. types: of every value of the graph.
    slots: what a run begins with. results: the slots whose values are there at its end.
    overwrite: whether steps may reuse the buffers of dead values, and leave out outputs that no later layer reads.
    """

    def __init__(
        self,
        setting: Setting,
        nodes: list[Node],
        types: Types,
        slots: list[Array | None],
        results: list[int],
        *,
        overwrite: bool,
    ) -> None:
        self._setting = setting
        self._nodes = nodes
        self._types = types
        self._slots = slots
        self._results = results
        self._overwrite = overwrite
        self._keep = frozenset(results)
        self._read = self._keep.union(value.number for node in nodes for value in node.values_in)
        self._dying = last_uses(nodes)
        self._buffers = Buffers(nodes, types, self._keep, self._dying)

    def plan(self) -> Plan:
        """The plan; raises ResourceError where tensors of known shapes alone are over the budget."""
        plan = Plan([], self._slots, self._results)
        for index, node in enumerate(self._nodes):
            live = self._buffers.enter(index)
            _check_budget(live, node, self._setting.max_memory)
            plan.live.append(live)
            plan.steps.append(self._step(index, node))
            self._buffers.leave(index)
        return plan

    def _step(self, index: int, node: Node) -> Step:
        context = {**self._setting.context, "bodies": self._setting.bodies.get(node, ())}
        inputs = tuple([value.number for value in node.values_in])
        outputs = tuple([value.number for value in node.outputs])
        proven = self._is_static(inputs) and (bool(node.bodies) or self._is_static(outputs))
        return Step(
            node=node,
            evaluate=self._kernel(index, context, proven),
            inputs=inputs,
            outputs=outputs,
            dying=tuple([slot for slot in self._dying[index] if slot not in self._keep]),
            check=None if proven else partial(_check, node, context, self._setting.max_memory),
        )

    def _is_static(self, numbers: tuple[int, ...]) -> bool:
        return all(self._types[number].shape.is_static for number in numbers)

    def _kernel(self, index: int, context: Context, proven: bool) -> Kernel:
        node = self._nodes[index]
        op = _operator(node)
        if op.evaluate_context:
            return partial(op.evaluate, **{name: context[name] for name in op.evaluate_context})
        better = self._setting.with_constants(node)
        if better is not None or not proven:
            return better or op.evaluate
        kernel = self._kernel_for_types(node, op)
        position = self._overwritten_input(index, op)
        return kernel if position is None else partial(_overwrite, kernel, position)

    def _kernel_for_types(self, node: Node, op: Op) -> Kernel:
        inputs = [self._types[value.number] for value in node.values_in]
        numbers = [value.number for value in node.outputs]
        unread = frozenset(op.output_name(place) for place, number in enumerate(numbers) if number not in self._read)
        try:
            return op.kernel(*inputs, unread=unread if self._overwrite else frozenset())
        except IRError as error:
            raise error.located(node.location) from error.__cause__

    def _overwritten_input(self, index: int, op: Op) -> int | None:
        """The input whose memory becomes that of the output, None where there is no such input."""
        node = self._nodes[index]
        output = self._types[node.outputs[0].number]
        if self._overwrite and op.overwrites and byte_size(output) >= OVERWRITE_FROM:
            for position, value in enumerate(node.values_in):
                named = op.inputs[min(position, len(op.inputs) - 1)].name in op.overwrites
                if named and self._types[value.number] == output and self._buffers.may_overwrite(index, position):
                    return position
        return None


def _operator(node: Node) -> Op:
    assert node.op is not None, "networks with unsupported operators are refused before"
    return node.op


def _check(node: Node, context: Context, max_memory: int, arrays: list[Array]) -> None:
    """Infer from the arrays of the run; raises what `infer` finds wrong with them."""
    op = _operator(node)
    outputs = infer_outputs(op, [TensorType.of(array) for array in arrays], context, raise_error) or []
    if op.counts_outputs and len(outputs) != len(node.outputs):
        message = f"{op.counts_outputs} has {len(outputs)} elements, but the layer has {len(node.outputs)} outputs"
        raise EvaluationError(message, port=op.counts_outputs).located(node.location)
    for type in outputs:
        _check_budget(byte_size(type), node, max_memory)


def _check_budget(size: int, node: Node, max_memory: int) -> None:
    if size > max_memory:
        message = f"the run takes {size:,} bytes at this layer, the budget is {max_memory:,}"
        hint = "max_memory of compile_model sets the budget"
        raise ResourceError(message, hint=hint).located(node.location)


def _overwrite(kernel: Kernel, position: int, *arrays: Array) -> Any:
    # A view that was made by broadcasting says by its flag that its elements are not its own.
    out = arrays[position]
    return kernel(*arrays, out=out if out.flags.writeable and out.flags.c_contiguous else None)
