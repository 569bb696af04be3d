"""TensorIterator and Loop, which run their body, a graph, once for each iteration.

`Ties` of `ops/base/bodies.py` connect the body's Parameters and Results to the ports of the layer.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import ClassVar

import numpy as np

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, ResourceError, ShapeError
from ir_exec.kernels.limits import MOST_ITERATIONS, current_limits, owners
from ir_exec.ops.base import In, Op, op
from ir_exec.ops.base.bodies import (
    AnyValue,
    BodyInput,
    BodyOutput,
    Iterations,
    Part,
    RunningBody,
    Ties,
    TypedBody,
    by_position,
    either,
    known_truth,
)
from ir_exec.ops.base.inputs import Usual, ValueRange
from ir_exec.ops.base.shapes import known_int, normalize_axis
from ir_exec.types import BOOLEAN, INDEX, Array, Dim, ElementType, Shape, TensorType

__all__ = ["Loop", "TensorIterator"]


_MAX_ROUNDS = 4
"""Maximum number of rounds that widen the types of a body: each widens a dim or a rank, and real bodies need two."""

_MAX_DEPTH = 4
"""Maximum depth of bodies with such rounds, which multiply with each nested body: this bounds the time of inference."""

_PART_OVERHEAD = 128
"""Bytes per slice in addition to its elements, even for a view, until the slices are joined."""

_SMALL = 2**10
"""Maximum bytes of a Result that is not counted, unless it is kept as a slice of an output."""

_PATIENCE = 1000
"""Number of iterations of a loop without a trip count after which a check determines if it can end."""


class _Iteration(Op):
    """The base of Loop and TensorIterator.

    Inputs:
        values: Any shapes and types; by the port map, the body gets all of each, a slice, or an initial value.

    Outputs:
        output: Results of the last iteration, or concatenated Results of all iterations; there may be several.
    """

    inputs: ClassVar[tuple[In, ...]] = (In("values", variadic=True, mixed=True),)
    body_names = ("body",)
    may_alias = True

    def _infer(
        self, body: TypedBody, values: list[TensorType], iterations: Callable[[list[TensorType]], Dim]
    ) -> tuple[TensorType, ...]:
        """The types of the outputs; `iterations` returns the number of iterations for the types of the Results."""
        types = _parameter_types(body.ties, values)
        initial = {edge.result: types[edge.parameter] for edge in body.ties.back_edges}
        results = _types_of_any_iteration(body, types)
        count = iterations(results)
        return by_position(
            {
                tie.position: _output_type(tie, results[tie.result], count, initial.get(tie.result))
                for tie in body.ties.outputs
                if tie.position is not None
            }
        )

    def _evaluate(self, body: RunningBody, values: list[Array], iterations: int | None) -> tuple[Array, ...]:
        """Run the body `iterations` times or until its condition is false; None: until its condition is false."""
        if iterations is not None and iterations > MOST_ITERATIONS:
            if _always_goes_on(body, values):
                raise _too_many(iterations)
            # Converters write the largest integer for an unknown trip count; such loops end by their condition.
            iterations = None
        ties = body.ties
        arrays: list[Array] = [np.empty(0)] * ties.parameters
        for tie in ties.inputs:
            if tie.position is not None:
                arrays[tie.parameter] = values[tie.position]
        for edge in ties.back_edges:
            # Layers of the body may overwrite the value of an iteration before, but not the initial one.
            arrays[edge.parameter] = initial = arrays[edge.parameter].view()
            initial.flags.writeable = False
        sliced = _slice_inputs(ties, values)
        counters = _counters(body)
        conditions = [tie.result for tie in ties.outputs if tie.is_condition]
        parts: dict[int, list[Array]] = {tie.result: [] for tie in ties.outputs if tie.part is not None}
        results: list[Array] | None = None
        iterated = Iterations()
        done = 0
        limits, arguments = current_limits(), owners(values)
        while iterations is None or done < iterations:
            limits.iterate(done * len(parts) * _PART_OVERHEAD)
            for parameter, part, data in sliced:
                arrays[parameter] = part.take(data, done)
            for parameter, counter in counters.items():
                arrays[parameter] = number = np.empty(counter.shape, counter.dtype)
                number.fill(done)
            before, results = results, body.run(arrays, iterated)
            body.advance()
            done += 1
            for result, array in enumerate(results):
                # A small Result that is not kept as a slice is freed after the next iteration.
                if (array.nbytes > _SMALL or result in parts) and (before is None or array is not before[result]):
                    limits.keep(array, excluded=arguments)
            before = None
            for result, collected in parts.items():
                collected.append(results[result])
            for result, parameter in ties.back_edges:
                arrays[parameter] = results[result]
            if not all([results[result].item(0) for result in conditions]):  # noqa: C419  # faster than a generator
                break
            if done == _PATIENCE and iterations is None and _always_goes_on(body, values):
                raise _endless()
        if results is None:
            return _outputs_of_nothing(body, values)
        return _outputs(ties, results, parts)


@op("TensorIterator", since=1)
class TensorIterator(_Iteration):
    """Run the body once for every slice of the sliced inputs; `Part` defines the slices.

    Without a sliced input, as in OpenVINO, the number of iterations is the number of slices of the concatenated outputs
    between `start` and `end`, or one if no output is concatenated.

    Specification: infrastructure/tensor-iterator-1.

    Raises:
        IRError: IR502 if the sliced inputs have different numbers of slices, IR704 if slices of an output have
            different shapes.
    """

    def infer(self, *values: TensorType, bodies: tuple[TypedBody, ...]) -> tuple[TensorType, ...]:
        (body,) = bodies
        iterations = _parts(body.ties, list(values))
        return self._infer(body, list(values), lambda results: iterations)

    def evaluate(self, *values: Array, bodies: tuple[RunningBody, ...]) -> tuple[Array, ...]:
        (body,) = bodies
        return self._evaluate(body, list(values), _parts(body.ties, [TensorType.of(value) for value in values]).size)


@op("Loop", since=5)
class Loop(_Iteration):
    """Run the body until it has run `trip_count` times or its condition is false.

    Specification: infrastructure/loop-5.

    Inputs:
        trip_count: One integer; no limit if it is negative.
        execution_condition: One boolean; if it is false, the body does not run at all. Then an output of a back edge is
            its initial value, a concatenated one has no slices, and any other is zeros, as in OpenVINO; but if
            execution_condition is false in inference, outputs have no elements in OpenVINO.

    Raises:
        IRError: IR704 for a slice outside of an input, and for a loop that is known never to end.
    """

    inputs = (
        In("trip_count", types=INDEX, domain=ValueRange(2, 3, "the number of iterations")),
        In("execution_condition", types=BOOLEAN, domain=Usual(1, "the condition of a loop")),
        In("values", variadic=True, optional=True, mixed=True),
    )
    own_inputs = 2
    has_condition = True

    def infer(
        self,
        trip_count: TensorType,
        execution_condition: TensorType,
        *values: TensorType,
        bodies: tuple[TypedBody, ...],
    ) -> tuple[TensorType, ...]:
        (body,) = bodies
        _require_one_element(trip_count, "trip_count")
        _require_one_element(execution_condition, "execution_condition")
        trips = known_int(trip_count)
        starts = known_truth(execution_condition)

        def iterations(results: list[TensorType]) -> Dim:
            if starts is False or trips == 0:
                return Dim(0)
            least = 1 if starts and trips is not None else 0
            goes_on = _goes_on(body.ties, results)
            if goes_on is False:
                return Dim(least, 1)
            if trips is None or trips < 0:
                if goes_on and least:
                    raise _endless()
                return Dim(least, Dim.any().hi)
            return Dim(trips) if starts and goes_on else Dim(least, trips)

        return self._infer(body, [trip_count, execution_condition, *values], iterations)

    def evaluate(
        self, trip_count: Array, execution_condition: Array, *values: Array, bodies: tuple[RunningBody, ...]
    ) -> tuple[Array, ...]:
        (body,) = bodies
        trips = int(trip_count.ravel()[0]) if bool(execution_condition.ravel()[0]) else 0
        return self._evaluate(body, [trip_count, execution_condition, *values], None if trips < 0 else trips)


def _require_one_element(tensor: TensorType, name: str) -> None:
    """Require one element in any rank, which `shapes.require_one_element` does not allow."""
    if tensor.rank is not None and tensor.shape.size & Dim(1) is None:
        raise ShapeError(
            f"{name} has shape", actual=tensor.shape, expected="one element", code=Code.dims_differ, port=name
        )


def _too_many(iterations: int) -> ResourceError:
    return ResourceError(f"{iterations:,} iterations or more, the limit is {MOST_ITERATIONS:,}")


def _goes_on(ties: Ties, results: list[TensorType]) -> bool | None:
    """The condition of the body after an iteration, None if it is not known."""
    conditions = [known_truth(results[tie.result]) for tie in ties.outputs if tie.is_condition]
    if False in conditions:
        return False
    return None if None in conditions else True


def _endless() -> EvaluationError:
    return EvaluationError("the loop never ends: it has no trip_count and the condition of its body is always true")


def _always_goes_on(body: RunningBody, values: list[Array]) -> bool:
    """Return True if the condition of the body is known to be true after every iteration."""
    types = _parameter_types(body.ties, [TensorType.of(value) for value in values])
    return _goes_on(body.ties, _types_of_any_iteration(body, types)) is True


def _parameter_types(ties: Ties, values: list[TensorType]) -> list[TensorType]:
    """The types of a body's Parameters in the first iteration; unknown without an input."""
    types = [TensorType.unknown()] * ties.parameters
    for tie in ties.inputs:
        if tie.position is not None and not tie.counts_iterations:
            types[tie.parameter] = _sliced_type(tie, values[tie.position])
    for edge in ties.back_edges:
        types[edge.parameter] = types[edge.parameter].without_values()
    return types


def _sliced_type(tie: BodyInput, type: TensorType) -> TensorType:
    if tie.part is None or type.shape.dims is None:
        return type
    dims = list(type.shape)
    dims[normalize_axis(tie.part.axis, len(dims))] = Dim.of(tie.part.part_size)
    return type.with_shape(Shape(dims))


def _types_of_any_iteration(body: TypedBody, types: list[TensorType]) -> list[TensorType]:
    """The types of the Results in any iteration; `types` of the Parameters are widened in place.

    A Parameter with a back edge has the initial value first, and then the value of a Result: its type is widened until
    it includes the type of the Result.
    """
    edges = body.ties.back_edges
    for _ in range(_MAX_ROUNDS if body.depth <= _MAX_DEPTH else 0):
        results = body.infer(types)
        wider = [_widen_type(types[edge.parameter], results[edge.result]) for edge in edges]
        if all(type == types[edge.parameter] for type, edge in zip(wider, edges, strict=True)):
            return results
        for type, edge in zip(wider, edges, strict=True):
            types[edge.parameter] = type
    for edge in edges:
        types[edge.parameter] = types[edge.parameter].with_shape(Shape.unknown())
    return body.infer(types)


def _widen_type(type: TensorType, other: TensorType) -> TensorType:
    """A type that includes both, with dynamic dims for unequal ones to end widening soon."""
    wider = either(type, other)
    if wider.shape.dims is None or type.shape.dims is None:
        return wider
    dims = zip(type.shape, wider.shape, strict=True)
    return wider.with_shape(Shape([before if before == after else Dim.any() for before, after in dims]))


def _parts(ties: Ties, values: list[TensorType]) -> Dim:
    """The number of iterations of a TensorIterator.

    Raises:
        ShapeError: If its sliced inputs do not agree.
    """
    sliced = _slice_inputs(ties, values)
    if not sliced:
        lengths = [abs(tie.part.end - tie.part.start) // tie.part.part_size for tie in ties.outputs if tie.part]
        return Dim(lengths[0] if lengths else 1)
    agreed = Dim.any()
    for _, part, type in sliced:
        if type.shape.dims is not None:
            iterations = part.iterations(type.shape[normalize_axis(part.axis, len(type.shape))])
            met = agreed & iterations
            if met is None:
                raise ShapeError(
                    "the sliced inputs have",
                    actual=f"{agreed} and {iterations}",
                    detail="slices",
                    expected="equal numbers",
                    code=Code.dims_differ,
                )
            agreed = met
    return agreed


def _slice_inputs(ties: Ties, values: list[AnyValue]) -> list[tuple[int, Part, AnyValue]]:
    """The Parameters that get a slice of an input in each iteration: parameter, slice, input."""
    return [
        (tie.parameter, tie.part, values[tie.position])
        for tie in ties.inputs
        if tie.part is not None and tie.position is not None
    ]


def _output_type(tie: BodyOutput, type: TensorType, iterations: Dim, initial: TensorType | None) -> TensorType:
    if tie.part is None:
        return _last_type(type, initial) if initial is not None and iterations.lo == 0 else type.without_values()
    if type.shape.dims is None:
        return type.without_values()
    # Scalars are concatenated into a vector.
    dims = list(type.shape) or [Dim(1)]
    axis = normalize_axis(tie.part.axis, len(dims))
    dims[axis] = dims[axis] * iterations
    return type.with_shape(Shape(dims))


def _last_type(type: TensorType, initial: TensorType) -> TensorType:
    """The type of a last value that is the initial one if the body never runs.

    As in OpenVINO, unknown sizes of the initial value are taken from the Result.
    """
    last = either(type, initial)
    if type.shape.dims is None or initial.shape.dims is None:
        return type.without_values() if initial.shape.dims is None else last
    if len(type.shape) != len(initial.shape):
        return last
    pairs = zip(type.shape, initial.shape, strict=True)
    return last.with_shape(Shape([dim if dim & before is not None else dim | before for dim, before in pairs]))


def _outputs(ties: Ties, results: list[Array], parts: dict[int, list[Array]]) -> tuple[Array, ...]:
    """The layer's outputs in their order: concatenated slices and last values."""
    by_output: dict[int, Array] = {}
    for tie in ties.outputs:
        if tie.position is not None:
            last = results[tie.result]
            by_output[tie.position] = last if tie.part is None else _concatenate_parts(tie, parts[tie.result])
    return tuple(by_output[position] for position in sorted(by_output))


def _concatenate_parts(tie: BodyOutput, parts: list[Array]) -> Array:
    assert tie.part is not None
    axis = normalize_axis(tie.part.axis, max(parts[0].ndim, 1))
    limits = current_limits()
    limits.require(sum([part.nbytes for part in parts]))
    shapes = {part.shape for part in parts}
    if len({(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        actual = " and ".join(str(list(shape)) for shape in sorted(shapes)[:2])
        raise EvaluationError(f"parts of output {tie.position} do not fit together along axis {axis}: {actual}")
    if () in shapes:
        parts = [part.reshape(1) for part in parts]
    complete = np.concatenate(parts[::-1] if tie.part.stride < 0 else parts, axis)
    limits.keep(complete)
    return complete


def _outputs_of_nothing(body: RunningBody, values: list[Array]) -> tuple[Array, ...]:
    """The layer's outputs without an iteration: initial values, and no slices; unknown dims are 0."""
    types = _parameter_types(body.ties, [TensorType.of(value) for value in values])
    results = _types_of_any_iteration(body, types)
    arguments = {tie.parameter: values[tie.position] for tie in body.ties.inputs if tie.position is not None}
    initial = {edge.result: arguments[edge.parameter] for edge in body.ties.back_edges}
    by_output: dict[int, Array] = {}
    for tie in body.ties.outputs:
        if tie.position is not None:
            type = _output_type(tie, results[tie.result], Dim(0), None)
            sizes = [dim.size if dim.is_static else 0 for dim in type.shape.dims or ()]
            is_initial = tie.part is None and tie.result in initial
            if not is_initial:
                current_limits().require(prod(sizes) * type.element_type.dtype.itemsize)
            by_output[tie.position] = initial[tie.result] if is_initial else np.zeros(sizes, type.element_type.dtype)
    return tuple(by_output[position] for position in sorted(by_output))


def _counters(body: RunningBody) -> dict[int, Array]:
    """An array of the declared type, a scalar or one element, for each Parameter that counts iterations."""
    counting = [tie.parameter for tie in body.ties.inputs if tie.counts_iterations]
    if not counting:
        return {}
    declared = body.parameter_types()
    counters = {}
    for parameter in counting:
        type = declared[parameter]
        element_type = type.element_type if type.element_type.is_known else ElementType.i64
        counters[parameter] = np.zeros([1] * (type.rank or 0), element_type.dtype)
    return counters
