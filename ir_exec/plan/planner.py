"""Plans: the nodes that run for a set of input shapes, their order, kernels and memory.

Planning takes many times longer than running a small model. Inputs that always have the same shapes, or a few sets of
them, are planned once for each set. A decoder with a growing cache, however, has new shapes for every token. New shapes
therefore run with the open plan, in which every dim that has differed so far is dynamic, and layers that depend on it
infer their types during the run, until `sized_plans` has a plan for such sizes. Repeated shapes get a separate plan.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from math import prod
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Node, last_uses
from ir_exec.infer import Types
from ir_exec.ops import Op
from ir_exec.ops.base.variants import KernelRequest
from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.dynamic_kernel import DynamicKernel
from ir_exec.plan.graph import FusedNode
from ir_exec.plan.memory import Buffers, byte_size
from ir_exec.plan.records import Context, DynamicStepMemory, Kernel, Plan, Setting, Step, require_at_layer
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "MAX_PLANS",
    "Input",
    "Planner",
    "Plans",
    "remember",
    "types_of",
]

OVERWRITE_FROM = 2**14
"""Minimum bytes of an output for reusing the buffer of an input."""


class Planner:
    """Makes one plan.

    Args:
        nodes: The nodes in the order of a run.
        types: The types of all values of the graph.
        slots: The contents at the start of a run.
        results: The slots with values at its end.
        constants: The constants of the graph, which may select kernels; None while they are computed.
        precomputed_bytes: Bytes in `slots` that belong to this plan only.
        back_edges: The positions of the results that only the next iteration of a loop reads, with its Parameters.
        traced: The nodes whose types follow from the sizes of a run, which need no inference.
    """

    def __init__(
        self,
        setting: Setting,
        nodes: list[Node],
        types: Types,
        slots: list[Array | None],
        results: list[int],
        *,
        constants: ModelConstants | None = None,
        precomputed_bytes: int = 0,
        back_edges: Sequence[tuple[int, int]] = (),
        traced: Container[Node] = (),
    ) -> None:
        self._traced = traced
        self._is_dynamic = False
        self._setting = setting
        self._precomputed_bytes = precomputed_bytes
        self._constants = constants
        self._nodes = nodes
        self._types = types
        self._slots = slots
        self._results = results
        self._keep = frozenset(results)
        self._read = self._keep.union(value.number for node in nodes for value in node.values_in)
        self._dying = last_uses(nodes)
        self._buffers = Buffers.of_iterations(nodes, types, results, self._dying, back_edges)

    def plan(self) -> Plan:
        """The plan.

        Raises:
            ResourceError: If tensors of known shapes exceed the budget.
        """
        plan = Plan([], self._slots, self._results)
        for index, node in enumerate(self._nodes):
            live = self._precomputed_bytes + self._buffers.enter(index)
            require_at_layer(node, self._setting.budget.require, live)
            plan.live.append(live)
            step = self._step(index, node, live)
            plan.steps.append(step if self._setting.instrument is None else self._setting.instrument(step))
            self._buffers.leave(index)
        plan.peak = max(plan.live, default=0)
        plan.is_dynamic = self._is_dynamic
        return plan

    def _step(self, index: int, node: Node, live: int) -> Step:
        op = self._setting.operator(node)
        context = {**self._setting.context, "bodies": self._setting.bodies.get(node, ())}
        inputs = tuple([value.number for value in node.values_in])
        outputs = tuple([value.number for value in node.outputs])
        proven = self._is_static(inputs) and (bool(node.bodies) or self._is_static(outputs))
        sizes = tuple([self._buffers.size(number) for number in outputs])
        members = node.members if isinstance(node, FusedNode) else ()
        is_traced = not proven and node in self._traced
        request: KernelRequest | None = None
        if proven:
            kernel, request = self._kernel(index, op, context)
        elif is_traced:
            kernel = self._kernel_for_any(node, op, context) or op.evaluate
        else:
            kernel = self._make_checked_kernel(node, op, context)
        is_static = is_traced or (proven and not node.bodies)
        return Step(
            node=members[-1] if members else node,
            evaluate=kernel,
            inputs=inputs,
            outputs=outputs,
            dying=tuple([slot for slot in self._dying[index] if slot not in self._keep]),
            dynamic_memory=None if is_static else DynamicStepMemory(live - sum(sizes), sizes),
            op=op,
            members=members,
            made_by=node.made_by if isinstance(node, FusedNode) else "",
            request=request,
        )

    def _is_static(self, numbers: tuple[int, ...]) -> bool:
        return all(self._types[number].shape.is_static for number in numbers)

    def _kernel(self, index: int, op: Op, context: Context) -> tuple[Kernel, KernelRequest | None]:
        """The kernel of a node with types proven by planning, and the request it was selected for."""
        node = self._nodes[index]
        better = self._kernel_for_any(node, op, context)
        if better is not None:
            return better, None
        request = self._request(node, op)
        try:
            kernel = op.kernel(*request.types, unread=request.unread)
        except IRError as error:
            raise error.located(node.location) from error.__cause__
        position = self._overwritten_input(index, op)
        return kernel if position is None else partial(overwrite_input, kernel, position), request

    def _make_checked_kernel(self, node: Node, op: Op, context: Context) -> Kernel:
        """The kernel of a node with types inferred from the arrays of the run."""
        self._is_dynamic = True
        better = self._kernel_for_any(node, op, context)
        slots = [self._slots[value.number] for value in node.values_in]
        fixed = {position: array for position, array in enumerate(slots) if array is not None}
        is_replaceable = better is None
        numbers = tuple([value.number for value in node.values_in])
        is_tried = is_replaceable and self._is_static(numbers)
        view = op.view_kernel(*[self._types[number] for number in numbers]) if is_tried else None
        return DynamicKernel(node, op, context, better or op.evaluate, better=is_replaceable, fixed=fixed, view=view)

    def _kernel_for_any(self, node: Node, op: Op, context: Context) -> Kernel | None:
        """The function to call instead of `evaluate` and `kernel`, for any types."""
        if op.evaluate_context:
            return partial(op.evaluate, **{name: context[name] for name in op.evaluate_context})
        if self._constants is None or isinstance(node, FusedNode):
            return None
        return self._constants.select_kernel(node)

    def _request(self, node: Node, op: Op) -> KernelRequest:
        inputs = [self._types[value.number] for value in node.values_in]
        numbers = [value.number for value in node.outputs]
        unread = frozenset(
            op.output_name(position) for position, number in enumerate(numbers) if number not in self._read
        )
        return KernelRequest(inputs, unread)

    def _overwritten_input(self, index: int, op: Op) -> int | None:
        """The input whose memory becomes that of the output, None if there is no such input."""
        node = self._nodes[index]
        output = self._types[node.outputs[0].number]
        if op.inplace_inputs and byte_size(output) >= OVERWRITE_FROM:
            for position, value in enumerate(node.values_in):
                named = op.inputs[min(position, len(op.inputs) - 1)].name in op.inplace_inputs
                if named and self._types[value.number] == output and self._buffers.may_overwrite(index, position):
                    return position
        return None


def overwrite_input(kernel: Kernel, position: int, *arrays: Array) -> Any:
    out = arrays[position]
    # A view made by broadcasting has a flag that its elements are shared.
    return kernel(*arrays, out=out if out.flags.c_contiguous and out.flags.writeable else None)


MAX_PLANS = 32
"""Maximum number of plans that a graph stores."""

GROWTH = 2
"""Maximum ratio of inputs of the open plan to the largest planned inputs in bytes: only planning counts memory."""

SMALL = 2**16
"""Bytes of inputs that may always be exceeded."""

Input: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]
"""The dtype and the shape of an array passed to a graph."""


class Plans:
    """The plans of one graph.

    Several threads may call the methods at once; one of them plans at a time.

    Args:
        make: Makes a plan for inputs of these types.
        max_memory: The budget of a run, in bytes.
    """

    def __init__(self, make: Callable[[list[TensorType]], Plan], max_memory: int) -> None:
        self._make = make
        # Tensors that grow with the square of an input's size take four times as much, and the open plan reuses less
        # memory.
        self._ample = max_memory // (4 * GROWTH**2)
        self._exact: dict[Any, Plan] = {}
        self._recent: dict[Any, None] = {}
        self._planned_bytes: int | None = None
        self._open_inputs: list[tuple[np.dtype[Any], tuple[int | None, ...]]] = []
        self._open: Plan | None = None
        self.planning = Lock()

    @property
    def stored_plans(self) -> list[Plan]:
        """The stored plans, the open one last."""
        return [*self._exact.values(), *([] if self._open is None else [self._open])]

    def is_open(self, plan: Plan) -> bool:
        """Return True for the open plan, which the next run with the same shapes replaces by a separate one."""
        return plan is self._open

    def get(self, inputs: list[Input]) -> Plan:
        """The plan to run."""
        key = tuple(inputs)
        plan = self._exact.get(key)
        if plan is not None:
            return plan
        with self.planning:
            if key in self._recent or not self._may_stay_open(inputs):
                return self._exactly(inputs)
            remember(self._recent, key, None)
            return self._open_for(inputs)

    def exact(self, inputs: list[Input]) -> Plan:
        """The plan for these input shapes and no others."""
        with self.planning:
            return self._exactly(inputs)

    def _exactly(self, inputs: list[Input]) -> Plan:
        key = tuple(inputs)
        plan = self._exact.get(key)
        if plan is None:
            plan = self._make(types_of(inputs))
            remember(self._exact, key, plan)
            self._open_inputs = self._open_inputs or list(inputs)
            if plan.peak <= self._ample:
                self._planned_bytes = max(_bytes(inputs), self._planned_bytes or 0)
        return plan

    def _may_stay_open(self, inputs: list[Input]) -> bool:
        """Return True if the inputs have the dtypes and ranks of a plan, and are not too much larger."""
        return (
            self._planned_bytes is not None
            and _bytes(inputs) <= GROWTH * self._planned_bytes + SMALL
            and all(
                dtype == open_dtype and len(shape) == len(dims)
                for (dtype, shape), (open_dtype, dims) in zip(inputs, self._open_inputs, strict=True)
            )
        )

    def _open_for(self, inputs: list[Input]) -> Plan:
        widened = [
            (dtype, tuple([dim if dim == size else None for dim, size in zip(dims, shape, strict=True)]))
            for (_, dims), (dtype, shape) in zip(self._open_inputs, inputs, strict=True)
        ]
        if self._open is None or widened != self._open_inputs:
            self._open_inputs = widened
            types = [TensorType(ElementType.of_dtype(dtype), _open_shape(dims)) for dtype, dims in widened]
            self._open = self._make(types)
        return self._open


def remember(entries: dict[Any, Any], key: Any, value: object) -> None:
    """Add an entry, in place of the oldest one if there are many."""
    if len(entries) >= MAX_PLANS:
        entries.pop(next(iter(entries)))
    entries[key] = value


def types_of(inputs: Sequence[Input]) -> list[TensorType]:
    """The types of arrays of these dtypes and shapes."""
    return [TensorType(ElementType.of_dtype(dtype), Shape(shape)) for dtype, shape in inputs]


def _bytes(inputs: list[Input]) -> int:
    return sum([prod(shape) * dtype.itemsize for dtype, shape in inputs])


def _open_shape(dims: tuple[int | None, ...]) -> Shape:
    return Shape([Dim.any() if dim is None else dim for dim in dims])
