"""Executors: one for each graph, which folds its constants once and runs it by plans for its input shapes."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from contextlib import suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import BodyGraph, Graph, Node, Value
from ir_exec.infer import Types, infer_body, infer_types
from ir_exec.kernels.limits import Budget, current_limits, owner_of, owners
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Ties
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, Parameter, Result
from ir_exec.plan.passes import Draft, rewritten
from ir_exec.plan.passes.fold import constant_values, foldable, is_scattered, products_first, settled
from ir_exec.plan.passes.prepack import PackedWeights, Room, may_be_packed, may_have_sums
from ir_exec.plan.planner import MAX_PLANS, Context, Input, Instrument, Kernel, Plan, Planner, Plans, Setting
from ir_exec.runtime.loop import Observer, read_only, run_steps
from ir_exec.runtime.state import CurrentVariables
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.passes.compressed_weights import CompressedWeights

__all__ = ["Executor"]

_OBSERVED: ContextVar[bool] = ContextVar("_OBSERVED", default=False)
"""Whether someone observes the run around."""

_GIVEN = np.empty(0)
"""Stands for the value of an input while a plan is made."""


class Executor:
    """Runs a graph, or the graph of a body, on arrays that fit its Parameters.

    expand_weights: whether constants that take more memory than the weights they come from are computed once and kept;
        smaller ones always are.
    budget: the memory of all runs, which the network and its bodies share.
    types: the types of all values for the input types among them, so that these are not inferred again.
    ops: operators that run in place of those of their nodes, in bodies too.
    instrument: what every step goes through, in bodies too.
    optimize: whether plans are rewritten where nobody observes the run, in bodies too.
    fixed: the positions of inputs that are the same in many runs, which share what follows from them.
    """

    def __init__(
        self,
        graph: Graph,
        context: Context,
        budget: Budget,
        *,
        expand_weights: bool = True,
        types: Types | None = None,
        ops: Mapping[Node, Op] = MappingProxyType({}),
        instrument: Instrument | None = None,
        optimize: bool = True,
        fixed: Collection[int] = (),
    ) -> None:
        self._graph = graph
        self._optimize = optimize
        self.weights = context["weights"]
        self._expand_weights = expand_weights
        self._types = types
        self._ops = ops
        self._plans = Plans(self._new_plan, budget.max_memory)
        self._parameters = [node.outputs[0].number for node in graph.parameters]
        self._fixed = [self._parameters[position] for position in fixed]
        self._folded: set[Value] = set()
        self._constants: list[Array | None] | None = None
        self._kernels: dict[Node, Kernel | None] = {}
        self._packed: PackedWeights | None = None
        self._room = Room(self.weights, budget, may_leave_file=expand_weights)
        self._compressed: CompressedWeights | None = None
        bodies = {
            node: tuple(
                [_Body(node, body, context, budget, expand_weights, ops, instrument, optimize) for body in node.bodies]
            )
            for node in graph.nodes
            if node.bodies
        }
        self._setting = Setting(context, bodies, budget, self._with_constants, ops, instrument)

    def run(
        self, arrays: list[Array], observe: Observer | None = None, *, kept: dict[int, Array] | None = None
    ) -> list[Array]:
        """The values of the Results from those of the Parameters, both in the order of the file.

        kept: where runs with the same fixed inputs keep what follows from these, by its number; first empty.
        """
        if observe is not None:
            return self._run_observed(arrays, observe)
        return self._run(arrays, None, is_observed=_OBSERVED.get(), kept=kept)

    def _run_observed(self, arrays: list[Array], observe: Observer) -> list[Array]:
        """A run by the layers of the file, in which the bodies run by theirs too."""
        token = _OBSERVED.set(True)
        try:
            return self._run(arrays, observe, is_observed=True)
        finally:
            _OBSERVED.reset(token)

    def _run(
        self, arrays: list[Array], observe: Observer | None, *, is_observed: bool, kept: dict[int, Array] | None = None
    ) -> list[Array]:
        plan = self._plans.get([(array.dtype, array.shape) for array in arrays], observed=is_observed)
        slots = plan.slots.copy()
        for number, given in zip(self._parameters, arrays, strict=True):
            slots[number] = given
        if plan.once is not None:
            kept = {} if kept is None else kept
            if not kept.keys() >= set(plan.once.results):
                kept |= _computed_once(plan.once, slots.copy(), owners(arrays))
            for number in plan.once.results:
                slots[number] = kept[number]
        _run(plan, slots, observe)
        return [array for number in plan.results if (array := slots[number]) is not None]

    def plan(self, inputs: list[Input]) -> Plan:
        """The plan for inputs of these dtypes and shapes."""
        return self._plans.exact(inputs)

    @property
    def constant_bytes(self) -> int:
        """The bytes of folded constants; views of the mapped file take none."""
        owners = {
            id(owner): owner for array in self._constants or () if array is not None for owner in [owner_of(array)]
        }
        return self._room.packed_bytes + sum(owner.nbytes for owner in owners.values() if owner.base is None)

    def _new_plan(self, inputs: list[TensorType], overwrite: bool) -> Plan:
        given = {node.outputs[0]: type for node, type in zip(self._graph.parameters, inputs, strict=True)}
        types = self._inferred(given)
        is_first = self._constants is None
        if self._constants is None:
            self._folded = foldable(self._graph, types, expand_weights=self._expand_weights)
            self._constants = self._fold(types, overwrite)
            self._room.enter(self._constants)
        if overwrite and self._optimize and self._packed is None and self._has_packable(self._constants):
            self._pack(self._constants, types)
        if is_first:
            self._constants = self._in_order(self._constants)
            self._setting.budget.constants += self.constant_bytes
        results = [node.values_in[0].number for node in self._graph.results]
        nodes = _constants_late([node for node in self._steps() if not self._is_folded(node)])
        slots = self._constants.copy()
        if overwrite:
            nodes = self._on_stored_weights(nodes, types)
            nodes = self._without_known(nodes, types, slots, results)
        if overwrite and self._optimize:
            # What fails here fails in the run, or in the plan below.
            with suppress(IRError):
                return self._settled_plan(nodes, types, slots, results)
            nodes = rewritten(Draft(nodes, types, slots, results, self._setting.operator))
        return Planner(self._setting, nodes, types, slots, results, overwrite=overwrite).plan()

    def _settled_plan(self, nodes: list[Node], types: Types, slots: list[Array | None], results: list[int]) -> Plan:
        """A plan whose slots hold what follows from the input shapes, as far as there is room.

        Raises what the layers raise that are computed for it, and ResourceError where the run around has no room.
        """
        # Without `expand_weights` these are left to be computed in every run.
        weights = frozenset() if self._expand_weights else constant_values(self._graph)
        now, kept, later = settled(nodes, types, slots, results, passing=weights, room=self._room.left_for_settled)
        slots = slots.copy()
        size = self._settle(now, kept, types, slots) if now else 0
        once = None
        if self._fixed:
            later, once, types = self._hoisted(later, types, slots, results)
        later = rewritten(Draft(later, types, slots, results, self._setting.operator))
        plan = Planner(self._setting, later, types, slots, results, overwrite=True, kept=size).plan()
        plan.once = once
        plan.require_room(current_limits())
        return plan

    def _hoisted(
        self, nodes: list[Node], types: Types, slots: list[Array | None], results: list[int]
    ) -> tuple[list[Node], Plan | None, Types]:
        """The nodes that every iteration of a loop runs, the plan of those that only the first one runs, and the types
        of all values."""
        operator, room = self._setting.operator, self._room.left_for_settled
        nodes, types = products_first(Draft(nodes, types, slots, results, operator), types, self._fixed, room)
        known = slots.copy()
        for number in self._fixed:
            known[number] = _GIVEN
        now, kept, later = settled(nodes, types, known, results, passing=frozenset(), room=room)
        if not now:
            return later, None, types
        now = rewritten(Draft(now, types, slots, kept, operator))
        return later, Planner(self._setting, now, types, slots, kept, overwrite=True).plan(), types

    def _settle(self, nodes: list[Node], kept: list[int], types: Types, slots: list[Array | None]) -> int:
        """Run the nodes and put the values of these numbers into `slots`; the bytes of memory that they take."""
        size = 0
        plan = Planner(self._setting, nodes, types, slots.copy(), kept, overwrite=True).plan()
        _run(plan, plan.slots)
        for number in kept:
            array, plan.slots[number] = plan.slots[number], None
            assert array is not None, "its node has run"
            array = self._compact(array)
            owner = owner_of(array)
            if owner.flags.writeable:
                size += owner.nbytes
                self._room.settle(owner)
            slots[number] = _frozen(array)
            # It is freed before the next one is copied.
            del array, owner
        return size

    def _compact(self, array: Array) -> Array:
        """An array that keeps no larger one in memory, and is read fast."""
        owner = owner_of(array)
        is_part = owner.flags.writeable and owner.nbytes > array.nbytes
        return array.copy() if is_part or (is_scattered(array) and not self._room.is_stored(array)) else array

    def _on_stored_weights(self, nodes: list[Node], types: Types) -> list[Node]:
        """The nodes with those that work on packed weights, and on compressed ones, where these are not expanded once
        and kept."""
        results = [node.values_in[0] for node in self._graph.results]
        if self._packed is not None:
            nodes = self._packed.replaced(nodes, results)
        if self._expand_weights:
            return nodes
        if self._compressed is None:
            from ir_exec.plan.passes.compressed_weights import (
                CompressedWeights,  # few networks run on their stored weights
            )

            operator = self._setting.operator
            self._compressed = CompressedWeights(self._graph, self.weights, types, self._folded, operator)
        return self._compressed.replaced(nodes, results)

    def _inferred(self, given: dict[Value, TensorType]) -> Types:
        if self._types is not None and all(self._types[value.number] == type for value, type in given.items()):
            return self._types
        return infer_types(self._graph, weights=self.weights, given=given, ops=self._ops)

    def _without_known(
        self, nodes: list[Node], types: Types, slots: list[Array | None], results: list[int]
    ) -> list[Node]:
        """The nodes that must run; values that follow from the input shapes go into `slots` instead."""
        for node in nodes:
            if isinstance(node.op, Const):
                # It is too large to be kept.
                continue
            values = [types[value.number].value for value in node.outputs] if node.op else []
            if all(value is not None for value in values):
                for output, value in zip(node.outputs, values, strict=False):
                    slots[output.number] = None if value is None else read_only(value)
        wanted = {number for number in results if slots[number] is None}
        needed = []
        for node in reversed(nodes):
            has_effect = node.op is not None and bool(node.op.evaluate_context)
            if has_effect or any(value.number in wanted for value in node.outputs):
                needed.append(node)
                wanted.update(value.number for value in node.values_in if slots[value.number] is None)
        return needed[::-1]

    def _fold(self, types: Types, overwrite: bool) -> list[Array | None]:
        """The constants that other nodes read, each in its slot."""
        nodes = [node for node in self._steps() if self._is_folded(node)]
        used = {
            value.number
            for node in self._graph.nodes
            if not self._is_folded(node)
            for value in node.values_in
            if value in self._folded
        }
        slots: list[Array | None] = [None] * len(self._graph.values)
        plan = Planner(self._setting, nodes, types, slots, sorted(used), overwrite=overwrite).plan()
        _run(plan, slots)
        return [None if array is None else _kept(array) for array in slots]

    def _has_packable(self, constants: list[Array | None]) -> bool:
        return any(map(may_be_packed, constants)) or may_have_sums(self._graph)

    def _pack(self, constants: list[Array | None], types: Types) -> None:
        """Keep matrices by which only MatMul multiplies in panels.

        The declared shapes say by how many rows, so that results do not depend on the sizes of the first run.
        """
        # Bodies may declare what no longer fits.
        with suppress(IRError):
            types = self._types or infer_types(self._graph, weights=self.weights, given={}, ops=self._ops)
        self._packed = PackedWeights(self._graph, constants, types, self._setting.operator, self._room)
        # What leads to them runs where the layers of the file do.
        again = set(self._packed.values)
        for node in reversed(self._graph.nodes):
            if not again.isdisjoint(node.outputs):
                again.update(value for value in node.values_in if constants[value.number] is None)
        self._folded -= again

    def _in_order(self, slots: list[Array | None]) -> list[Array | None]:
        """The constants, by rows where the elements of what has memory of its own are scattered; and, where weights are
        expanded, with aligned copies of tensors in ONNX files, of which every layer would otherwise make one in every
        run."""
        ordered = slots.copy()
        slots.clear()
        for number, array in enumerate(ordered):
            if array is None:
                continue
            is_aligned = array.flags.aligned or not self._expand_weights
            if not is_aligned or (is_scattered(array) and self._room.is_own(array)):
                # One at a time: the array before is freed.
                ordered[number] = _kept(array.copy())
                if not is_aligned:
                    self._room.leave_file(array)
        return ordered

    def _with_constants(self, node: Node) -> Kernel | None:
        """`Op.with_constants` of a node, called once: all plans have the same constants."""
        op = self._ops.get(node, node.op)
        if self._constants is None or op is None:
            return None
        if node not in self._kernels:
            arrays = [self._constants[value.number] for value in node.values_in]
            known = {position: array for position, array in enumerate(arrays) if array is not None}
            # What is not contiguous lies in another order already.
            size = sum(array.nbytes for array in known.values() if array.flags.c_contiguous)
            better = op.with_constants(known) if size <= self._room.left else None
            if better is not None:
                self._room.left -= size
            self._kernels[node] = better
        return self._kernels[node]

    def _steps(self) -> list[Node]:
        return [node for node in self._graph.nodes if not isinstance(node.op, (Parameter, Result))]

    def _is_folded(self, node: Node) -> bool:
        return bool(node.outputs) and node.outputs[0] in self._folded


def _computed_once(plan: Plan, slots: list[Array | None], given: Container[int]) -> dict[int, Array]:
    """The results of a plan by their numbers, which the run counts for as long as they live.

    given: `owners` of the inputs.
    """
    _run(plan, slots)
    found = {number: array for number in plan.results if (array := slots[number]) is not None}
    for array in found.values():
        current_limits().keep(array, besides=given)
    return found


def _run(plan: Plan, slots: list[Array | None], observe: Observer | None = None) -> None:
    limits = current_limits()
    plan.require_room(limits)
    run_steps(plan.steps, slots, limits, observe)


def _constants_late(nodes: list[Node]) -> list[Node]:
    """The nodes with every constant that is not kept right before the first node that reads it: it is freed sooner."""
    waiting: dict[Value, Node] = {}
    ordered: list[Node] = []
    for node in nodes:
        if isinstance(node.op, Const):
            waiting[node.outputs[0]] = node
            continue
        ordered += [waiting.pop(value) for value in dict.fromkeys(node.values_in) if value in waiting]
        ordered.append(node)
    return ordered + list(waiting.values())


def _kept(array: Array) -> Array:
    """A constant, safe from layers and from callers who get it as an output; the run counts its memory no more."""
    owner = owner_of(array)
    if owner.flags.writeable:
        current_limits().keep(owner, planned=owner.nbytes)
    return _frozen(array)


def _frozen(array: Array) -> Array:
    owner_of(array).flags.writeable = False
    return read_only(array)


class _Body:
    """A body with its executor; the RunningBody of the operator that holds it."""

    def __init__(
        self,
        node: Node,
        body: BodyGraph,
        context: Context,
        budget: Budget,
        expand_weights: bool,
        ops: Mapping[Node, Op],
        instrument: Instrument | None,
        optimize: bool,
    ) -> None:
        assert body.ties is not None, "a graph with bodies that are not tied is refused when it is built"
        self.ties: Ties = body.ties
        self.depth = body.depth
        self._graph = body.graph
        self._ops = ops
        self._executor = Executor(
            body.graph,
            context,
            budget,
            expand_weights=expand_weights,
            ops=ops,
            instrument=instrument,
            optimize=optimize,
            # Of several bodies one runs, and only once.
            fixed=body.ties.fixed if len(node.bodies) == 1 else (),
        )
        self._inferred: dict[object, list[TensorType]] = {}
        self._state: CurrentVariables = context["state"]
        self._assigned = frozenset(
            node.op.variable_id for node in body.graph.all_nodes() if isinstance(node.op, AssignsVariable)
        )

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        key = None if any(type.source for type in types) else tuple([(type.element_type, type.shape) for type in types])
        found = self._inferred.get(key)
        if found is None:
            found = infer_body(self._graph, types, self._executor.weights, ops=self._ops)
            if key is not None and len(self._inferred) < MAX_PLANS:
                self._inferred[key] = found
        return found

    def run(self, arrays: list[Array], kept: dict[int, Array] | None = None) -> list[Array]:
        return self._executor.run(arrays, kept=kept)

    def advance(self) -> None:
        if self._assigned:
            self._state.advance(self._assigned)

    def parameter_types(self) -> list[TensorType]:
        return [_declared(self._ops.get(node, node.op)) for node in self._graph.parameters]


def _declared(op: Op | None) -> TensorType:
    assert isinstance(op, Parameter)
    return op.infer()
