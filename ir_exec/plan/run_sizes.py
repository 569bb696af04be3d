"""The sizes at the start of a run, and the types and values of a plan that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ir_exec.graph import Node
from ir_exec.types import Array, TensorType
from ir_exec.types.traced_size import SizeTrace

__all__ = ["EvaluatesSlots", "RunSizes", "SizedSlots", "TracedTypes"]


class RunSizes(NamedTuple):
    """The sizes at the start of a run.

    Attributes:
        inputs: The shapes of the inputs.
        variables: The shapes of the variables that have a value, and that no body assigns.
    """

    inputs: tuple[tuple[int, ...], ...]
    variables: tuple[tuple[str, tuple[int, ...]], ...]


EvaluatesSlots: TypeAlias = Callable[..., "tuple[int, tuple[Array, ...]] | None"]


@dataclass(frozen=True, slots=True)
class SizedSlots:
    """The values of a plan that follow from the sizes of a run.

    Attributes:
        numbers: Their slots.
        inputs: The positions of the inputs whose sizes are read.
        variables: The variables whose sizes are read.
        evaluate: Computes the bytes of all tensors whose sizes are traced, and the values, from these sizes; None if
            the plan does not apply to them.
    """

    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    variables: tuple[str, ...]
    evaluate: EvaluatesSlots

    def bind(self, sizes: RunSizes) -> tuple[int, tuple[Array, ...]] | None:
        """Return the bytes and the values for the sizes of a run; None if the plan does not apply to them."""
        shapes = dict(sizes.variables)
        variables = [shapes.get(name) for name in self.variables]
        if None in variables:
            return None
        return self.evaluate(*[sizes.inputs[position] for position in self.inputs], *variables)


@dataclass(slots=True)
class TracedTypes:
    """Types of a plan as expressions of the sizes of a run.

    Attributes:
        types: The types with traced dims and elements, by the numbers of the values.
        nodes: The nodes whose inputs and outputs all have such types; they need no inference in a run.
        comparisons: The comparisons of all inferences.
        names: The names in expressions, by the positions of inputs and by variables.
    """

    types: dict[int, TensorType] = field(default_factory=dict)
    nodes: set[Node] = field(default_factory=set)
    comparisons: SizeTrace = field(default_factory=SizeTrace)
    names: dict[int | str, str] = field(default_factory=dict)
