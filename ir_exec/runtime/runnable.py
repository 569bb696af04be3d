"""A compiled model without state: the part that its sessions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_exec.errors import IRError
from ir_exec.infer import explained_by_weights
from ir_exec.kernels.limits import Budget, Limits, owner_of
from ir_exec.model import (
    Model,
    ModelPort,
)
from ir_exec.runtime.arguments import (
    Inputs,
)
from ir_exec.runtime.executor import Executor
from ir_exec.runtime.loop import Observer
from ir_exec.runtime.precision import (
    as_declared,
    as_f32,
)
from ir_exec.runtime.state import Drawers
from ir_exec.types import Array, ElementType, TensorType

__all__ = ["RunnableNetwork"]


@dataclass(frozen=True, slots=True)
class RunnableNetwork:
    """The state shared by the sessions of a compiled model.

    Attributes:
        variables: The variables with the types of their values.
        drawers: Layers that may keep sequences of random numbers; a run depends on the previous one if `is_stateful`.
        is_wide: If true, f16 and bf16 are computed in f32.
        rounded: The variables that keep such values.
        direct: Runs a call without the preparations of others, and returns its outputs in memory owned by the caller;
            it returns None for inputs that need these, and None after a failure.
    """

    model: Model
    executor: Executor
    inputs: list[ModelPort]
    outputs: list[ModelPort]
    variables: list[ModelPort]
    drawers: Drawers
    is_stateful: bool
    budget: Budget
    threads: int
    max_seconds: float | None
    is_wide: bool
    rounded: Mapping[str, ElementType]
    direct: Callable[[Any], list[Array] | None] | None = None

    def select(self, inputs: Inputs | None) -> tuple[RunnableNetwork, Inputs | None]:
        """Return the model for these inputs, and the inputs. This model accepts all inputs."""
        return self, inputs

    def select_other(self, inputs: Inputs | None) -> None:
        """Return the model for inputs that this one rejects: none."""

    def model_of_types(self, types: Mapping[str, TensorType]) -> None:
        """Return the model for inputs of these types, if it is another one: none."""

    @property
    def networks(self) -> list[RunnableNetwork]:
        """The models that calls have used: this one."""
        return [self]

    @property
    def specializations(self) -> list[dict[str, str]]:
        """The models that depend on the inputs of calls: none."""
        return []

    def run(self, arrays: list[Array], observe: Observer | None, limits: Limits) -> list[Array]:
        """Return the outputs in their declared types, in memory owned by the caller."""
        try:
            return self._run(arrays, observe, limits)
        except IRError as error:
            raise explained_by_weights(
                error, self.model.graph, self.model.weights, is_running=True
            ) from error.__cause__

    def _run(self, arrays: list[Array], observe: Observer | None, limits: Limits) -> list[Array]:
        if not self.is_wide:
            return _own_outputs(self.executor.run(arrays, observe), arrays, limits)
        computed = self.executor.run(list(map(as_f32, arrays)), observe)
        outputs = [as_declared(array, port.element_type) for array, port in zip(computed, self.outputs, strict=True)]
        return _own_outputs(outputs, arrays, limits)


def _own_outputs(outputs: list[Array], inputs: list[Array], limits: Limits) -> list[Array]:
    """Return the outputs as arrays that the caller may write to: they share no memory with inputs, constants or each
    other.
    """
    owned: list[Array] = []
    # Views of one array have the same owner, so only these need to be compared.
    by_owner: dict[int, list[Array]] = {}
    for argument in inputs:
        by_owner.setdefault(id(owner_of(argument)), []).append(argument)
    for output in outputs:
        owner = owner_of(output)
        others = by_owner.setdefault(id(owner), [])
        # Outputs of an engine are in memory that only the array owns.
        is_foreign = owner.base is not None and type(owner.base).__name__ != "PyCapsule"
        shared = is_foreign or any(np.may_share_memory(output, other) for other in others)
        if shared or not output.flags.writeable:
            limits.require(output.nbytes)
            output = output.copy()
            limits.keep(output)
        else:
            others.append(output)
        owned.append(output)
    return owned
