"""Compiled models with parts that an engine runs; calls, sessions, state and errors are the same as without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

from ir_exec.build.cutting import Cut, below, cut, is_counted, region_at, source
from ir_exec.engines.cached import CachedPart, find_part_caches
from ir_exec.engines.direct import DirectCall, make_direct_call
from ir_exec.engines.faster import FasterExecutor
from ir_exec.engines.interface import (
    CachingEngine,
    Engine,
    EngineSetting,
    LayerTime,
    PartForm,
    PartRefused,
    original_of,
)
from ir_exec.engines.partition import GraphPart, Partition, divide
from ir_exec.engines.parts import EnginePart, Interpreter, PartStep, cut_part
from ir_exec.engines.registry import AUTO, make_engine
from ir_exec.engines.report import EnginePlan, PartitionReport, RoundedProduct, make_report
from ir_exec.engines.rounding import RoundingPart
from ir_exec.errors import EvaluationError
from ir_exec.graph import Graph, Node, Value
from ir_exec.kernels.limits import Budget, current_limits
from ir_exec.model import Model, ShapesByPort
from ir_exec.ops.base.bodies import Iterations
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.plan.explain import PlanReport
from ir_exec.runtime import CompiledModel
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.precision import AS_IN_FILE, as_declared, run_as_f32
from ir_exec.runtime.runnable import RunnableNetwork
from ir_exec.runtime.state import CurrentVariables
from ir_exec.runtime.threads import chosen_threads
from ir_exec.types import Array

__all__ = ["EngineModel"]

_MOST_TRIES = 64
"""Maximum partitions that are tried: each finds at least one more layer that the engine cannot compile. After these,
everything is interpreted."""


def closed_error() -> EvaluationError:
    return EvaluationError("the compiled model is closed", expected="an open one")


class EngineModel(CompiledModel):
    """A model with parts that an engine runs, made by `compile_model(..., engine=...)`.

    It is called like every compiled model. A call with an observer is interpreted, because the observer sees every
    layer.

    Layers that the engine rejects are interpreted: `partition` lists them with the reasons. Each
    specialization of a model to the inputs of its calls is partitioned. With the engine "auto", the first calls measure
    the interpreter and onnxruntime, and later calls run on the faster of both.
    """

    def __init__(
        self,
        model: Model,
        *,
        engine: str,
        providers: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        **interpreted: Any,
    ) -> None:
        if options is not None and not isinstance(options, Mapping):
            raise EvaluationError(
                "options is of type", actual=type(options).__name__, expected="a mapping of settings by name"
            )
        self._engine_options: dict[str, Any] = {"engine": engine, "providers": providers, "options": options}
        self._providers = _names(providers)
        self._is_closed = False
        super().__init__(model, **interpreted)
        if not self._network.networks:
            # No model is complete before the first call. It reports invalid options, and its title.
            self._engine = self._make_engine(
                chosen_threads(self._options["threads"]), is_wide=True, has_variables=False
            )

    def _make_engine(self, threads: int, *, is_wide: bool, has_variables: bool) -> Engine:
        setting = EngineSetting(
            providers=self._providers,
            options=dict(self._engine_options["options"] or {}),
            threads=threads,
            is_wide=is_wide,
            keeps_weights=not self._options["expand_weights"],
            optimize=bool(self._options["optimize"]),
            has_variables=has_variables,
        )
        return make_engine(self._engine_options["engine"], setting)

    def _prepare(self, network: RunnableNetwork) -> RunnableNetwork:
        if self._is_closed:
            raise closed_error()
        # Each specialization of a model has another engine.
        self._engine = self._make_engine(
            network.threads, is_wide=network.is_wide, has_variables=bool(network.variables)
        )
        split = SplitGraph(network.model, self._engine, network.executor, network.budget, self._options)
        if self._engine_options["engine"] != AUTO:
            return replace(network, executor=split, direct=split.direct_call(network))
        is_useful = any(part.on_engine for part in split.partition.parts)
        faster = FasterExecutor(network.executor, split, is_useful=is_useful, close=split.close)
        return replace(network, executor=faster, direct=split.direct_call(network, faster.has_chosen_engine))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._engine_options, **self._options), (self._whole,)

    @property
    def engine(self) -> str:
        """The engine with its version and providers."""
        return self._engine.title

    @property
    def partition(self) -> PartitionReport:
        """The layers that the engine runs, in parts, and the reason for each of the other layers.

        For a model that is specialized to the inputs of its calls, it is the partition of the latest specialization.

        Raises:
            EvaluationError: Before the first call of a model that depends on its inputs.
        """
        executors = self._executors
        if not executors:
            hint = "call the model first: its inputs determine its layers"
            raise EvaluationError("the model is not complete yet", expected="a call before its partition", hint=hint)
        executor = executors[-1]
        choices = executor.choices if isinstance(executor, FasterExecutor) else ()
        split = split_graph_of(executor)
        return make_report(
            split.graph, self._engine.title, split.partition, split.failures, split.forms, choices, split.products
        )

    def explain(self, shapes: ShapesByPort | None = None) -> PlanReport:
        """Return the plan of the interpreter and the partition.

        A model that depends on its inputs has no partition before its first call. With the engine "auto" the partition
        reports what runs inputs of the shapes of the calls so far, and the times.

        Raises:
            IRError: The errors of planning a call.
            ShapeError: IR506 for an input whose shape remains dynamic.
        """
        plan = super().explain(shapes)
        return EnginePlan(**dict(plan), partition=self.partition) if self._executors else plan

    @property
    def _executors(self) -> list[SplitGraph | FasterExecutor]:
        """The executors of the calls; that of the latest specialization is last."""
        executors = [network.executor for network in self._network.networks]
        return [executor for executor in executors if isinstance(executor, SplitGraph | FasterExecutor)]

    @property
    def _splits(self) -> list[SplitGraph]:
        """The graphs that the calls run; the latest specialization is last."""
        return [split_graph_of(executor) for executor in self._executors]

    def engine_times(self) -> list[LayerTime]:
        """Return the engine's times of its nodes since the model was compiled, if the option `profile` was set.

        The engine stops measuring afterwards.
        """
        parts = [step for split in self._splits for step in split.steps if isinstance(step, EnginePart)]
        return [time for part in parts for time in part.compiled.times()]

    def close(self) -> None:
        """Release the resources of the engine; later calls raise EvaluationError IR704."""
        self._is_closed = True
        for executor in self._executors:
            executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split_graph_of(executor: SplitGraph | FasterExecutor) -> SplitGraph:
    """Return the graph that is divided between the engine and the interpreter."""
    split = executor.engine if isinstance(executor, FasterExecutor) else executor
    assert isinstance(split, SplitGraph), "the engine of EngineModel runs a divided graph"
    return split


class SplitGraph(Executor):
    """Runs a graph by the parts of a partition, in place of the executor; runs with an observer use the executor."""

    def __init__(
        self, model: Model, engine: Engine, interpreter: Executor, budget: Budget, options: Mapping[str, Any]
    ) -> None:
        # Plans and folded constants of the whole graph belong to its executor.
        self._whole = interpreter
        self._region = region_at(model)
        self._original = original_of(model)
        self._graph = model.graph
        self._engine = engine
        self._is_wide = options["precision"] == "f32"
        ops = run_as_f32(model).ops if self._is_wide else AS_IN_FILE.ops
        self._state = CurrentVariables()
        self._how = Interpreter(
            {"weights": model.weights, "state": self._state},
            budget,
            ops,
            options["expand_weights"],
            interpreter.compiler.tier,
        )
        self._is_closed = False
        self._reads = [node for node in self._graph.nodes if isinstance(node.op, ReadsVariable)]
        self._assigns = [node for node in self._graph.nodes if isinstance(node.op, AssignsVariable)]
        self.partition, self.steps = self._compile_parts(dict(engine.refusals(model)))
        self._mark_dying()

    @property
    def graph(self) -> Graph:
        """The complete graph."""
        return self._graph

    @property
    def failures(self) -> list[str]:
        """Messages of runs that failed on the engine and succeeded in the interpreter."""
        return [failure for step in self.steps if isinstance(step, EnginePart) for failure in step.failures]

    @property
    def products(self) -> list[RoundedProduct]:
        """The products with compressed weights that a run has measured."""
        parts = [step.compiled for step in self.steps if isinstance(step, EnginePart)]
        return [
            RoundedProduct(name=name, error=error, is_rounded=name in part.small_errors)
            for part in parts
            if isinstance(part, RoundingPart)
            for name, error in part.errors.items()
        ]

    @property
    def forms(self) -> list[PartForm | None]:
        """The form in which the engine got each part; None for interpreted parts, and without anything to report."""
        return [getattr(step.compiled, "form", None) if isinstance(step, EnginePart) else None for step in self.steps]

    @property
    def constant_bytes(self) -> int:
        return self._whole.constant_bytes

    def plan(self, inputs: Any) -> Any:
        return self._whole.plan(inputs)

    def run(
        self, arrays: list[Array], observe: Observer | None = None, *, iterations: Iterations | None = None
    ) -> list[Array]:
        if observe is not None:
            return self._whole.run(arrays, observe)
        if self._is_closed:
            raise closed_error()
        if self._only is not None:
            return self._only.run(arrays)
        limits = current_limits()
        values = {node.outputs[0]: array for node, array in zip(self._graph.parameters, arrays, strict=True)}
        if self._reads:
            self._read(values)
        for step in self.steps:
            limits.check_time()
            outputs = step.run([values[value] for value in step.inputs])
            values.update(zip(step.outputs, outputs, strict=True))
            for value in step.dying:
                del values[value]
        if self._assigns:
            self._write(values)
        return [values[source(node.values_in[0])] for node in self._graph.results]

    @cached_property
    def _only(self) -> PartStep | None:
        """The step that is the whole graph: inputs and outputs are equal, and there are no variables."""
        if len(self.steps) != 1 or self._reads or self._assigns:
            return None
        inputs = tuple([node.outputs[0] for node in self._graph.parameters])
        outputs = tuple([source(node.values_in[0]) for node in self._graph.results])
        step = self.steps[0]
        return step if (step.inputs, step.outputs) == (inputs, outputs) else None

    def direct_call(
        self, network: RunnableNetwork, allows: Callable[[tuple[tuple[int, ...], ...]], bool] | None = None
    ) -> DirectCall | None:
        """Return the calls without preparations, for a model that the engine runs as it is; else None.

        Args:
            allows: Returns True for shapes of the inputs that the engine runs; by default all.
        """
        step = self._only
        is_plain = not (network.is_stateful or network.is_wide or network.max_seconds is not None)
        if not is_plain or not isinstance(step, EnginePart):
            return None
        return make_direct_call(step, network.inputs, network.model.weights, allows)

    def close(self) -> None:
        """Release the resources of the engine."""
        self._is_closed = True
        for step in self.steps:
            step.close()

    def _read(self, values: dict[Value, Array]) -> None:
        """Add the values of the variables; initial values are interpreted, all at once."""
        unset = []
        for node in self._reads:
            assert isinstance(node.op, ReadsVariable)
            array = self._state.read(node.op.variable_id)
            if array is not None:
                values[node.outputs[0]] = array
            elif node.values_in:
                unset.append(node)
            else:
                values[node.outputs[0]] = node.op.evaluate(state=self._state)
        if unset:
            step = self._initial
            arrays = step.run([values[value] for value in step.inputs])
            initial = dict(zip(step.outputs, arrays, strict=True))
            for node in unset:
                values[node.outputs[0]] = initial[source(node.values_in[0])]

    @cached_property
    def _initial(self) -> PartStep:
        """The step that computes the initial values of all variables."""
        initial_values = list(dict.fromkeys(source(node.values_in[0]) for node in self._reads if node.values_in))
        nodes = below(self._region, initial_values)
        part = cut(self._region, nodes, initial_values)
        return PartStep(GraphPart(False, tuple(nodes), (), part.inputs, part.outputs), part, self._graph, self._how)

    def _write(self, values: Mapping[Value, Array]) -> None:
        for node in self._assigns:
            assert isinstance(node.op, AssignsVariable)
            value = source(node.values_in[0])
            self._state.write(node.op.variable_id, values[value], is_own=value in self._own)

    @cached_property
    def _own(self) -> frozenset[Value]:
        """The values that the engine allocates in every run and that are not outputs of the model."""
        shown = {source(node.values_in[0]) for node in self._graph.results}
        computed = {value for step in self.steps if isinstance(step, EnginePart) for value in step.outputs}
        return frozenset(computed - shown)

    def _compile_parts(self, refused: dict[Node, str]) -> tuple[Partition, list[PartStep]]:
        """Return the partition with parts that the engine compiles, and its steps."""
        done: dict[tuple[Node, ...], EnginePart] = {}
        for attempt in range(_MOST_TRIES + 1):
            partition = divide(self._graph, refused)
            if attempt == _MOST_TRIES:
                reason = f"{self._engine.title} rejected other layers in {attempt} partitions"
                others = [node for part in partition.parts if part.on_engine for node in part.nodes]
                partition = divide(self._graph, refused | dict.fromkeys(others, reason))
            try:
                steps = [self._step(part, refused, done) for part in partition.parts]
            except PartRefused as error:
                refused |= self._blamed_layers(error)
                continue
            for nodes in done.keys() - {part.nodes for part in partition.parts}:
                done[nodes].close()
            return partition, steps
        raise AssertionError("the last partition has no part on the engine")

    def _step(self, part: GraphPart, refused: Mapping[Node, str], done: dict[tuple[Node, ...], EnginePart]) -> PartStep:
        if not part.on_engine:
            return PartStep(part, cut_part(self._region, part, {}, {}), self._graph, self._how)
        step = done.get(part.nodes)
        if step is None:
            region_cut = self._whole_graph(part) or cut_part(
                self._region, part, self._rejected_constants(part, refused), refused
            )
            region_cut = replace(region_cut, original=self._original)
            try:
                step = self._compile_cached(part, region_cut) or self._compile_plain(part, region_cut)
            except PartRefused as error:
                inside = {node.id for node in (*part.nodes, *part.constants)}
                reasons = {id: reason for id, reason in error.layers.items() if id in inside}
                raise PartRefused(error.reason, reasons or {node.id: error.reason for node in part.nodes}) from error
            done[part.nodes] = step
        return step

    def _compile_plain(self, part: GraphPart, part_cut: Cut) -> EnginePart:
        compiled = self._engine.compile(part_cut)
        return EnginePart(part, part_cut, self._graph, self._how, compiled=compiled)

    def _compile_cached(self, part: GraphPart, part_cut: Cut) -> CachedPart | None:
        """Return the part with caches that grow in place; None for a part without caches."""
        engine = self._engine
        if not self._reads or not isinstance(engine, CachingEngine) or not engine.grows_caches:
            return None
        assigned: dict[Value, str] = {}
        for node in self._assigns:
            assert isinstance(node.op, AssignsVariable)
            assigned[source(node.values_in[0])] = node.op.variable_id
        inside = {*part.nodes, *part.constants, *self._assigns}
        shown = {source(value) for node in self._graph.nodes if node not in inside for value in node.values_in}
        caches = find_part_caches(part_cut, assigned, shown, is_wide=self._is_wide)
        if caches is None:
            return None
        try:
            compiled = engine.compile(part_cut, caches)
        except PartRefused:
            # The part without caches reports the reason.
            return None
        return CachedPart(
            part,
            part_cut,
            self._graph,
            self._how,
            compiled=compiled,
            caches=caches,
            state=self._state,
            compile_plain=partial(engine.compile, part_cut),
        )

    def _whole_graph(self, part: GraphPart) -> Cut | None:
        """Return the model itself for a part with all layers, which saves the time of cutting it out."""
        values = [node.values_in[0] for node in self._graph.results]
        counted = sum(is_counted(node) for node in self._graph.nodes)
        if len(part.nodes) + len(part.constants) < counted or set(part.outputs) != set(values):
            return None
        if len(values) != len(part.outputs):
            return None
        inputs = tuple([node.outputs[0] for node in self._graph.parameters])
        return Cut(self._region.model, inputs, tuple(values))

    def _blamed_layers(self, error: PartRefused) -> dict[Node, str]:
        return {node: error.layers[node.id] for node in self._graph.nodes if node.id in error.layers}

    def _rejected_constants(self, part: GraphPart, refused: Mapping[Node, str]) -> dict[Value, Array]:
        """Return the values of constant layers that the engine rejects and that layers of the engine read."""
        read = [
            source(value) for node in (*part.nodes, *part.constants) if node not in refused for value in node.values_in
        ]
        constants = [value for value in dict.fromkeys(read) if value.node in refused and value.node in part.constants]
        if not constants:
            return {}
        nodes = tuple(below(self._region, constants))
        step = GraphPart(False, nodes, (), (), tuple(constants))
        arrays = PartStep(step, cut_part(self._region, step, {}, {}), self._graph, self._how).run([])
        types = [self._region.type(value).element_type for value in constants]
        return {
            value: as_declared(array, element_type)
            for value, array, element_type in zip(constants, arrays, types, strict=True)
        }

    def _mark_dying(self) -> None:
        """Record for each step the values without later readers."""
        keep = {source(node.values_in[0]) for node in (*self._graph.results, *self._assigns)}
        for step in reversed(self.steps):
            last = [value for value in dict.fromkeys((*step.inputs, *step.outputs)) if value not in keep]
            step.dying = tuple(last)
            keep.update(last)


def _names(providers: Sequence[str] | None) -> tuple[str, ...]:
    if providers is None:
        return ()
    entries = [providers] if isinstance(providers, str) else providers
    if not isinstance(entries, Sequence) or not all(isinstance(name, (str, tuple)) for name in entries):
        raise EvaluationError("providers is of type", actual=type(providers).__name__, expected="a list of names")
    return tuple(entries)
