"""Judgement of parts on a device, and the smallest set of layers that are right by themselves and wrong together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ir_exec.build.cutting import is_counted, region_at, source
from ir_exec.debug.comparison.discontinuities import on_steps
from ir_exec.debug.comparison.metrics import Difference, Settings, Tolerance, difference
from ir_exec.debug.comparison.references.child import ChildCrashed, ChildRefused
from ir_exec.debug.comparison.references.openvino import original_layers
from ir_exec.debug.comparison.tolerances import cancelling_terms
from ir_exec.debug.comparison.value_comparer import computed_type
from ir_exec.debug.device.devices import Asker, PartAnswer, PartQuestion
from ir_exec.debug.device.parts import IsolatedPart, IsolationScope, reason_to_leave_out, write_together
from ir_exec.debug.device.records import PartStatus, RunPart
from ir_exec.debug.reduction.extracting import values_at
from ir_exec.debug.reduction.minimizing import minimize, smallest_count
from ir_exec.debug.traces.walk import Walker
from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array, ElementType

__all__ = ["Judgement", "PartCase", "WrongTogether", "judge_again"]

_NO_TOLERANCE = Tolerance()


@dataclass(frozen=True)
class PartCase:
    """A model for a device, with its expected outputs.

    Attributes:
        node: The layer, if the model is a single layer.
        inputs: The input arrays.
        positions: The positions of the outputs of `node`.
        least: The minimum tolerance.
    """

    question: PartQuestion
    expected: Sequence[Array]
    node: Node | None = None
    inputs: Sequence[Array] = ()
    positions: Sequence[int] = ()
    least: Tolerance = _NO_TOLERANCE


@dataclass(frozen=True)
class Judgement:
    """The status of a part, the error of its worst output, and a note."""

    status: PartStatus
    error: Difference | None = None
    note: str | None = None

    @property
    def is_right(self) -> bool:
        """Return True for values within the tolerance, or beyond it only at discontinuities."""
        return self.status in ("right", "step")


def judge_again(case: PartCase, answer: PartAnswer, asker: Asker, settings: Settings) -> Judgement:
    """Judge an answer. A part that is wrong in a batch runs again alone, and again with static shapes."""
    result = judgement(case, answer, asker, settings)
    note = None
    if result.status == "wrong" and answer.together > 1:
        alone = judgement(case, asker.ask(case.question), asker, settings)
        if alone.is_right:
            note = "wrong in a batch with independent layers"
        result = alone
    if result.status in ("wrong", "refused") and case.question.is_open:
        static = judgement(case, asker.ask(case.question, is_static=True), asker, settings)
        if result.status == "wrong" and static.is_right:
            note = "right with static shapes"
        elif result.status == "refused" and static.status not in ("refused", "crashed"):
            note, result = f"with static shapes, because the device rejects dynamic dims: {result.note}", static
    notes = "; ".join(filter(None, (result.note, note)))
    return replace(result, note=notes or None)


def judgement(case: PartCase, answer: PartAnswer, asker: Asker, settings: Settings) -> Judgement:
    """Judge an answer without further runs."""
    if answer.problem is not None:
        return Judgement(answer.problem, note=answer.reason)
    coarse = asker.device.computes_in
    pairs = enumerate(zip(case.expected, answer.outputs, strict=True))
    with np.errstate(all="ignore"):
        errors = [_error(case, number, ours, theirs, coarse, settings) for number, (ours, theirs) in pairs]
    if not errors:
        return Judgement("right")
    worst = max(errors, key=lambda error: (error.beyond, error.max_abs))
    if worst.is_within:
        return Judgement("right", worst)
    if case.node is None or worst.problem is not None or any(not _is_dense(array) for array in case.inputs):
        return Judgement("wrong", worst)
    if asker.device.narrows_integers and any(map(_exceeds_i32, (*case.inputs, *case.expected))):
        return Judgement(
            "step", worst, "integers beyond the range of i32, the element type that the device computes in"
        )
    count = max(case.positions, default=0) + 1
    ours = [case.expected[0]] * count
    theirs: list[Array | None] = [None] * count
    for position, expected, output in zip(case.positions, case.expected, answer.outputs, strict=True):
        ours[position], theirs[position] = expected, output
    limit = Tolerance(worst.rtol, worst.atol)
    steps = on_steps(case.node, case.inputs, ours, theirs, limit, coarse)
    return Judgement("wrong" if steps is None else "step", worst, steps)


_I32 = np.iinfo(np.int32)


def _exceeds_i32(array: Array) -> bool:
    """Return True if integers of 32 bits or more exceed the range of i32."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 4 or not array.size:
        return False
    return bool(array.min() < _I32.min or array.max() > _I32.max)


def _is_dense(array: Array) -> bool:
    return array.dtype != object and not array.dtype.names


def _error(
    case: PartCase, number: int, ours: Array, theirs: Array, coarse: ElementType | None, settings: Settings
) -> Difference:
    kinds = [ElementType.of(ours), computed_type(theirs)]
    if coarse is not None and any(element_type.is_float for element_type in kinds):
        kinds.append(coarse)
    if case.node is None:
        return difference(ours, theirs, settings.chain_tolerance(kinds))
    tolerance = settings.own_tolerance(case.node, case.inputs, kinds)
    least = case.least
    tolerance = replace(tolerance, rtol=max(tolerance.rtol, least.rtol), atol=max(tolerance.atol, least.atol))
    is_first = case.positions[number] == 0
    terms = partial(cancelling_terms, case.node, case.inputs) if is_first and case.inputs else None
    return difference(ours, theirs, tolerance, None, terms)


_MOST_LEVELS = 256
"""Maximum levels of layers upstream of a wrong layer that are searched."""

_MOST_TRIALS = 48
"""Maximum smaller sets that run on the device."""


class WrongTogether:
    """Search for layers that are wrong together, among the layers outside bodies.

    Args:
        inputs: Those of the model, in order.
    """

    def __init__(self, model: Model, inputs: Sequence[Array], asker: Asker, settings: Settings) -> None:
        self._model = model
        self._inputs = list(inputs)
        self._asker = asker
        self._settings = settings
        self._scope = IsolationScope(region_at(model))
        self._groups: list[set[Node]] | None = None
        self._values: dict[Value, Array] = {}

    def above(self, node: Node) -> RunPart | None:
        """Return the smallest set of layers that ends with this one and is wrong; None if no set is found.

        The search starts with the layers that the device computes in one step, and adds levels of upstream layers
        until the set is wrong. Then it removes layers, those farthest from the end first.

        Raises:
            IRError: The errors of a run.
        """
        depths = self._depths(node)
        judgements: dict[frozenset[Node], Judgement] = {}

        def is_wrong(nodes: Collection[Node]) -> bool:
            key = frozenset(nodes)
            if key not in judgements:
                judgements[key] = self._judge(key, node)
            return judgements[key].status == "wrong"

        def to_depth(count: int) -> frozenset[Node]:
            return frozenset(layer for layer, depth in depths.items() if depth <= count)

        def is_wrong_below(upstream: Sequence[Node]) -> bool:
            nodes = self._connected_layers({*upstream, node}, node)
            return len(nodes) > 1 and is_wrong(nodes)

        count = smallest_count(lambda count: is_wrong(to_depth(count)), max(depths.values()))
        if count is None:
            return None
        nodes = to_depth(count)
        nearest = [
            member for member in reversed(self._scope.region.graph.nodes) if member in nodes and member is not node
        ]
        upstream = minimize(nearest, is_wrong_below, limit=_MOST_TRIALS).items
        if len(upstream) < len(nearest):
            nodes = self._connected_layers({*upstream, node}, node)
        order = [node for node in self._scope.region.graph.nodes if node in nodes]
        self._values.clear()
        return RunPart(
            name=node.name,
            kind="fusion",
            layers=tuple(member.name for member in order),
            layer_ids=tuple(member.id for member in order),
            types=tuple(member.type for member in order),
            status="wrong",
            error=judgements[nodes].error,
            note=judgements[nodes].note,
        )

    def _depths(self, node: Node) -> dict[Node, int]:
        """The levels of upstream layers: 0 for those that the device computes in one step with a layer."""
        depths = dict.fromkeys(next((group for group in self._fused() if node in group), {node}), 0)
        ends = set(depths)
        for depth in range(1, _MOST_LEVELS + 1):
            above = {source(value).node for node in ends for value in node.values_in}
            ends = {node for node in above if node not in depths and self._is_taken(node)}
            depths |= dict.fromkeys(ends, depth)
        return depths

    def _is_taken(self, node: Node) -> bool:
        return is_counted(node) and reason_to_leave_out(node, self._scope) is None

    def _judge(self, nodes: Collection[Node], end: Node) -> Judgement:
        """Judge the outputs of the last layer, with these layers run as one model."""
        order = [node for node in self._scope.region.graph.nodes if node in nodes]
        outputs = tuple(value for value in end.outputs if value in self._scope.readers)
        part = IsolatedPart(self._scope, end.name, tuple(order), outputs)
        try:
            network = part.network()
            missing = [value for value in (*network.inputs, *outputs) if value not in self._values]
            if missing:
                self._values |= values_at(self._scope.region, self._inputs, missing, threads=self._settings.threads)
            inputs = [
                as_declared(self._values[value], port.element_type)
                for value, port in zip(network.inputs, network.model.inputs, strict=True)
            ]
            walker = Walker(network.model, threads=self._settings.threads, precision=self._settings.precision)
            question = PartQuestion(network.model, inputs)
            case = PartCase(question, walker.run(inputs))
        except IRError as error:
            return Judgement("left out", note=error.message)
        return judgement(case, self._asker.ask(question, fuses=True), self._asker, self._settings)

    def _connected_layers(self, nodes: Collection[Node], end: Node) -> frozenset[Node]:
        """The layers that the last one depends on, directly or through the others."""
        connected, pending = {end}, [end]
        while pending:
            for value in pending.pop().values_in:
                node = source(value).node
                if node in nodes and node not in connected:
                    connected.add(node)
                    pending.append(node)
        return frozenset(connected)

    def _fused(self) -> list[set[Node]]:
        """The groups of layers that the device computes in one step, if it reports them."""
        if self._groups is None:
            self._groups = []
            names = {node.name: node for node in self._scope.region.graph.nodes if self._is_taken(node)}
            with temporary_folder() as folder:
                path = Path(folder, "network.xml")
                try:
                    write_together([self._model], [array.ndim for array in self._inputs], path)
                    steps = self._asker.device.list_fused(path)
                except (IRError, ChildCrashed, ChildRefused):
                    steps = []
            prefixed_names = {f"0/{name}" for name in names}
            for step in steps:
                group = {names[name.removeprefix("0/")] for name in original_layers(step, prefixed_names)}
                if len(group) > 1:
                    self._groups.append(group)
        return self._groups
