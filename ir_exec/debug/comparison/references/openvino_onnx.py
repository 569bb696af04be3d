"""OpenVINO's own reading of an ONNX file as a reference; values are matched by the names of tensors."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_exec.debug.comparison.references.child import ChildCrashed, ChildRefused, settings_of, store_arrays
from ir_exec.debug.comparison.references.openvino import MOST_OPINIONS, OpenVINOReference
from ir_exec.debug.comparison.references.reference import lowered_hint
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.graph import Node
from ir_exec.model import Model
from ir_exec.types import Array, ElementType, TensorType

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["OpenVINOONNXReference"]


_SOURCE = re.compile(r"(Exception from|Check '[^']*' failed at) \S+:\d+: ?")
"""The places of OpenVINO's source in its messages."""


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
        self._proto: ModelProto | None = None
        self._keys = {name: entry.key for entry in entries_of(model) for name in entry.names if not entry.scope}
        nodes = model.graph.nodes
        self._types: dict[Key, TensorType] = {
            ((), node.id, output.position): model.types[output.number] for node in nodes for output in node.outputs
        }
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
        declared = [self._model.given.get(node.outputs[0]) for node in self._model.graph.parameters]
        shapes = {
            str(position): str(type.shape) for position, type in enumerate(self._in_order(declared)) if type is not None
        }
        self._request["shapes"] |= shapes
        by_name: dict[str, tuple[str, int]] = {}
        for layer, port, names in listed["values"]:
            by_name |= dict.fromkeys(names, (layer, port))
        for entry in entries_of(self._model):
            names = entry.names or (entry.path,)
            layer_port = next((by_name[name] for name in names if name in by_name), None)
            if layer_port is not None and not entry.scope:
                self._places[entry.key] = layer_port

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

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        if self._refusal is not None:
            self._arrays = [[arrays[(), node.id, 0] for node in self._model.graph.parameters]]
            self._fail(self._refusal)
            return
        super().run(arrays, requested, goes_on=goes_on)
        constants: dict[Key, tuple[str, int]] = {
            key: self._places[key]
            for key, node in self._own_constants.items()
            if key in requested and key in self._places and _is_byte(node.outputs[0].declared.element_type)
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

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        """Return a value of the last run, in the shape of the model's value if only axes of size 1 differ.

        OpenVINO's importer may keep such axes until a later layer removes them, for example in a DFT.
        """
        array = super().value(key, iterations)
        type = self._types.get(key)
        if array is None or type is None or key in self._outputs or not type.shape.is_static:
            return array
        shape = type.shape.static
        is_alike = [size for size in array.shape if size != 1] == [size for size in shape if size != 1]
        return array.reshape(shape) if is_alike else array

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """Run the node of the file that computes a layer `alone`, with OpenVINO's values of its inputs.

        The layer itself is lowered by ir_exec, and may differ from what OpenVINO reads.
        """
        names = [next((name for name in value.names if name in self._keys), "") for value in node.outputs]
        if not any(names) or self._asked == MOST_OPINIONS:
            return {}
        self._asked += 1
        folder = self._new_folder(f"opinion{self._asked}")
        try:
            feeds, outputs = self._write_alone(next(filter(None, names)), folder / "layer.onnx")
            request = {**self._request, "xml": str(folder / "layer.onnx"), "shapes": {}}
            calls = [store_arrays(feeds, folder)]
            answer = self._child.ask(do="run", probes=[], calls=calls, folder=str(folder), **request)
        except (LookupError, ValueError, OSError, ChildCrashed, ChildRefused):
            return {}
        by_name = dict(zip(outputs, answer["outputs"], strict=True))
        return {"alone": [self._load(by_name[name]) if name in by_name else None for name in names]}

    def _write_alone(self, name: str, path: Path) -> tuple[list[Array], list[str]]:
        """Write a model of the node that computes a tensor, and return its inputs and the names of its outputs.

        Raises:
            LookupError: If no node of the main graph computes it, or if OpenVINO's value of an input is not available.
        """
        import onnx  # an optional package

        if self._proto is None:
            self._proto = onnx.load(self._path, load_external_data=False)
        proto = self._proto
        node = next((item for item in proto.graph.node if name in item.output), None)
        if node is None or any(item.HasField("g") or item.graphs for item in node.attribute):
            raise LookupError(name)
        used = [fromkey for fromkey in dict.fromkeys(node.input) if fromkey]
        constants = {item.name: item for item in proto.graph.initializer if item.name in used}
        feeds = {item: self.value(self._keys[item], ()) for item in used if item not in constants}
        arrays = [array for array in feeds.values() if array is not None]
        if len(arrays) < len(feeds):
            raise LookupError(name)
        code, from_array = onnx.helper.np_dtype_to_tensor_dtype, onnx.numpy_helper.from_array
        outputs = [item for item in node.output if item]
        graph = onnx.helper.make_graph(
            [node],
            "layer",
            [
                onnx.helper.make_tensor_value_info(item, code(array.dtype), array.shape)
                for item, array in zip(feeds, arrays, strict=True)
            ],
            [onnx.ValueInfoProto(name=output) for output in outputs],
            [
                from_array(onnx.numpy_helper.to_array(tensor, str(self._path.parent)), item)
                for item, tensor in constants.items()
            ],
        )
        imports = {"opset_imports": proto.opset_import, "ir_version": proto.ir_version, "functions": proto.functions}
        onnx.save(onnx.helper.make_model(graph, **imports), path)
        return arrays, outputs

    def _fail(self, error: ChildCrashed | ChildRefused) -> None:
        super()._fail(error)
        if isinstance(error, ChildRefused) and self._absent(error) is None:
            self.is_refused = True
            self.failure = f"OpenVINO refuses {self._path.name}: {_SOURCE.sub('', str(error))}"
            self._note(lowered_hint("openvino"))

    def _in_model_order(self, outputs: Sequence[Any]) -> list[Any]:
        return [outputs[position] for position in self._output_order]

    def _port_of(self, entry: Entry) -> tuple[str, int]:
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


def _is_byte(element_type: ElementType) -> bool:
    """Return True if elements have whole bytes."""
    return element_type.is_known and element_type.bits >= 8 and element_type.bits % 8 == 0
