"""The nodes of a model as the transformations of OpenVINO find them.

Plugins compute in one float type, fold constants and remove layers without effect before they fuse. Patterns therefore
match a graph without these layers, in which every constant subgraph is one known value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.infer import Types
from ir_exec.ir import Weights
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import AssignsVariable, Const, ReadsVariable
from ir_exec.plan.graph import FusedNode, PlanGraph
from ir_exec.types import Array

__all__ = ["FusionGraph"]

_LARGEST = 1 << 22
"""Maximum elements of a constant that is computed: patterns read numbers, indices and tables."""


class FusionGraph(PlanGraph):
    """The nodes of a model without constants and without layers that have no effect.

    Attributes:
        has_variables: The model has states.
    """

    def __init__(self, model: Model) -> None:
        graph = model.graph
        self._constants: dict[int, Node] = {}
        arrays = _ConstantArrays(model.types, model.weights, self._constants)
        super().__init__([], model.types, arrays, [], _operator_of)
        self._replacements: dict[Value, Value] = {}
        nodes: list[Node] = []
        for node in (*graph.parameters, *(node for node in graph.nodes if node not in graph.parameters)):
            if self._is_constant_node(node):
                self._constants.update((value.number, node) for value in node.outputs)
                continue
            nodes.append(self._with_current_inputs(node))
            if (source := self._unchanged_input(nodes[-1], model.types)) is not None:
                self._replacements[node.outputs[0]] = source
                nodes.pop()
        self.set_nodes(nodes)
        self.remove_unread()
        self.has_variables = any(isinstance(node.op, ReadsVariable) for node in self.nodes)

    def is_constant(self, value: Value) -> bool:
        """Return True for a constant of the file and for a value computed from constants only."""
        return value.number in self._constants

    def readers(self, value: Value) -> Sequence[Node]:
        """The nodes that read a value."""
        return self._current_index().readers.get(value.number, ())

    def current(self, value: Value) -> Value:
        """The value that replaces an output of a layer without effect."""
        return self._replacements.get(value, value)

    def add_fused(self, node: Node, op: Op, inputs: Sequence[Value]) -> None:
        """Replace a node by one that computes the same output from other values; unread nodes are removed later."""
        fused = FusedNode(
            layer=node.layer,
            op=op,
            path=node.path,
            op_class=type(op),
            inputs=list(inputs),
            outputs=node.outputs,
            members=(node,),
        )
        self.set_nodes([fused if other is node else other for other in self.nodes])

    def remove_unread(self) -> None:
        """Remove nodes whose outputs no node reads."""
        needed: set[int] = set()
        remaining = []
        for node in reversed(self.nodes):
            is_end = (
                not node.outputs
                or node.op_class.is_result
                or node.op_class.is_parameter
                or isinstance(node.op, AssignsVariable)
            )
            if is_end or any(value.number in needed for value in node.outputs):
                needed.update(value.number for value in node.values_in)
                remaining.append(node)
        self.set_nodes(remaining[::-1])

    def _is_constant_node(self, node: Node) -> bool:
        if isinstance(node.op, Const):
            return True
        inputs = node.inputs
        op = node.op
        if op is None or not inputs or node.bodies or op.evaluate_context or not op.deterministic or not node.outputs:
            return False
        if all(self.types[value.number].value is not None for value in node.outputs):
            return True  # a shape that inference has determined
        return all(value is not None and value.number in self._constants for value in inputs)

    def _with_current_inputs(self, node: Node) -> Node:
        inputs = [None if value is None else self.current(value) for value in node.inputs]
        return node if inputs == node.inputs else replace(node, inputs=inputs)

    def _unchanged_input(self, node: Node, types: Types) -> Value | None:
        """The input that an output of the node is equal to, in the element type that a plugin computes in."""
        if not node.values_in or len(node.outputs) != 1:
            return None
        source, output = node.values_in[0], node.outputs[0]
        before, after = types[source.number], types[output.number]
        if node.op_class.is_conversion:
            both_float = before.element_type.is_float and after.element_type.is_float
            return source if both_float or before.element_type is after.element_type else None
        if node.op_class.preserves_order:
            return source if before.shape.is_static and before.shape == after.shape else None
        return None


class _ConstantArrays(list[Array | None]):
    """The arrays of values that do not depend on inputs, computed on access.

    Args:
        constants: The nodes that compute constants, by the numbers of their outputs.
    """

    def __init__(self, types: Types, weights: Weights | None, constants: Mapping[int, Node]) -> None:
        super().__init__([None] * len(types))
        self._types = types
        self._weights = weights
        self._constants = constants
        self._computed: set[int] = set()

    def __getitem__(self, number: Any) -> Any:
        if number not in self._computed:
            self._computed.add(number)  # before the computation: a value does not depend on itself
            self[number] = self._compute(number)
        return super().__getitem__(number)

    def _compute(self, number: int) -> Array | None:
        """The array of a constant, or a value that inference has computed; None for large constants."""
        node = self._constants.get(number)
        type = self._types[number]
        if node is None or (type.value is not None and not isinstance(node.op, Const)):
            return type.value
        if not type.shape.is_static or prod(type.shape.static) > _LARGEST:
            return None
        try:
            if isinstance(node.op, Const):
                return None if self._weights is None else node.op.evaluate(weights=self._weights)
            inputs = [self[source.number] for source in node.values_in]
            if node.op is None or any(array is None for array in inputs):
                return None
            with np.errstate(all="ignore"):
                outputs = node.op.evaluate(*inputs)
        except (IRError, ArithmeticError, TypeError, ValueError, IndexError):
            return None  # the check and the run report the fault
        position = next(value.position for value in node.outputs if value.number == number)
        result: Any = outputs[position] if isinstance(outputs, (tuple, list)) else outputs
        return np.asarray(result)


def _operator_of(node: Node) -> Any:
    return node.op
