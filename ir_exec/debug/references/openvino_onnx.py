"""OpenVINO's own reading of an ONNX file as a reference; values are matched by the names of tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ir_exec.debug.references.child import ChildCrashed, ChildRefused
from ir_exec.debug.references.devices import settings_of
from ir_exec.debug.references.openvino import OpenVINOReference
from ir_exec.debug.references.reference import LOWERED_HINT
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.graph import Node
from ir_exec.model import Model
from ir_exec.types import Array, ElementType

__all__ = ["OpenVINOONNXReference"]


class OpenVINOONNXReference(OpenVINOReference):
    """An ONNX file, read and run by OpenVINO in a child process.

    Args:
        path: The file that the model was read from.
        options: Those of OpenVINOReference.
    """

    def __init__(self, model: Model, path: Path, **options: Any) -> None:
        self._path = path
        super().__init__(model, **options)
        self.shares_names = True
        self._places: dict[Key, tuple[str, int]] = {}
        self._input_order: list[int] = []
        self._output_order: list[int] = []
        self._refusal: ChildCrashed | ChildRefused | None = None
        self._own_constants, self._constants = self._constants, {}
        try:
            self._find_places(self._child.ask(do="tensors", **self._request))
        except (ChildCrashed, ChildRefused) as error:
            self._refusal = error

    def _make_request(self, device: str, hint: str) -> dict[str, Any]:
        config = settings_of(device, hint, self._threads)
        return {"xml": str(self._path), "bin": None, "shapes": {}, "device": device, "config": config}

    def _find_places(self, listed: Mapping[str, Any]) -> None:
        """Find the layer and the output of OpenVINO's model for each value.

        Raises:
            ChildRefused: If OpenVINO's model has other inputs or outputs.
        """
        inputs, outputs = self._model.inputs, self._model.outputs
        self._input_order = [_position(names, [port.names for port in inputs], "input") for names in listed["inputs"]]
        self._output_order = [_position(port.names, listed["outputs"], "output") for port in outputs]
        given = [self._model.given.get(node.outputs[0]) for node in self._model.graph.parameters]
        shapes = {
            str(position): str(type.shape) for position, type in enumerate(self._in_order(given)) if type is not None
        }
        self._request["shapes"] |= shapes
        by_name: dict[str, tuple[str, int]] = {}
        for layer, port, names in listed["values"]:
            by_name |= dict.fromkeys(names, (layer, port))
        for entry in entries_of(self._model):
            names = entry.names or (entry.path,)
            place = next((by_name[name] for name in names if name in by_name), None)
            if place is not None and not entry.scope:
                self._places[entry.key] = place

    def _in_order(self, items: Sequence[Any]) -> list[Any]:
        return [items[position] for position in self._input_order]

    def entries(self) -> list[Entry]:
        """The values whose tensors OpenVINO's model has; all values if OpenVINO cannot read the file."""
        # Without sources: OpenVINO's model has layers of its own, so its weights are not those of the lowered model.
        return [
            replace(entry, sources=None)
            for entry in entries_of(self._model)
            if not entry.scope and (self._refusal is not None or entry.key in self._places or entry.is_input)
        ]

    def run(self, arrays: Mapping[Key, Array], wanted: Collection[Key], *, goes_on: bool = False) -> None:
        if self._refusal is not None:
            self._arrays = [[arrays[(), node.id, 0] for node in self._model.graph.parameters]]
            self._fail(self._refusal)
            return
        super().run(arrays, wanted, goes_on=goes_on)
        constants: dict[Key, tuple[str, int]] = {
            key: self._places[key]
            for key, node in self._own_constants.items()
            if key in wanted and key in self._places and _is_byte(node.outputs[0].declared.element_type)
        }
        if self.failure is None and constants:
            self._read_constants(constants)

    def _read_constants(self, constants: Mapping[Key, tuple[str, int]]) -> None:
        """Load constants of OpenVINO's model."""
        folder = self._new_folder(f"constants{self.rounds}")
        names = [layer for layer, _ in constants.values()]
        try:
            answer = self._child.ask(do="constants", names=names, folder=str(folder), **self._request)
        except (ChildCrashed, ChildRefused) as error:
            self._note(f"OpenVINO's constants are not compared: {error}")
            return
        by_name: dict[str, Any] = answer["constants"]
        self._stored |= {key: by_name[layer] for key, (layer, _) in constants.items() if layer in by_name}

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """Return nothing: a layer is lowered by ir_exec, and may differ from what OpenVINO reads."""
        return {}

    def _fail(self, error: ChildCrashed | ChildRefused) -> None:
        super()._fail(error)
        if isinstance(error, ChildRefused) and self._absent(error) is None:
            self.is_refused = True
            self.failure = f"OpenVINO refuses {self._path.name}: {error}"
            self._note(LOWERED_HINT)

    def _run(self, entries: Sequence[Entry]) -> dict[str, Any]:
        answer = super()._run(entries)
        outputs = answer["outputs"]
        return {**answer, "outputs": [outputs[position] for position in self._output_order]}

    def _place(self, entry: Entry) -> tuple[str, int]:
        return self._places[entry.key]


def _position(names: Collection[str], others: Sequence[Collection[str]], end: str) -> int:
    """Return the position of an input or output with one of these names.

    Raises:
        ChildRefused: If there is none.
    """
    for position, candidates in enumerate(others):
        if not set(names).isdisjoint(candidates):
            return position
    raise ChildRefused(f"the {end} {', '.join(sorted(names))} has no counterpart in its model")


def _is_byte(kind: ElementType) -> bool:
    """Return True if elements have whole bytes."""
    return kind.is_known and kind.bits >= 8 and kind.bits % 8 == 0
