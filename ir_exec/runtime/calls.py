"""The inputs of calls bound to a model, and the model that fits them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, IRError
from ir_exec.model import Model
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.compiled import compile_model
from ir_exec.runtime.specializing import describe_aspect, similarity_key
from ir_exec.types import Array

__all__ = ["BoundCalls", "bind_calls"]


class BoundCalls(NamedTuple):
    """A complete model, and the inputs of calls in its order.

    Attributes:
        depends: As in `CompiledModel.specializations`.
    """

    model: Model
    calls: list[list[Array]]
    depends: dict[str, str]

    @property
    def summary(self) -> str | None:
        """The inputs that the model depends on, in one line; None for a model that fits all inputs."""
        parts = [f"{name}: {aspect}" for name, aspect in self.depends.items()]
        return f"specialized to {', '.join(parts)}" if parts else None


def bind_calls(model: Model, *calls: Inputs | None) -> BoundCalls:
    """Return the model that fits the inputs of all calls, and their arrays.

    Raises:
        IRError: The errors of binding the inputs and of the conversion.
        EvaluationError: For calls that need different models.
    """
    specializer = model.specializer
    if specializer is None or (specializer.has_general_model and not _contradicts(model, calls)):
        return BoundCalls(model, [bind_inputs(inputs, model.inputs) for inputs in calls], {})
    bound = [specializer.bind(inputs) for inputs in calls]
    specialized = specializer.specialize(bound[0])
    key = similarity_key(specialized.depends, bound[0])
    if any(similarity_key(specialized.depends, values) != key for values in bound):
        names = ", ".join(name for name, _ in specialized.depends)
        raise EvaluationError(
            "the model depends on", actual=names, expected="equal values in all calls", code=Code.unknown_input
        )
    depends = {name: describe_aspect(bound[0][name], aspect) for name, aspect in specialized.depends}
    return BoundCalls(specialized.model, [specialized.arrays(values) for values in bound], depends)


def _contradicts(model: Model, calls: Sequence[Inputs | None]) -> bool:
    """Return True if the inputs of a call contradict the assumptions of the general model."""
    compiled = compile_model(model)
    try:
        for inputs in calls:
            compiled(inputs)
    except IRError:
        return False
    return bool(compiled.specializations)
