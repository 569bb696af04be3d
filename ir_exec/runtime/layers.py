"""Runs of a graph layer by layer: without folding, fusion or reuse of memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ir_exec.graph import BodyGraph, Graph, Node, last_uses
from ir_exec.infer import OuterTypes
from ir_exec.kernels.limits import current_limits
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.plan.constant_values import constant_values
from ir_exec.plan.constants import ModelConstants
from ir_exec.plan.dynamic_kernel import DynamicKernel
from ir_exec.plan.memory import freeze
from ir_exec.plan.passes.sink_large_constants import sink_constant_layers, sink_constants
from ir_exec.plan.records import Context, DynamicStepMemory, Kernel, Step
from ir_exec.runtime.bodies import InterpretedBody
from ir_exec.runtime.loop import Hooks, placed, run_steps
from ir_exec.types import Array

__all__ = ["LayerSteps"]

RunsLayerBody: TypeAlias = Callable[[Node, BodyGraph, list[Array]], list[Array]]
"""Computes the Results of a body of a node from its Parameters."""


class LayerSteps:
    """The steps of a graph and of its bodies, one for each layer but Results.

    Hooks may keep the arrays that they receive, and replace them. If constants select another kernel for a layer in a
    run, the layer has the same kernel here. Parameters are steps that return their input.

    With the constants of a compiled graph, folded layers and Parameters have no step, and limits count the arrays of a
    run. Several threads may run the steps at once, unless `runs` prevents it.

    Args:
        ops: Operators that replace the operators of their nodes.
        runs: Computes the bodies; None: their layers run without hooks.
        constants: The constants of the graph.

    Attributes:
        constants: See above.
        hidden: Layers with a step that depend on constants alone: in plans, steps hold their values.
    """

    def __init__(
        self,
        graph: Graph,
        context: Context,
        ops: Mapping[Node, Op],
        runs: RunsLayerBody | None = None,
        constants: ModelConstants | None = None,
    ) -> None:
        self.constants = constants
        self.hidden = frozenset([value.node for value in constants.unstored] if constants is not None else ())
        self._graph = graph
        self._context = context
        self._without_bodies: Context = {**context, "bodies": ()}
        self._ops = ops
        self._runs = runs or self._run_without_hooks
        self._steps: dict[Graph, list[Step]] = {}
        self._keeping: dict[Graph, list[Step]] = {}
        self._kernels: dict[Node, Kernel] = {}
        self._kept: list[_ConstantOfBody] = []
        self._constant_values = constant_values(graph)
        self._inside: set[Node] = set()
        for node in graph.all_nodes():
            for body in node.bodies:
                self._constant_values |= constant_values(body.graph)
                self._inside.update(body.graph.nodes)

    def run(
        self, graph: Graph, arrays: list[Array], hooks: Hooks | None, *, keeps_all: bool = False
    ) -> list[Array | None]:
        """Run a graph, and return its values by their numbers; None for one after its last use.

        Args:
            arrays: The values of the Parameters.
            keeps_all: If true, values are kept after their last use.
        """
        steps = self.steps(graph)
        if keeps_all:
            if graph not in self._keeping:
                self._keeping[graph] = [replace(step, dying=()) for step in steps]
            steps = self._keeping[graph]
        slots: list[Array | None] = [None] * len(graph.values)
        if self.constants is not None and graph is self._graph:
            slots = self.constants.arrays.copy()
        for node, array in zip(graph.parameters, arrays, strict=True):
            slots[node.outputs[0].number] = array
        run_steps(steps, slots, current_limits(), hooks)
        return slots

    def run_to_results(self, graph: Graph, arrays: list[Array], hooks: Hooks | None) -> list[Array]:
        """Run a graph, and return the values of its Results."""
        slots = self.run(graph, arrays, hooks)
        numbers = [node.values_in[0].number for node in graph.results]
        return [array for number in numbers if (array := slots[number]) is not None]

    def steps(self, graph: Graph) -> list[Step]:
        """Return the steps of the graph, or of a body."""
        cached = self._steps.get(graph)
        if cached is None:
            cached = self._steps[graph] = self._steps_of(graph)
        return cached

    def evaluate(self, node: Node, inputs: list[Array]) -> list[Array]:
        """Return the outputs of a layer for these inputs, without hooks."""
        try:
            result = self._kernel(node)(*inputs)
        except Exception as error:
            raise placed(error, node) from error
        return list(result) if isinstance(result, tuple) else [result]

    def forget(self) -> None:
        """Free the constants of bodies that the last run kept for other iterations."""
        for constant in self._kept:
            constant.forget()

    def _steps_of(self, graph: Graph) -> list[Step]:
        results = {node.values_in[0].number for node in graph.results}
        if self.constants is not None and graph is self._graph:
            nodes = sink_constants(self.constants.computed_nodes())
        else:
            without = Result if self.constants is None else (Parameter, Result)
            layers = [node for node in graph.nodes if not isinstance(node.op, without)]
            nodes = sink_constant_layers(layers, self._constant_values)
        return [
            self._step(node, tuple([number for number in dying if number not in results]))
            for node, dying in zip(nodes, last_uses(nodes), strict=True)
        ]

    def _step(self, node: Node, dying: tuple[int, ...]) -> Step:
        op = self._operator(node)
        outputs = tuple([value.number for value in node.outputs])
        inputs = outputs if isinstance(op, Parameter) else tuple([value.number for value in node.values_in])
        memory = None if self.constants is None else DynamicStepMemory(0, (0,) * len(outputs))
        step = Step(node, self._kernel(node), inputs, outputs, dying, memory, op)
        instrument = None if self.constants is None else self.constants.setting.instrument
        return step if instrument is None else instrument(step)

    def _operator(self, node: Node) -> Op:
        op = self._ops.get(node, node.op)
        assert op is not None, "the compiler rejects models with unsupported operators"
        return op

    def _kernel(self, node: Node) -> Kernel:
        kernel = self._kernels.get(node)
        if kernel is None:
            kernel = self._kernels[node] = self._new_kernel(node, self._operator(node))
        return kernel

    def _new_kernel(self, node: Node, op: Op) -> Kernel:
        if isinstance(op, Parameter):
            return _same
        context = self._context_of(node) if node.bodies else self._without_bodies
        is_inside = node in self._inside
        is_kept = is_inside and node.outputs and all(value in self._constant_values for value in node.outputs)
        kernel: Kernel
        if op.evaluate_context:
            kernel = partial(op.evaluate, **{name: context[name] for name in op.evaluate_context})
            # The content of bodies is checked there.
            if not node.bodies and not isinstance(node.op, Const):
                kernel = DynamicKernel(node, op, context, kernel, better=False)
        elif self.constants is not None and not is_inside:
            arrays = [self.constants.arrays[value.number] for value in node.values_in]
            fixed = {position: array for position, array in enumerate(arrays) if array is not None}
            better = self.constants.select_kernel(node)
            kernel = DynamicKernel(
                node, op, context, better or op.evaluate, better=better is None, fixed=fixed, at_once=True
            )
        else:
            constant_positions = [
                position for position, value in enumerate(node.values_in) if value in self._constant_values
            ]
            dynamic = DynamicKernel(
                node, op, context, op.evaluate, better=True, constants=constant_positions, at_once=True
            )
            has_other = type(op).with_constants is not Op.with_constants
            kernel = _ByConstants(op, constant_positions, dynamic, keeps=is_inside) if has_other else dynamic
        if is_kept:
            constant = _ConstantOfBody(kernel)
            self._kept.append(constant)
            return constant
        return kernel

    def _context_of(self, node: Node) -> Context:
        """Return the context of a layer with bodies."""
        outer = OuterTypes(self._context["weights"], self._ops, None)
        bodies = [
            InterpretedBody(body, outer, self._context["state"], partial(self._run_body, node, body))
            for body in node.bodies
        ]
        return {**self._context, "bodies": tuple(bodies)}

    def _run_body(self, node: Node, body: BodyGraph, arrays: list[Array], _: object) -> list[Array]:
        return self._runs(node, body, arrays)

    def _run_without_hooks(self, node: Node, body: BodyGraph, arrays: list[Array]) -> list[Array]:
        return self.run_to_results(body.graph, arrays, None)


def _same(array: Array) -> Array:
    return array


class _ConstantOfBody:
    """The kernel of a layer in a body that depends on constants alone: it is computed in one iteration for all."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        # Inputs and result are stored together: several threads may call.
        self._last: tuple[tuple[Array, ...], Any] | None = None

    def __call__(self, *arrays: Array) -> Any:
        last = self._last
        if last is None or any(previous is not array for previous, array in zip(last[0], arrays, strict=True)):
            result = self._kernel(*arrays)
            # The caller of the model may get it as an output.
            result = tuple(map(freeze, result)) if isinstance(result, tuple) else freeze(result)
            last = self._last = arrays, result
        return last[1]

    def forget(self) -> None:
        self._last = None


class _ByConstants:
    """The kernel from `Op.with_constants` of a layer, with the general kernel for arrays that do not allow it.

    Args:
        keeps: If true, the prepared kernel is kept for the next call with the same arrays.
    """

    def __init__(self, op: Op, positions: Collection[int], dynamic: DynamicKernel, *, keeps: bool) -> None:
        self._op = op
        self._positions = positions
        self._dynamic = dynamic
        self._keeps = keeps
        self._last: tuple[dict[int, Array], Kernel | None] = {}, None

    def __call__(self, *arrays: Array) -> Any:
        kernel = self._dynamic.accept(arrays)
        constants, better = self._last
        if not constants or any(arrays[position] is not array for position, array in constants.items()):
            constants = {position: arrays[position] for position in self._positions}
            better = self._op.with_constants(constants)
            if self._keeps:
                self._last = constants, better
        return (better or kernel)(*arrays)
