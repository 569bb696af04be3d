"""Compiled models: networks that are ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, Literal

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import Location, UnsupportedError
from ir_exec.graph import Graph
from ir_exec.kernels.parallel import THREADS
from ir_exec.model import Model, ModelPort, ShapeLike, Source, WeightsSource, described, described_in_html, read_model
from ir_exec.runtime.arguments import Inputs, bind_inputs, bind_shapes
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
from ir_exec.runtime.state import Variables
from ir_exec.runtime.threads import chosen_threads
from ir_exec.types import Array, TensorType

__all__ = ["CompiledModel", "Results", "compile_model"]


class Results(Mapping[str | int, Array]):
    """The outputs of a run, by position or by any of their names. Iteration gives one name of each output."""

    def __init__(self, ports: list[ModelPort], arrays: list[Array]) -> None:
        self._ports = ports
        self._arrays = arrays

    def __getitem__(self, key: str | int) -> Array:
        if isinstance(key, (int, np.integer)):
            return self._arrays[key]
        for port, array in zip(self._ports, self._arrays, strict=True):
            if key == port.name:
                return array
        for port, array in zip(self._ports, self._arrays, strict=True):
            if key in port.names:
                return array
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([port.name for port in self._ports])

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        types = [TensorType.of(array) for array in self._arrays]
        return f"Results({', '.join(f'{port.name}: {type}' for port, type in zip(self._ports, types, strict=True))})"


class CompiledModel:
    """A network to call; `compile_model` makes one. Calls share the variables, so one call runs at a time.

    It can be copied and pickled as a Model can, so process pools take it. The copy is compiled anew with the same
    options, and its variables have their initial values, as after `reset_state`.
    """

    def __init__(
        self,
        model: Model,
        *,
        max_memory: int | None = None,
        expand_weights: bool = True,
        threads: int | None = None,
        precision: Precision = "f32",
    ) -> None:
        refuse_unsupported(model.graph)
        # Whoever compiled the model may reshape it.
        self._model = copy(model)
        self._options: dict[str, Any] = {
            "max_memory": max_memory,
            "expand_weights": expand_weights,
            "threads": threads,
            "precision": precision,
        }
        self._threads = chosen_threads(threads)
        self.inputs: list[ModelPort] = model.inputs
        self.outputs: list[ModelPort] = model.outputs
        wide = run_as_f32(model) if checked_precision(precision) == "f32" else AS_IN_FILE
        self._is_wide = bool(wide.ops)
        self._variables = Variables(wide.variables)
        context = {"weights": model.weights, "state": self._variables}
        budget = default_budget() if max_memory is None else max_memory
        types = None if self._is_wide else model.types
        self._executor = Executor(
            model.graph, context, budget, expand_weights=expand_weights, types=types, ops=wide.ops
        )

    def __repr__(self) -> str:
        return described(type(self).__name__, self._model)

    def _repr_html_(self) -> str:
        return described_in_html(type(self).__name__, self._model)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self._model,)

    def __call__(self, inputs: Inputs | None = None, *, observe: Observer | None = None) -> Results:
        """Run the network.

        inputs: arrays by name or position, or a sequence in the order of the inputs; they are never written to. Arrays
            of another element type are cast where the cast keeps every value, and refused otherwise.
        observe: called after each layer with its node, its inputs and its outputs, as they are computed: with f32 for
            the f16 and bf16 of the file, unless the precision is "file".
        Raises IRError: EvaluationError, ElementTypeError or ShapeError for inputs that do not fit and for layers that
        fail on them, ResourceError where the run exceeds the memory budget.
        """
        arrays = bind_inputs(inputs, self.inputs)
        around = THREADS.set(self._threads)
        try:
            with np.errstate(all="ignore"):
                computed = self._executor.run(list(map(as_f32, arrays)) if self._is_wide else arrays, observe)
                found = self._as_declared(computed) if self._is_wide else computed
        except BaseException:
            self._variables.discard()
            raise
        finally:
            THREADS.reset(around)
        self._variables.commit()
        return Results(self.outputs, _owned(found, arrays))

    def memory_plan(self, shapes: Mapping[str | int, ShapeLike] | None = None) -> MemoryPlan:
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

    def reset_state(self) -> None:
        """Give all variables their initial values."""
        self._variables.reset()

    def _dtype(self, port: ModelPort) -> np.dtype[Any]:
        type = TensorType(port.element_type, port.shape)
        return (widened_type(type) if self._is_wide else type).element_type.dtype

    def _as_declared(self, outputs: list[Array]) -> list[Array]:
        """Outputs of a run in f32, rounded to 16-bit floats where the network says so."""
        return [as_declared(array, port.element_type) for array, port in zip(outputs, self.outputs, strict=True)]


def compile_model(
    model: Model | Source,
    *,
    weights: Literal["expand", "keep"] | WeightsSource | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    precision: Precision = "f32",
) -> CompiledModel:
    """Make a network ready to run; `model` is a Model, or what `read_model` takes.

    weights: "expand", the default, computes values that depend on weights alone once, in the first run, for instance
        f32 from u4. "keep" computes those that take more memory than the weights in every run, and frees them again.
        Anything else is another .bin, as for `read_model`.
    max_memory: the most bytes that the tensors of a run may take together; None: the machine's memory.
    threads: the number of threads of a run; None: the environment's IR_EXEC_THREADS, or else the cores that the process
        may use. Results do not depend on it.
    precision: what the f16 and bf16 values of a network are computed in. "f32", the default, is fast, and is what
        OpenVINO's CPU plugin does with f16: values are rounded to the types of the file where Convert and ConvertLike
        say so, in variables that Assign writes, and in the outputs. Weights of 16 bits take twice their memory then,
        unless weights="keep" converts them in every run. "file" rounds after every layer; so does a network with an
        input whose element type the file leaves open.
    Raises what `read_model` raises, EvaluationError IR704 for a number of threads below 1 and for another precision,
    and one UnsupportedError that names every operator that ir_exec does not have.
    """
    mode = weights if isinstance(weights, str) and weights in ("expand", "keep") else None
    if not isinstance(model, Model):
        model = read_model(model, weights=None if mode else weights)
    return CompiledModel(
        model, max_memory=max_memory, expand_weights=mode != "keep", threads=threads, precision=precision
    )


def refuse_unsupported(graph: Graph) -> None:
    """Raise one UnsupportedError that names every operator without a class, and how many layers use it."""
    missing = Counter(f"{node.type} ({node.layer.version})" for node in graph.all_nodes() if node.op is None)
    if missing:
        listed = ", ".join(f"{name}: {count} layer{'s'[: count > 1]}" for name, count in sorted(missing.items()))
        message = f"{len(missing)} operator{'s'[: len(missing) > 1]} of the network cannot be run: {listed}"
        raise UnsupportedError(message, code=Code.operator_not_implemented, location=Location(path=graph.path))


def _owned(outputs: list[Array], inputs: list[Array]) -> list[Array]:
    """The outputs as arrays that the caller may write to: they share no memory with inputs, constants or each other."""
    owned: list[Array] = []
    for output in outputs:
        shared = any(np.may_share_memory(output, other) for other in (*inputs, *owned))
        owned.append(output.copy() if shared or not output.flags.writeable else output)
    return owned
