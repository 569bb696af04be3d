"""Search for the smallest set of layers that are right by themselves and wrong together on a device."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from ir_exec.build.cutting import is_counted, region_at, source
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.comparison.references.child import ChildCrashed, ChildRefused
from ir_exec.debug.comparison.references.openvino import original_layers
from ir_exec.debug.device.asking import Asker, PartQuestion
from ir_exec.debug.device.networks import write_together
from ir_exec.debug.device.parts import IsolatedPart, IsolationScope, reason_to_leave_out
from ir_exec.debug.device.records import RunPart
from ir_exec.debug.device.verdicts import Judgement, PartCase, judgement
from ir_exec.debug.reduction.extracting import values_at
from ir_exec.debug.reduction.minimizing import minimize, smallest_count
from ir_exec.debug.traces.walk import Walker
from ir_exec.errors import IRError
from ir_exec.graph import Node, Value
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.runtime.precision import as_declared
from ir_exec.types import Array

__all__ = ["WrongTogether"]

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
