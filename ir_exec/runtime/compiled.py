"""A network that is ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from ir_exec.errors import Location, UnsupportedError
from ir_exec.graph import Graph
from ir_exec.graph.outputs import with_outputs
from ir_exec.kernels.parallel import THREADS
from ir_exec.model import Model, ModelPort, ShapeLike, Source, WeightsSource, read_model
from ir_exec.runtime.arguments import Inputs, bind_inputs, bind_shapes
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.memory import MemoryPlan, default_budget, keep_freed_memory
from ir_exec.runtime.state import Variables
from ir_exec.runtime.threads import chosen_threads
from ir_exec.types import Array, TensorType

__all__ = ["CompiledModel", "Results", "compile_model"]


class Results(Mapping[str | int, Array]):
    """The outputs of a run: by position, or by any of their names. Iterating gives each output's name once."""

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
    """A network to call; `compile_model` makes one. Calls share the variables, so one call runs at a time."""

    def __init__(
        self,
        model: Model,
        *,
        max_memory: int | None = None,
        expand_weights: bool = True,
        threads: int | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        graph = model.graph if outputs is None else with_outputs(model.graph, outputs)
        refuse_unsupported(graph)
        self._threads = chosen_threads(threads)
        keep_freed_memory()
        self.inputs: list[ModelPort] = model.inputs
        self.outputs: list[ModelPort] = model.ports_of(graph.results)
        self._variables = Variables()
        context = {"weights": model.weights, "state": self._variables}
        budget = default_budget() if max_memory is None else max_memory
        self._executor = Executor(graph, context, budget, expand_weights=expand_weights, types=model.types)

    def __call__(self, inputs: Inputs | None = None, *, observe: Observer | None = None) -> Results:
        """Run the network.

        inputs: arrays by name or position, or a sequence in the order of the inputs. They are never written to. Arrays
            of another element type are cast where every value is kept, and refused otherwise.
        observe: called after each layer with its node, its inputs and its outputs.
        Raises IRError: EvaluationError, ElementTypeError or ShapeError for inputs that do not fit and for layers that
        fail on them, ResourceError where the run would take more than the memory budget.
        """
        arrays = bind_inputs(inputs, self.inputs)
        around = THREADS.set(self._threads)
        try:
            with np.errstate(all="ignore"):
                found = self._executor.run(arrays, observe)
        except BaseException:
            self._variables.discard()
            raise
        finally:
            THREADS.reset(around)
        self._variables.commit()
        return Results(self.outputs, _owned(found, arrays))

    def memory_plan(self, shapes: Mapping[str | int, ShapeLike] | None = None) -> MemoryPlan:
        """What a run on inputs of these shapes takes, without running it; inputs of static shape may be left out.

        Tensors whose shapes depend on values are not known before, and count as if they were empty where they may be.
        Raises what planning a call raises, and ShapeError IR506 for an input whose shape stays open.
        """
        found = [(port.element_type.dtype, shape) for port, shape in bind_shapes(shapes, self.inputs)]
        with np.errstate(all="ignore"):
            plan = self._executor.plan(found)
        peak = max(range(len(plan.live)), key=plan.live.__getitem__, default=None)
        return MemoryPlan(
            constants=self._executor.constant_bytes,
            peak=0 if peak is None else plan.live[peak],
            layer=None if peak is None else plan.steps[peak].node.name,
        )

    def reset_state(self) -> None:
        """Forget the values of all variables: the next run starts from the initial ones."""
        self._variables.reset()


def compile_model(
    model: Model | Source,
    *,
    weights: Literal["expand", "keep"] | WeightsSource | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    outputs: Sequence[str] | None = None,
) -> CompiledModel:
    """Make a network ready to run; `model` is a Model, or what `read_model` takes.

    weights: "expand" (as without it) computes once, in the first run, what follows from weights alone, such as f32
        made of u4; "keep" computes what takes more memory than the weights themselves in every run, and frees it again.
        Anything else is another .bin, as for `read_model`.
    max_memory: the most bytes that the tensors of a run may take together, the machine's memory where it is None.
    threads: how many threads a run may use; where it is None the environment's IR_EXEC_THREADS, and where that is not
        set the cores that the process may use. Every number gives the same results.
    outputs: names of tensors or layers (`split:1` where a layer has several outputs) whose values are the outputs, in
        this order, instead of those of the network. Only what they and the variables need is computed.
    Raises what `read_model` raises, EvaluationError IR704 for a number of threads below 1 and IR705 for outputs that do
    not exist, and one UnsupportedError
    that names every operator that ir_exec does not have.
    """
    mode = weights if isinstance(weights, str) and weights in ("expand", "keep") else None
    if not isinstance(model, Model):
        model = read_model(model, weights=None if mode else weights)
    return CompiledModel(model, max_memory=max_memory, expand_weights=mode != "keep", threads=threads, outputs=outputs)


def refuse_unsupported(graph: Graph) -> None:
    """Raise one UnsupportedError that names every operator without a class, and how many layers use it."""
    missing = Counter(f"{node.type} ({node.layer.version})" for node in graph.all_nodes() if node.op is None)
    if missing:
        listed = ", ".join(f"{name}: {count} layer{'s'[: count > 1]}" for name, count in sorted(missing.items()))
        message = f"{len(missing)} operator{'s'[: len(missing) > 1]} of the network cannot be run: {listed}"
        raise UnsupportedError(message, code="IR901", location=Location(path=graph.path))


def _owned(outputs: list[Array], inputs: list[Array]) -> list[Array]:
    """The outputs as arrays that the caller may write to: no memory of inputs, constants or each other."""
    owned: list[Array] = []
    for output in outputs:
        shared = any(np.may_share_memory(output, other) for other in (*inputs, *owned))
        owned.append(output.copy() if shared or not output.flags.writeable else output)
    return owned
