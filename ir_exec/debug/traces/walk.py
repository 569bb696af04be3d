"""Layer-by-layer runs of a model that show every value to a visitor, including constants and values of each iteration.

A walker uses the hooks of the interpreter. Nothing is folded and no memory is reused, so a visitor may keep or replace
values, or compute a layer again from different inputs.

The search for the source of NaN and infinity is such a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.values.facts import as_numbers, pieces
from ir_exec.errors import EvaluationError, Location
from ir_exec.graph import BodyGraph, Graph, Node, last_uses
from ir_exec.kernels.limits import LIMITS, Budget, Limits
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.plan.memory import Buffers, byte_size, default_budget
from ir_exec.plan.records import Step, require_at_layer
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.calls import bind_calls
from ir_exec.runtime.compiled import refuse_unsupported
from ir_exec.runtime.layers import LayerSteps
from ir_exec.runtime.loop import Hooks
from ir_exec.runtime.precision import AS_IN_FILE, Precision, as_declared, as_f32, checked_precision, run_as_f32
from ir_exec.runtime.state import VARIABLES, CurrentVariables, Variables
from ir_exec.runtime.threads import RunThreads, chosen_threads
from ir_exec.types import Array, ElementType

__all__ = ["NotFinite", "Visit", "Visitor", "Walker", "Where", "first_not_finite"]

_MEMORY_HINT = "use inputs of smaller shapes (--shape)"


class Where(NamedTuple):
    """Position of a layer in a run.

    Attributes:
        scope: The names of the enclosing layers and bodies, the outermost first: `("loop", "body")`; empty at the top.
        iterations: The current iteration of each of these bodies, counted from 0.
    """

    scope: tuple[str, ...] = ()
    iterations: tuple[int, ...] = ()

    def inside(self, holder: str, body: str, iteration: int) -> Where:
        return Where((*self.scope, holder, body), (*self.iterations, iteration))


@dataclass(slots=True)
class Visit:
    """A layer that has just been computed.

    Attributes:
        dying: Numbers of values that no later layer of its graph reads.
    """

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
"""Called after each layer except Results. Later layers use the arrays that it returns, if any."""


WholeVisitor: TypeAlias = Callable[[Graph, Where, Sequence[Array]], bool]
"""Called after a further iteration of a small body, with its values by number. Returns True if the layers need not be
visited one by one."""

FEW_BYTES = 2**20
"""Maximum bytes of all values of an iteration that a WholeVisitor receives."""


class Walker:
    """Runs a model for visitors. A walker is used by one thread.

    Args:
        threads: As for `compile_model`.
        precision: The element type in which f16 and bf16 are computed; with "f32" visitors receive f32 values for these
            types.

    Raises:
        UnsupportedError: For unsupported operators.
    """

    def __init__(self, model: Model, *, threads: int | None = None, precision: Precision = "file") -> None:
        refuse_unsupported(model.graph)
        self.model = model
        self.wide = run_as_f32(model) if checked_precision(precision) == "f32" else AS_IN_FILE
        self._threads = chosen_threads(threads)
        self._state = Variables()
        self._holders: dict[Node, str] = model.graph.holder_names()
        for node in model.graph.all_nodes():
            for body in node.bodies:
                self._holders |= body.graph.holder_names()
        context = {"weights": model.weights, "state": CurrentVariables()}
        self._layers = LayerSteps(model.graph, context, self.wide.ops, self._run_body)
        self._visit: Visitor | None = None
        self._whole: WholeVisitor | None = None
        self._where = Where()
        self._iterations: dict[Graph, int] = {}
        self._small: dict[Graph, bool] = {}
        self._budget = Budget(default_budget(), _MEMORY_HINT)

    def require_memory(self) -> None:
        """Compare the memory of values of known sizes with that of the machine, before any layer runs.

        Raises:
            ResourceError: At the first layer that exceeds it.
        """
        graph, types = self.model.graph, self.model.types
        if sum(map(byte_size, types)) <= self._budget.max_memory:
            return
        nodes = [step.node for step in self._layers.steps(graph) if not isinstance(step.op, Parameter)]
        results = frozenset([node.values_in[0].number for node in graph.results])
        buffers = Buffers(nodes, types, results, last_uses(nodes))
        for index, node in enumerate(nodes):
            require_at_layer(node, self._budget.require, buffers.enter(index))
            buffers.leave(index)

    def run(
        self,
        inputs: Inputs | None,
        visit: Visitor | None = None,
        *,
        on_iteration: WholeVisitor | None = None,
        goes_on: bool = False,
    ) -> list[Array]:
        """Run the model and return the outputs in their order.

        Args:
            on_iteration: Called before `visit` for the layers of an iteration. `visit` must then not replace values.
            goes_on: Start from the variables of the previous run, not from their initial values.

        Raises:
            IRError: What a call of a CompiledModel raises.
        """
        arrays = bind_inputs(inputs, self.model.inputs)
        if self.model.weights is not None:
            self.model.weights.require_unchanged()
        if self.wide.ops:
            arrays = list(map(as_f32, arrays))
        if not goes_on:
            self._state = Variables(self.wide.variables)
        self._layers.forget()
        self.require_memory()
        limits_before = LIMITS.set(Limits(self._budget))
        try:
            with RunThreads(self._threads), np.errstate(all="ignore"), self._as_now(Where(), visit, on_iteration):
                outputs = self._walk(self.model.graph, arrays)
                self._state.commit()
                ports = zip(outputs, self.model.outputs, strict=True)
                return [as_declared(array, port.element_type) for array, port in ports] if self.wide.ops else outputs
        finally:
            LIMITS.reset(limits_before)

    def again(self, node: Node, inputs: Sequence[Array]) -> list[Array]:
        """Return the outputs of a layer for different inputs, without visitors; variables are read but not changed."""
        saved_state, self._state = self._state, self._state.fork()
        try:
            with self._as_now(Where(), None, None):
                return self._layers.evaluate(node, list(inputs))
        finally:
            self._state = saved_state

    def constant(self, node: Node) -> Array:
        """Return the value of a constant."""
        (array,) = self._layers.evaluate(node, [])
        return array

    @contextmanager
    def _as_now(self, where: Where, visit: Visitor | None, on_iteration: WholeVisitor | None) -> Iterator[None]:
        """Run layers at `where` for these visitors, with the current variables of the walker."""
        saved = self._where, self._visit, self._whole
        self._where, self._visit, self._whole = where, visit, on_iteration
        token = VARIABLES.set(self._state)
        try:
            yield
        finally:
            VARIABLES.reset(token)
            self._where, self._visit, self._whole = saved

    def _run_body(self, node: Node, body: BodyGraph, arrays: list[Array]) -> list[Array]:
        iteration = self._iterations.get(body.graph, 0)
        self._iterations[body.graph] = iteration + 1
        outer = self._where
        self._where = outer.inside(self._holders[node], body.name, iteration)
        try:
            return self._walk(body.graph, arrays)
        finally:
            self._where = outer

    def _walk(self, graph: Graph, arrays: list[Array]) -> list[Array]:
        """Run a graph and return the values of its Results, from the values of its Parameters."""
        visit, where = self._visit, self._where
        is_known = graph in self._small
        if visit is not None and self._whole is not None and self._small.get(graph):
            slots = self._layers.run(graph, arrays, None, keeps_all=True)
            self._show_iteration(graph, slots, visit, self._whole)
        else:
            hooks = _Visiting(where, visit, self._iterations)
            slots = self._layers.run(graph, arrays, hooks)
            if visit is not None and not is_known:
                is_last = not any(node.bodies for node in graph.nodes)
                self._small[graph] = bool(where.scope) and is_last and hooks.size <= FEW_BYTES
        numbers = [node.values_in[0].number for node in graph.results]
        return [array for number in numbers if (array := slots[number]) is not None]

    def _show_iteration(
        self, graph: Graph, slots: list[Array | None], visit: Visitor, on_iteration: WholeVisitor
    ) -> None:
        """Show an iteration of a body that has run before as a whole, or visit its layers one by one if requested."""
        values = [_NO_VALUE if array is None else array for array in slots]
        if on_iteration(graph, self._where, values):
            return
        for step in self._layers.steps(graph):
            inputs, outputs = ([values[number] for number in numbers] for numbers in (step.inputs, step.outputs))
            visit(Visit(step.node, self._where, _inputs_of(step, inputs), outputs, step.dying))


_NO_VALUE = np.empty(0)
"""Placeholder for values that no layer computes."""


class _Visiting(Hooks):
    """Hooks that show the layers of one run of a graph to a visitor, if any.

    Args:
        iterations: The number of iterations of each body in the current run of its layer.

    Attributes:
        size: The total bytes of all outputs in a body.
    """

    def __init__(self, where: Where, visit: Visitor | None, iterations: dict[Graph, int]) -> None:
        self._where = where
        self._visit = visit
        self._iterations = iterations
        self.size = 0

    def before(self, step: Step, inputs: Sequence[Array]) -> Sequence[Array]:
        for body in step.node.bodies:
            self._iterations[body.graph] = 0
        return inputs

    def after(self, step: Step, inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        node = step.node
        if len(outputs) < len(step.outputs):
            raise EvaluationError(
                "the layer has",
                actual=len(outputs),
                detail="outputs",
                expected=len(step.outputs),
                reason=" as declared in the file",
                code=Code.failed,
                location=node.location,
            )
        if self._visit is None:
            return outputs
        results = list(outputs)
        results = self._visit(Visit(node, self._where, _inputs_of(step, inputs), results, step.dying)) or results
        if self._where.scope:
            self.size += sum([array.nbytes for array in results])
        return results


def _inputs_of(step: Step, arrays: Sequence[Array]) -> list[Array]:
    """Return the inputs to show to a visitor; a Parameter has none, although its step receives its value."""
    return [] if isinstance(step.op, Parameter) else list(arrays)


class NotFinite(NamedTuple):
    """A layer that produces NaN or infinity: the message and the location."""

    message: str
    location: Location


class _Found(BaseException):  # not an Exception, which a layer could handle: it ends the run, also from bodies
    def __init__(self, not_finite: NotFinite) -> None:
        super().__init__()
        self.found = not_finite


def first_not_finite(
    model: Model,
    inputs: Inputs | None,
    progress: Callable[[str], None] | None = None,
    *,
    precision: Precision = "f32",
) -> NotFinite | None:
    """Find the first layer that produces NaN from inputs without NaN, or infinity from finite inputs.

    Layers are searched in the order of computation, including those of bodies. A constant or an input of the model that
    contains NaN is also found. Their infinities are ignored: masks contain them on purpose.

    Args:
        precision: As for `compile_model`.

    Returns:
        None if there is no such layer.
    """

    def visit(visit: Visit) -> None:
        if progress is not None:
            progress(visit.path)
        nans = [_count(array) for array in visit.outputs]
        if not any(nan or infinite for nan, infinite in nans):
            return
        counts = [_count(array) for array in visit.inputs]
        has_nan, has_infinity = any(nan for nan, _ in counts), any(infinite for _, infinite in counts)
        is_source = isinstance(visit.node.op, (Const, Parameter))
        for position, (array, (nan, infinite)) in enumerate(zip(visit.outputs, nans, strict=True)):
            if nan and not has_nan and not (isinstance(visit.node.op, Parameter) and visit.where.scope):
                what = f"{'contains' if is_source else 'produces'} NaN in {nan:,} of {array.size:,} elements"
                if not is_source:
                    what += " from inputs without NaN" if has_infinity else " from finite inputs"
                raise _Found(_not_finite(visit, position, what))
            if infinite and not has_infinity and not has_nan and not is_source:
                what = f"produces infinity in {infinite:,} of {array.size:,} elements from finite inputs"
                raise _Found(_not_finite(visit, position, what))

    model, (inputs,), _ = bind_calls(model, inputs)
    try:
        Walker(model, precision=precision).run(inputs, visit)
    except _Found as error:
        return error.found
    return None


def _not_finite(visit: Visit, position: int, what: str) -> NotFinite:
    node, where = visit.node, visit.where
    name = "/".join((*where.scope, node.name))
    times = f" in iteration {', '.join(map(str, where.iterations))}" if where.iterations else ""
    output = f" (output {position})" if len(visit.outputs) > 1 else ""
    location = node.location
    source = "" if location.source is None else location.source.describe(node.name)
    layer = ", ".join(filter(None, (f"layer {node.id} {name!r} ({node.type}){output}", source)))
    return NotFinite(f"{layer} {what}{times}", location)


def _count(array: Array) -> tuple[int, int]:
    """Return the numbers of NaN and infinite elements."""
    element_type = ElementType.of(array)
    if not element_type.is_float or array.dtype.names:
        return 0, 0
    nans = infinities = 0
    for _, (part,) in pieces(array):
        numbers = part if part.dtype.kind == "f" else as_numbers(part)
        if not np.isfinite(numbers).all():
            nans += int(np.count_nonzero(np.isnan(numbers)))
            infinities += int(np.count_nonzero(np.isinf(numbers)))
    return nans, infinities
