"""Layers with a body: Loop, TensorIterator and If. A body is a function that is called to make its layers.

Outside values that a body reads become inputs of the layer; outside constants become constants in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from ir_exec.build.constants import Input, constant, parameter
from ir_exec.build.network import assemble, result
from ir_exec.build.values import BuiltBody, BuiltLayer, Scope, Value, new_layer, scope
from ir_exec.errors import GraphError, IRError, Location, raise_error
from ir_exec.graph import BodyGraph
from ir_exec.infer import infer_node, typed_bodies
from ir_exec.ir import MAX_BODY_DEPTH, BackEdge, Body, PortMapEntry
from ir_exec.ir.array_weights import ArrayWeights
from ir_exec.ops import Op
from ir_exec.ops.base import bodies as ties
from ir_exec.ops.base.bodies import either
from ir_exec.ops.base.shapes import normalize_axis
from ir_exec.ops.condition import If
from ir_exec.ops.infrastructure.loops import Loop, TensorIterator
from ir_exec.types import Array, Dim, ElementType, Shape, TensorType

__all__ = ["Collected", "Sliced", "if_", "loop", "tensor_iterator"]

_MAX_ROUNDS = 8
"""Maximum calls of a body to widen the types of carried values: a dim or a rank widens in each call."""

_BodyName: TypeAlias = Literal["body", "then_body", "else_body"]

Values: TypeAlias = "Value | Sequence[Value]"


@dataclass(frozen=True, slots=True)
class Sliced:
    """An input that is sliced for the iterations.

    Each iteration gets `part_size` elements along `axis`, from `start` to `end` (included) in steps of `stride`.
    """

    value: Input
    axis: int = 0
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


@dataclass(frozen=True, slots=True)
class Collected:
    """A value of the body that is concatenated over the iterations along `axis` to an output."""

    value: Value
    axis: int = 0
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


class _Entry(NamedTuple):
    """A Parameter or Result of a body, and the port of the layer that it is connected to: -1 for none."""

    value: Value
    external: int
    part: Sliced | Collected | None = None
    purpose: str | None = None


def if_(
    condition: Input,
    then: Callable[[], Values],
    else_: Callable[[], Values],
    *,
    name: str | None = None,
    tensor_names: Iterable[str] | Iterable[Iterable[str]] = (),
) -> Any:
    """Return the result of `then()` or `else_()`, chosen by the boolean `condition`: a Value, or a tuple of several.

    ```python
    output = build.if_(flag, lambda: build.add(x, 1.0), lambda: x)
    ```

    Raises:
        GraphError: If both functions return different numbers of values; also the errors of inference.
    """
    flag = _value(condition)
    bodies: list[_Open] = []
    for function in (then, else_):
        with scope() as inside:
            returned = function()
            values = [returned] if isinstance(returned, Value) else [_value(item) for item in returned]
            bodies.append(_Open(inside, [result(value) for value in values]))
    counts = [len(body.results) for body in bodies]
    if counts[0] != counts[1]:
        raise GraphError(
            "then and else_ return",
            actual=f"{counts[0]} and {counts[1]}",
            detail="values",
            expected="equal numbers",
            location=Location(layer_name=name, layer_type="If"),
        )
    inputs = [flag]
    titles: tuple[_BodyName, ...] = ("then_body", "else_body")
    finished = []
    for body, title in zip(bodies, titles, strict=True):
        captured = _capture(body)
        entries = []
        for outer, inner in captured.items():
            if outer not in inputs:
                inputs.append(outer)
            entries.append(_Entry(inner, inputs.index(outer)))
        outputs = [_Entry(value, position) for position, value in enumerate(body.results)]
        finished.append((body, title, entries, outputs))
    layer = _layer(If(), inputs, finished, (), counts[0], name, tensor_names)
    return layer.outputs[0] if counts[0] == 1 else layer.outputs


def loop(
    trip_count: Input | None,
    condition: Input | None,
    body: Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]],
    carried: Sequence[Input] = (),
    sliced: Sequence[Sliced] = (),
    *,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, ...]:
    """Run a body `trip_count` times, or until the condition that it returns is false.

    ```python
    total, steps = build.loop(10, None, lambda i, total: (None, [build.add(total, x)], [total]), carried=[zeros])
    ```

    Args:
        trip_count: None for no limit.
        condition: true to run the first iteration; None for true.
        body: Called with the number of the iteration (i64, a scalar), the carried values and a slice of each of
            `sliced`; returns the condition for the next iteration (None: always), the next carried values, and the
            values to collect, as Collected or as values that are concatenated along axis 0. It may be called several
            times, until the types of the carried values fit all iterations.

    Returns:
        The last carried values, then the collected ones.
    """
    trips = _value(-1 if trip_count is None else trip_count, ElementType.i64)
    first = _value(True if condition is None else condition)

    def run_body(iteration: Value, *values: Value) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        goes_on, *results = body(iteration, *values)
        if len(results) != 2:
            raise _BodyError(
                "the body returns wrong results, expected a condition, carried values and collected values"
            )
        return (True if goes_on is None else goes_on), results[0], results[1]

    return _repeat_body(Loop(), [trips, first], run_body, carried, sliced, name, tensor_names)


def tensor_iterator(
    body: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    carried: Sequence[Input] = (),
    sliced: Sequence[Sliced] = (),
    *,
    name: str | None = None,
    tensor_names: Iterable[Iterable[str]] = (),
) -> tuple[Value, ...]:
    """Run a body once for each slice of its sliced inputs.

    Args:
        body: Called with the carried values and a slice of each of `sliced`; returns the next carried values and the
            values to collect, as for `loop`.

    Returns:
        The last carried values, then the collected ones.
    """

    def run_body(iteration: Value, *values: Value) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        returned = body(*values)
        if len(returned) != 2:
            raise _BodyError("the body returns wrong results, expected carried values and collected values")
        return None, *returned

    return _repeat_body(TensorIterator(), [], run_body, carried, sliced, name, tensor_names)


def _repeat_body(
    op: Op,
    own: list[Value],
    body: Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]],
    carried: Sequence[Input],
    sliced: Sequence[Sliced],
    name: str | None,
    tensor_names: Iterable[Iterable[str]],
) -> tuple[Value, ...]:
    """Return the outputs of a new Loop or TensorIterator.

    Args:
        own: Inputs that are not passed to the body.
    """
    initial = [_value(item) for item in carried]
    parts = [replace(item, value=_value(item.value)) for item in sliced]
    try:
        traced = _called_until_stable(body, [value.type.without_values() for value in initial], parts)
    except _BodyError as error:
        raise GraphError(str(error), location=Location(layer_name=name, layer_type=op.type_name)) from None
    ends = [
        *([traced.condition] if traced.condition else []),
        *traced.after,
        *(part.value for part in traced.collected),
    ]
    opened = _Open(traced.inside, ends)
    inputs = [*own, *initial]
    entries = [_Entry(traced.counter, -1, purpose="current_iteration")] if op.has_condition else []
    entries += [_Entry(value, len(own) + position) for position, value in enumerate(traced.before)]
    for sliced_value, part in zip(traced.slices, parts, strict=True):
        entries.append(_Entry(sliced_value, len(inputs), part))
        inputs.append(_as_value(part.value))
    for outer, inner in _capture(opened).items():
        entries.append(_Entry(inner, len(inputs)))
        inputs.append(outer)
    outputs = [_Entry(traced.condition, -1, purpose="execution_condition")] if traced.condition else []
    outputs += [_Entry(value, position) for position, value in enumerate(traced.after)]
    outputs += [_Entry(part.value, len(traced.after) + at, part) for at, part in enumerate(traced.collected)]
    back = tuple(zip(traced.after, traced.before, strict=True))
    count = len(traced.after) + len(traced.collected)
    return _layer(op, inputs, [(opened, "body", entries, outputs)], back, count, name, tensor_names).outputs


class _BodyError(Exception):
    """The results of a body do not fit its arguments."""


class _MadeBody(NamedTuple):
    """The layers of one call of a loop's body: its Parameters, and its Results."""

    inside: Scope
    counter: Value
    before: list[Value]
    slices: list[Value]
    condition: Value | None
    after: list[Value]
    collected: list[Collected]


def _called_until_stable(
    body: Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]], types: list[TensorType], parts: list[Sliced]
) -> _MadeBody:
    """Call the body until the types of its carried values fit all iterations: they are widened to the results."""
    for left in reversed(range(_MAX_ROUNDS)):
        traced = _trace_body(body, types, parts)
        wider = [_widen(type, value.type) for type, value in zip(types, traced.after, strict=True)]
        if wider == types:
            break
        types = wider if left > 1 else [type.with_shape(Shape.unknown()) for type in wider]
    return traced


def _trace_body(
    body: Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]], types: list[TensorType], parts: list[Sliced]
) -> _MadeBody:
    with scope() as inside:
        counter = parameter([], ElementType.i64)
        before = [_parameter_of(type) for type in types]
        slices = [_parameter_of(_part_type(part)) for part in parts]
        goes_on, carried, collected = body(counter, *before, *slices)
        if len(carried) != len(types):
            raise _BodyError(f"the body returns {len(carried)} carried values, expected {len(types)}")
        after = [result(_value(item, type.element_type)) for item, type in zip(carried, types, strict=True)]
        joined = [item if isinstance(item, Collected) else Collected(_value(item)) for item in collected]
        return _MadeBody(
            inside,
            counter,
            before,
            slices,
            None if goes_on is None else result(_value(goes_on)),
            after,
            [replace(item, value=result(item.value)) for item in joined],
        )


class _Open(NamedTuple):
    """A body with finished layers."""

    scope: Scope
    results: list[Value]


def _capture(body: _Open) -> dict[Value, Value]:
    """Return the outside values that a body reads, and the Parameters that replace them in it."""
    captured: dict[Value, Value] = {}
    inner: dict[BuiltLayer, BuiltLayer] = {}
    for layer in _layers_inside(body):
        if not any(_is_outside(value, body.scope) for value in layer.inputs):
            continue
        inputs = []
        for value in layer.inputs:
            if not _is_outside(value, body.scope):
                inputs.append(value)
            elif value.layer.constant is not None:
                copy = inner.get(value.layer)
                if copy is None:
                    copy = inner[value.layer] = _copy_constant(value.layer, body.scope)
                inputs.append(copy.outputs[0])
            else:
                if value not in captured:
                    replacement = _parameter_of(value.type)
                    replacement.layer.scope = body.scope
                    replacement.layer.name = value.layer.name
                    replacement.type = value.type
                    captured[value] = replacement
                inputs.append(captured[value])
        layer.inputs = tuple(inputs)
    return captured


def _layers_inside(body: _Open) -> list[BuiltLayer]:
    """Return the layers of a body that its Results and Assigns need, sources first."""
    pending = [value.layer for value in body.results] + body.scope.sinks
    needed = set(pending)
    while pending:
        for value in pending.pop().inputs:
            if value.layer not in needed and not _is_outside(value, body.scope):
                needed.add(value.layer)
                pending.append(value.layer)
    return sorted(needed, key=lambda layer: layer.serial)


def _is_outside(value: Value, inside: Scope) -> bool:
    """Return True for a value from outside of this body; GraphError for a value of a body that does not enclose it."""
    if value.layer.scope is inside:
        return False
    outer = inside.outer
    while outer is not None and value.layer.constant is None:
        if value.layer.scope is outer:
            return True
        outer = outer.outer
    if value.layer.constant is None:
        raise GraphError("a value of a body is used outside the body").located(value.layer.location)
    return True


def _copy_constant(layer: BuiltLayer, inside: Scope) -> BuiltLayer:
    """Return a copy of a constant in a body."""
    copy = replace(layer, scope=inside, outputs=())
    copy.outputs = tuple([Value(copy, value.position, value.type) for value in layer.outputs])
    return copy


def _layer(
    op: Op,
    inputs: list[Value],
    opened: list[tuple[_Open, _BodyName, list[_Entry], list[_Entry]]],
    back_edges: tuple[tuple[Value, Value], ...],
    count: int,
    name: str | None,
    tensor_names: Iterable[str] | Iterable[Iterable[str]],
) -> BuiltLayer:
    """Return the layer with these bodies."""
    bodies = tuple([_assemble_body(*parts, back_edges, len(inputs)) for parts in opened])
    constants: dict[int, Array] = {}
    for body in bodies:
        constants |= body.constants
    where = Location(layer_name=name, layer_type=op.type_name)
    if max(body.graph.depth for body in bodies) > MAX_BODY_DEPTH:
        raise GraphError(f"bodies are nested deeper than {MAX_BODY_DEPTH}", location=where)
    context = {
        "weights": ArrayWeights(constants),
        "bodies": typed_bodies([body.graph for body in bodies], ArrayWeights(constants)),
    }
    try:
        types = infer_node(op, [value.type for value in inputs], context, raise_error)
    except IRError as error:
        raise error.located(where) from error.__cause__
    assert types is not None, "the report raises"
    assert len(types) == count, "each output has an entry in the port map"
    return new_layer(op.type_name, op, tuple(inputs), types, name=name, tensor_names=tensor_names, bodies=bodies)


def _assemble_body(
    body: _Open,
    title: _BodyName,
    entries: list[_Entry],
    outputs: list[_Entry],
    back_edges: tuple[tuple[Value, Value], ...],
    count: int,
) -> BuiltBody:
    """Return the body as an element of the file and as a graph; `count` inputs of the layer precede its outputs."""
    parameters = [entry.value for entry in entries]
    results = [entry.value for entry in outputs]
    network = assemble(_layers_inside(body), parameters, results, title)
    first = len(network.layers) - len(results)
    index_of = {value: id for id, value in enumerate(parameters)} | {value: id for id, value in enumerate(results)}
    port_map = [_entry("input", entry, entry.external, index_of[entry.value]) for entry in entries] + [
        _entry("output", entry, entry.external if entry.external < 0 else count + entry.external, first + id)
        for id, entry in enumerate(outputs)
    ]
    document = Body(
        name=title,
        port_map=tuple(port_map),
        back_edges=tuple(
            [
                BackEdge(from_layer=str(first + index_of[source]), to_layer=str(index_of[target]))
                for source, target in back_edges
            ]
        ),
        layers=(),
        edges=(),
    ).model_copy(update={"layers": network.layers, "edges": network.edges})
    tied = ties.Ties(
        len(parameters),
        tuple([_tied_input(entry, index_of[entry.value]) for entry in entries]),
        tuple([_tied_output(entry, index_of[entry.value]) for entry in outputs]),
        tuple([ties.FedBackValue(index_of[source], index_of[target]) for source, target in back_edges]),
    )
    depth = 1 + max([inner.depth for node in network.graph.nodes for inner in node.bodies], default=0)
    return BuiltBody(document, BodyGraph(title, network.graph, tied, depth), network.constants)


def _entry(direction: Literal["input", "output"], entry: _Entry, external: int, id: int) -> PortMapEntry:
    part = entry.part
    numbers = (
        {} if part is None else {name: getattr(part, name) for name in ("axis", "start", "end", "stride", "part_size")}
    )
    return PortMapEntry(
        direction=direction,
        external_port_id=external,
        internal_layer_id=str(id),
        purpose=entry.purpose,
        **numbers,
    )


def _tied_input(entry: _Entry, index: int) -> ties.BodyInput:
    position = entry.external if entry.external >= 0 else None
    return ties.BodyInput(index, position, _part(entry.part), entry.purpose is not None)


def _tied_output(entry: _Entry, index: int) -> ties.BodyOutput:
    position = entry.external if entry.external >= 0 else None
    return ties.BodyOutput(index, position, _part(entry.part), entry.purpose is not None)


def _part(part: Sliced | Collected | None) -> ties.Part | None:
    return None if part is None else ties.Part(part.axis, part.start, part.end, part.stride, part.part_size)


def _part_type(sliced: Sliced) -> TensorType:
    """Return the type of a slice of a sliced input."""
    type = _as_value(sliced.value).type
    if type.shape.dims is None:
        return type.without_values()
    dims = list(type.shape.dims)
    dims[normalize_axis(sliced.axis, len(dims))] = Dim.of(sliced.part_size)
    return type.with_shape(Shape(dims))


def _widen(type: TensorType, after: TensorType) -> TensorType:
    """Return a type that includes both, with dims of any size where they differ, to end widening soon."""
    wider = either(type, after)
    if wider.shape.dims is None or type.shape.dims is None:
        return wider
    dims = zip(type.shape.dims, wider.shape.dims, strict=True)
    return wider.with_shape(Shape([before if before == now else Dim.any() for before, now in dims]))


def _parameter_of(type: TensorType) -> Value:
    return parameter(type.shape, type.element_type)


def _value(operand: Input, element_type: ElementType | None = None) -> Value:
    if isinstance(operand, Value):
        return operand
    is_plain = not hasattr(operand, "dtype")
    return constant(operand, element_type if is_plain and element_type is not None and element_type.is_known else None)


def _as_value(operand: Input) -> Value:
    assert isinstance(operand, Value), "sliced inputs were converted to values"
    return operand
