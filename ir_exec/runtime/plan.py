"""What is decided once for a set of input shapes: which nodes run, in which order, and what becomes of their memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ir_exec.errors import IRError, ResourceError, raise_error
from ir_exec.graph import Node, last_uses
from ir_exec.infer import Types, infer_outputs
from ir_exec.ops import Op
from ir_exec.runtime.memory import Buffers, byte_size
from ir_exec.types import Array, TensorType

__all__ = ["Context", "Plan", "Planner", "Step"]

Context: TypeAlias = Mapping[str, Any]
"""What operators may ask for beyond their inputs: `weights`, `state`."""

OVERWRITE_FROM = 2**14
"""Bytes from which on it pays to look whether a dead input's memory can be written to."""


@dataclass(slots=True)
class Step:
    """One node in the loop.

    inputs, outputs: slots, which are the numbers of the values. dying: slots that are empty after this step.
    check: None where the types were proven when planning; elsewhere it infers from the arrays that are really there.
    """

    node: Node
    evaluate: Callable[..., Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: tuple[int, ...]
    check: Callable[[list[Array]], None] | None


@dataclass(slots=True)
class Plan:
    """The steps for one set of input shapes.

    slots: what every slot holds when a run begins: constants, and values that follow from the input shapes.
    results: the slots from which the outputs are taken at the end.
    live: for each step the bytes of all tensors of known size that exist when it has computed its outputs, those of
    the inputs of the network and of constants left out.
    """

    steps: list[Step]
    slots: list[Array | None]
    results: list[int]
    live: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Planner:
    """Makes steps of nodes.

    bodies: the running bodies of the nodes that have any. max_memory: the budget in bytes.
    overwrite: whether memory that nobody needs any more may be written to, and outputs that nobody takes left out.
    """

    context: Context
    bodies: Mapping[Node, tuple[Any, ...]]
    max_memory: int
    overwrite: bool = True
    _read: frozenset[int] = frozenset()
    _slots: Sequence[Array | None] = ()

    def plan(self, nodes: list[Node], types: Types, slots: list[Array | None], results: list[int]) -> Plan:
        """Steps for these nodes, which begin with what is in `slots` and leave the values of `results` there.

        Raises ResourceError where tensors of known shapes alone are over the budget.
        """
        keep = frozenset(results)
        self._slots = slots
        self._read = keep.union(value.number for node in nodes for value in node.values_in)
        dying = last_uses(nodes)
        buffers = Buffers(nodes, types, keep, dying)
        plan = Plan([], slots, results)
        for index, node in enumerate(nodes):
            live = buffers.enter(index)
            self._check_budget(live, node)
            plan.live.append(live)
            dead = tuple([slot for slot in dying[index] if slot not in keep])
            plan.steps.append(self._step(index, node, types, buffers, dead))
            buffers.leave(index)
        return plan

    def _step(self, index: int, node: Node, types: Types, buffers: Buffers, dying: tuple[int, ...]) -> Step:
        assert node.op is not None, "networks with unsupported operators are refused before"
        inputs = tuple([value.number for value in node.values_in])
        outputs = tuple([value.number for value in node.outputs])
        around = {**self.context, "bodies": self.bodies.get(node, ())}
        is_static = [types[number].shape.is_static for number in inputs]
        # What happens inside of bodies is proven or checked there.
        proven = all(is_static) and (bool(node.bodies) or all(types[number].shape.is_static for number in outputs))
        return Step(
            node=node,
            evaluate=self._kernel(node.op, index, node, types, buffers, around, proven),
            inputs=inputs,
            outputs=outputs,
            dying=dying,
            check=None if proven else partial(self._check, node, around),
        )

    def _kernel(
        self, op: Op, index: int, node: Node, types: Types, buffers: Buffers, around: Context, proven: bool
    ) -> Callable[..., Any]:
        if op.evaluate_context:
            return partial(op.evaluate, **{name: around[name] for name in op.evaluate_context})
        slots = [self._slots[value.number] for value in node.values_in]
        better = op.with_constants({place: array for place, array in enumerate(slots) if array is not None})
        if better is not None or not proven:
            return better or op.evaluate
        kernel = self._planned(op, node, types)
        output = types[node.outputs[0].number]
        if self.overwrite and op.overwrites and byte_size(output) >= OVERWRITE_FROM:
            for position, value in enumerate(node.values_in):
                named = op.inputs[min(position, len(op.inputs) - 1)].name in op.overwrites
                if named and types[value.number] == output and buffers.may_overwrite(index, position):
                    return partial(_overwrite, kernel, position)
        return kernel

    def _planned(self, op: Op, node: Node, types: Types) -> Callable[..., Any]:
        inputs = [types[value.number] for value in node.values_in]
        numbers = [value.number for value in node.outputs]
        unread = frozenset(op.output_name(place) for place, number in enumerate(numbers) if number not in self._read)
        try:
            return op.kernel(*inputs, unread=unread if self.overwrite else frozenset())
        except IRError as error:
            raise error.located(node.location) from error.__cause__

    def _check(self, node: Node, around: Context, arrays: list[Array]) -> None:
        """Infer from the arrays that are really there; raises what `infer` finds wrong with them."""
        assert node.op is not None
        types = [TensorType.of(array) for array in arrays]
        for type in infer_outputs(node.op, types, around, raise_error) or ():
            self._check_budget(byte_size(type), node)

    def _check_budget(self, size: int, node: Node) -> None:
        if size > self.max_memory:
            message = f"the run takes {size:,} bytes at this layer, the budget is {self.max_memory:,}"
            hint = "max_memory of compile_model sets the budget"
            raise ResourceError(message, hint=hint).located(node.location)


def _overwrite(kernel: Callable[..., Any], position: int, *arrays: Array) -> Any:
    # A view that was made by broadcasting says by its flag that its elements are not its own.
    out = arrays[position]
    return kernel(*arrays, out=out if out.flags.writeable and out.flags.c_contiguous else None)
