"""Plans: the nodes that run for a set of input shapes, their order, kernels and memory.

Planning takes many times longer than running a small model. Inputs that always have the same shapes, or a few sets of
them, are planned once for each set. A decoder with a growing cache, however, has new shapes for every token. New shapes
therefore run with the open plan, in which every dim that has differed so far is dynamic, and layers that depend on it
infer their types during the run. Repeated shapes get a separate plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.errors import IRError, ResourceError
from ir_exec.graph import Graph, Node, last_uses
from ir_exec.infer import Types
from ir_exec.kernels.limits import Budget, Limits
from ir_exec.ops import Op
from ir_exec.ops.base.variants import KernelRequest
from ir_exec.plan.dynamic_kernel import DynamicKernel
from ir_exec.plan.graph import FusedNode, Skipped
from ir_exec.plan.memory import Buffers, byte_size
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.ir import Weights
    from ir_exec.plan.constants import ModelConstants

__all__ = [
    "MAX_PLANS",
    "Context",
    "Input",
    "Instrument",
    "Kernel",
    "Plan",
    "Planner",
    "Plans",
    "Setting",
    "Step",
    "remember",
    "types_of",
]

Context: TypeAlias = Mapping[str, Any]
"""The context of operators in addition to their inputs: `weights`, `state`."""

Kernel: TypeAlias = Callable[..., Any]
"""A function that computes the outputs of a node from the arrays of its inputs."""

OVERWRITE_FROM = 2**14
"""Minimum bytes of an output for reusing the buffer of an input."""


class DynamicStepMemory(NamedTuple):
    """The memory during a step whose own memory is known only in the run.

    Attributes:
        other_bytes: Bytes of the tensors of known size in addition to its outputs.
        outputs: The known bytes of each output.
    """

    other_bytes: int
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Step:
    """One node in the loop.

    Attributes:
        inputs: Slots, which are the numbers of the values.
        outputs: Slots, which are the numbers of the values.
        dying: Slots that are empty after this step.
        dynamic_memory: None if planning has counted all memory of the step.
        op: The operator that computes them.
        members: The nodes that it computes, `node` last, if a rewrite has fused several.
        made_by: The pass that fused the nodes, "" for a layer of the file.
        request: The request for which the kernel was selected; None if there are no variants.
        fetch: Returns the arrays of the inputs from the slots.
    """

    node: Node
    evaluate: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dying: tuple[int, ...]
    dynamic_memory: DynamicStepMemory | None
    op: Op
    members: tuple[Node, ...] = ()
    made_by: str = ""
    request: KernelRequest | None = None
    fetch: Callable[[list[Array | None]], Sequence[Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Four times faster than a loop over the slots, which matters for small layers. A single key gives no sequence.
        first = self.inputs[0] if self.inputs else 0
        self.fetch = (
            itemgetter(*self.inputs) if len(self.inputs) > 1 else itemgetter(slice(first, first + len(self.inputs)))
        )


Instrument: TypeAlias = Callable[[Step], Step]
"""A function that returns a replacement for each step of a plan, for instance one that measures its time."""


@dataclass(slots=True)
class Plan:
    """The steps for one set of input shapes.

    Attributes:
        slots: The contents of every slot at the start of a run: constants, and values that follow from the input
            shapes.
        results: The slots of the outputs at the end.
        live: For each step the bytes of all tensors of known size that exist after it has computed its outputs, without
            the inputs of the model and the constants.
        peak: The maximum of it. Both include the bytes that the plan stores.
        prologue: Runs only in the first iteration of a loop, before the steps, which read its results.
        skipped: Fusions whose patterns matched in part.
        result_types: The types of the outputs.
    """

    steps: list[Step]
    slots: list[Array | None]
    results: list[int]
    live: list[int] = field(default_factory=list)
    peak: int = 0
    prologue: Plan | None = None
    skipped: Sequence[Skipped] = ()
    result_types: Sequence[TensorType] = ()

    def require_memory(self, limits: Limits) -> None:
        """Raise ResourceError at the first layer at which a run of this plan exceeds the budget."""
        try:
            limits.require(self.peak)
        except ResourceError:
            for live, step in zip(self.live, self.steps, strict=True):
                _at_layer(step.node, limits.require, live)


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings shared by all plans of a graph.

    Attributes:
        nodes: The nodes of the graph that compute something.
        bodies: The executors of the bodies of each node.
        ops: Operators that replace the operators of nodes.
        run: Runs a plan on its slots.
        types: The types of all values for the declared input types, if known.
        expand: Constants that take more memory than the weights they are computed from are stored.
        packs_at_once: Packed weights are stored with the first plan, not after enough runs.
        fixed: The numbers of inputs that are equal in many runs.
        back_edges: The positions of results that are read as inputs of the next run only, with the numbers of these.
        instrument: A function applied to every step, including those of bodies.
    """

    graph: Graph
    nodes: Sequence[Node]
    context: Context
    bodies: Mapping[Node, tuple[Any, ...]]
    budget: Budget
    ops: Mapping[Node, Op]
    run: Callable[[Plan, list[Array | None]], None]
    types: Types | None = None
    expand: bool = True
    packs_at_once: bool = False
    fixed: Sequence[int] = ()
    back_edges: Sequence[tuple[int, int]] = ()
    instrument: Instrument | None = None

    @property
    def weights(self) -> Weights | None:
        weights: Weights | None = self.context["weights"]
        return weights

    def operator(self, node: Node) -> Op:
        op = self.ops.get(node, node.op)
        assert op is not None, "the compiler rejects models with unsupported operators"
        return op


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
    ) -> None:
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
            _at_layer(node, self._setting.budget.require, live)
            plan.live.append(live)
            step = self._step(index, node, live)
            plan.steps.append(step if self._setting.instrument is None else self._setting.instrument(step))
            self._buffers.leave(index)
        plan.peak = max(plan.live, default=0)
        return plan

    def _step(self, index: int, node: Node, live: int) -> Step:
        op = self._setting.operator(node)
        context = {**self._setting.context, "bodies": self._setting.bodies.get(node, ())}
        inputs = tuple([value.number for value in node.values_in])
        outputs = tuple([value.number for value in node.outputs])
        proven = self._is_static(inputs) and (bool(node.bodies) or self._is_static(outputs))
        sizes = tuple([self._buffers.size(number) for number in outputs])
        members = node.members if isinstance(node, FusedNode) else ()
        kernel, request = self._kernel(index, op, context) if proven else (self._checked(node, op, context), None)
        return Step(
            node=members[-1] if members else node,
            evaluate=kernel,
            inputs=inputs,
            outputs=outputs,
            dying=tuple([slot for slot in self._dying[index] if slot not in self._keep]),
            dynamic_memory=None if proven and not node.bodies else DynamicStepMemory(live - sum(sizes), sizes),
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

    def _checked(self, node: Node, op: Op, context: Context) -> Kernel:
        """The kernel of a node with types inferred from the arrays of the run."""
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
        unread = frozenset(op.output_name(place) for place, number in enumerate(numbers) if number not in self._read)
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


def _at_layer(node: Node, require: Callable[[int], None], size: int) -> None:
    try:
        require(size)
    except ResourceError as error:
        raise error.located(node.location) from None


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
    def made(self) -> list[Plan]:
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
                dtype == known and len(shape) == len(dims)
                for (dtype, shape), (known, dims) in zip(inputs, self._open_inputs, strict=True)
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
