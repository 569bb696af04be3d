"""Compiled models: models that are ready to run."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, Location, UnsupportedError
from ir_exec.graph import Graph
from ir_exec.graph.order import with_outputs
from ir_exec.kernels.limits import Budget
from ir_exec.model import (
    Model,
    ModelPort,
    PortKey,
    ShapesByPort,
    Source,
    Specializer,
    WeightsSource,
    chosen_port,
    describe,
    described_in_html,
    read_model,
)
from ir_exec.plan.compiler import Tier
from ir_exec.plan.memory import MemoryPlan, default_budget, keep_some_freed_memory
from ir_exec.plan.pipeline import selection_of
from ir_exec.plan.records import Instrument
from ir_exec.report.numbers import format_count
from ir_exec.runtime.arguments import (
    bind_shapes,
    seconds,
    whole_number,
)
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.precision import (
    AS_IN_FILE,
    Precision,
    checked_precision,
    run_as_f32,
    widened_type,
)
from ir_exec.runtime.requests import InferRequest, VariableState, states_of
from ir_exec.runtime.runnable import RunnableNetwork
from ir_exec.runtime.sessions import Session
from ir_exec.runtime.specializing import Specializing
from ir_exec.runtime.state import CurrentVariables, variables_of
from ir_exec.runtime.threads import chosen_threads
from ir_exec.runtime.weight_modes import WeightMode, split_weights, weight_mode_of_many_runs
from ir_exec.types import Array, ElementType, Shape, TensorType

if TYPE_CHECKING:
    from ir_exec.plan.explain import PlanReport

__all__ = ["ENGINE_MODULE", "CompiledModel", "compile_model", "compiled_with", "refuse_unsupported"]

ENGINE_MODULE = "ir_exec.engines.compiled"
"""The module of models that engines run; it is imported with the first use of an engine."""

Optimize: TypeAlias = bool | Literal["auto", "full"]
"""The optimization of plans: see `compile_model`."""


class CompiledModel(Session):
    """A callable model, made by `compile_model`. Its calls share its variables; a `session` has separate variables.

    It can be copied and pickled like a Model, and sent to process pools. The copy is compiled again with the same
    options, and its variables have their initial values, as after `reset_state`.

    An ONNX file may have operators that need shapes or values missing in the file. It is specialized to the inputs of a
    call whenever these need another model; the models of the latest calls are kept. `specializations` lists them.

    Args:
        instrument: A wrapper of every step of a plan; copies have none.
        budget: A memory budget shared by several compiled models.
    """

    def __init__(
        self,
        model: Model,
        *,
        max_memory: int | None = None,
        max_seconds: float | None = None,
        expand_weights: bool = True,
        threads: int | None = None,
        precision: Precision = "f32",
        outputs: Sequence[str] | None = None,
        optimize: Optimize = "auto",
        passes: str | None = None,
        instrument: Instrument | None = None,
        budget: Budget | None = None,
    ) -> None:
        keep_some_freed_memory()
        # The caller may reshape the model later.
        self._whole: Model = copy(model)
        self._options: dict[str, Any] = {
            "max_memory": max_memory,
            "max_seconds": max_seconds,
            "expand_weights": expand_weights,
            "threads": threads,
            "precision": precision,
            "outputs": outputs,
            "optimize": optimize,
            "passes": passes,
        }
        self.inputs: list[ModelPort]
        self.outputs: list[ModelPort]
        self._is_wide: bool
        self._executor: Executor
        specializer = self._whole.specializer
        if specializer is not None and not specializer.has_general_model:
            self._model: Model = self._whole
            self.inputs, self.outputs = self._whole.inputs, _known_outputs(self._whole, outputs)
            super().__init__(self._specializing(specializer, instrument))
            return
        network = self._make_interpreter(self._whole, outputs, budget, instrument)
        self._model, self._executor, self._is_wide = network.model, network.executor, network.is_wide
        self.inputs, self.outputs = network.inputs, network.outputs
        network = self._prepare(network)
        super().__init__(network if specializer is None else self._specializing(specializer, instrument, network))

    def _make_interpreter(
        self, model: Model, outputs: Sequence[str] | None, budget: Budget | None, instrument: Instrument | None
    ) -> RunnableNetwork:
        """Return a complete model that is interpreted with the options of this one."""
        options = self._options
        if outputs is not None:
            model = _with_outputs(model, outputs)
        refuse_unsupported(model.graph)
        if model.weights is not None:
            model.weights.fetch()
        budget = budget or Budget(_most_memory(options["max_memory"]))
        wide = run_as_f32(model) if checked_precision(options["precision"]) == "f32" else AS_IN_FILE
        executor = Executor(
            model.graph,
            {"weights": model.weights, "state": CurrentVariables()},
            budget,
            expand_weights=options["expand_weights"],
            types=None if wide.ops else model.types,
            ops=wide.ops,
            instrument=instrument,
            tier=_tier(options["optimize"]),
            passes=selection_of(options["passes"]),
        )
        stateful = {
            node: node.op for node in model.graph.all_nodes() if node.op and "state" in node.op.evaluate_context
        }
        drawers = [op for op in (*stateful.values(), *map(wide.ops.get, stateful)) if op is not None]
        max_seconds = options["max_seconds"]
        return RunnableNetwork(
            model=model,
            executor=executor,
            inputs=model.inputs,
            outputs=model.outputs,
            variables=variables_of(model),
            drawers=dict(enumerate(drawers)),
            is_stateful=bool(stateful),
            budget=budget,
            threads=chosen_threads(options["threads"]),
            max_seconds=None if max_seconds is None else seconds(max_seconds, "max_seconds"),
            is_wide=bool(wide.ops),
            rounded=wide.variables,
        )

    def _prepare(self, network: RunnableNetwork) -> RunnableNetwork:
        """Return the network of the calls of a complete model; a subclass may replace its executor."""
        return network

    def __repr__(self) -> str:
        return describe(type(self).__name__, self._model)

    def _repr_html_(self) -> str:
        return described_in_html(type(self).__name__, self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self._whole,)

    @property
    def specializations(self) -> list[dict[str, str]]:
        """The aspects of the inputs that each specialized model depends on: "value 1", "shape [2,3]", "rank 2".

        The model of the latest call is last; the list is empty for a model that fits all inputs.
        """
        return self._network.specializations

    @property
    def specialisations(self) -> list[dict[str, str]]:
        """The former name of `specializations`."""
        message = "CompiledModel.specialisations is called specializations now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.specializations

    def _specializing(
        self, specializer: Specializer, instrument: Instrument | None, general: RunnableNetwork | None = None
    ) -> Specializing:
        def compile_specialized(specialized: Model, budget: Budget, is_complete: bool) -> RunnableNetwork:
            if not is_complete:
                return self._make_interpreter(specialized, None, budget, None)
            return self._prepare(self._make_interpreter(specialized, self._options["outputs"], budget, instrument))

        def run_session(network: RunnableNetwork, arrays: Mapping[str, Array]) -> Sequence[Array]:
            return Session(network)(arrays).to_tuple()

        # Invalid options are reported here, and not in the first call.
        checked_precision(self._options["precision"])
        chosen_threads(self._options["threads"])
        if self._options["max_seconds"] is not None:
            seconds(self._options["max_seconds"], "max_seconds")
        budget = _most_memory(self._options["max_memory"])
        return Specializing(specializer, self.inputs, self.outputs, compile_specialized, run_session, budget, general)

    @property
    def executor(self) -> Executor:
        """The executor that plans and interprets the model; a model without layers before its first call has none."""
        return self._executor

    def session(self) -> Session:
        """Return a session with separate variables at their initial values; plans and weights are shared."""
        return Session(self._network)

    def create_infer_request(self) -> InferRequest:
        """Return a session in the form of OpenVINO's infer requests: it keeps the tensors of its last run."""
        return InferRequest(self.session(), self.inputs, self.outputs)

    def query_state(self) -> list[VariableState]:
        """Return the variables of the calls of the compiled model itself."""
        return states_of(self)

    def input(self, key: PortKey | None = None) -> ModelPort:
        """Return the input with this name or position, or the only one; EvaluationError IR705 if there is none."""
        return chosen_port(self.inputs, key, "input")

    def output(self, key: PortKey | None = None) -> ModelPort:
        """Return the output with this name or position, or the only one; EvaluationError IR705 if there is none."""
        return chosen_port(self.outputs, key, "output")

    def memory_plan(self, shapes: ShapesByPort | None = None) -> MemoryPlan:
        """Return the memory of a run on inputs of these shapes, without running it; static inputs may be left out.

        Tensors whose shapes depend on values count with their minimum size.

        Raises:
            IRError: The errors of planning a call.
            ShapeError: IR506 for an input whose shape remains dynamic.
        """
        sizes = bind_shapes(shapes, self.inputs)
        if (specialized := self._specialized_to(sizes)) is not None:
            return specialized.memory_plan({port.name: shape for port, shape in sizes})
        arguments = [(self._dtype(port), shape) for port, shape in sizes]
        with np.errstate(all="ignore"):
            plan = self._executor.plan(arguments)
        peak = max(range(len(plan.live)), key=plan.live.__getitem__, default=None)
        return MemoryPlan(
            constants=self._executor.constant_bytes,
            peak=0 if peak is None else plan.live[peak],
            layer=None if peak is None else plan.steps[peak].node.name,
        )

    def explain(self, shapes: ShapesByPort | None = None) -> PlanReport:
        """Return the reasons for the plan of each layer.

        They are its kernel, the pass that made its step, and the fate of layers that are not run. Static inputs
        may be left out.

        Raises:
            IRError: The errors of planning a call.
            ShapeError: IR506 for an input whose shape remains dynamic.
        """
        sizes = bind_shapes(shapes, self.inputs)
        if (specialized := self._specialized_to(sizes)) is not None:
            return specialized.explain({port.name: shape for port, shape in sizes})
        from ir_exec.plan.explain import reported_plan  # not needed by runs

        with np.errstate(all="ignore"):
            plan = self._executor.plan([(self._dtype(port), shape) for port, shape in sizes])
        return reported_plan(self._executor.compiler, plan)

    def _specialized_to(self, sizes: Sequence[tuple[ModelPort, tuple[int, ...]]]) -> CompiledModel | None:
        """Return the compiled model for inputs of these shapes; None if the model itself fits all inputs."""
        types = {port.name: TensorType(port.element_type, Shape(shape)) for port, shape in sizes}
        model = self._network.model_of_types(types)
        return None if model is None else CompiledModel(model, **self._options)

    def _dtype(self, port: ModelPort) -> np.dtype[Any]:
        type = TensorType(port.element_type, port.shape)
        return (widened_type(type) if self._is_wide else type).element_type.dtype


def compile_model(
    model: Model | Source,
    device_name: str = "CPU",
    *,
    weights: WeightsSource | None = None,
    weight_mode: WeightMode = "auto",
    max_memory: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    precision: Precision = "f32",
    outputs: Sequence[str] | None = None,
    optimize: Optimize = "auto",
    passes: str | None = None,
    engine: str | None = None,
    providers: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CompiledModel:
    """Make a model ready to run; `model` is a Model, or an argument of `read_model`.

    Args:
        device_name: "CPU" or "AUTO", which are equivalent; there are no other devices. A path that ends in .bin is
            read as the weights, as in `read_model(xml, bin)`.
        weights: Another .bin, as for `read_model`.
        weight_mode: "expand" computes values that depend on weights alone once, in the first run, for instance f32 from
            u4. With "keep", products with compressed weights and Gathers from them read the stored bytes, block by
            block; other values that take more memory than the weights are computed in every run and freed again. The
            results differ in the last digits. "auto" is "keep" if expanded weights would add more than a sixteenth of
            the machine's memory or a third of `max_memory`, and the model has no engine.
        max_memory: The maximum number of bytes of the tensors of a run, including tensors in bodies, and of folded
            constants together; None: the machine's memory.
        max_seconds: The maximum duration of a run; the time is checked before each layer and each iteration, and
            between the chunks of layers that are computed in chunks. A single call of NumPy, such as a large matrix
            product, a sort or a Fourier transform, is not interrupted. None: no limit, except for the regular
            expressions of a layer, which then have 10 seconds, and 10 more for each megabyte of text.
        threads: The number of threads of a run; None: the environment's IR_EXEC_THREADS, or else the cores available to
            the process. Results do not depend on it.
        precision: The type in which f16 and bf16 values of a model are computed. "f32", the default, is fast, and
            matches OpenVINO's CPU plugin for f16: values are rounded to the types of the file in Convert and
            ConvertLike, in variables written by Assign, and in the outputs. 16-bit weights then take twice their
            memory, unless weight_mode="keep" converts them in every run. "file" rounds after every layer; a model with
            an input of undeclared element type does so too. A model that only moves such values runs in their types
            either way.
        outputs: Names of tensors or layers (`split:1` for a layer with several outputs) whose values are the outputs,
            in this order, instead of the outputs of the model. Only what they and the variables need is computed.
        optimize: "auto" fuses layers into fewer, larger steps, which may change the last digits of a result, and
            prepacks weights in the layout of their kernel after a few runs if that pays off. "full", or True, prepacks
            them in the first run; the results are bit-identical. False runs every layer separately, as calls with an
            observer do.
        passes: Names of passes that make plans: "-fuse_attention,-prepack_weights" omits some, "fuse_attention" uses
            one alone, to find the one that changes a result. None: all. `explain` shows the effect of each of them.
        engine: "onnxruntime", or one registered by another package, runs the layers that it can run with the same
            meaning; the others are interpreted. Calls with an observer are interpreted. The attribute `partition` of
            the model reports the layers that the engine runs, and the reasons for the others. "auto" measures the
            interpreter and onnxruntime in the first eight calls with inputs of similar shapes (dims are equal after
            rounding up to powers of two), and runs later ones on the faster; `explain` shows the times. None:
            everything is interpreted.
        providers: The execution providers of the engine, best first, for instance ["CUDAExecutionProvider"]; None: the
            CPU.
        options: Settings of the engine by name.

    Raises:
        IRError: The errors of `read_model`.
        EvaluationError: IR704 for other devices and for invalid numbers, IR705 for outputs that do not exist, and one
            UnsupportedError that names every operator that ir_exec does not support.
    """
    source, mode = split_weights(weights, weight_mode)
    if source is None and _is_weights_path(device_name):
        device_name, source = "CPU", device_name
    if device_name not in ("CPU", "AUTO"):
        raise EvaluationError("there is no device", actual=repr(device_name), expected='"CPU" or "AUTO"')
    if not isinstance(model, Model):
        model = read_model(model, weights=source)
    elif source is not None:
        raise EvaluationError("weights is another .bin for a model that was already read", expected="None")
    mode = weight_mode_of_many_runs(model, mode, precision, max_memory, engine=engine)
    return compiled_with(
        model,
        max_memory=max_memory,
        max_seconds=max_seconds,
        expand_weights=mode == "expand",
        threads=threads,
        precision=precision,
        outputs=outputs,
        optimize=optimize,
        passes=passes,
        engine=engine,
        providers=providers,
        options=options,
    )


def _is_weights_path(argument: object) -> bool:
    return isinstance(argument, (str, os.PathLike)) and os.fsdecode(argument).lower().endswith(".bin")


def _tier(optimize: Optimize) -> Tier:
    if optimize not in (True, False, "auto", "full"):
        raise EvaluationError(
            "optimize is", actual=repr(optimize), expected="True, False, 'auto' or 'full'", code=Code.bad_value
        )
    return optimize if isinstance(optimize, str) else "full" if optimize else "plain"


def _most_memory(max_memory: int | None) -> int:
    return default_budget() if max_memory is None else whole_number(max_memory, "max_memory", 0)


def _known_outputs(model: Model, names: Sequence[str] | None) -> list[ModelPort]:
    """Return the outputs before the first call; types of outputs chosen by name are unknown if inputs decide them."""
    if names is None:
        return model.outputs
    try:
        return _with_outputs(model, names).outputs
    except EvaluationError:
        if isinstance(names, str):
            raise
        return [ModelPort(name, frozenset([name]), ElementType.dynamic, Shape.unknown()) for name in names]


def compiled_with(
    model: Model,
    *,
    engine: str | None = None,
    providers: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    **interpreted: Any,
) -> CompiledModel:
    """Return the compiled model for the arguments of `compile_model`; interpreted: arguments of CompiledModel."""
    if engine is None:
        if providers is not None or options is not None:
            raise EvaluationError("providers and options are given without an engine", expected="the name of an engine")
        return CompiledModel(model, **interpreted)
    # Engines are in a higher layer of the package, and take long to import.
    compiled: CompiledModel = import_module(ENGINE_MODULE).EngineModel(
        model, engine=engine, providers=providers, options=options, **interpreted
    )
    return compiled


def _with_outputs(model: Model, names: Sequence[str]) -> Model:
    if isinstance(names, str):
        raise EvaluationError("outputs is the text", actual=repr(names), expected="a list of names")
    chosen = copy(model)
    chosen.graph = with_outputs(model.graph, names)
    return chosen


def refuse_unsupported(graph: Graph) -> None:
    """Raise one UnsupportedError that names every operator without a class, and the number of layers that use it."""
    missing = Counter(f"{node.type} ({node.layer.version})" for node in graph.all_nodes() if node.op is None)
    if missing:
        listed = ", ".join(f"{name}: {format_count(count, 'layer')}" for name, count in sorted(missing.items()))
        message = f"{format_count(len(missing), 'operator')} of the model cannot be run: {listed}"
        raise UnsupportedError(
            message,
            code=Code.operator_not_implemented,
            location=Location(path=graph.path),
            hint="write a class for each operator and load it with --extension FILE.py, or use ir_exec.register_op",
        )
