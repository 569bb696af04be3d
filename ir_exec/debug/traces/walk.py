"""Runs a network layer by layer and shows every value: constants, and those of each iteration of a body, included.

Nothing is folded and no memory is written to twice, so a visitor may keep what it is shown, replace it, or have a layer
computed again from other inputs. Where constants give a layer another kernel in a run, it has that kernel here as well.

Where NaN and infinity come from is such a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.facts import as_numbers, pieces
from ir_exec.errors import EvaluationError, Location, raise_error
from ir_exec.graph import BodyGraph, Graph, Node, Value, last_uses
from ir_exec.infer import infer_body, infer_outputs
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.base.bodies import Ties
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, Parameter, Result
from ir_exec.plan.passes.fold import constant_values
from ir_exec.plan.planner import Kernel
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.compiled import refuse_unsupported
from ir_exec.runtime.loop import placed
from ir_exec.runtime.precision import AS_IN_FILE, Precision, as_declared, as_f32, checked_precision, run_as_f32
from ir_exec.runtime.specialising import for_calls
from ir_exec.runtime.state import Variables
from ir_exec.runtime.threads import RunThreads, chosen_threads
from ir_exec.types import Array, ElementType, Shape, TensorType

__all__ = ["NotFinite", "Visit", "Visitor", "Walker", "Where", "first_not_finite"]


class Where(NamedTuple):
    """Where a layer runs.

    scope: the names of the layers and bodies around it, from the outside: `("loop", "body")`; empty at the top.
    iterations: how often each of these bodies has run before.
    """

    scope: tuple[str, ...] = ()
    iterations: tuple[int, ...] = ()

    def inside(self, holder: str, body: str, iteration: int) -> Where:
        return Where((*self.scope, holder, body), (*self.iterations, iteration))


@dataclass(slots=True)
class Visit:
    """A layer that was just computed. dying: numbers of the values that no later layer of its graph reads."""

    node: Node
    where: Where
    inputs: list[Array]
    outputs: list[Array]
    dying: Sequence[int]

    @property
    def path(self) -> str:
        """`loop/body/name`."""
        return "/".join((*self.where.scope, self.node.name))


Visitor: TypeAlias = Callable[[Visit], list[Array] | None]
"""Called after each layer, Results left out; the layers below go on with the arrays that it returns, if any."""


WholeVisitor: TypeAlias = Callable[[Graph, Where, Mapping[int, Array]], bool]
"""Called after a further iteration of a body of few bytes, with its values by their numbers; whether the layers need
not be visited one by one."""

_FEW_BYTES = 2**20
"""Bytes up to which all values of an iteration are held for those who look at it as a whole."""


class _Quick(NamedTuple):
    """What to call for inputs of these types: an array stands for itself, all else for its element type and shape."""

    kernel: Kernel
    inputs: list[tuple[Array | None, np.dtype[Any], tuple[int, ...]]]

    def fits(self, arrays: Sequence[Array]) -> bool:
        for array, (same, dtype, shape) in zip(arrays, self.inputs, strict=True):
            if array is not same and (same is not None or array.dtype is not dtype or array.shape != shape):
                return False
        return True


class Walker:
    """Runs a network for visitors. `Walker` and visits are for one thread.

    threads: as for `compile_model`. precision: what f16 and bf16 are computed in; "f32" shows visitors f32 where the
        file has these types. Raises UnsupportedError for operators that ir_exec does not have.
    """

    def __init__(self, model: Model, *, threads: int | None = None, precision: Precision = "file") -> None:
        refuse_unsupported(model.graph)
        self.model = model
        self.wide = run_as_f32(model) if checked_precision(precision) == "f32" else AS_IN_FILE
        self.holders: dict[Node, str] = {}
        self._threads = chosen_threads(threads)
        self._constants: dict[Node, Array] = {}
        self._state = Variables()
        self._constant_values: set[Value] = set()
        self._kernels: dict[Node, tuple[dict[int, Array], Kernel | None]] = {}
        self._by_types: dict[tuple[Any, ...], tuple[Kernel, dict[int, Array]]] = {}
        self._steps: dict[Graph, _Steps] = {}
        self._quick: dict[Node, _Quick] = {}
        self._whole: WholeVisitor | None = None
        self._small: dict[Graph, bool] = {}
        for graph in (model.graph, *(body.graph for node in model.graph.all_nodes() for body in node.bodies)):
            self._constant_values |= constant_values(graph)
            self.holders |= graph.holder_names()

    def run(
        self,
        inputs: Inputs | None,
        visit: Visitor | None = None,
        *,
        whole: WholeVisitor | None = None,
        goes_on: bool = False,
    ) -> list[Array]:
        """The outputs in their order; raises what a call of a CompiledModel raises.

        whole: asked before the layers of an iteration are shown to `visit`, which must then change none of them.
        goes_on: from what the run before has left in the variables, not from their initial values.
        """
        arrays = bind_inputs(inputs, self.model.inputs)
        if self.model.weights is not None:
            self.model.weights.require_unchanged()
        if self.wide.ops:
            arrays = list(map(as_f32, arrays))
        if not goes_on:
            self._state = Variables(self.wide.variables)
        self._constants = {}
        self._kernels = {}
        self._quick = {}
        self._whole = whole
        with RunThreads(self._threads), np.errstate(all="ignore"):
            found = self.walk(self.model.graph, arrays, Where(), visit)
            self._state.commit()
            if not self.wide.ops:
                return found
            return [
                as_declared(array, port.element_type) for array, port in zip(found, self.model.outputs, strict=True)
            ]

    def again(self, node: Node, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a layer for other inputs, unseen by visitors. Variables are read, and written to a copy."""
        kept, self._state = self._state, self._state.fork()
        try:
            return self._evaluate(node, list(inputs), Where(), None)
        finally:
            self._state = kept

    def constant(self, node: Node) -> Array:
        """The value of a constant."""
        found = self._constants.get(node)
        if found is None:
            (found,) = self._evaluate(node, [], Where(), None)
        return found

    def walk(self, graph: Graph, arrays: list[Array], where: Where, visit: Visitor | None) -> list[Array]:
        """The values of the Results of a graph, from those of its Parameters."""
        given = dict(zip(graph.parameters, arrays, strict=True))
        if graph not in self._steps:
            self._steps[graph] = _steps_of(graph)
        if visit is not None and self._whole is not None and self._small.get(graph):
            return self._walk_whole(graph, given, where, visit, self._whole)
        slots: dict[int, Array] = {}
        size = 0
        for node, numbers_in, numbers_out, dying in self._steps[graph]:
            inputs = [slots[number] for number in numbers_in]
            outputs = [given[node]] if node in given else self._outputs(node, inputs, where, visit)
            if len(outputs) < len(numbers_out):
                message = f"the layer gives {len(outputs)} outputs, the file declares {len(numbers_out)}"
                raise EvaluationError(message, code=Code.failed, location=node.location)
            if visit is not None:
                outputs = visit(Visit(node, where, inputs, outputs, dying)) or outputs
            slots.update(zip(numbers_out, outputs, strict=False))
            if where.scope and graph not in self._small:
                size += sum([array.nbytes for array in outputs])
            for number in dying:
                slots.pop(number, None)
        if visit is not None and graph not in self._small:
            is_last = not any(node.bodies for node in graph.nodes)
            self._small[graph] = bool(where.scope) and is_last and size <= _FEW_BYTES
        return [slots[node.values_in[0].number] for node in graph.results]

    def _walk_whole(
        self, graph: Graph, given: dict[Node, Array], where: Where, visit: Visitor, whole: WholeVisitor
    ) -> list[Array]:
        """An iteration of a body that has run before; its layers are visited when all are computed, if at all."""
        slots: dict[int, Array] = {}
        quick, constants = self._quick, self._constants
        for node, numbers_in, numbers_out, _ in self._steps[graph]:
            if node in constants:
                slots[numbers_out[0]] = constants[node]
                continue
            if node in given:
                slots[numbers_out[0]] = given[node]
                continue
            inputs = [slots[number] for number in numbers_in]
            known = quick.get(node)
            if known is not None and len(numbers_out) == 1 and known.fits(inputs):
                try:
                    result = known.kernel(*inputs)
                except Exception as error:
                    raise placed(error, node) from error
                slots[numbers_out[0]] = result[0] if isinstance(result, tuple) else result
            else:
                slots.update(zip(numbers_out, self._outputs(node, inputs, where, None), strict=False))
        if not whole(graph, where, slots):
            for node, numbers_in, numbers_out, dying in self._steps[graph]:
                inputs, outputs = ([slots[number] for number in numbers] for numbers in (numbers_in, numbers_out))
                visit(Visit(node, where, inputs, outputs, dying))
        return [slots[node.values_in[0].number] for node in graph.results]

    def _outputs(self, node: Node, inputs: list[Array], where: Where, visit: Visitor | None) -> list[Array]:
        if not isinstance(node.op, Const) or not where.scope:
            return self._evaluate(node, inputs, where, visit)
        if node not in self._constants:
            (self._constants[node],) = self._evaluate(node, inputs, where, visit)
        return [self._constants[node]]

    def _evaluate(self, node: Node, inputs: list[Array], where: Where, visit: Visitor | None) -> list[Array]:
        op = self.wide.ops.get(node, node.op)
        assert op is not None, "networks with unsupported operators are refused before"
        bodies = tuple([_Body(self, node, body, where, visit) for body in node.bodies])
        context: dict[str, Any] = {"weights": self.model.weights, "state": self._state, "bodies": bodies}
        try:
            kernel = self._accepted(node, op, inputs, context)
            if op.evaluate_context:
                result = op.evaluate(*inputs, **{name: context[name] for name in op.evaluate_context})
            else:
                kernel = self._with_constants(node, op, inputs) or kernel
                if where.scope and self._whole is not None:
                    self._remember(node, kernel, inputs)
                result = kernel(*inputs)
        except Exception as error:
            raise placed(error, node) from error
        return list(result) if isinstance(result, tuple) else [result]

    def _accepted(self, node: Node, op: Op, inputs: list[Array], context: dict[str, Any]) -> Kernel:
        """What to call for inputs that inference accepts; asked once for the same types and constants."""
        place = (node, *[(array.dtype, array.shape) for array in inputs])
        kernel, read = self._by_types.get(place, (None, {}))
        if kernel is None or any(inputs[position] is not array for position, array in read.items()):
            read = {}
            types = [_watched(position, array, read) for position, array in enumerate(inputs)]
            # What happens inside of bodies is checked there.
            if not node.bodies and not isinstance(op, Const):
                infer_outputs(op, types, context, raise_error)
            kernel = op.evaluate if op.evaluate_context else op.kernel(*types)
            if all(node.values_in[position] in self._constant_values for position in read):
                self._by_types[place] = kernel, read
        return kernel

    def _remember(self, node: Node, kernel: Kernel, inputs: list[Array]) -> None:
        """Keep the kernel for the next iteration, where it was chosen by types and by constants of the body alone."""
        types = [(array.dtype, array.shape) for array in inputs]
        if (node, *types) not in self._by_types or isinstance(node.op, Const):
            return
        held = [value.node in self._constants for value in node.values_in]
        if all(
            is_held or value not in self._constant_values for is_held, value in zip(held, node.values_in, strict=True)
        ):
            same = [array if is_held else None for array, is_held in zip(inputs, held, strict=True)]
            self._quick[node] = _Quick(kernel, [(one, *type) for one, type in zip(same, types, strict=True)])

    def _with_constants(self, node: Node, op: Op, inputs: list[Array]) -> Kernel | None:
        """`Op.with_constants`; what it prepares from the constants of a body is kept for the next iteration."""
        if type(op).with_constants is Op.with_constants:
            return None
        values = enumerate(node.values_in)
        known = {position: inputs[position] for position, value in values if value in self._constant_values}
        kept, kernel = self._kernels.get(node, ({}, None))
        if not kept or any(kept[position] is not array for position, array in known.items()):
            kernel = op.with_constants(known)
            if all(value.node in self._constants for value in node.values_in if value in self._constant_values):
                self._kernels[node] = known, kernel
        return kernel


_Steps: TypeAlias = list[tuple[Node, list[int], list[int], list[int]]]
"""Each layer but Results, the numbers of its inputs and outputs, and of the values that no later layer reads."""


def _steps_of(graph: Graph) -> _Steps:
    results = {node.values_in[0].number for node in graph.results}
    nodes = [node for node in graph.nodes if not isinstance(node.op, Result)]
    return [
        (
            node,
            [value.number for value in node.values_in],
            [value.number for value in node.outputs],
            [number for number in dying if number not in results],
        )
        for node, dying in zip(nodes, last_uses(nodes), strict=True)
    ]


def _watched(position: int, array: Array, read: dict[int, Array]) -> TensorType:
    """The type of an array; where somebody looks at the value, it is noted in `read`."""

    def source() -> tuple[Array, Array]:
        read[position] = array
        return array, array

    return TensorType(ElementType.of(array), Shape(array.shape), source)


class _Body:
    """A body that runs; the RunningBody of the operator that holds it."""

    def __init__(self, walker: Walker, node: Node, body: BodyGraph, where: Where, visit: Visitor | None) -> None:
        assert body.ties is not None, "a graph with bodies that are not tied is refused when it is built"
        self.ties: Ties = body.ties
        self.depth = body.depth
        self._walker = walker
        self._node = node
        self._body = body
        self._where = where
        self._visit = visit
        self._runs = 0

    def infer(self, types: list[TensorType]) -> list[TensorType]:
        walker = self._walker
        return infer_body(self._body.graph, types, walker.model.weights, ops=walker.wide.ops)

    def run(self, arrays: list[Array], kept: dict[int, Array] | None = None) -> list[Array]:
        where = self._where.inside(self._walker.holders[self._node], self._body.name, self._runs)
        self._runs += 1
        return self._walker.walk(self._body.graph, arrays, where, self._visit)

    def advance(self) -> None:
        nodes = self._body.graph.all_nodes()
        assigned = {node.op.variable_id for node in nodes if isinstance(node.op, AssignsVariable)}
        self._walker._state.advance(assigned)

    def parameter_types(self) -> list[TensorType]:
        ops = [self._walker.wide.ops.get(node, node.op) for node in self._body.graph.parameters]
        return [op.infer() for op in ops if isinstance(op, Parameter)]


class NotFinite(NamedTuple):
    """A layer that makes NaN or infinity: what it makes, and where it is."""

    message: str
    location: Location


class _Found(BaseException):  # no error of a layer: it ends the run, from inside of bodies too
    def __init__(self, found: NotFinite) -> None:
        super().__init__()
        self.found = found


def first_not_finite(
    model: Model,
    inputs: Inputs | None,
    progress: Callable[[str], None] | None = None,
    *,
    precision: Precision = "f32",
) -> NotFinite | None:
    """The first layer, in the order of computation and in bodies as well, that makes NaN of inputs without NaN, or an
    infinity of finite inputs; None where none does. Constants and inputs of the network make what NaN they hold; an
    infinity in them is meant, as in masks. precision: as for `compile_model`."""

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        nans = [_count(array) for array in visit.outputs]
        if not any(nan or infinite for nan, infinite in nans):
            return
        held = [_count(array) for array in visit.inputs]
        has_nan, has_infinity = any(nan for nan, _ in held), any(infinite for _, infinite in held)
        is_source = isinstance(visit.node.op, (Const, Parameter))
        for position, (array, (nan, infinite)) in enumerate(zip(visit.outputs, nans, strict=True)):
            if nan and not has_nan and not (isinstance(visit.node.op, Parameter) and visit.where.scope):
                source = (
                    "holds"
                    if is_source
                    else "makes of inputs without NaN"
                    if has_infinity
                    else "makes of finite inputs"
                )
                raise _Found(_told(visit, position, array, f"{source} {nan:,} NaN"))
            if infinite and not has_infinity and not has_nan and not is_source:
                raise _Found(_told(visit, position, array, f"makes of finite inputs {infinite:,} infinities"))

    model, (inputs,), _ = for_calls(model, inputs)
    try:
        Walker(model, precision=precision).run(inputs, visit)
    except _Found as error:
        return error.found
    return None


def _told(visit: Visit, position: int, array: Array, what: str) -> NotFinite:
    node, where = visit.node, visit.where
    name = "/".join((*where.scope, node.name))
    times = f" in iteration {', '.join(map(str, where.iterations))}" if where.iterations else ""
    output = f" (output {position})" if len(visit.outputs) > 1 else ""
    message = f"layer {node.id} {name!r} ({node.type}){output} {what} among {array.size:,} elements{times}"
    return NotFinite(message, node.location)


def _count(array: Array) -> tuple[int, int]:
    """How many elements are NaN, and how many infinities."""
    kind = ElementType.of(array)
    if not kind.is_float or array.dtype.names:
        return 0, 0
    nans = infinities = 0
    for _, (part,) in pieces(array):
        numbers = part if part.dtype.kind == "f" else as_numbers(part)
        if not np.isfinite(numbers).all():
            nans += int(np.count_nonzero(np.isnan(numbers)))
            infinities += int(np.count_nonzero(np.isinf(numbers)))
    return nans, infinities
