"""Probes of input sizes: whether inference accepts them, and where it does not."""

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
"""However large the network is."""

MOST_LAYERS = 80_000
"""Layers that are inferred in all, which takes two to three seconds."""

_MOST_OF_LEAST = 6 * MOST_LAYERS
"""Layers that are inferred for the least number of probes, at most."""

_OF_VALUES = (Code.index_out_of_range, Code.bad_value)


class OutOfProbesError(Exception):
    """No more probes may be made."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What inference says of some sizes.

    place: how many layers it came to. node, error: where it stopped and why; None where every layer takes the sizes.
    types: of all values, as far as it came.
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
    """A dim: the number of the input that has it, and its axis."""

    input: int
    axis: int


class _StopError(Exception):
    def __init__(self, node: Node, error: IRError) -> None:
        super().__init__()
        self.node = node
        self.error = error


class Prober:
    """Infers a network with sizes for its inputs, each set of sizes once.

    shapes: of inputs, by their numbers, in place of the declared ones. dims: the place of every dim; inputs of unknown
    rank have none and stay as they are.
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
        given = {
            value: TensorType(type.element_type, Shape.unknown() if type.rank is None else Shape.of_rank(type.rank))
            for value, type in zip(self._inputs, types, strict=True)
        }
        # What depends on no input is inferred once.
        self._known = infer_types(self._graph, weights=self._weights, given=given, settle=inferred_or_declared)
        self._below = replace(self._graph, nodes=_below(self._graph))

    @property
    def probes(self) -> int:
        return len(self._outcomes)

    @property
    def left(self) -> float:
        """The share of the layers that may still be inferred."""
        return 1 - self.inferred_layers / MOST_LAYERS

    def declared(self, dim: int) -> Dim:
        place = self.dims[dim]
        return self._declared[place.input].shape[place.axis]

    def of_constants(self) -> set[int]:
        """The sizes that constants bring into the network."""
        found: set[int] = set()
        for node in self._graph.nodes:
            if isinstance(node.op, Const):
                found |= sizes_of(node, self._known[node.outputs[0].number])
        return found

    def keep(self, outcome: Outcome) -> None:
        """Later probes leave out what is the same in this one."""
        self._known = outcome.types

    def given(self, sizes: Sequence[int]) -> dict[int, Shape]:
        """The shapes of the inputs of known rank, by their numbers."""
        found: dict[int, list[int]] = {}
        for place, size in zip(self.dims, sizes, strict=True):
            found.setdefault(place.input, []).append(size)
        return {number: Shape(dims) for number, dims in found.items()}

    def __call__(self, sizes: Sizes) -> Outcome:
        """Raises OutOfProbesError where as many probes have been made as may be."""
        found = self._outcomes.get(sizes)
        if found is None:
            is_enough = len(self._outcomes) >= LEAST_PROBES or self.inferred_layers > _MOST_OF_LEAST
            if self.inferred_layers > MOST_LAYERS and is_enough:
                raise OutOfProbesError
            found = self._outcomes[sizes] = self._infer(sizes)
        return found

    def _infer(self, sizes: Sizes) -> Outcome:
        shapes = self.given(sizes)
        given = {}
        for number, (value, type) in enumerate(zip(self._inputs, self._declared, strict=True)):
            known = self._known[value.number]
            new = TensorType(type.element_type, shapes.get(number, type.shape))
            given[value] = known if known == new else new
        seen = list(self._known)
        for value, type in given.items():
            seen[value.number] = type
        count = 0

        def settle(node: Node, inferred: list[TensorType] | None, faults: list[IRError]) -> list[TensorType]:
            nonlocal count
            count += 1
            if faults:
                raise _StopError(node, faults[0])
            _check_values(node, seen)
            found = inferred_or_declared(node, inferred, faults)
            for value, type in zip(node.outputs, found, strict=False):
                seen[value.number] = type
            return found

        try:
            types = infer_types(self._below, weights=self._weights, given=given, settle=settle, known=self._known)
        except _StopError as stop:
            return Outcome(sizes, self._numbers[stop.node], stop.node, stop.error, seen)
        finally:
            self.inferred_layers += count
        return Outcome(sizes, len(self._numbers), None, None, types)

    def meets_fixed(self, outcome: Outcome, base: Sizes) -> bool:
        """Whether a layer wants a dim as in an input that does not depend on what moved: no other size can help."""
        node, error = outcome.node, outcome.error
        if node is None or error is None or error.code != Code.dims_differ:
            return False
        moved = {dim for dim, (new, old) in enumerate(zip(outcome.sizes, base, strict=True)) if new != old}
        return any(moved.isdisjoint(self.above(value.node)) for value in node.values_in)

    def above(self, node: Node) -> list[int]:
        """The dims that a layer may depend on, those of the nearest inputs first."""
        if node not in self._above:
            self._above[node] = self._find_above(node)
        return self._above[node]

    def _find_above(self, node: Node) -> list[int]:
        distance = {node: 0}
        pending = deque([node])
        found = []
        while pending:
            one = pending.popleft()
            if one in self._parameters:
                number = self._parameters[one]
                found += [dim for dim, place in enumerate(self.dims) if place.input == number]
            for value in one.values_in:
                if value.node not in distance:
                    distance[value.node] = distance[one] + 1
                    pending.append(value.node)
        return found

    def gaps(self, outcome: Outcome) -> list[int]:
        """By how much sizes differ among the inputs of the layer that refuses: those of one axis, then all others."""
        node = outcome.node
        if node is None:
            return []
        shapes = [outcome.types[value.number].shape for value in node.values_in]
        rows = [[dim.lo for dim in shape] for shape in shapes if shape.dims is not None and shape.is_static]
        found: dict[int, None] = {}
        for first in rows:
            for second in rows:
                pairs = zip(reversed(first), reversed(second), strict=False)
                found.update(dict.fromkeys(a - b for a, b in pairs))
                pairs = zip(first, second, strict=False)
                found.update(dict.fromkeys(a - b for a, b in pairs))
        found.pop(0, None)
        return list(found)


def _below(graph: Graph) -> list[Node]:
    """The layers that depend on the inputs, and the inputs."""
    found = set(graph.parameters)
    for node in graph.nodes:
        if any(value.node in found for value in node.values_in):
            found.add(node)
    return [node for node in graph.nodes if node in found]


def _check_values(node: Node, types: Types) -> None:
    """Refuse what the known values of the inputs would make a run refuse, such as an index behind the end."""
    op = node.op
    if op is None or node.bodies or type(op).check_values is Op.check_values or not node.is_whole:
        return
    with np.errstate(all="ignore"):
        for fault in op.check_values(*[types[value.number] for value in node.values_in]):
            if fault.code in _OF_VALUES and (fault.severity or "error") == "error":
                _refuse(node, fault)


def _refuse(node: Node, fault: IRError) -> NoReturn:
    raise _StopError(node, fault.located(node.location))
