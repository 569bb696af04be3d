"""Probes of input sizes: inference accepts the sizes or fails at a layer."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

import numpy as np

from ir_exec.check.blame import sizes_of
from ir_exec.codes import Code
from ir_exec.errors import IRError
from ir_exec.graph import Graph, Node
from ir_exec.infer import Types, infer_types, inferred_or_declared
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.ops.infrastructure.values import Const
from ir_exec.types import Dim, Shape, TensorType

__all__ = ["OutOfProbesError", "Outcome", "Prober", "Sizes"]

Sizes = tuple[int, ...]
"""The size of every dim of all inputs, one after the other."""

LEAST_PROBES = 60
"""Minimum number of probes, for models of any size up to `_MOST_OF_LEAST` layers."""

MOST_LAYERS = 80_000
"""Maximum layers that are inferred in total, which takes two to three seconds."""

_MOST_OF_LEAST = 6 * MOST_LAYERS
"""Maximum layers that are inferred for the minimum number of probes."""

_OF_VALUES = (Code.index_out_of_range, Code.bad_value)


class OutOfProbesError(Exception):
    """The limit of probes is exceeded."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of inference for given sizes.

    Attributes:
        place: The number of layers before the failing layer, or of all layers.
        node: The failing layer; None if every layer accepts the sizes.
        error: The error of the failing layer.
        types: The types of all values, inferred up to the failing layer.
    """

    sizes: Sizes
    place: int
    node: Node | None
    error: IRError | None
    types: Types

    @property
    def fits(self) -> bool:
        return self.error is None


class InputAxis(NamedTuple):
    """A dim: the number of its input, and its axis."""

    input: int
    axis: int


class _StopError(Exception):
    def __init__(self, node: Node, error: IRError) -> None:
        super().__init__()
        self.node = node
        self.error = error


class Prober:
    """Inference of a model for given input sizes. Each set of sizes is inferred once.

    Args:
        shapes: The shapes of inputs by number, instead of the declared shapes.

    Attributes:
        dims: The input and axis of each dim; inputs of unknown rank have no dims and are not changed.
    """

    def __init__(self, model: Model, shapes: Mapping[int, Shape] | None = None) -> None:
        self._graph, self._weights = model.graph, model.weights
        self._inputs = [node.outputs[0] for node in model.graph.parameters]
        types = [model.types[value.number] for value in self._inputs]
        for number, shape in (shapes or {}).items():
            types[number] = TensorType(types[number].element_type, shape)
        self.dims = [InputAxis(number, axis) for number, type in enumerate(types) for axis in range(type.rank or 0)]
        self._declared = types
        self._numbers = {node: number for number, node in enumerate(model.graph.nodes)}
        self._parameters = {node: number for number, node in enumerate(model.graph.parameters)}
        self._outcomes: dict[Sizes, Outcome] = {}
        self._above: dict[Node, list[int]] = {}
        self.inferred_layers = 0
        input_types = {
            value: TensorType(type.element_type, Shape.unknown() if type.rank is None else Shape.of_rank(type.rank))
            for value, type in zip(self._inputs, types, strict=True)
        }
        # Values that do not depend on inputs are inferred once.
        self._known = infer_types(
            self._graph, weights=self._weights, overrides=input_types, settle=inferred_or_declared
        )
        self._below = replace(self._graph, nodes=_below(self._graph))

    @property
    def probes(self) -> int:
        return len(self._outcomes)

    @property
    def remaining_share(self) -> float:
        """The remaining share of `MOST_LAYERS`."""
        return 1 - self.inferred_layers / MOST_LAYERS

    def declared_dim(self, dim: int) -> Dim:
        input_axis = self.dims[dim]
        return self._declared[input_axis.input].shape[input_axis.axis]

    def of_constants(self) -> set[int]:
        """The sizes that derive from constants."""
        sizes: set[int] = set()
        for node in self._graph.nodes:
            if isinstance(node.op, Const):
                sizes |= sizes_of(node, self._known[node.outputs[0].number])
        return sizes

    def keep(self, outcome: Outcome) -> None:
        """Reuse the types of an outcome in later probes, for values whose inputs are equal."""
        self._known = outcome.types

    def shapes_of(self, sizes: Sequence[int]) -> dict[int, Shape]:
        """The shapes of the inputs of known rank, by number."""
        dims_by_input: dict[int, list[int]] = {}
        for input_axis, size in zip(self.dims, sizes, strict=True):
            dims_by_input.setdefault(input_axis.input, []).append(size)
        return {number: Shape(dims) for number, dims in dims_by_input.items()}

    def __call__(self, sizes: Sizes) -> Outcome:
        """Infer the model with these sizes.

        Raises:
            OutOfProbesError: If the limit of probes is exceeded.
        """
        outcome = self._outcomes.get(sizes)
        if outcome is None:
            is_enough = len(self._outcomes) >= LEAST_PROBES or self.inferred_layers > _MOST_OF_LEAST
            if self.inferred_layers > MOST_LAYERS and is_enough:
                raise OutOfProbesError
            outcome = self._outcomes[sizes] = self._infer(sizes)
        return outcome

    def _infer(self, sizes: Sizes) -> Outcome:
        shapes = self.shapes_of(sizes)
        input_types = {}
        for number, (value, type) in enumerate(zip(self._inputs, self._declared, strict=True)):
            previous = self._known[value.number]
            new = TensorType(type.element_type, shapes.get(number, type.shape))
            input_types[value] = previous if previous == new else new
        seen = list(self._known)
        for value, type in input_types.items():
            seen[value.number] = type
        count = 0

        def settle(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
            nonlocal count
            count += 1
            if faults:
                raise _StopError(node, faults[0])
            _check_values(node, seen)
            settled = inferred_or_declared(node, inferred, faults)
            for value, type in zip(node.outputs, settled, strict=False):
                seen[value.number] = type
            return settled

        try:
            types = infer_types(
                self._below, weights=self._weights, overrides=input_types, settle=settle, earlier=self._known
            )
        except _StopError as stop:
            return Outcome(sizes, self._numbers[stop.node], stop.node, stop.error, seen)
        finally:
            self.inferred_layers += count
        return Outcome(sizes, len(self._numbers), None, None, types)

    def meets_fixed(self, outcome: Outcome, base: Sizes) -> bool:
        """Return True if no other size can help: the layer requires the dim of an input independent of the changes."""
        node, error = outcome.node, outcome.error
        if node is None or error is None or error.code != Code.dims_differ:
            return False
        moved = {dim for dim, (new, old) in enumerate(zip(outcome.sizes, base, strict=True)) if new != old}
        return any(moved.isdisjoint(self.above(value.node)) for value in node.values_in)

    def above(self, node: Node) -> list[int]:
        """The dims that a layer may depend on; those of the nearest inputs are first."""
        if node not in self._above:
            self._above[node] = self._find_above(node)
        return self._above[node]

    def _find_above(self, node: Node) -> list[int]:
        distance = {node: 0}
        pending = deque([node])
        dims = []
        while pending:
            upstream = pending.popleft()
            if upstream in self._parameters:
                number = self._parameters[upstream]
                dims += [dim for dim, input_axis in enumerate(self.dims) if input_axis.input == number]
            for value in upstream.values_in:
                if value.node not in distance:
                    distance[value.node] = distance[upstream] + 1
                    pending.append(value.node)
        return dims

    def gaps(self, outcome: Outcome) -> list[int]:
        """The differences between input sizes of the failing layer, aligned at the last or at the first axis."""
        node = outcome.node
        if node is None:
            return []
        shapes = [outcome.types[value.number].shape for value in node.values_in]
        rows = [[dim.lo for dim in shape] for shape in shapes if shape.dims is not None and shape.is_static]
        differences: dict[int, None] = {}
        for first in rows:
            for second in rows:
                pairs = zip(reversed(first), reversed(second), strict=False)
                differences.update(dict.fromkeys(a - b for a, b in pairs))
                pairs = zip(first, second, strict=False)
                differences.update(dict.fromkeys(a - b for a, b in pairs))
        differences.pop(0, None)
        return list(differences)


def _below(graph: Graph) -> list[Node]:
    """The layers that depend on the inputs, and the inputs."""
    dependent = set(graph.parameters)
    for node in graph.nodes:
        if any(value.node in dependent for value in node.values_in):
            dependent.add(node)
    return [node for node in graph.nodes if node in dependent]


def _check_values(node: Node, types: Types) -> None:
    """Reject computed input values that would fail in a run, such as an index out of range."""
    op = node.op
    if op is None or node.bodies or type(op).check_values is Op.check_values or not node.is_whole:
        return
    with np.errstate(all="ignore"):
        for fault in op.check_values(*[types[value.number] for value in node.values_in]):
            if fault.code in _OF_VALUES and (fault.severity or "error") == "error":
                _refuse(node, fault)


def _refuse(node: Node, fault: IRError) -> NoReturn:
    raise _StopError(node, fault.located(node.location))
