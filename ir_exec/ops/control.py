"""Operators that hold graphs: If, Loop and TensorIterator.

The graphs are not attributes: who walks the layers hands them in as `bodies`. To infer, a body tells the types of its
Results from those of its Parameters; to run, it computes the Results from arrays. `Ties` say how Parameters and
Results of a body stand to the ports of the layer around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from ir_exec.errors import EvaluationError, GraphError, ShapeError
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.rules import known_int, normalize_axis
from ir_exec.types import BOOLEAN, INDEX, Array, Dim, ElementType, Shape, TensorType

__all__ = [
    "BackEdge",
    "BodyInput",
    "BodyOutput",
    "If",
    "Loop",
    "Part",
    "RunningBody",
    "TensorIterator",
    "Ties",
    "TypedBody",
]


@dataclass(frozen=True, slots=True)
class Part:
    """The parts along `axis` that the iterations take or give: `part_size` elements each, from `start` on in steps of
    `stride`, until `end`, which is included. Negative starts and ends count from the end of the axis."""

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    def iterations(self, dim: Dim) -> Dim:
        """How many parts a dim holds."""
        if not dim.is_static:
            return Dim.any()
        start, end = (edge + dim.size if edge < 0 else edge for edge in (self.start, self.end))
        return Dim((abs(end - start) + 1) // self.part_size if dim.size else 0)

    def take(self, data: Array, iteration: int) -> Array:
        """The part of one iteration, a view of `data`."""
        axis = normalize_axis(self.axis, data.ndim)
        size = data.shape[axis]
        start = self.start + size if self.start < 0 else self.start
        first = start + iteration * self.stride - (self.part_size - 1 if self.stride < 0 else 0)
        if first < 0 or first + self.part_size > size:
            raise EvaluationError(f"iteration {iteration} takes elements from {first} on, the axis has {size}")
        return data[(slice(None),) * axis + (slice(first, first + self.part_size),)]


@dataclass(frozen=True, slots=True)
class BodyInput:
    """What a Parameter of a body is fed with: the layer's input at `position` or a part of it; the number of the
    iteration where `counts_iterations`."""

    parameter: int
    position: int | None
    part: Part | None = None
    counts_iterations: bool = False


@dataclass(frozen=True, slots=True)
class BodyOutput:
    """What a Result of a body is: the layer's output at `position`, or a part of it, or the condition to go on."""

    result: int
    position: int | None
    part: Part | None = None
    is_condition: bool = False


@dataclass(frozen=True, slots=True)
class BackEdge:
    """A Result of one iteration that is a Parameter of the next."""

    result: int
    parameter: int


@dataclass(frozen=True, slots=True)
class Ties:
    """How a body is tied to its layer; Parameters and Results go by their place in the body."""

    parameters: int
    inputs: tuple[BodyInput, ...]
    outputs: tuple[BodyOutput, ...]
    back_edges: tuple[BackEdge, ...] = ()


class TypedBody(Protocol):
    """A body while types are inferred."""

    ties: Ties

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        """The types of the Results from those of the Parameters; raises what is wrong inside."""


class RunningBody(Protocol):
    """A body while the network runs."""

    ties: Ties

    def run(self, arrays: list[Array]) -> list[Array]:
        """The values of the Results from those of the Parameters."""

    def parameter_types(self) -> list[TensorType]:
        """The types of the Parameters as the file declares them."""

    def result_types(self) -> list[TensorType]:
        """The types of the Results as the file declares them; for iterations that never happen."""


@op("If", since=8)
class If(Op):
    """Runs then_body where the condition holds, else_body where it does not.

    Specification: condition/If_8. With a condition that is not known, an output may be what either body gives.
    """

    inputs = (In("condition", types=BOOLEAN), In("values", variadic=True, optional=True, mixed=True))
    views = True

    def infer(
        self, condition: TensorType, *values: TensorType, bodies: tuple[TypedBody, ...]
    ) -> tuple[TensorType, ...]:
        if condition.rank is not None and not condition.shape.size & Dim(1):
            raise ShapeError(f"condition has shape {condition.shape}, expected one element", port="condition")
        known = condition.value
        chosen = bodies if known is None else (_branch(bodies, bool(known.ravel()[0])),)
        found: dict[int, TensorType] = {}
        for body in chosen:
            results = body.infer(_arguments(body.ties, [condition, *values]))
            for output in body.ties.outputs:
                if output.position is not None:
                    type = results[output.result]
                    found[output.position] = _either(found.get(output.position, type), type)
        return _by_position(found)

    def evaluate(self, condition: Array, *values: Array, bodies: tuple[RunningBody, ...]) -> tuple[Array, ...]:
        body = _branch(bodies, bool(condition.ravel()[0]))
        results = body.run(_arguments(body.ties, [condition, *values]))
        found = {output.position: results[output.result] for output in body.ties.outputs if output.position is not None}
        return tuple(found[position] for position in sorted(found))


class _Iteration(Op):
    """What Loop and TensorIterator share: bodies that run again and again, over parts of their inputs."""

    inputs: ClassVar[tuple[In, ...]] = (In("values", variadic=True, mixed=True),)

    def _infer(
        self, body: TypedBody, values: list[TensorType], iterations: Callable[[list[TensorType]], Dim]
    ) -> tuple[TensorType, ...]:
        """The types of the outputs; `iterations` tells their number from the types of the body's Results.

        A Parameter that is fed by a back edge holds the initial value first and what the body gives afterwards: its
        type is widened until the body gives nothing that it does not hold.
        """
        types = [TensorType.unknown()] * body.ties.parameters
        for tie in body.ties.inputs:
            types[tie.parameter] = _parameter_type(tie, values)
        carried = {edge.parameter: types[edge.parameter] for edge in body.ties.back_edges}
        for parameter, type in carried.items():
            types[parameter] = type.without_values()
        results = body.infer(types)
        for _ in range(MAX_ROUNDS):
            wider = [_either(types[edge.parameter], results[edge.result], widen=True) for edge in body.ties.back_edges]
            if all(type == types[edge.parameter] for type, edge in zip(wider, body.ties.back_edges, strict=True)):
                break
            for type, edge in zip(wider, body.ties.back_edges, strict=True):
                types[edge.parameter] = type
            results = body.infer(types)
        found: dict[int, TensorType] = {}
        for output in body.ties.outputs:
            if output.position is not None:
                initial = [types[edge.parameter] for edge in body.ties.back_edges if edge.result == output.result]
                found[output.position] = _output_type(output, results[output.result], iterations(results), initial)
        return _by_position(found)

    def _evaluate(self, body: RunningBody, values: list[Array], iterations: int | None) -> tuple[Array, ...]:
        """Run the body until `iterations` are done or its condition says so; None leaves it to the condition alone."""
        ties = body.ties
        arrays: list[Array] = [np.empty(0)] * ties.parameters
        for tie in ties.inputs:
            if tie.position is not None:
                arrays[tie.parameter] = values[tie.position]
        parts: dict[int, list[Array]] = {tie.result: [] for tie in ties.outputs if tie.part is not None}
        results: list[Array] | None = None
        done = 0
        while iterations is None or done < iterations:
            for tie in ties.inputs:
                if tie.counts_iterations:
                    arrays[tie.parameter] = _counter(done, body.parameter_types()[tie.parameter])
                elif tie.part is not None and tie.position is not None:
                    arrays[tie.parameter] = tie.part.take(values[tie.position], done)
            results = body.run(arrays)
            done += 1
            for result, collected in parts.items():
                collected.append(results[result])
            for edge in ties.back_edges:
                arrays[edge.parameter] = results[edge.result]
            if not all(bool(results[tie.result].ravel()[0]) for tie in ties.outputs if tie.is_condition):
                break
        return _outputs(body, arrays, results, parts)


MAX_ROUNDS = 8
"""Each round widens a dim or a rank for good; the types of real bodies settle in two."""


@op("TensorIterator", since=1)
class TensorIterator(_Iteration):
    """Runs its body once for every part of its sliced inputs.

    Specification: infrastructure/TensorIterator_1.
    """

    def infer(self, *values: TensorType, bodies: tuple[TypedBody, ...]) -> tuple[TensorType, ...]:
        (body,) = bodies
        iterations = _parts(body.ties, list(values))
        return self._infer(body, list(values), lambda results: iterations)

    def evaluate(self, *values: Array, bodies: tuple[RunningBody, ...]) -> tuple[Array, ...]:
        (body,) = bodies
        iterations = _parts(body.ties, [TensorType.of(value) for value in values])
        if not iterations.is_static:
            raise EvaluationError("no input is sliced, so that the iterations would never end")
        return self._evaluate(body, list(values), iterations.size)


@op("Loop", since=5)
class Loop(_Iteration):
    """Runs its body until `trip_count` is reached, the body's condition fails, or both.

    A trip count of -1 stands for no limit; with a false `execution_condition` nothing runs at all, and outputs are the
    initial values and empty concatenations. Specification: infrastructure/Loop_5.
    """

    inputs = (
        In("trip_count", types=INDEX),
        In("execution_condition", types=BOOLEAN),
        In("values", variadic=True, optional=True, mixed=True),
    )

    def infer(
        self,
        trip_count: TensorType,
        execution_condition: TensorType,
        *values: TensorType,
        bodies: tuple[TypedBody, ...],
    ) -> tuple[TensorType, ...]:
        (body,) = bodies
        trips = known_int(trip_count)
        starts = _known_truth(execution_condition)

        def iterations(results: list[TensorType]) -> Dim:
            if starts is False:
                return Dim(0)
            if trips is None or trips < 0:
                return Dim.any()
            conditions = [_known_truth(results[tie.result]) for tie in body.ties.outputs if tie.is_condition]
            return Dim(trips) if starts and all(conditions) else Dim(0, trips)

        return self._infer(body, [trip_count, execution_condition, *values], iterations)

    def evaluate(
        self, trip_count: Array, execution_condition: Array, *values: Array, bodies: tuple[RunningBody, ...]
    ) -> tuple[Array, ...]:
        (body,) = bodies
        trips = int(trip_count.ravel()[0]) if bool(execution_condition.ravel()[0]) else 0
        return self._evaluate(body, [trip_count, execution_condition, *values], None if trips < 0 else trips)


AnyBody = TypeVar("AnyBody", TypedBody, RunningBody)
AnyValue = TypeVar("AnyValue", TensorType, Array)


def _branch(bodies: tuple[AnyBody, ...], condition: bool) -> AnyBody:
    return bodies[0 if condition else 1]


def _arguments(ties: Ties, values: list[AnyValue]) -> list[AnyValue]:
    """The values of a body's Parameters where each is fed by an input as it is."""
    fed = {tie.parameter: values[tie.position] for tie in ties.inputs if tie.position is not None}
    return [fed[parameter] for parameter in range(ties.parameters)]


def _by_position(found: dict[int, TensorType]) -> tuple[TensorType, ...]:
    return tuple(found.get(position, TensorType.unknown()) for position in range(max(found, default=-1) + 1))


def _known_truth(condition: TensorType) -> bool | None:
    value = condition.value
    return None if value is None or not value.size else bool(value.ravel()[0])


def _either(one: TensorType, other: TensorType, *, widen: bool = False) -> TensorType:
    """The type of a value that is of either type; `widen` gives up dims that differ, so that widening ends."""
    kind = one.element_type if one.element_type is other.element_type else ElementType.dynamic
    shape = one.shape | other.shape
    if widen and shape.dims is not None and one.shape.dims is not None:
        dims = zip(shape.dims, one.shape.dims, strict=True)
        shape = Shape([mine if mine == wider else Dim.any() for wider, mine in dims])
    return TensorType(kind, shape)


def _parts(ties: Ties, values: list[TensorType]) -> Dim:
    """How many iterations the sliced inputs ask for; GraphError where they do not agree."""
    found = Dim.any()
    for tie in ties.inputs:
        if tie.part is not None and tie.position is not None and values[tie.position].shape.dims is not None:
            shape = values[tie.position].shape
            axis = normalize_axis(tie.part.axis, len(shape))
            agreed = found & tie.part.iterations(shape[axis])
            if agreed is None:
                raise GraphError(f"the sliced inputs ask for {found} and {tie.part.iterations(shape[axis])} iterations")
            found = agreed
    return found


def _parameter_type(tie: BodyInput, values: list[TensorType]) -> TensorType:
    if tie.counts_iterations or tie.position is None:
        return TensorType.unknown()
    type = values[tie.position]
    if tie.part is None or type.shape.dims is None:
        return type
    dims = list(type.shape)
    dims[normalize_axis(tie.part.axis, len(dims))] = Dim.of(tie.part.part_size)
    return type.with_shape(Shape(dims))


def _output_type(tie: BodyOutput, type: TensorType, iterations: Dim, initial: list[TensorType]) -> TensorType:
    if tie.part is None:
        return _either(type, initial[0]) if initial and iterations.lo == 0 else type.without_values()
    if type.shape.dims is None:
        return type.without_values()
    dims = list(type.shape)
    axis = normalize_axis(tie.part.axis, len(dims))
    dims[axis] = dims[axis] * iterations
    return type.with_shape(Shape(dims))


def _outputs(
    body: RunningBody, arrays: list[Array], results: list[Array] | None, parts: dict[int, list[Array]]
) -> tuple[Array, ...]:
    """The layer's outputs in order: concatenated parts, and last values or, where nothing ran, the initial ones."""
    initial = {edge.result: arrays[edge.parameter] for edge in body.ties.back_edges}
    found: dict[int, Array] = {}
    for tie in body.ties.outputs:
        if tie.position is None:
            continue
        if tie.part is not None:
            collected = parts[tie.result]
            collected = collected[::-1] if tie.part.stride < 0 else collected
            found[tie.position] = np.concatenate(collected, tie.part.axis) if collected else _nothing(body, tie)
        elif results is not None:
            found[tie.position] = results[tie.result]
        else:
            found[tie.position] = initial[tie.result] if tie.result in initial else _nothing(body, tie)
    return tuple(found[position] for position in sorted(found))


def _counter(done: int, type: TensorType) -> Array:
    """The number of an iteration, as a scalar or a tensor of one element, whichever the body declares."""
    kind = type.element_type if type.element_type.is_known else ElementType.i64
    return np.full([1] * (type.rank or 0), done, kind.dtype)


def _nothing(body: RunningBody, tie: BodyOutput) -> Array:
    """What an output is when no iteration ran: no parts, along its axis; dims that are not known are 0."""
    type = body.result_types()[tie.result]
    sizes = [dim.size if dim.is_static else 0 for dim in type.shape.dims or ()]
    if tie.part is not None and sizes:
        sizes[normalize_axis(tie.part.axis, len(sizes))] = 0
    return np.zeros(sizes, type.element_type.dtype)
