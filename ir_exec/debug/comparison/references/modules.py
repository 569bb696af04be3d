"""A recording of modules as a reference: matching of module outputs and values of a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.records import ComparedLayer, ComparedModule, Unmatched
from ir_exec.debug.comparison.references.reference import ArraysReference
from ir_exec.debug.comparison.references.torch_hooks import (
    FIRST_INPUT,
    INPUTS,
    OUTPUTS,
    ancestors_of,
    common_module,
    common_prefix,
    inferred_modules,
    is_input_of_module,
    is_within,
    layers_with_parameters,
    named_layers,
    path_of,
)
from ir_exec.debug.comparison.references.value_search import EQUAL, NEAR, ValueSearch, relative_distance
from ir_exec.debug.comparison.references.wrapping import is_of_wrapper, unwrap_recording
from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, class_of_type, entries_of
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.report.numbers import format_count
from ir_exec.types import Array

__all__ = ["RecordingReference", "is_recording"]

_RIGHT = frozenset({"equal", "close", "carried"})
"""Statuses of layers without an own error."""


def is_recording(model: Model, arrays: Mapping[str, Array]) -> bool:
    """Return True if more of the names are paths of modules of this model than names of its values."""
    names = {name for entry in entries_of(model) for name in (entry.path, entry.layer_name, *entry.names)}
    has_inputs = any(name.startswith(INPUTS) for name in arrays)
    if has_inputs or names.issuperset(arrays):
        return has_inputs
    paths = [
        path_of(name).replace("/", ".")
        for name in arrays
        if not name.startswith(OUTPUTS) and not is_input_of_module(name)
    ]
    modules = set(named_layers(model, paths).values())
    modules_with_ancestors = {ancestor for module in modules for ancestor in ancestors_of(module)}
    prefix = common_prefix(modules, paths)
    return sum(prefix + path in modules_with_ancestors for path in paths) > sum(name in names for name in arrays)


class _Candidates:
    """The values that may be outputs of modules, and those that may be the first inputs of modules.

    Args:
        recorded: The outputs by name, in the layout of the model if their place is known.
        entered: The first inputs of each module, by call.
    """

    def __init__(self, recorded: dict[str, Array], entered: dict[str, list[Array]]) -> None:
        self.recorded, self._entered = recorded, entered
        self.places: dict[str, str] = {}
        self.distances: dict[str, float] = {}
        self._entering: dict[tuple[str, tuple[int, ...]], list[tuple[list[float | None], str]]] = defaultdict(list)
        self._by_shape: dict[str, list[tuple[tuple[int, ...], str]]] = defaultdict(list)
        self._by_path: dict[str, list[str]] = defaultdict(list)
        for name in recorded:
            self._by_path[path_of(name)].append(name)

    def add_input(self, path: str, array: Array, value_path: str, *, is_named: bool) -> None:
        """Add a value that a module reads from outside.

        The value of a layer with a generated name must be close to the recorded input: the output of a convolution with
        a folded batch normalization, for example, is not a tensor of the module.
        """
        inputs = [recorded for recorded in self._entered.get(path, ()) if recorded.shape == array.shape]
        distances = [relative_distance(array, recorded) for recorded in inputs]
        if distances and (is_named or any(distance is not None for distance in distances)):
            self._entering[path, array.shape].append((distances, value_path))

    def add_output(self, path: str, array: Array, value_path: str, *, is_read_outside: bool) -> None:
        """Add a value of a module or of a module inside it."""
        if is_read_outside:
            self._by_shape[path].append((array.shape, value_path))
        for name in self._by_path.get(path, ()):
            for theirs in (self.recorded[name], _channels_first(self.recorded[name])):
                if theirs is not None and (distance := relative_distance(array, theirs)) is not None:
                    self.places[name], self.distances[name] = value_path, distance
                    self.recorded[name] = theirs
                    break

    def settle(self) -> None:
        """Assign outputs that no value is close to by shape and order."""
        for path, names in self._by_path.items():
            for name in names:
                if name in self.places:
                    continue
                for theirs in (self.recorded[name], _channels_first(self.recorded[name])):
                    if theirs is not None and (value_path := self._by_order(path, name, theirs)) is not None:
                        self.places[name], self.recorded[name] = value_path, theirs
                        break

    def nearest(self) -> list[tuple[str, Array]]:
        """Values with recorded arrays, closest first. A value may have several, such as before and after Dropout."""
        candidates = []
        for (path, shape), places in self._entering.items():
            arrays = [array for array in self._entered[path] if array.shape == shape]
            if len(arrays) == len(places):
                for call, (array, (distances, value_path)) in enumerate(zip(arrays, places, strict=True)):
                    distance = distances[call]
                    candidates.append((NEAR if distance is None else distance, value_path, array))
        candidates += [
            (self.distances.get(name, NEAR), value_path, self.recorded[name])
            for name, value_path in self.places.items()
        ]
        return [(value_path, array) for _, value_path, array in sorted(candidates, key=lambda candidate: candidate[0])]

    def _by_order(self, path: str, name: str, theirs: Array) -> str | None:
        alike = [output for output in self._by_path[path] if self.recorded[output].shape == self.recorded[name].shape]
        places = [value_path for shape, value_path in self._by_shape[path] if shape == theirs.shape]
        if len(alike) == 1 and places:
            return places[-1]
        return places[alike.index(name)] if len(alike) == len(places) else None


class RecordingReference(ArraysReference):
    """Outputs of modules, by the names of the matching values, which `place` finds."""

    def __init__(self, model: Model, arrays: Mapping[str, Array], title: str) -> None:
        super().__init__({}, title)
        self._model = model
        arrays, wrapped = unwrap_recording(model, arrays)
        if wrapped is not None:
            self.notes.append(f"the recorded module {wrapped} is compared: it is the exported one")
        self._given = {name[len(INPUTS) :]: array for name, array in arrays.items() if name.startswith(INPUTS)}
        self._ends = {name[len(OUTPUTS) :]: array for name, array in arrays.items() if name.startswith(OUTPUTS)}
        ends = (INPUTS, OUTPUTS)
        modules = {name.replace("/", "."): array for name, array in arrays.items() if not name.startswith(ends)}
        self._entering: dict[str, list[Array]] = defaultdict(list)
        self._recorded: dict[str, Array] = {}
        for name, array in modules.items():
            if is_input_of_module(name):
                self._entering[name.rpartition(FIRST_INPUT)[0]].append(array)
            else:
                self._recorded[name] = array
        paths = list(dict.fromkeys(map(path_of, self._recorded)))
        with_parameters = layers_with_parameters(model, paths)
        self._is_partial = bool(with_parameters)
        self._named = with_parameters or named_layers(model, paths)
        self._prefix = common_prefix(self._named.values(), paths)
        if not self._is_partial:
            self._follow_folding()
        self._modules = self._named | inferred_modules(model, self._named)
        self._paths = [self._prefix + path for path in paths]
        self._outputs_of_wrapper = self._find_outputs_of_wrapper()
        if self._outputs_of_wrapper:
            self._paths.append(self._prefix[:-1])
        self._values: dict[str, str] = {}
        self._layer_names = {node.name for node in model.graph.nodes}

    def _find_outputs_of_wrapper(self) -> set[int]:
        """The positions of outputs that the exported module computes outside the recorded one."""
        if not self._prefix or not self._ends:
            return set()
        values = [result.values_in[0] for result in self._model.graph.results]
        wrapped = self._prefix[:-1]
        outputs = {index for index, value in enumerate(values) if is_of_wrapper(value, self._named, wrapped)}
        if outputs:
            self.notes.append(f"the recording is of {wrapped}: outputs that layers after it compute are not compared")
        return outputs

    def _outputs_by_name(self) -> dict[str, Array]:
        """The recorded outputs of modules, by the paths in the model."""
        outputs = {self._prefix + name: array for name, array in self._recorded.items()}
        if self._outputs_of_wrapper:
            root = self._prefix[:-1]
            outputs |= {root + (f":{index}" if index else ""): end for index, end in enumerate(self._ends.values())}
        return outputs

    def _follow_folding(self) -> None:
        """Assign the layers of a module to the module that was folded into it, such as a batch normalization.

        A folded module has no layer, and scales and shifts the channels of the output of the other module.
        """
        named = {ancestor for module in self._named.values() for ancestor in ancestors_of(module)}
        affine = {
            self._prefix + name: first
            for name, (first, *_) in self._entering.items()
            if self._prefix + name not in named and name in self._recorded and _is_affine(first, self._recorded[name])
        }
        if not affine:
            return
        outputs = {self._prefix + name: array for name, array in self._recorded.items()}
        by_contents = {_contents(array): name for name, array in outputs.items() if name in named}
        sources = {name: by_contents.get(_contents(first)) for name, first in affine.items()}
        folded = {source: name for name, source in sources.items() if source is not None}
        for layer, module in self._named.items():
            source = next((ancestor for ancestor in ancestors_of(module) if ancestor in folded), None)
            if source is not None:
                self._named[layer] = folded[source]

    def inputs(self) -> dict[str, Array]:
        ports = self._model.inputs
        arrays = list(self._given.values())
        by_name = {
            port.name: self._given[name] for port in ports for name in (port.name, *port.names) if name in self._given
        }
        if len(by_name) < len(ports) and len(arrays) == len(ports):
            by_name = {port.name: array for port, array in zip(ports, arrays, strict=True)}
        kinds = {port.name: port.element_type for port in ports}
        return {
            name: array.astype(kinds[name].dtype) if kinds[name].is_known else array for name, array in by_name.items()
        }

    def locate_modules(self, inputs: Sequence[Array]) -> None:
        """Find the value of each module, in a run with these inputs.

        The output of a module is the last value of its layers that is close to the recorded array, or else the last
        value of the recorded shape that is read outside the module. If no layer has a module, it is the nearest value
        of all; without one, only the outputs of the model are compared.
        """
        entries = {(entry.layer_id, entry.port): entry for entry in entries_of(self._model) if not entry.scope}
        candidates = self._candidates(inputs, entries)
        candidates.settle()
        self._values = candidates.places
        for value_path, array in candidates.nearest():
            self._arrays.setdefault(value_path, array)
        self._place_outputs(entries)
        if self._arrays and not self._values and not (self._named and self._paths):
            modules = format_count(len(self._paths), "recorded module")
            self.notes.append(f"the layers have no modules, and no value is close to the output of one of {modules}")
        elif not self._values:
            count = len(self._paths)
            message = f"{self.title} is not a recording of this model: none of its {count} modules has a value in it"
            raise EvaluationError(message, code=Code.unknown_input)

    def _candidates(self, inputs: Sequence[Array], entries: Mapping[tuple[str, int], Entry]) -> _Candidates:
        """The values of a run that may be inputs or outputs of modules."""
        candidates = _Candidates(
            self._outputs_by_name(),
            {
                self._prefix + name: [array for array in arrays if array.dtype.kind == "f" and np.ptp(array) > 0]
                for name, arrays in self._entering.items()
            },
        )
        exits, read = self._exits(), self._read()
        unnamed = self._unnamed_outputs()
        # Modules without layers in a model with modules were folded: only an equal value is theirs, not a scaled one.
        search = ValueSearch(unnamed, near=EQUAL if self._named and not self._is_partial else NEAR)

        def visit(visit: Visit) -> None:
            if visit.where.scope:
                return
            module = self._named.get(visit.node.name)
            is_computed = not isinstance(visit.node.op, (Const, Parameter))
            computes = module is not None and is_computed
            for position, array in enumerate(visit.outputs[: len(visit.node.outputs)]):
                value = (visit.node.id, position)
                value_path = entries[value].path
                if is_computed:
                    search.add(array, value_path)
                for path in read.get(value, ()):
                    candidates.add_input(path, array, value_path, is_named=module is not None)
                for path in self._modules_around(module) if computes else ():
                    candidates.add_output(path, array, value_path, is_read_outside=value in exits.get(path, ()))

        Walker(self._model).run(list(inputs), visit)
        for name, (distance, value_path) in search.nearest.items():
            if name in candidates.places:
                continue
            candidates.places[name], candidates.distances[name] = value_path, distance
            layer, module = self._layer(value_path), path_of(name)
            # Modules that contain each other have the same output.
            self._modules[layer] = max(self._modules.get(layer, ""), module, key=len)
        return candidates

    def _modules_around(self, module: str | None) -> list[str]:
        """The modules that may end in a layer of a module: it and its ancestors, if all of their layers are known."""
        return [] if module is None else [module] if self._is_partial else ancestors_of(module)

    def _unnamed_outputs(self) -> dict[str, Array]:
        """The recorded outputs of modules that no layer is known to belong to."""
        modules = {path for module in self._named.values() for path in self._modules_around(module)}
        outputs = self._outputs_by_name()
        return {name: array for name, array in outputs.items() if path_of(name) not in modules}

    def _read(self) -> dict[tuple[str, int], set[str]]:
        """The modules that read each computed value from outside, in the layout of PyTorch."""
        readers: dict[tuple[str, int], set[str]] = defaultdict(set)
        for node in self._model.graph.nodes:
            reader = self._named.get(node.name)
            for value in node.inputs if reader is not None else ():
                if value is None or reader is None or isinstance(value.node.op, Const):
                    continue
                if isinstance(node.op, MatMul) and node.op.transpose_a and value is node.inputs[0]:
                    continue
                is_input = isinstance(value.node.op, Parameter)
                source = None if is_input else self._modules.get(value.node.name)
                paths = {path for path in ancestors_of(reader) if not is_within(source, path)}
                readers[value.node.id, value.position] |= paths
        return readers

    def _exits(self) -> dict[str, set[tuple[str, int]]]:
        """The values of each module that are read outside it."""
        exits: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for node in self._model.graph.nodes:
            reader = self._modules.get(node.name)
            for value in node.inputs:
                module = None if value is None else self._modules.get(value.node.name)
                if value is None or module is None:
                    continue
                for path in ancestors_of(module):
                    if not is_within(reader, path):
                        exits[path].add((value.node.id, value.position))
        return exits

    def _place_outputs(self, entries: Mapping[tuple[str, int], Entry]) -> None:
        ends = list(self._ends.items())
        for position, (result, port) in enumerate(zip(self._model.graph.results, self._model.outputs, strict=True)):
            if position in self._outputs_of_wrapper:
                continue
            value = result.values_in[0]
            value_path = entries[value.node.id, value.position].path
            named = next((self._ends[name] for name in (port.name, *port.names) if name in self._ends), None)
            if named is None and len(ends) == len(self._model.outputs):
                named = ends[position][1]
            if named is not None:
                self._arrays[value_path] = named

    def add_modules(self, report: Comparison) -> Comparison:
        """The report with the modules, the first wrong module, and the modules without a value."""
        layers = {layer.path: layer for layer in report.layers}
        right = self._layers_before(layers)
        blamed = {
            fault.path: self._find_faulty_module(
                fault.path, [include for include in fault.includes if include not in right], layers
            )
            for fault in report.faults
        }
        own = {path: layers[path] for path in blamed if path in layers}
        modules = []
        for path in self._paths:
            names = [name for name in self._values if path_of(name) == path]
            at = [
                layers[unmatched_layer]
                for name in names
                if (unmatched_layer := self._layer(self._values[name])) in layers
            ]
            faults = [own[fault] for fault, module in blamed.items() if fault in own and is_within(module, path)]
            modules.append(_module(path, at, faults))
        first = next((module for module in blamed.values() if module is not None), None)
        unmatched = [
            Unmatched(side="reference", path=module.path, type="", why="the model has no value for this module")
            for module in modules
            if not module.layers
        ]
        unmatched_of_model = [
            unmatched_layer for unmatched_layer in report.unmatched if unmatched_layer.side == "model"
        ]
        return report.model_copy(
            update={"modules": tuple(modules), "first_module": first, "unmatched": (*unmatched_of_model, *unmatched)}
        )

    def _layers_before(self, layers: Mapping[str, ComparedLayer]) -> set[str]:
        """The layers without a recorded value that a layer without an own error depends on."""
        cleared: set[str] = set()
        for node in reversed(self._model.graph.nodes):
            layer = layers.get(node.name)
            if node.name in cleared or (layer is not None and layer.status in _RIGHT):
                sources = (value.node.name for value in node.inputs if value is not None)
                cleared |= {source for source in sources if source in layers and layers[source].status == "unmatched"}
        return cleared

    def _layer(self, value_path: str) -> str:
        return value_path if value_path in self._layer_names else value_path.rpartition(":")[0]

    def _find_faulty_module(
        self, fault: str, includes: Sequence[str], layers: Mapping[str, ComparedLayer]
    ) -> str | None:
        """The innermost module with the faulty layer and the computing layers that are in doubt with it."""
        doubtful = [include for include in includes if include in layers and _computes(layers[include])]
        if not doubtful or (fault in layers and _computes(layers[fault])) or fault not in layers:
            doubtful.append(fault)
        modules = [module for layer in doubtful if (module := self._modules.get(layer)) is not None]
        return common_module(modules) if modules else None


def _computes(layer: ComparedLayer) -> bool:
    """Return True for layers that compute floats; shapes, masks, and moved elements do not count."""
    cls = class_of_type(layer.type)
    is_moved = cls.is_data_movement is True or cls.rounds
    return not is_moved and (layer.element_type or "f32").startswith(("f", "bf"))


def _module(path: str, at: Sequence[ComparedLayer], faults: Sequence[ComparedLayer]) -> ComparedModule:
    worst = max(at, key=lambda layer: layer.rank, default=None)
    wrong = max(faults, key=lambda layer: layer.rank, default=None)
    status = "unmatched" if worst is None else "carried" if worst.status == "wrong" else worst.status
    return ComparedModule(
        path=path,
        layers=tuple(layer.path for layer in at),
        status="wrong" if wrong is not None else status,
        own=wrong.own if wrong is not None else None if worst is None or worst.status == "wrong" else worst.own,
        carried=None if worst is None else worst.carried,
    )


def _is_affine(before: Array, after: Array) -> bool:
    """Return True if each channel, along axis 1, was multiplied by a factor and shifted."""
    if before.shape != after.shape or before.ndim < 2 or not before.size or np.array_equal(before, after):
        return False
    x, y = (np.moveaxis(array.astype(np.float64), 1, 0).reshape(array.shape[1], -1) for array in (before, after))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    factor = (x * y).sum(1, keepdims=True) / np.maximum((x * x).sum(1, keepdims=True), np.finfo(np.float64).tiny)
    return bool(np.any(y)) and bool(np.max(np.abs(y - factor * x)) <= NEAR * np.max(np.abs(y)))


def _contents(array: Array) -> tuple[tuple[int, ...], bytes]:
    return array.shape, sha256(np.ascontiguousarray(array).data).digest()


def _channels_first(array: Array) -> Array | None:
    """An image, or a batch of sequences, converted from channels-last (TensorFlow) to channels-first."""
    return np.moveaxis(array, -1, 1) if array.ndim > 2 else None
