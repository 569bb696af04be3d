"""Executors: one for each graph, which folds its constants once and runs it with plans for its input shapes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_exec.errors import ResourceError
from ir_exec.graph import BodyGraph, Graph, Node
from ir_exec.infer import OuterTypes, Types
from ir_exec.kernels.limits import Budget, current_limits, owners
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Iterations, Ties
from ir_exec.ops.infrastructure.values import AssignsVariable, Parameter, ReadsVariable, Result
from ir_exec.plan.compiler import Compiler, Tier
from ir_exec.plan.passes.prepack import WeightMemoryBudget
from ir_exec.plan.pipeline import ALL_PASSES
from ir_exec.plan.planner import Input, Plans, remember, types_of
from ir_exec.plan.records import Context, Instrument, Plan, Setting
from ir_exec.plan.selection import PassSelection
from ir_exec.runtime.bodies import InterpretedBody
from ir_exec.runtime.layers import LayerSteps
from ir_exec.runtime.loop import Observer, Observing, run_steps
from ir_exec.tuning import thresholds
from ir_exec.types import Array, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.sized_plans import SizedPlans

__all__ = ["Executor"]


class Executor:
    """Runs a graph, or the graph of a body, on arrays that fit its Parameters.

    The attribute `bodies` contains the executors of the bodies of each layer, `sized_plans` the plans that replace
    dynamic ones, by the `id` of these.

    Args:
        budget: The memory of all runs, shared by the model and its bodies.
        expand_weights: If true, constants that take more memory than their weights are computed once and kept; smaller
            constants always are.
        types: The types of all values for the input types among them, to avoid inferring these again.
        ops: Operators that replace the operators of their nodes, in bodies too.
        instrument: A wrapper of every step, in bodies too.
        tier: The optimization of plans for runs without an observer, in bodies too.
        ties: The connections between the iterations, if the graph is the body of a loop.
        passes: The passes that make plans, in bodies too.
        is_body: The graph is the body of a layer.
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
        tier: Tier = "auto",
        ties: Ties | None = None,
        passes: PassSelection = ALL_PASSES,
        is_body: bool = False,
    ) -> None:
        self.weights = context["weights"]
        self._graph = graph
        self._layers: LayerSteps | None = None
        self._observed_inputs: dict[tuple[Input, ...], None] = {}
        self._plans = Plans(self._new_plan, budget.max_memory)
        self.sized_plans: dict[int, SizedPlans] = {}
        self._parameters = [node.outputs[0].number for node in graph.parameters]
        self._back_edges = ties.back_edges if ties else ()
        self._traces_sizes = not is_body and tier != "plain"
        self._variables = () if is_body else _variables_of_graph(graph)
        self._packing = Lock()
        self._runs_until_packed = thresholds.RUNS_BEFORE_PACKING if tier == "auto" else -1

        def inner(node: Node, body: BodyGraph) -> Executor:
            # Of several bodies only one runs, and only once.
            ties = body.ties if len(node.bodies) == 1 else None
            return Executor(
                body.graph,
                context,
                budget,
                expand_weights=expand_weights,
                ops=ops,
                instrument=instrument,
                tier=tier,
                passes=passes,
                ties=ties,
                is_body=True,
            )

        self.bodies = {node: tuple([inner(node, body) for body in node.bodies]) for node in graph.nodes if node.bodies}
        outer = OuterTypes(self.weights, ops, None)
        bodies = {
            node: tuple(
                [
                    InterpretedBody(body, outer, context["state"], executor.run_body)
                    for body, executor in zip(node.bodies, executors, strict=True)
                ]
            )
            for node, executors in self.bodies.items()
        }
        setting = Setting(
            graph=graph,
            nodes=[node for node in graph.nodes if not isinstance(node.op, (Parameter, Result))],
            context=context,
            bodies=bodies,
            budget=budget,
            ops=ops,
            run=_run,
            types=types,
            expand=expand_weights,
            packs_at_once=tier == "full",
            fixed=[self._parameters[position] for position in (ties.invariant_parameters if ties else ())],
            back_edges=[
                (edge.result, self._parameters[edge.parameter]) for edge in (ties.exclusive_edges if ties else ())
            ],
            instrument=instrument,
        )
        weight_memory = WeightMemoryBudget(self.weights, budget, may_leave_file=expand_weights)
        self.compiler = Compiler(setting, weight_memory, tier, passes)

    def run(
        self, arrays: list[Array], observe: Observer | None = None, *, iterations: Iterations | None = None
    ) -> list[Array]:
        """Return the values of the Results for the values of the Parameters, both in the order of the file.

        Args:
            iterations: Shared by runs with equal fixed inputs.
        """
        if observe is not None:
            return self._run_observed(arrays, observe)
        return self.run_body(arrays, iterations)

    def run_body(self, arrays: list[Array], iterations: Iterations | None) -> list[Array]:
        """Run the plan for the arrays, of the graph or of a body."""
        start: _Start | None = None if iterations is None else iterations.start
        if start is None:
            start = self._start(arrays, iterations)
        if self._runs_until_packed >= 0:
            self._count_run()
        slots = start.slots.copy()
        for number, argument in zip(self._parameters, arrays, strict=True):
            slots[number] = argument
        _run(start.plan, slots)
        return [array for number in start.plan.results if (array := slots[number]) is not None]

    def _run_observed(self, arrays: list[Array], observe: Observer) -> list[Array]:
        """Run the layers of the file one by one, in bodies too."""
        layers = self._layers_for([(array.dtype, array.shape) for array in arrays])

        def show(node: Node, inputs: list[Array], outputs: list[Array]) -> None:
            if node not in layers.hidden:
                observe(node, inputs, outputs)

        return layers.run_to_results(self._graph, arrays, Observing(show if layers.hidden else observe))

    def _layers_for(self, inputs: list[Input]) -> LayerSteps:
        """Return the steps of the layers; raise the errors of inference for inputs of these dtypes and shapes."""
        layers, key = self._layers, tuple(inputs)
        if layers is not None and layers.constants is self.compiler.constants and key in self._observed_inputs:
            return layers
        with self._plans.planning:
            constants = self.compiler.prepare(types_of(inputs))
            if self._layers is None or self._layers.constants is not constants:
                setting = self.compiler.setting
                layers = LayerSteps(self._graph, setting.context, setting.ops, constants=constants)
                layers.steps(self._graph)
                self._layers = layers
            remember(self._observed_inputs, key, None)
            return self._layers

    def _start(self, arrays: list[Array], iterations: Iterations | None) -> _Start:
        types = [(array.dtype, array.shape) for array in arrays]
        plan = self._plans.get(types)
        if plan.is_dynamic and self._traces_sizes and (self._variables or self._plans.is_open(plan)):
            start = self._sized_start(plan, types)
            if start is not None:
                return start
        slots = plan.slots
        if plan.prologue is not None:
            slots = slots.copy()
            values = {} if iterations is None else iterations.values
            if not values.keys() >= set(plan.prologue.results):
                initial = slots.copy()
                for number, array in zip(self._parameters, arrays, strict=True):
                    initial[number] = array
                values |= _computed_once(plan.prologue, initial, owners(arrays))
            for number in plan.prologue.results:
                slots[number] = values[number]
        start = _Start(plan, slots)
        if iterations is not None and self._repeats(plan, types):
            iterations.start = start
        return start

    def _sized_start(self, plan: Plan, types: list[Input]) -> _Start | None:
        """The plan for the sizes of this run, instead of a dynamic one; None without one, or with too little memory."""
        from ir_exec.plan.run_sizes import RunSizes  # few models have dynamic plans
        from ir_exec.plan.sized_plans import SizedPlans

        plans = self.sized_plans.get(id(plan))
        if plans is None:
            plans = SizedPlans(
                plan,
                lambda sizes: self._new_plan_of(plan, sizes=sizes),
                lambda sizes: self._new_plan_of(plan, variables=sizes.variables),
            )
            remember(self.sized_plans, id(plan), plans)
        variables = self.compiler.setting.context["state"].shapes(self._variables) if self._variables else ()
        bound = plans.get(RunSizes(tuple([shape for _, shape in types]), variables))
        if bound is None:
            return None
        try:
            current_limits().require(bound.plan.peak + bound.size)
        except ResourceError:
            # The dynamic plan counts the memory of each step.
            return None
        slots = bound.plan.slots.copy()
        for number, value in zip(bound.numbers, bound.values, strict=True):
            slots[number] = value
        return _Start(bound.plan, slots)

    def _new_plan_of(self, plan: Plan, **sizes: Any) -> Plan:
        with self._plans.planning:
            return self.compiler.compile_plan(list(plan.input_types), **sizes)

    def _repeats(self, plan: Plan, types: list[Input]) -> bool:
        """Return True if all iterations of a loop have inputs of these types, since the results have them too."""
        if self._plans.is_open(plan):
            return False
        for edge in self._back_edges:
            result, (dtype, shape) = plan.result_types[edge.result], types[edge.parameter]
            if not (result.element_type.is_known and result.shape.is_static):
                return False
            if result.element_type.dtype != dtype or result.shape.static != shape:
                return False
        return True

    def _count_run(self) -> None:
        """Prepack weights after the given number of runs without prepacking; other threads may run meanwhile."""
        # Threads that count at the same time may count one run instead of two.
        self._runs_until_packed -= 1
        if self._runs_until_packed < 0:
            with self._packing:
                self.compiler.pack()

    def plan(self, inputs: list[Input]) -> Plan:
        """Return the plan for inputs of these dtypes and shapes."""
        return self._plans.exact(inputs)

    @property
    def plans(self) -> list[Plan]:
        """The plans made by runs so far."""
        return self._plans.stored_plans

    @property
    def constant_bytes(self) -> int:
        """The bytes of folded constants, without views of the mapped file."""
        return self.compiler.constant_bytes

    def _new_plan(self, inputs: list[TensorType]) -> Plan:
        plan = self.compiler.compile_plan(inputs)
        plan.input_types = inputs
        return plan


def _variables_of_graph(graph: Graph) -> tuple[str, ...]:
    """The variables that the graph reads, without those that bodies assign: these may change in a run."""
    outer_nodes = set(graph.nodes)
    in_bodies = {
        node.op.variable_id
        for node in graph.all_nodes()
        if isinstance(node.op, AssignsVariable) and node not in outer_nodes
    }
    names = dict.fromkeys(node.op.variable_id for node in graph.nodes if isinstance(node.op, ReadsVariable))
    return tuple([name for name in names if name not in in_bodies])


class _Start(NamedTuple):
    """The plan of a run, and its slots without the inputs."""

    plan: Plan
    slots: list[Array | None]


def _computed_once(plan: Plan, slots: list[Array | None], excluded: Container[int]) -> dict[int, Array]:
    """Return the results of a plan by number; the run counts their memory during their lifetime.

    Args:
        excluded: `owners` of the inputs.
    """
    _run(plan, slots)
    constants = {number: array for number in plan.results if (array := slots[number]) is not None}
    for array in constants.values():
        current_limits().keep(array, excluded=excluded)
    return constants


def _run(plan: Plan, slots: list[Array | None]) -> None:
    limits = current_limits()
    plan.require_memory(limits)
    run_steps(plan.steps, slots, limits)
