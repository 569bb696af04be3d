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
from ir_exec.onnx.lowering.demands import is_asking, request_values
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

    def __init__(self, values: list[GraphValue]) -> None:
        self.form = [_form(value) for value in values]

    def tensors(self, values: list[GraphValue]) -> list[Value]:
        """The tensors in order; raises MissingValueError if one is missing, and _Changed if the structure differs."""
        tensors = [value for item in values for value in _flat(item)]
        changed = [index for index, item in enumerate(values) if _form(item) != self.form[index]]
        if changed:
            raise _Changed(changed)
        return tensors

    def fill(self, tensors: list[Value]) -> list[GraphValue]:
        """The values of this structure with these tensors."""
        left = iter(tensors)
        return [_fill(form, left) for form in self.form]


def _form(value: GraphValue) -> object:
    if isinstance(value, Sequence):
        return [value.element_type, *[_form(item) for item in value.items]]
    if isinstance(value, Appended):
        return value.position, value.element_type, len(value.items)
    return "stack" if isinstance(value, Stack) else "tensor" if isinstance(value, Value) else value


def _flat(value: GraphValue) -> list[Value]:
    if isinstance(value, Missing):
        raise MissingValueError
    if isinstance(value, Sequence):
        return [tensor for item in value.items for tensor in _flat(item)]
    if isinstance(value, Appended):
        return list(value.items)
    if isinstance(value, Stack):
        return [value.value]
    return [value] if isinstance(value, Value) else []


def _fill(form: object, left: Iterator[Value]) -> GraphValue:
    if isinstance(form, list):
        return Sequence(tuple(_fill(item, left) for item in form[1:]), form[0])
    if isinstance(form, tuple):
        index, element_type, count = form
        return Appended(index, element_type, tuple(next(left) for _ in range(count)))
    if form == "stack":
        return Stack(next(left))
    return next(left) if form == "tensor" else None


def _scalar(value: Value) -> Value:
    """One boolean or number, of shape [] or [1]."""
    return value if value.rank == 0 else build.reshape(value, build.constant([], "i64"), special_zero=False)


@onnx_op("If", since=1)
def if_(condition: Value, *, then_branch: Body, else_branch: Body, call: Call) -> list[GraphValue]:
    """Lower an If; a branch that is known to run needs no If, and may return lists of any length."""
    constant = condition.constant
    if constant is not None and constant.size == 1:
        return call.body(then_branch if bool(constant.ravel()[0]) else else_branch)
    forms: list[_Shape] = []
    mark, faults = call.mark(), call.faults

    def branch(graph: Body) -> Callable[[], list[Value]]:
        def convert_body() -> list[Value]:
            values = call.body(graph)
            forms.append(_Shape(values))
            return forms[0].tensors(values)

        return convert_body

    try:
        outputs = build.if_(_scalar(condition), branch(then_branch), branch(else_branch))
    except (_Changed, UnsupportedError) as error:
        if call.faults > faults:
            raise MissingValueError from None
        evaluated = request_values(condition)
        if evaluated is not None and evaluated[0].size == 1:
            call.back_to(mark)
            return call.body(then_branch if bool(evaluated[0].ravel()[0]) else else_branch)
        if isinstance(error, UnsupportedError):
            raise
        raise NotKnownError("the lists of the branches have different lengths") from None
    return forms[0].fill([outputs] if isinstance(outputs, Value) else list(outputs))


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

    def convert_iteration(iteration: Value, *tensors: Value) -> tuple[Value | None, list[Value], list[Value]]:
        goes_on, *outputs = call.body(body, [*_arguments(iteration, body), *form.fill(list(tensors))])
        after, scanned = outputs[:count], outputs[count:]
        parts = [build.unsqueeze(_tensor(value), 0) for value in scanned]
        return _scalar(_tensor(goes_on)), form.tensors(after), parts

    trips = None if trip_count is None else _scalar(as_i64(trip_count))
    first = None if condition is None else _scalar(condition)
    mark, faults = call.mark(), call.faults
    try:
        results = list(build.loop(trips, first, convert_iteration, form.tensors(start)))
    except (_Changed, UnsupportedError) as error:
        failed = call.mark()
        # Every iteration would have the same faults.
        if call.faults > faults or (isinstance(error, MissingValueError) and _are_final(failed - mark)):
            raise MissingValueError from None
        call.back_to(mark)
        try:
            if isinstance(error, _Changed) and not _is_counted(trip_count, condition):
                return _collect_lists(trips, first, start, error.places, body, call)
            # It may be possible if unrolled: the index of each iteration is then known.
            return _unroll(trip_count, condition, start, body, call)
        except UnsupportedError as other:
            if isinstance(error, _Changed) and _numbers(trip_count, condition) is not None:
                call.back_to(mark)
                return _unroll(trip_count, condition, start, body, call)
            if isinstance(error, MissingValueError) and isinstance(other, NotKnownError):
                call.back_to(failed)
                raise error from None
            raise
    tensors = sum(len(_flat(value)) for value in start)
    return [*form.fill(results[:tensors]), *results[tensors:]]


def _are_final(operators: Counter[UnsupportedOperator]) -> bool:
    """Return True if there are operators that could not be converted, and values of inputs resolve none of them."""
    return bool(operators) and not any(operator.is_unknown for operator in operators)


def _arguments(iteration: Value, body: Body) -> list[Value]:
    """The index of an iteration and its condition: scalars, or of shape [1] if the body declares axes."""
    has_axes = [bool(declared.type.tensor_type.shape.dim) for declared in body.input[:2]] + [False] * 2
    arguments = (iteration, build.constant(True))
    return [reshape(argument, 1) if axes else argument for argument, axes in zip(arguments, has_axes, strict=False)]


def _is_counted(trip_count: Value | None, condition: Value | None) -> bool:
    """Return True if the maximum number of iterations and the initial condition are known."""
    return (trip_count is not None and trip_count.constant is not None) and (
        condition is None or condition.constant is not None
    )


def _numbers(trip_count: Value | None, condition: Value | None) -> tuple[int | None, bool] | None:
    """The maximum iterations, if limited, and the initial condition; None if these are unknown."""
    trips = [] if trip_count is None else request_values(trip_count)
    goes_on = [] if condition is None else request_values(condition)
    if trips is None or goes_on is None:
        return None
    return int(trips[0].ravel()[0]) if trips else None, not goes_on or bool(goes_on[0].ravel()[0])


def _collect_lists(
    trips: Value | None, first: Value | None, carried: list[GraphValue], places: list[int], body: Body, call: Call
) -> list[GraphValue]:
    """The loop, with the elements that it appends to the lists at `places` collected over its iterations.

    Raises:
        NotKnownError: If the loop must be unrolled, for example for elements of different shapes.
    """
    for index in places:
        if not isinstance(carried[index], (Sequence, Stack)):
            raise NotKnownError("lists change their length in nested loops, or inside their elements")
    fixed = [index for index in range(len(carried)) if index not in places]
    form = _Shape([carried[index] for index in fixed])
    scans: list[int] = []

    def convert_iteration(iteration: Value, *tensors: Value) -> tuple[Value, list[Value], list[Value]]:
        values: list[GraphValue] = [Appended(index, _element_type(value)) for index, value in enumerate(carried)]
        for index, value in zip(fixed, form.fill(list(tensors)), strict=True):
            values[index] = value
        goes_on, *outputs = call.body(body, [*_arguments(iteration, body), *values])
        after, scanned = outputs[: len(carried)], outputs[len(carried) :]
        scans[:] = [len(scanned)]
        parts = [_tensor(value) for value in scanned] + [_stack_appended(after[index], index, call) for index in places]
        try:
            fixed_values = form.tensors([after[index] for index in fixed])
        except _Changed:
            raise NotKnownError("lists have different lengths after each iteration") from None
        return _scalar(_tensor(goes_on)), fixed_values, [build.unsqueeze(part, 0) for part in parts]

    results = list(build.loop(trips, first, convert_iteration, form.tensors([carried[index] for index in fixed])))
    tensors = len(results) - scans[0] - len(places)
    after: list[GraphValue] = [None] * len(carried)
    for index, value in zip(fixed, form.fill(results[:tensors]), strict=True):
        after[index] = value
    for index, parts in zip(places, results[tensors + scans[0] :], strict=True):
        try:
            after[index] = _lengthen(carried[index], parts)
        except ShapeError:
            raise NotKnownError(_RAGGED) from None
    return [*after, *results[tensors : tensors + scans[0]]]


def _element_type(value: GraphValue) -> ElementType:
    return value.element_type if isinstance(value, (Sequence, Stack)) else ElementType.dynamic


def _stack_appended(value: GraphValue, index: int, call: Call) -> Value:
    """The elements that an iteration appends to the list at this index, stacked along a first axis."""
    if not isinstance(value, Appended) or value.position != index or not value.items:
        raise NotKnownError("a loop changes a list other than by appending to it")
    if not all(item.shape.is_static for item in value.items):
        if is_asking():
            raise NotKnownError(_RAGGED)
        call.assume()
    try:
        return build.concat([build.unsqueeze(item, 0) for item in value.items], 0)
    except ShapeError:
        raise NotKnownError(_RAGGED) from None


_RAGGED = "a list of elements of different shapes grows in a loop with an unknown number of iterations"


def _lengthen(before: GraphValue, parts: Value) -> Stack:
    """The list with the elements appended in all iterations: [iterations, appended in each, ...]."""
    sizes = build.shape_of(parts)
    count = build.reduce_prod(build.slice(sizes, ints(0), ints(2), ints(1)), 0, keep_dims=True)
    item_sizes = build.slice(sizes, ints(2), ints(2**31 - 1), ints(1))
    after = build.reshape(parts, build.concat([count, item_sizes], 0), special_zero=False)
    start = before.tensors if isinstance(before, Sequence) else _flat(before)
    if isinstance(before, Sequence):
        start = [build.unsqueeze(item, 0) for item in start]
    return Stack(build.concat([*start, after], 0) if start else after)


def _unroll(
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
        goes_on, *outputs = call.body(body, [*_arguments(build.constant(iteration), body), *carried])
        carried, scanned = outputs[: len(carried)], outputs[len(carried) :]
        parts.append([build.unsqueeze(_tensor(value), 0) for value in scanned])
        last = _tensor(goes_on)
        # Values for the next iteration are computed together with the condition, only once.
        with_it = [tensor for value in carried for tensor in _flat(value)] if last.constant is None else []
        evaluated = request_values(last, *with_it)
        if evaluated is None:
            raise NotKnownError("a loop with lists of changing length ends on a computed condition")
        going = bool(evaluated[0].ravel()[0])
        iteration += 1
    if not parts:
        return [*carried, *_collected_never(carried, body, call)]
    return [*carried, *[build.concat(list(column), 0) for column in zip(*parts, strict=True)]]


def _collected_never(carried: list[GraphValue], body: Body, call: Call) -> list[Value]:
    """The collected values of a loop without iterations: empty, with the dims of an iteration, dynamic ones 0."""
    if len(body.output) == len(carried) + 1:
        return []
    try:
        _, *outputs = call.body(body, [*_arguments(build.constant(0), body), *carried])
        values = [_tensor(output) for output in outputs[len(carried) :]]
    except (EvaluationError, ShapeError):
        raise UnsupportedError("a loop without iterations collects values of unknown shape") from None
    sizes = [[dim.size if dim.is_static else 0 for dim in value.shape.dims or ()] for value in values]
    return [
        build.constant(np.zeros((0, *size), value.element_type.dtype))
        for value, size in zip(values, sizes, strict=True)
    ]


def _tensor(value: GraphValue) -> Value:
    if isinstance(value, Missing):
        raise MissingValueError
    if not isinstance(value, Value):
        raise UnsupportedError("the input is a sequence", expected="a tensor")
    return value


@onnx_op("Scan", since=8)
def scan_8(*inputs: Value | None, body: Body, num_scan_inputs: int, directions: Ints, call: Call) -> list[Value]:
    """The first axis is a batch: each of its entries is scanned along the second axis."""
    lengths, *values = inputs
    if lengths is not None:
        raise UnsupportedError("the sequences have different lengths")
    tensors = [_tensor(value) for value in values]
    states, scanned = _split_states(tensors, num_scan_inputs)
    batch = known_size(scanned[0], 0, "the size of the batch")
    if batch > _MOST_UNROLLED:
        raise UnsupportedError(f"the batch is larger than {_MOST_UNROLLED}")
    results = []
    for entry in range(batch):
        parts = [build.gather(tensor, entry, 0) for tensor in (*states, *scanned)]
        results.append(_scan(parts, body, num_scan_inputs, directions, (), (), (), call))
    return [build.concat([build.unsqueeze(output, 0) for output in column], 0) for column in zip(*results, strict=True)]


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


def _split_states(values: list[Value], count: int) -> tuple[list[Value], list[Value]]:
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
    states, scanned = _split_states(inputs, count)
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
    for numbers, expected in ((directions, count), (axes, count), (output_directions, outs), (output_axes, outs)):
        if numbers and len(numbers) != expected:
            raise InvalidAttributeError(
                "the node has",
                actual=len(numbers),
                detail="axes or directions",
                expected=expected,
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

    def convert_step(*tensors: Value) -> tuple[list[Value], list[build.Collected]]:
        parts = [build.squeeze(part, ints(axis)) for part, axis in zip(tensors[len(states) :], places, strict=True)]
        call.compare(body, [*tensors[: len(states)], *parts], shapes="error")
        results = [_tensor(output) for output in call.body(body, [*tensors[: len(states)], *parts])]
        collected = []
        for position, value in enumerate(results[len(states) :]):
            axis = output_axes[position] if output_axes else 0
            axis = axis + (value.rank or 0) + 1 if axis < 0 else axis
            backwards = bool(output_directions) and output_directions[position] == 1
            part = build.unsqueeze(value, ints(axis))
            collected.append(build.Collected(part, axis, *((-1, 0, -1) if backwards else (0, -1, 1))))
        return results[: len(states)], collected

    return list(build.tensor_iterator(convert_step, states, sliced))
