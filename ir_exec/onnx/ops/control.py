"""If, Loop and Scan: graphs inside a node become bodies, or are unrolled if lists change their length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from ir_exec import build
from ir_exec.build import Value
from ir_exec.codes import Code
from ir_exec.errors import (
    EvaluationError,
    GraphError,
    InvalidAttributeError,
    NotKnownError,
    ShapeError,
    UnsupportedError,
)
from ir_exec.onnx.lowering.attributes import Body, Ints
from ir_exec.onnx.lowering.demands import asked_value, is_asking
from ir_exec.onnx.lowering.graphs import Call, UnsupportedOperator
from ir_exec.onnx.lowering.registry import onnx_op
from ir_exec.onnx.lowering.values import (
    Appended,
    GraphValue,
    Missing,
    MissingValueError,
    Sequence,
    Stack,
    as_i64,
    ints,
    known_size,
    reshape,
)
from ir_exec.types import ElementType

__all__: list[str] = []

_MOST_UNROLLED = 2**10
"""Maximum iterations of an unrolled loop that carries lists of changing length."""


class _Changed(Exception):  # noqa: N818  # no error: the loop is unrolled
    """Lists carried by a loop change their length in an iteration.

    Attributes:
        places: The indices of these lists.
    """

    def __init__(self, places: list[int]) -> None:
        super().__init__(places)
        self.places = places


class _Shape:
    """The structure of values as lists and optionals, without their tensors."""

    def __init__(self, held: list[GraphValue]) -> None:
        self.form = [_form(one) for one in held]

    def tensors(self, held: list[GraphValue]) -> list[Value]:
        """The tensors in order; raises MissingValueError if one is missing, and _Changed if the structure differs."""
        values = [value for one in held for value in _flat(one)]
        changed = [place for place, one in enumerate(held) if _form(one) != self.form[place]]
        if changed:
            raise _Changed(changed)
        return values

    def held(self, tensors: list[Value]) -> list[GraphValue]:
        """The values of this structure with these tensors."""
        left = iter(tensors)
        return [_filled(form, left) for form in self.form]


def _form(held: GraphValue) -> object:
    if isinstance(held, Sequence):
        return [held.element_type, *[_form(item) for item in held.items]]
    if isinstance(held, Appended):
        return held.place, held.element_type, len(held.items)
    return "stack" if isinstance(held, Stack) else "tensor" if isinstance(held, Value) else held


def _flat(held: GraphValue) -> list[Value]:
    if isinstance(held, Missing):
        raise MissingValueError
    if isinstance(held, Sequence):
        return [value for item in held.items for value in _flat(item)]
    if isinstance(held, Appended):
        return list(held.items)
    if isinstance(held, Stack):
        return [held.value]
    return [held] if isinstance(held, Value) else []


def _filled(form: object, left: Iterator[Value]) -> GraphValue:
    if isinstance(form, list):
        return Sequence(tuple(_filled(one, left) for one in form[1:]), form[0])
    if isinstance(form, tuple):
        place, kind, count = form
        return Appended(place, kind, tuple(next(left) for _ in range(count)))
    if form == "stack":
        return Stack(next(left))
    return next(left) if form == "tensor" else None


def _scalar(value: Value) -> Value:
    """One boolean or number, of shape [] or [1]."""
    return value if value.rank == 0 else build.reshape(value, build.constant([], "i64"), special_zero=False)


@onnx_op("If", since=1)
def if_(condition: Value, *, then_branch: Body, else_branch: Body, call: Call) -> list[GraphValue]:
    """Lower an If; a branch that is known to run needs no If, and may return lists of any length."""
    known = condition.constant
    if known is not None and known.size == 1:
        return call.body(then_branch if bool(known.ravel()[0]) else else_branch)
    forms: list[_Shape] = []
    mark, faults = call.mark(), call.faults

    def branch(graph: Body) -> Callable[[], list[Value]]:
        def made() -> list[Value]:
            held = call.body(graph)
            forms.append(_Shape(held))
            return forms[0].tensors(held)

        return made

    try:
        found = build.if_(_scalar(condition), branch(then_branch), branch(else_branch))
    except (_Changed, UnsupportedError) as error:
        if call.faults > faults:
            raise MissingValueError from None
        taken = asked_value(condition)
        if taken is not None and taken[0].size == 1:
            call.back_to(mark)
            return call.body(then_branch if bool(taken[0].ravel()[0]) else else_branch)
        if isinstance(error, UnsupportedError):
            raise
        raise NotKnownError("the lists of the branches have different lengths") from None
    return forms[0].held([found] if isinstance(found, Value) else list(found))


@onnx_op("Loop", since=1)
def loop(
    trip_count: Value | None, condition: Value | None, *carried: GraphValue, body: Body, call: Call
) -> list[GraphValue]:
    """Carried values, then the values of each iteration, stacked along a new first axis."""
    start = list(carried)
    count = len(start)
    form = _Shape(start)
    # As in onnxruntime, which allows the shapes of a body's inputs to change between iterations.
    arguments = _arguments(build.constant(0, "i64"), body)
    if condition is not None and condition.element_type is ElementType.boolean and len(arguments) > 1:
        arguments[1] = condition
    call.compare(body, [*arguments, *start], shapes="warning")

    def made(iteration: Value, *tensors: Value) -> tuple[Value | None, list[Value], list[Value]]:
        goes_on, *rest = call.body(body, [*_arguments(iteration, body), *form.held(list(tensors))])
        after, scanned = rest[:count], rest[count:]
        parts = [build.unsqueeze(_tensor(one), 0) for one in scanned]
        return _scalar(_tensor(goes_on)), form.tensors(after), parts

    trips = None if trip_count is None else _scalar(as_i64(trip_count))
    first = None if condition is None else _scalar(condition)
    mark, faults = call.mark(), call.faults
    try:
        found = list(build.loop(trips, first, made, form.tensors(start)))
    except (_Changed, UnsupportedError) as error:
        failed = call.mark()
        # Every iteration would have the same faults.
        if call.faults > faults or (isinstance(error, MissingValueError) and _are_final(failed - mark)):
            raise MissingValueError from None
        call.back_to(mark)
        try:
            if isinstance(error, _Changed) and not _is_counted(trip_count, condition):
                return _collected(trips, first, start, error.places, body, call)
            # It may be possible if unrolled: the index of each iteration is then known.
            return _unrolled(trip_count, condition, start, body, call)
        except UnsupportedError as other:
            if isinstance(error, _Changed) and _numbers(trip_count, condition) is not None:
                call.back_to(mark)
                return _unrolled(trip_count, condition, start, body, call)
            if isinstance(error, MissingValueError) and isinstance(other, NotKnownError):
                call.back_to(failed)
                raise error from None
            raise
    tensors = sum(len(_flat(one)) for one in start)
    return [*form.held(found[:tensors]), *found[tensors:]]


def _are_final(operators: Counter[UnsupportedOperator]) -> bool:
    """Return True if there are operators that could not be converted, and values of inputs resolve none of them."""
    return bool(operators) and not any(operator.is_unknown for operator in operators)


def _arguments(iteration: Value, body: Body) -> list[Value]:
    """The index of an iteration and its condition: scalars, or of shape [1] if the body declares axes."""
    has_axes = [bool(one.type.tensor_type.shape.dim) for one in body.input[:2]] + [False] * 2
    arguments = (iteration, build.constant(True))
    return [reshape(one, 1) if axes else one for one, axes in zip(arguments, has_axes, strict=False)]


def _is_counted(trip_count: Value | None, condition: Value | None) -> bool:
    """Return True if the maximum number of iterations and the initial condition are known."""
    return (trip_count is not None and trip_count.constant is not None) and (
        condition is None or condition.constant is not None
    )


def _numbers(trip_count: Value | None, condition: Value | None) -> tuple[int | None, bool] | None:
    """The maximum iterations, if limited, and the initial condition; None if these are unknown."""
    trips = [] if trip_count is None else asked_value(trip_count)
    goes_on = [] if condition is None else asked_value(condition)
    if trips is None or goes_on is None:
        return None
    return int(trips[0].ravel()[0]) if trips else None, not goes_on or bool(goes_on[0].ravel()[0])


def _collected(
    trips: Value | None, first: Value | None, carried: list[GraphValue], places: list[int], body: Body, call: Call
) -> list[GraphValue]:
    """The loop, with the elements that it appends to the lists at `places` collected over its iterations.

    Raises:
        NotKnownError: If the loop must be unrolled, for example for elements of different shapes.
    """
    for place in places:
        if not isinstance(carried[place], (Sequence, Stack)):
            raise NotKnownError("lists change their length in nested loops, or inside their elements")
    fixed = [place for place in range(len(carried)) if place not in places]
    form = _Shape([carried[place] for place in fixed])
    scans: list[int] = []

    def made(iteration: Value, *tensors: Value) -> tuple[Value, list[Value], list[Value]]:
        given: list[GraphValue] = [Appended(place, _element_type(one)) for place, one in enumerate(carried)]
        for place, one in zip(fixed, form.held(list(tensors)), strict=True):
            given[place] = one
        goes_on, *rest = call.body(body, [*_arguments(iteration, body), *given])
        after, scanned = rest[: len(carried)], rest[len(carried) :]
        scans[:] = [len(scanned)]
        parts = [_tensor(one) for one in scanned] + [_appended(after[place], place, call) for place in places]
        try:
            kept = form.tensors([after[place] for place in fixed])
        except _Changed:
            raise NotKnownError("lists have different lengths after each iteration") from None
        return _scalar(_tensor(goes_on)), kept, [build.unsqueeze(part, 0) for part in parts]

    found = list(build.loop(trips, first, made, form.tensors([carried[place] for place in fixed])))
    tensors = len(found) - scans[0] - len(places)
    after: list[GraphValue] = [None] * len(carried)
    for place, one in zip(fixed, form.held(found[:tensors]), strict=True):
        after[place] = one
    for place, parts in zip(places, found[tensors + scans[0] :], strict=True):
        try:
            after[place] = _lengthened(carried[place], parts)
        except ShapeError:
            raise NotKnownError(_RAGGED) from None
    return [*after, *found[tensors : tensors + scans[0]]]


def _element_type(held: GraphValue) -> ElementType:
    return held.element_type if isinstance(held, (Sequence, Stack)) else ElementType.dynamic


def _appended(held: GraphValue, place: int, call: Call) -> Value:
    """The elements that an iteration appends to the list at this index, stacked along a first axis."""
    if not isinstance(held, Appended) or held.place != place or not held.items:
        raise NotKnownError("a loop changes a list other than by appending to it")
    if not all(item.shape.is_static for item in held.items):
        if is_asking():
            raise NotKnownError(_RAGGED)
        call.assume()
    try:
        return build.concat([build.unsqueeze(item, 0) for item in held.items], 0)
    except ShapeError:
        raise NotKnownError(_RAGGED) from None


_RAGGED = "a list of elements of different shapes grows in a loop with an unknown number of iterations"


def _lengthened(before: GraphValue, parts: Value) -> Stack:
    """The list with the elements appended in all iterations: [iterations, appended in each, ...]."""
    sizes = build.shape_of(parts)
    count = build.reduce_prod(build.slice(sizes, ints(0), ints(2), ints(1)), 0, keep_dims=True)
    rest = build.slice(sizes, ints(2), ints(2**31 - 1), ints(1))
    after = build.reshape(parts, build.concat([count, rest], 0), special_zero=False)
    start = before.tensors if isinstance(before, Sequence) else _flat(before)
    if isinstance(before, Sequence):
        start = [build.unsqueeze(one, 0) for one in start]
    return Stack(build.concat([*start, after], 0) if start else after)


def _unrolled(
    trip_count: Value | None, condition: Value | None, carried: list[GraphValue], body: Body, call: Call
) -> list[GraphValue]:
    """The loop unrolled; the number of iterations must be known."""
    numbers = _numbers(trip_count, condition)
    if numbers is None:
        raise NotKnownError("the contents of lists depend on the iteration, and the number of iterations is unknown")
    most, going = numbers
    parts: list[list[Value]] = []
    iteration = 0
    while going and (most is None or iteration < most):
        if iteration == _MOST_UNROLLED:
            raise UnsupportedError(f"a loop of more than {iteration} iterations carries lists of changing length")
        goes_on, *rest = call.body(body, [*_arguments(build.constant(iteration), body), *carried])
        carried, scanned = rest[: len(carried)], rest[len(carried) :]
        parts.append([build.unsqueeze(_tensor(one), 0) for one in scanned])
        last = _tensor(goes_on)
        # Values for the next iteration are computed together with the condition, only once.
        with_it = [one for held in carried for one in _flat(held)] if last.constant is None else []
        known = asked_value(last, *with_it)
        if known is None:
            raise NotKnownError("a loop with lists of changing length ends on a computed condition")
        going = bool(known[0].ravel()[0])
        iteration += 1
    if not parts:
        return [*carried, *_collected_never(carried, body, call)]
    return [*carried, *[build.concat(list(column), 0) for column in zip(*parts, strict=True)]]


def _collected_never(carried: list[GraphValue], body: Body, call: Call) -> list[Value]:
    """The collected values of a loop without iterations: empty, with the dims of an iteration, dynamic ones 0."""
    if len(body.output) == len(carried) + 1:
        return []
    try:
        _, *rest = call.body(body, [*_arguments(build.constant(0), body), *carried])
        values = [_tensor(one) for one in rest[len(carried) :]]
    except (EvaluationError, ShapeError):
        raise UnsupportedError("a loop without iterations collects values of unknown shape") from None
    sizes = [[dim.size if dim.is_static else 0 for dim in value.shape.dims or ()] for value in values]
    return [
        build.constant(np.zeros((0, *size), one.element_type.dtype)) for one, size in zip(values, sizes, strict=True)
    ]


def _tensor(held: GraphValue) -> Value:
    if isinstance(held, Missing):
        raise MissingValueError
    if not isinstance(held, Value):
        raise UnsupportedError("the input is a sequence", expected="a tensor")
    return held


@onnx_op("Scan", since=8)
def scan_8(*inputs: Value | None, body: Body, num_scan_inputs: int, directions: Ints, call: Call) -> list[Value]:
    """The first axis is a batch: each of its entries is scanned along the second axis."""
    lengths, *values = inputs
    if lengths is not None:
        raise UnsupportedError("the sequences have different lengths")
    tensors = [_tensor(value) for value in values]
    states, scanned = _parted(tensors, num_scan_inputs)
    batch = known_size(scanned[0], 0, "the size of the batch")
    if batch > _MOST_UNROLLED:
        raise UnsupportedError(f"the batch is larger than {_MOST_UNROLLED}")
    results = []
    for entry in range(batch):
        parts = [build.gather(one, entry, 0) for one in (*states, *scanned)]
        results.append(_scan(parts, body, num_scan_inputs, directions, (), (), (), call))
    return [build.concat([build.unsqueeze(one, 0) for one in column], 0) for column in zip(*results, strict=True)]


@onnx_op("Scan", since=9)
def scan(
    *inputs: Value,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: Ints,
    scan_input_directions: Ints,
    scan_output_axes: Ints,
    scan_output_directions: Ints,
    call: Call,
) -> list[Value]:
    return _scan(
        list(inputs),
        body,
        num_scan_inputs,
        scan_input_directions,
        scan_input_axes,
        scan_output_axes,
        scan_output_directions,
        call,
    )


def _parted(values: list[Value], count: int) -> tuple[list[Value], list[Value]]:
    if not 1 <= count <= len(values):
        raise InvalidAttributeError(
            "num_scan_inputs is", actual=count, expected=f"at most {len(values)}", reason="the inputs of the node"
        )
    return values[: len(values) - count], values[len(values) - count :]


def _scan(
    inputs: list[Value],
    body: Body,
    count: int,
    directions: Ints,
    axes: Ints,
    output_axes: Ints,
    output_directions: Ints,
    call: Call,
) -> list[Value]:
    """A TensorIterator over slices of the last `count` inputs, forwards or backwards."""
    states, scanned = _parted(inputs, count)
    outs = len(body.output) - len(states)
    if outs < 0:
        raise GraphError(
            "the body has",
            actual=len(body.output),
            detail="outputs",
            expected=f"at least {len(states)}",
            reason="one for each state",
            code=Code.body_port_map,
        )
    for given, wanted in ((directions, count), (axes, count), (output_directions, outs), (output_axes, outs)):
        if given and len(given) != wanted:
            raise InvalidAttributeError(
                "the node has",
                actual=len(given),
                detail="axes or directions",
                expected=wanted,
                reason="one for each value",
            )
    sliced = []
    places = []
    for position, value in enumerate(scanned):
        axis = axes[position] if axes else 0
        axis = axis + (value.rank or 0) if axis < 0 else axis
        backwards = bool(directions) and directions[position] == 1
        sliced.append(build.Sliced(value, axis, *((-1, 0, -1) if backwards else (0, -1, 1))))
        places.append(axis)

    def made(*given: Value) -> tuple[list[Value], list[build.Collected]]:
        parts = [build.squeeze(part, ints(axis)) for part, axis in zip(given[len(states) :], places, strict=True)]
        call.compare(body, [*given[: len(states)], *parts], shapes="error")
        results = [_tensor(one) for one in call.body(body, [*given[: len(states)], *parts])]
        collected = []
        for position, value in enumerate(results[len(states) :]):
            axis = output_axes[position] if output_axes else 0
            axis = axis + (value.rank or 0) + 1 if axis < 0 else axis
            backwards = bool(output_directions) and output_directions[position] == 1
            part = build.unsqueeze(value, ints(axis))
            collected.append(build.Collected(part, axis, *((-1, 0, -1) if backwards else (0, -1, 1))))
        return results[: len(states)], collected

    return list(build.tensor_iterator(made, states, sliced))
