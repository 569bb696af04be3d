"""A network that is ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ir_exec.errors import Location, UnsupportedError
from ir_exec.graph import Graph, Value
from ir_exec.infer import Types, infer_types
from ir_exec.model import Model, ModelPort, Source, WeightsSource, read_model
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.loop import Observer, run_steps
from ir_exec.runtime.memory import default_budget
from ir_exec.runtime.plan import Plan, constant_values, plan_steps
from ir_exec.runtime.state import Variables
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["CompiledModel", "Results", "compile_model"]

MAX_PLANS = 32
"""How many sets of input shapes a network remembers."""


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

    def __init__(self, model: Model, *, max_memory: int | None = None) -> None:
        refuse_unsupported(model.graph)
        self._graph = model.graph
        self._weights = model.weights
        self._given = dict(model.given)
        self.inputs: list[ModelPort] = model.inputs
        self.outputs: list[ModelPort] = model.outputs
        self._max_memory = default_budget() if max_memory is None else max_memory
        self._variables = Variables()
        self._context = {"weights": model.weights, "state": self._variables}
        self._constants: dict[int, Array] | None = None
        self._plans: dict[tuple[Shape, ...], Plan] = {}
        self._types: Types = model.types

    def __call__(self, inputs: Inputs | None = None, *, observe: Observer | None = None) -> Results:
        """Run the network.

        inputs: arrays by name or position, or a sequence in the order of the inputs. They are never written to. Arrays
            of another element type are cast where every value is kept, and refused otherwise.
        observe: called after each layer with its node, its inputs and its outputs.
        Raises IRError: EvaluationError, ElementTypeError or ShapeError for inputs that do not fit and for layers that
        fail on them, ResourceError for a layer that would take more than the memory budget.
        """
        arrays = bind_inputs(inputs, self.inputs)
        slots: list[Array | None] = [None] * len(self._graph.values)
        try:
            with np.errstate(all="ignore"):
                for number, constant in self._folded().items():
                    slots[number] = constant
                plan = self._plan(arrays)
                for node, array in zip(self._graph.parameters, arrays, strict=True):
                    slots[node.outputs[0].number] = array
                run_steps(plan.steps, slots, observe)
        except BaseException:
            self._variables.discard()
            raise
        found = [slots[number] for number in plan.results]
        self._variables.commit()
        return Results(self.outputs, _owned([array for array in found if array is not None], arrays))

    def reset_state(self) -> None:
        """Forget the values of all variables: the next run starts from the initial ones."""
        self._variables.reset()

    def _folded(self) -> dict[int, Array]:
        """The constants that the plans use, and what follows from constants alone; computed once."""
        if self._constants is None:
            constant = constant_values(self._graph)
            used = {value.number for value in self._used(constant)}
            nodes = [node for node in self._graph.nodes if node.outputs and node.outputs[0] in constant]
            slots: list[Array | None] = [None] * len(self._graph.values)
            run_steps(plan_steps(nodes, self._types, used, self._context, self._max_memory), slots)
            self._constants = {number: array for number in used if (array := slots[number]) is not None}
        return self._constants

    def _used(self, constant: set[Value]) -> Iterator[Value]:
        """The constant values that a node which is not constant takes."""
        for node in self._graph.nodes:
            if not (node.outputs and node.outputs[0] in constant):
                yield from (value for value in node.values_in if value in constant)

    def _plan(self, arrays: list[Array]) -> Plan:
        key = tuple(Shape(array.shape) for array in arrays)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.pop(next(iter(self._plans)))
            plan = self._plans[key] = self._new_plan(arrays)
        return plan

    def _new_plan(self, arrays: list[Array]) -> Plan:
        given = {
            node.outputs[0]: TensorType(ElementType.of(array), Shape(array.shape))
            for node, array in zip(self._graph.parameters, arrays, strict=True)
        }
        types = infer_types(self._graph, weights=self._weights, given=given)
        constants = self._folded()
        constant = constant_values(self._graph)
        nodes = [node for node in self._graph.nodes if not (node.outputs and node.outputs[0] in constant)]
        results = [node.values_in[0].number for node in self._graph.results]
        keep = {*results, *constants}
        return Plan(plan_steps(nodes, types, keep, self._context, self._max_memory), results)


def compile_model(
    model: Model | Source, *, weights: WeightsSource | None = None, max_memory: int | None = None
) -> CompiledModel:
    """Make a network ready to run; `model` is a Model, or what `read_model` takes.

    max_memory: the most bytes that a tensor may take, the machine's memory where it is None.
    Raises what `read_model` raises, and one UnsupportedError that names every operator that ir_exec does not have.
    """
    if not isinstance(model, Model):
        model = read_model(model, weights=weights)
    return CompiledModel(model, max_memory=max_memory)


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
