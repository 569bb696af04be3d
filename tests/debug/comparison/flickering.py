"""A reference that computes one layer differently in some of its runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from ir_exec import Model
from ir_exec.debug.comparison.references.reference import ReferenceState
from ir_exec.debug.comparison.references.repeating import VARIED, RepeatedValue, RunSetting, Vary
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.plan.constant_values import constant_values
from ir_exec.types import Array

__all__ = ["FlickeringReference", "layers_to_vary"]


class FlickeringReference(ReferenceState):
    """The model itself, run by ir_exec; `layer` is wrong in the runs that `flickers` names.

    Args:
        layer: The id of a layer of the main graph.
        flickers: Called with the number of the run, counted from 0 for the one that is compared, and its setting.
        amount: Added to the elements of the layer, relative to their largest one.
        is_hidden: True if intermediate values as outputs prevent the flicker, as inside a fusion.
    """

    def __init__(
        self,
        model: Model,
        layer: str | None = None,
        flickers: Callable[[int, RunSetting], bool] = lambda run, setting: False,
        *,
        amount: float = 0.5,
        is_hidden: bool = False,
    ) -> None:
        super().__init__("flickering", runtime="flickering")
        self.varied: frozenset[Vary] = frozenset(VARIED)
        self._model = model
        self._layer = layer
        self._flickers = flickers
        self._amount = amount
        self._is_hidden = is_hidden
        self._walker = Walker(model, precision="f32")
        self._values: dict[Key, Array] = {}
        self._arrays: list[Array] = []
        self._runs = 0

    def entries(self) -> list[Entry]:
        return [entry for entry in entries_of(self._model) if not entry.scope]

    def inputs(self) -> dict[str, Array]:
        return {}

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        self._arrays = [arrays[(), node.id, 0] for node in self._model.graph.parameters]
        self._values = self._compute(RunSetting(), is_probed=True)

    def repeat(self, settings: Sequence[RunSetting], requested: Collection[Key]) -> Iterator[RepeatedValue]:
        ends = {((), node.values_in[0].node.id, node.values_in[0].position) for node in self._model.graph.results}
        for is_probed in (False, True):
            first = self._compute(RunSetting(), is_probed=is_probed)
            for number, setting in enumerate(settings):
                values = self._compute(setting, is_probed=is_probed)
                if setting.is_base:
                    first = values
                    continue
                for key in values.keys() & (requested if is_probed else ends):
                    if values[key].tobytes() != first[key].tobytes():
                        yield RepeatedValue(number, setting, key, first[key], values[key], is_probed)

    def _compute(self, setting: RunSetting, *, is_probed: bool) -> dict[Key, Array]:
        values: dict[Key, Array] = {}
        is_wrong = self._flickers(self._runs, setting) and not (is_probed and self._is_hidden)
        self._runs += 1

        def visit(step: Visit) -> None:
            if step.where.scope:
                return
            if is_wrong and step.node.id == self._layer:
                step.outputs[0] = _disturb(step.outputs[0], self._amount)
            for position, array in enumerate(step.outputs):
                values[(), step.node.id, position] = np.array(array)

        self._walker.run(self._arrays, visit)
        return values

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        return self._values.get(key)

    def output(self, key: Key) -> Array | None:
        return self._values.get(key)

    def close(self) -> None:
        self._values = {}


def _disturb(array: Array, amount: float) -> Array:
    """Return an array with half of its elements changed."""
    disturbed = np.array(array, order="C")
    flat = disturbed.reshape(-1)
    flat[::2] += np.asarray(amount * max(float(np.abs(flat).max()), 1.0), flat.dtype)
    return disturbed


def layers_to_vary(model: Model) -> list[str]:
    """Return the ids of layers of the main graph with floats that depend on the inputs."""
    constant = constant_values(model.graph)
    return [
        node.id
        for node in model.graph.nodes
        if node.values_in
        and len(node.outputs) == 1
        and node.outputs[0].declared.element_type.is_float
        and node.outputs[0] not in constant
    ]
