"""Probes of input sizes: inference accepts the sizes or fails at a layer. Accepted sizes may have a period."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
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

__all__ = ["OutOfProbesError", "Outcome", "Pattern", "Prober", "Sizes", "pattern_of"]

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


_REACHES = (160, 512)
"""Number of consecutive sizes that are probed, twice the longest period that is detected. The second applies if the
first finds no period."""

_FAR = (5, 8)
"""Distances from the first sizes, in periods, at which the pattern is verified."""

_LEFT = 0.3
"""The share of the probes that is reserved for other dims."""


@dataclass(frozen=True)
class Pattern:
    """The sizes n * period + one of `remainders`, at least `least`, or all of them if `least` is None.

    Attributes:
        period: 0 if the accepted sizes have no period; `also` then has all of them up to `reach`.
        also: Further accepted sizes, below `least`.
        seen: The accepted sizes that were probed.
    """

    period: int
    remainders: tuple[int, ...]
    least: int | None
    also: tuple[int, ...]
    reach: int
    seen: tuple[Outcome, ...]


def pattern_of(prober: Prober, base: Sizes, unit: Sizes, dim: int, every: int, *, ends: bool) -> Pattern | None:
    """The pattern of accepted sizes along a direction; None if only every n-th size after the base is accepted.

    Args:
        unit: The change of each dim in one step.
        every: The interval between steps that are known to be accepted.
        ends: True if these are accepted only up to a limit.
    """
    scan = _Scan(prober, base, unit, dim)
    try:
        return _find_pattern(scan, every, ends)
    except OutOfProbesError:
        return None


@dataclass(frozen=True)
class _Scan:
    prober: Prober
    base: Sizes
    unit: Sizes
    dim: int

    def at(self, steps: int) -> Outcome | None:
        """The outcome of inference at a number of steps from the base; None below size 1."""
        sizes = tuple([size + steps * part for size, part in zip(self.base, self.unit, strict=True)])
        if min(sizes) < 1:
            return None
        if self.prober.remaining_share < _LEFT:
            raise OutOfProbesError
        return self.prober(sizes)

    def fits(self, steps: int) -> bool:
        outcome = self.at(steps)
        return outcome is not None and outcome.fits

    def size(self, steps: int) -> int:
        return self.base[self.dim] + steps * self.unit[self.dim]

    def below(self) -> Iterator[int]:
        """The steps down to size 1."""
        steps = -1
        while self.size(steps) >= 1:
            yield steps
            steps -= 1


def _find_pattern(scan: _Scan, every: int, ends: bool) -> Pattern | None:
    if scan.unit[scan.dim] < 1:
        return None
    if not ends:
        period = every
        steps = [step for step in range(every) if scan.fits(step)]
        return None if len(steps) < 2 else _pattern(scan, period, steps)
    row: list[bool] = []
    for reach in _REACHES:
        row += [scan.fits(step) for step in range(len(row), reach)]
        period = next((length for length in range(2, reach // 2 + 1) if row[length:] == row[:-length]), 0)
        if period:
            return _pattern(scan, period, [step for step in range(period) if row[step]])
    first_refused = next((step for step in range(0, len(row), every) if not row[step]), len(row))
    if not any(fits for step, fits in enumerate(row) if step >= first_refused or step % every):
        return None
    below = [step for step in scan.below() if scan.fits(step)]
    sizes = sorted(scan.size(step) for step in [*below, *[step for step, fits in enumerate(row) if fits]])
    return Pattern(0, (), None, tuple(sizes), scan.size(len(row) - 1), _list_accepted(scan, range(len(row))))


def _pattern(scan: _Scan, period: int, steps: Sequence[int]) -> Pattern | None:
    """The pattern, if it holds far from the base as well."""
    others = [step for step in range(period) if step not in steps][:1]
    for times in _FAR:
        for step in (*steps[:4], *steps[-1:], *others):
            if scan.fits(times * period + step) != (step in steps):
                return None
    least, also = None, []
    for step in scan.below():
        is_expected = step % period in steps
        if scan.fits(step) != is_expected and least is None:
            least = next(above for above in range(step + 1, period) if above % period in steps)
        if least is not None and scan.fits(step):
            also.append(scan.size(step))
    length = period * scan.unit[scan.dim]
    remainders = sorted({scan.size(step) % length for step in steps})
    return Pattern(
        period=length,
        remainders=tuple(remainders),
        least=None if least is None else scan.size(least),
        also=tuple(sorted(also)),
        reach=scan.size(2 * period),
        seen=_list_accepted(scan, range(2 * period)),
    )


def _list_accepted(scan: _Scan, steps: Sequence[int]) -> tuple[Outcome, ...]:
    outcomes = map(scan.at, steps)
    return tuple([outcome for outcome in outcomes if outcome is not None and outcome.fits])
