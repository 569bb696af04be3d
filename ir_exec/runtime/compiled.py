"""Compiled models: networks that are ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, Location, UnsupportedError
from ir_exec.graph import Graph
from ir_exec.ir import Weights
from ir_exec.kernels.limits import LIMITS, Budget, Limits
from ir_exec.kernels.parallel import THREADS
from ir_exec.model import (
    Model,
    ModelPort,
    PortKey,
    ShapesByPort,
    Source,
    WeightsSource,
    chosen_port,
    described,
    described_in_html,
    read_model,
)
from ir_exec.runtime.arguments import (
    Inputs,
    bind_inputs,
    bind_shapes,
    checked,
    require_callable,
    seconds,
    whole_number,
)
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.memory import MemoryPlan, default_budget
from ir_exec.runtime.precision import (
    AS_IN_FILE,
    Precision,
    as_declared,
    as_f32,
    checked_precision,
    run_as_f32,
    widened_type,
)
from ir_exec.runtime.requests import InferRequest, VariableState, states_of
from ir_exec.runtime.state import VARIABLES, CurrentVariables, Variables, variables_of
from ir_exec.runtime.threads import chosen_threads
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["CompiledModel", "Results", "Session", "States", "compile_model"]


class _NoSuchOutputError(KeyError, IndexError):
    """A position is the key of a mapping, and an index too."""


class Results(Mapping[PortKey, Array]):
    """The outputs of a run, by position, by any of their names or by port. Iteration gives one name of each output."""

    def __init__(self, ports: list[ModelPort], arrays: list[Array]) -> None:
        self._ports = ports
        self._arrays = arrays

    def __getitem__(self, key: PortKey) -> Array:
        if isinstance(key, (int, np.integer)):
            if not -len(self._arrays) <= key < len(self._arrays):
                raise _NoSuchOutputError(key)
            return self._arrays[key]
        name = key.name if isinstance(key, ModelPort) else key
        for port, array in zip(self._ports, self._arrays, strict=True):
            if name == port.name:
                return array
        for port, array in zip(self._ports, self._arrays, strict=True):
            if name in port.names:
                return array
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([port.name for port in self._ports])

    def __len__(self) -> int:
        return len(self._arrays)

    def to_dict(self) -> dict[ModelPort, Array]:
        """The arrays by their ports, as OpenVINO's results give them."""
        return dict(zip(self._ports, self._arrays, strict=True))

    def to_tuple(self) -> tuple[Array, ...]:
        """The arrays in the order of the outputs."""
        return tuple(self._arrays)

    def names(self) -> tuple[frozenset[str], ...]:
        """All names of each output."""
        return tuple([port.names for port in self._ports])

    def __repr__(self) -> str:
        types = [TensorType.of(array) for array in self._arrays]
        return f"Results({', '.join(f'{port.name}: {type}' for port, type in zip(self._ports, types, strict=True))})"


@dataclass(frozen=True, slots=True)
class _Network:
    """What the sessions of a compiled model share.

    variables: with the types that their values have. is_stateful: whether a run depends on the one before.
    is_wide: whether f16 and bf16 are computed in f32. rounded: the variables that keep such values.
    """

    executor: Executor
    inputs: list[ModelPort]
    outputs: list[ModelPort]
    variables: list[ModelPort]
    is_stateful: bool
    weights: Weights | None
    budget: Budget
    threads: int
    max_seconds: float | None
    is_wide: bool
    rounded: Mapping[str, ElementType]

    def run(self, arrays: list[Array], observe: Observer | None, limits: Limits) -> list[Array]:
        """The outputs in their declared types, in memory of the caller's own."""
        if not self.is_wide:
            return _owned(self.executor.run(arrays, observe), arrays, limits)
        computed = self.executor.run(list(map(as_f32, arrays)), observe)
        found = [as_declared(array, port.element_type) for array, port in zip(computed, self.outputs, strict=True)]
        return _owned(found, arrays, limits)


class States(Mapping[str, Array | None]):
    """The variables of a session by their ids: read-only arrays, None for one that still has its initial value.

    `state[id] = array` gives a variable the value that the next run reads, None its initial one. The array is copied;
    it must fit the variable as an input array must fit its input. Raises EvaluationError IR705 for an unknown variable,
    ElementTypeError IR403 and ShapeError IR506 for an array that does not fit.
    """

    def __init__(self, variables: list[ModelPort], values: Variables, lock: RLock) -> None:
        self._ports = {port.name: port for port in variables}
        self._values = values
        self._lock = lock

    def __getitem__(self, variable_id: str) -> Array | None:
        if variable_id not in self._ports:
            raise KeyError(variable_id)
        with self._lock:
            return self._values.kept(variable_id)

    def port(self, variable_id: str) -> ModelPort:
        """The element type and shape that the values of a variable have."""
        return self._ports[variable_id]

    def __setitem__(self, variable_id: str, value: Any) -> None:
        port = self._ports.get(variable_id)
        if port is None:
            names = ", ".join(map(repr, self._ports)) or "none"
            message = f"there is no variable {variable_id!r}; the variables are: {names}"
            raise EvaluationError(message, code=Code.unknown_input)
        array = None if value is None else checked(value, port, "variable")
        with self._lock:
            self._values.set(variable_id, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __repr__(self) -> str:
        types = {name: "initial" if value is None else str(TensorType.of(value)) for name, value in self.items()}
        return f"States({', '.join(f'{name}: {type}' for name, type in types.items())})"


class Session:
    """Calls of a compiled model with variables of their own; `CompiledModel.session` makes one.

    Several threads may call. Where a run depends on the one before, by variables or by random numbers, the calls of a
    session wait for each other; calls of other networks, and of other sessions, run side by side.
    """

    def __init__(self, network: _Network) -> None:
        self._network = network
        self._variables = Variables(network.rounded)
        self._lock = RLock()
        self._is_running = False
        self.state = States(network.variables, self._variables, self._lock)

    def __call__(self, inputs: Inputs | None = None, *, observe: Observer | None = None) -> Results:
        """Run the network.

        inputs: arrays by name, position or port, or a sequence in the order of the inputs; they are never written to.
            Arrays of floats are rounded to the float type of the input; those of another element type are cast where
            the cast keeps every value, and refused otherwise.
        observe: called after each layer with its node, its inputs and its outputs, as they are computed: with f32 for
            the f16 and bf16 of the file, unless the precision is "file". The arrays are read-only.
        Raises IRError: EvaluationError, ElementTypeError or ShapeError for inputs that do not fit and for layers that
        fail on them, WeightsError where the .bin has changed since it was opened, ResourceError where the run exceeds
        the memory budget, the time limit or the number of iterations. Variables and sequences of random numbers then
        stand where they stood before.
        """
        network = self._network
        require_callable(observe, "observe")
        arrays = bind_inputs(inputs, network.inputs)
        if network.weights is not None:
            network.weights.require_unchanged()
        limits = Limits(network.budget, network.max_seconds)
        around = LIMITS.set(limits), THREADS.set(network.threads)
        try:
            with np.errstate(all="ignore"):
                if network.is_stateful:
                    found = self._run_in_turn(arrays, observe, limits)
                else:
                    found = network.run(arrays, observe, limits)
            return Results(network.outputs, found)
        finally:
            limits.close()
            LIMITS.reset(around[0])
            THREADS.reset(around[1])

    def reset_state(self) -> None:
        """Give all variables their initial values, and begin the sequences of random numbers anew."""
        with self._lock:
            self._variables.reset()

    def _run_in_turn(self, arrays: list[Array], observe: Observer | None, limits: Limits) -> list[Array]:
        with self._lock:
            if self._is_running:
                raise EvaluationError("the network is called while it runs, by its observer: a session() can be called")
            self._is_running = True
            around = VARIABLES.set(self._variables)
            limits.planned = self._variables.nbytes
            try:
                found = self._network.run(arrays, observe, limits)
                self._variables.commit()
            finally:
                self._variables.discard()
                self._is_running = False
                VARIABLES.reset(around)
        return found


class CompiledModel(Session):
    """A network to call; `compile_model` makes one. Its calls share the variables, those of a `session` have their own.

    It can be copied and pickled as a Model can, so process pools take it. The copy is compiled anew with the same
    options, and its variables have their initial values, as after `reset_state`.
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
    ) -> None:
        refuse_unsupported(model.graph)
        # Whoever compiled the model may reshape it.
        self._model = copy(model)
        self._options: dict[str, Any] = {
            "max_memory": max_memory,
            "max_seconds": max_seconds,
            "expand_weights": expand_weights,
            "threads": threads,
            "precision": precision,
        }
        budget = Budget(default_budget() if max_memory is None else whole_number(max_memory, "max_memory", 0))
        context = {"weights": model.weights, "state": CurrentVariables()}
        self.inputs: list[ModelPort] = model.inputs
        self.outputs: list[ModelPort] = model.outputs
        wide = run_as_f32(model) if checked_precision(precision) == "f32" else AS_IN_FILE
        self._is_wide = bool(wide.ops)
        types = None if self._is_wide else model.types
        self._executor = Executor(
            model.graph, context, budget, expand_weights=expand_weights, types=types, ops=wide.ops
        )
        super().__init__(
            _Network(
                self._executor,
                self.inputs,
                self.outputs,
                variables_of(model),
                any(node.op is not None and "state" in node.op.evaluate_context for node in model.graph.all_nodes()),
                model.weights,
                budget,
                chosen_threads(threads),
                None if max_seconds is None else seconds(max_seconds, "max_seconds"),
                self._is_wide,
                wide.variables,
            )
        )

    def __repr__(self) -> str:
        return described(type(self).__name__, self._model)

    def _repr_html_(self) -> str:
        return described_in_html(type(self).__name__, self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self._model,)

    def session(self) -> Session:
        """The same network with variables of its own, which have their initial values; plans and weights are shared."""
        return Session(self._network)

    def create_infer_request(self) -> InferRequest:
        """A session as OpenVINO's infer requests are: it keeps the tensors of its last run."""
        return InferRequest(self.session(), self.inputs, self.outputs)

    def query_state(self) -> list[VariableState]:
        """The variables of the calls of the compiled model itself."""
        return states_of(self)

    def input(self, key: PortKey | None = None) -> ModelPort:
        """The input of this name or position, or the only one; EvaluationError IR705 where there is none."""
        return chosen_port(self.inputs, key, "input")

    def output(self, key: PortKey | None = None) -> ModelPort:
        """The output of this name or position, or the only one; EvaluationError IR705 where there is none."""
        return chosen_port(self.outputs, key, "output")

    def memory_plan(self, shapes: ShapesByPort | None = None) -> MemoryPlan:
        """The memory of a run on inputs of these shapes, without running it; static inputs may be left out.

        Tensors whose shapes depend on values count with their least possible size. Raises what planning a call raises,
        and ShapeError IR506 for an input whose shape stays open.
        """
        found = [(self._dtype(port), shape) for port, shape in bind_shapes(shapes, self.inputs)]
        with np.errstate(all="ignore"):
            plan = self._executor.plan(found)
        peak = max(range(len(plan.live)), key=plan.live.__getitem__, default=None)
        return MemoryPlan(
            constants=self._executor.constant_bytes,
            peak=0 if peak is None else plan.live[peak],
            layer=None if peak is None else plan.steps[peak].node.name,
        )

    def _dtype(self, port: ModelPort) -> np.dtype[Any]:
        type = TensorType(port.element_type, port.shape)
        return (widened_type(type) if self._is_wide else type).element_type.dtype


def compile_model(
    model: Model | Source,
    device_name: str = "CPU",
    *,
    weights: Literal["expand", "keep"] | WeightsSource | None = None,
    max_memory: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    precision: Precision = "f32",
) -> CompiledModel:
    """Make a network ready to run; `model` is a Model, or what `read_model` takes.

    device_name: "CPU", or "AUTO", which is the same; there are no other devices.
    weights: "expand", the default, computes values that depend on weights alone once, in the first run, for instance
        f32 from u4. "keep" computes those that take more memory than the weights in every run, and frees them again.
        Anything else is another .bin, as for `read_model`.
    max_memory: the most bytes that the tensors of a run, those in bodies among them, and folded constants may take
        together; None: the machine's memory.
    max_seconds: the most that a run may take; the time is looked at before each layer and each iteration. None: no
        limit.
    threads: the number of threads of a run; None: the environment's IR_EXEC_THREADS, or else the cores that the process
        may use. Results do not depend on it.
    precision: what the f16 and bf16 values of a network are computed in. "f32", the default, is fast, and is what
        OpenVINO's CPU plugin does with f16: values are rounded to the types of the file where Convert and ConvertLike
        say so, in variables that Assign writes, and in the outputs. Weights of 16 bits take twice their memory then,
        unless weights="keep" converts them in every run. "file" rounds after every layer; so does a network with an
        input whose element type the file leaves open.
    Raises what `read_model` raises, EvaluationError IR704 for other devices and for arguments that are no such numbers,
    and one UnsupportedError that names every operator that ir_exec does not have.
    """
    if device_name not in ("CPU", "AUTO"):
        raise EvaluationError(f'there is no device {device_name!r}, expected "CPU" or "AUTO"')
    mode = weights if isinstance(weights, str) and weights in ("expand", "keep") else None
    if not isinstance(model, Model):
        model = read_model(model, weights=None if mode else weights)
    elif weights is not None and mode is None:
        raise EvaluationError('weights is another .bin, but the model is read already, expected "expand" or "keep"')
    return CompiledModel(
        model,
        max_memory=max_memory,
        max_seconds=max_seconds,
        expand_weights=mode != "keep",
        threads=threads,
        precision=precision,
    )


def refuse_unsupported(graph: Graph) -> None:
    """Raise one UnsupportedError that names every operator without a class, and how many layers use it."""
    missing = Counter(f"{node.type} ({node.layer.version})" for node in graph.all_nodes() if node.op is None)
    if missing:
        listed = ", ".join(f"{name}: {count} layer{'s'[: count > 1]}" for name, count in sorted(missing.items()))
        message = f"{len(missing)} operator{'s'[: len(missing) > 1]} of the network cannot be run: {listed}"
        raise UnsupportedError(message, code=Code.operator_not_implemented, location=Location(path=graph.path))


def _owned(outputs: list[Array], inputs: list[Array], limits: Limits) -> list[Array]:
    """The outputs as arrays that the caller may write to: they share no memory with inputs, constants or each other."""
    owned: list[Array] = []
    for output in outputs:
        shared = any(np.may_share_memory(output, other) for other in (*inputs, *owned))
        if shared or not output.flags.writeable:
            limits.require(output.nbytes)
            output = output.copy()
            limits.keep(output)
        owned.append(output)
    return owned
