"""Bodies, the graphs inside a layer: where their Parameters get values from, and where their Results go.

Bodies are not attributes: inference and the executor pass them to a layer's operator as `bodies`. A TypedBody infers
the types of its Results from those of its Parameters; a RunningBody computes the Results from arrays. `Ties` say how
the Parameters and Results of a body are tied to the ports of the layer.

What else an operator may ask for beyond its inputs, weights and state, is here too.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from ir_exec.errors import EvaluationError
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.types import Array, Dim, ElementType, TensorType

__all__ = [
    "AnyValue",
    "BodyInput",
    "BodyOutput",
    "FedBackValue",
    "Part",
    "RunningBody",
    "State",
    "Ties",
    "TypedBody",
    "WeightsReader",
    "by_position",
    "either",
    "known_truth",
]


class Part(NamedTuple):
    """One part of an input or output for each iteration: `part_size` elements along `axis`.

    The first part is at `start`, the next ones follow in steps of `stride`, and the last element is at `end` at most,
    which is included. Negative starts and ends count from the end of the axis; with a negative stride the parts go from
    the end to the beginning.

    So OpenVINO's inference counts the parts; its CPU plugin excludes `end` where it is not negative, and begins at the
    very end of the axis wherever `start` is. They agree where the parts cover the axis.
    """

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    def iterations(self, dim: Dim) -> Dim:
        """How many parts a dim holds."""
        if dim.is_static:
            return Dim(self._count(dim.size))
        if (self.start < 0) == (self.end < 0) or not dim.is_bounded:
            return Dim.any()
        # One edge moves with the end of the axis: the longer the axis, the more parts.
        counts = sorted((self._count(dim.lo), self._count(dim.hi)))
        return Dim(*counts)

    def _count(self, size: int) -> int:
        start, end = self._edges(size)
        length = start - end + 1 if self.stride < 0 else end - start + 1
        return max((length - self.part_size) // abs(self.stride) + 1, 0) if size else 0

    def _edges(self, size: int) -> tuple[int, int]:
        start = self.start + size if self.start < 0 else self.start
        end = self.end + size if self.end < 0 else self.end
        return start, end

    def take(self, data: Array, iteration: int) -> Array:
        """The part of one iteration, a view of `data`."""
        axis = normalize_axis(self.axis, data.ndim)
        size = data.shape[axis]
        start, _ = self._edges(size)
        first = start + iteration * self.stride - (self.part_size - 1 if self.stride < 0 else 0)
        if first < 0 or first + self.part_size > size:
            message = f"iteration {iteration} takes elements {first} to {first + self.part_size - 1} of axis {axis}"
            raise EvaluationError(f"{message}, which has {size}")
        return data[(slice(None),) * axis + (slice(first, first + self.part_size),)]


class BodyInput(NamedTuple):
    """The value of a body's Parameter: the layer's input at `position` or a part of it; the number of the iteration
    where `counts_iterations`."""

    parameter: int
    position: int | None
    part: Part | None = None
    counts_iterations: bool = False


class BodyOutput(NamedTuple):
    """A body's Result: the layer's output at `position`, a part of it, or whether another iteration follows."""

    result: int
    position: int | None
    part: Part | None = None
    is_condition: bool = False


class FedBackValue(NamedTuple):
    """A Result of one iteration that is the value of a Parameter in the next."""

    result: int
    parameter: int


class Ties(NamedTuple):
    """How a body is tied to its layer; Parameters and Results are numbered in their order in the body."""

    parameters: int
    inputs: tuple[BodyInput, ...]
    outputs: tuple[BodyOutput, ...]
    back_edges: tuple[FedBackValue, ...] = ()

    @property
    def fixed(self) -> frozenset[int]:
        """The Parameters that have the same value in every iteration."""
        whole = [tie.parameter for tie in self.inputs if tie.position is not None and tie.part is None]
        return frozenset(whole).difference([edge.parameter for edge in self.back_edges])


class TypedBody(Protocol):
    """A body while types are inferred.

    depth: the depth of nested bodies, this one included.
    """

    ties: Ties
    depth: int

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        """The types of the Results from those of the Parameters; raises what is wrong inside."""


class RunningBody(TypedBody, Protocol):
    """A body while the network runs."""

    def run(self, arrays: list[Array], kept: dict[int, Array] | None = None) -> list[Array]:
        """The values of the Results from those of the Parameters.

        kept: in an iteration, where the body leaves for the next ones what follows from `Ties.fixed` alone; first
        empty.
        """

    def advance(self) -> None:
        """Let the next run of this body read what the last one has assigned to variables."""

    def parameter_types(self) -> list[TensorType]:
        """The types of the Parameters as the file declares them."""


AnyValue = TypeVar("AnyValue", TensorType, Array)
"""Inference and a run pass values to bodies in the same way: here types, there arrays."""


def by_position(found: dict[int, TensorType]) -> tuple[TensorType, ...]:
    """The types of the layer's outputs from a dict by position; unknown where no body gives the output."""
    return tuple(found.get(position, TensorType.unknown()) for position in range(max(found, default=-1) + 1))


def known_truth(condition: TensorType) -> bool | None:
    """The value of a condition, None where it is not known."""
    value = condition.value
    return None if value is None or not value.size else bool(value.ravel()[0])


def either(one: TensorType, other: TensorType) -> TensorType:
    """The narrowest type that values of both types fit."""
    kind = one.element_type if one.element_type is other.element_type else ElementType.dynamic
    return TensorType(kind, one.shape | other.shape)


class WeightsReader(Protocol):
    """Where constants are read from; `ir.Weights` is one."""

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """The constant of this type and shape in `size` bytes from `offset` on; WeightsError if there is none."""


class State(Protocol):
    """The variables of a network by their ids; the next run reads what one run writes."""

    def read(self, variable_id: str) -> Array | None:
        """The value that the last run has written, None before the first run and after a reset."""

    def write(self, variable_id: str, value: Array) -> None:
        """Keep the value for the next run."""

    def draw(self, layer: object, count: int) -> int:
        """The number of random numbers that this layer has drawn before; it now draws `count` more."""
