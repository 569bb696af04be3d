"""Bodies, the graphs inside a layer: the sources of their Parameters and the destinations of their Results.

Bodies are not attributes: inference and the executor pass them to a layer's operator as `bodies`. A TypedBody infers
the types of its Results from those of its Parameters; a RunningBody computes the Results from arrays. `Ties` connect
the Parameters and Results of a body to the ports of the layer.

The other context of an operator, weights and state, is defined here too.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, Protocol, TypeVar

from ir_exec.errors import EvaluationError
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.types import Array, Dim, ElementType, TensorType

__all__ = [
    "AnyValue",
    "BodyInput",
    "BodyOutput",
    "FedBackValue",
    "Iterations",
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
    """One slice of an input or output for each iteration: `part_size` elements along `axis`.

    The first slice is at `start`, the next ones follow in steps of `stride`, and the last element is at most at `end`,
    inclusive. Negative starts and ends count from the end of the axis; with a negative stride the slices go from the
    end to the beginning.

    OpenVINO's inference counts the slices in this way; its CPU plugin excludes `end` if it is not negative, and begins
    at the very end of the axis for any `start`. They agree if the slices cover the axis.
    """

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    def iterations(self, dim: Dim) -> Dim:
        """The number of slices in a dim."""
        if dim.is_static:
            return Dim(self._count(dim.size))
        if (self.start < 0) == (self.end < 0) or not dim.is_bounded:
            return Dim.any()
        # One edge moves with the end of the axis: the longer the axis, the more slices.
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
        """The slice of one iteration, a view of `data`."""
        axis = normalize_axis(self.axis, data.ndim)
        size = data.shape[axis]
        start, _ = self._edges(size)
        first = start + iteration * self.stride - (self.part_size - 1 if self.stride < 0 else 0)
        if first < 0 or first + self.part_size > size:
            message = f"iteration {iteration} takes elements {first} to {first + self.part_size - 1} of axis {axis}"
            raise EvaluationError(f"{message}, which has {size}")
        return data[(slice(None),) * axis + (slice(first, first + self.part_size),)]


class BodyInput(NamedTuple):
    """The value of a body's Parameter: the layer's input at `position` or a slice of it, or the iteration number."""

    parameter: int
    position: int | None
    part: Part | None = None
    counts_iterations: bool = False


class BodyOutput(NamedTuple):
    """A body's Result: the layer's output at `position`, a slice of it, or the condition of another iteration."""

    result: int
    position: int | None
    part: Part | None = None
    is_condition: bool = False


class FedBackValue(NamedTuple):
    """A Result of one iteration that becomes a Parameter of the next."""

    result: int
    parameter: int


class Ties(NamedTuple):
    """The connections of a body to its layer; Parameters and Results are numbered by their order in the body."""

    parameters: int
    inputs: tuple[BodyInput, ...]
    outputs: tuple[BodyOutput, ...]
    back_edges: tuple[FedBackValue, ...] = ()

    @property
    def invariant_parameters(self) -> frozenset[int]:
        """The Parameters that have the same value in every iteration."""
        return self._initial.difference([edge.parameter for edge in self.back_edges])

    @property
    def exclusive_edges(self) -> tuple[FedBackValue, ...]:
        """The back edges whose Result nothing but the next iteration reads, unless the iteration is the last one."""
        collected = [tie.result for tie in self.outputs if tie.part is not None]
        readers = Counter([edge.result for edge in self.back_edges] + collected)
        return tuple(
            [edge for edge in self.back_edges if readers[edge.result] == 1 and edge.parameter in self._initial]
        )

    @property
    def _initial(self) -> frozenset[int]:
        """The Parameters that have the value of an input in the first iteration."""
        return frozenset([tie.parameter for tie in self.inputs if tie.position is not None and tie.part is None])


class Iterations:
    """The memory of a body during the iterations of one loop.

    Attributes:
        values: Values that depend on `Ties.invariant_parameters` only, by number.
        start: The executor's state for further iterations, if all have arrays of the types of the first.
    """

    __slots__ = ("start", "values")

    def __init__(self) -> None:
        self.values: dict[int, Array] = {}
        self.start: Any = None


class TypedBody(Protocol):
    """A body during inference.

    Attributes:
        depth: The depth of nested bodies, including this one.
    """

    ties: Ties
    depth: int

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        """The types of the Results for these types of the Parameters.

        Raises:
            IRError: The faults of the body.
        """


class RunningBody(TypedBody, Protocol):
    """A body during a run."""

    def run(self, arrays: list[Array], iterations: Iterations | None = None) -> list[Array]:
        """The values of the Results for these values of the Parameters.

        Args:
            iterations: One object for all iterations of a loop, where those of `Ties.invariant_parameters` are equal.
        """

    def advance(self) -> None:
        """Make values assigned to variables visible to the next run of this body."""

    def parameter_types(self) -> list[TensorType]:
        """The types of the Parameters as the file declares them."""


AnyValue = TypeVar("AnyValue", TensorType, Array)
"""Values of bodies are passed in the same way: types in inference, arrays in a run."""


def by_position(types: dict[int, TensorType]) -> tuple[TensorType, ...]:
    """The types of the layer's outputs from a dict by position; unknown types for outputs that no body produces."""
    return tuple(types.get(position, TensorType.unknown()) for position in range(max(types, default=-1) + 1))


def known_truth(condition: TensorType) -> bool | None:
    """The value of a condition, None if it is not known."""
    value = condition.value
    return None if value is None or not value.size else bool(value.ravel()[0])


def either(first: TensorType, second: TensorType) -> TensorType:
    """The narrowest type that includes both types."""
    element_type = first.element_type if first.element_type is second.element_type else ElementType.dynamic
    return TensorType(element_type, first.shape | second.shape)


class WeightsReader(Protocol):
    """A source of constants, such as `ir.Weights`."""

    def read(self, element_type: ElementType, shape: tuple[int, ...], offset: int, size: int) -> Array:
        """The constant of this type and shape in `size` bytes at `offset`.

        Raises:
            WeightsError: If the constant is missing.
        """


class State(Protocol):
    """The variables of a model by their ids; values written in one run are read by the next."""

    def read(self, variable_id: str) -> Array | None:
        """The value written by the last run, None before the first run and after a reset."""

    def write(self, variable_id: str, value: Array) -> None:
        """Keep the value for the next run."""

    def append(self, variable_id: str, value: Array, elements: Array, axis: int) -> Array | None:
        """Return the value that was read, followed by elements along an axis; read-only.

        It is in memory with room for more, to which later runs append in place. None if the arrays cannot be there.
        """

    def reorder(self, variable_id: str, value: Array, indices: Array, axis: int, growing_axis: int) -> Array | None:
        """Return slices of the value that was read, with room to append along another axis; read-only.

        It is the value itself if the indices are 0, 1, ... for all slices. None if the slices cannot be there.
        """

    def draw(self, layer: object, count: int) -> int:
        """Return the number of random numbers drawn so far by this layer, and add `count` to it."""
