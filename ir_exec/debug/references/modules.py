"""A recording of modules as a reference: which value of a network is the output of which module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ir_exec.codes import Code
from ir_exec.debug.comparison.report import ComparedLayer, ComparedModule, Comparison, Unmatched
from ir_exec.debug.references.reference import ArraysReference
from ir_exec.debug.references.torch_hooks import FIRST_INPUT, INPUTS, OUTPUTS
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, entries_of
from ir_exec.errors import EvaluationError
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import Const, Parameter
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array

__all__ = ["RecordingReference", "is_recording", "module_of"]

_KEY = re.compile(r"^(.*?)(?::(\d+))?(?:#(\d+))?$", re.DOTALL)
_IR = "__module."
_NEAR = 1e-3
"""Maximum difference, relative to the largest element, between a value and the recorded output of a module."""

_FILL = 1e30
"""Minimum magnitude of the elements that masks are filled with: they are no measure of the other elements."""


def module_of(layer: str) -> str | None:
    """The path of the module that a layer is named after, by OpenVINO's names or those of torch.onnx."""
    if layer.startswith(_IR):
        return layer[len(_IR) :].split("/", 1)[0]
    if not layer.startswith("/"):
        return None
    parts: list[str] = []
    for part in layer[1:].split("/")[:-1]:
        if parts and part.startswith(parts[-1] + "."):
            parts.pop()  # a list of modules is named again by each of its items
        parts.append(part)
    return ".".join(parts) or None


def _path(key: str) -> str:
    found = _KEY.match(key)
    assert found is not None, "everything matches"
    return found[1]


def _is_within(module: str | None, path: str) -> bool:
    return module is not None and (module == path or module.startswith(path + "."))


def _ancestors(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:size]) for size in range(1, len(parts) + 1)]


def _inferred(model: Model, named: Mapping[str, str]) -> dict[str, str]:
    """Modules of the layers with generated names: the innermost module that all readers of such a layer are in."""
    found: dict[str, str] = {}
    readers: dict[str, list[str | None]] = defaultdict(list)
    for node in reversed(model.graph.nodes):
        module = named.get(node.name)
        if module is None and (modules := readers[node.id]) and None not in modules:
            module = _common([one for one in modules if one is not None])
            if module is not None:
                found[node.name] = module
        for value in node.inputs:
            if value is not None:
                readers[value.node.id].append(module)
    return found


def _common(modules: Sequence[str]) -> str | None:
    """The innermost module that holds all of these."""
    steps = [one[0] for one in zip(*map(_ancestors, modules), strict=False) if len(set(one)) == 1]
    return steps[-1] if steps else None


def _prefix(modules: Iterable[str], paths: Sequence[str]) -> str:
    """What stands before the recorded paths in the network, as where the exported module wraps the recorded one."""
    known = {one for module in modules for one in _ancestors(module)}
    choices = {""} | {one[: -len(path)] for path in paths[:50] for one in known if one.endswith("." + path)}
    return max(sorted(choices, key=len), key=lambda prefix: sum(prefix + path in known for path in paths))


def is_recording(model: Model, arrays: Mapping[str, Array]) -> bool:
    """Return True if more of the names are paths of modules of this network than are names of its values."""
    if any(name.startswith(INPUTS) for name in arrays):
        return True
    paths = [_path(name) for name in arrays if not name.startswith(OUTPUTS) and not name.endswith(FIRST_INPUT)]
    names = {name for entry in entries_of(model) for name in (entry.path, entry.layer_name, *entry.names)}
    modules = {module for node in model.graph.nodes if (module := module_of(node.name)) is not None}
    known = {one for module in modules for one in _ancestors(module)}
    prefix = _prefix(modules, paths)
    return sum(prefix + path in known for path in paths) > sum(name in names for name in arrays)


class RecordingReference(ArraysReference):
    """Outputs of modules, under the names of the values that they are once `place` has found these."""

    def __init__(self, model: Model, arrays: Mapping[str, Array], title: str) -> None:
        super().__init__({}, title)
        self._model = model
        self._given = {name[len(INPUTS) :]: array for name, array in arrays.items() if name.startswith(INPUTS)}
        self._ends = {name[len(OUTPUTS) :]: array for name, array in arrays.items() if name.startswith(OUTPUTS)}
        ends = (INPUTS, OUTPUTS)
        modules = {name: array for name, array in arrays.items() if not name.startswith(ends)}
        self._entering = {
            name.removesuffix(FIRST_INPUT): array for name, array in modules.items() if name.endswith(FIRST_INPUT)
        }
        self._recorded = {name: array for name, array in modules.items() if not name.endswith(FIRST_INPUT)}
        self._named = {node.name: module for node in model.graph.nodes if (module := module_of(node.name))}
        self._modules = self._named | _inferred(model, self._named)
        paths = list(dict.fromkeys(map(_path, self._recorded)))
        self._prefix = _prefix(self._named.values(), paths)
        self._paths = [self._prefix + path for path in paths]
        self._values: dict[str, str] = {}

    def inputs(self) -> dict[str, Array]:
        ports = self._model.inputs
        given = list(self._given.values())
        by_name = {
            port.name: self._given[name] for port in ports for name in (port.name, *port.names) if name in self._given
        }
        if len(by_name) < len(ports) and len(given) == len(ports):
            by_name = {port.name: array for port, array in zip(ports, given, strict=True)}
        kinds = {port.name: port.element_type for port in ports}
        return {
            name: array.astype(kinds[name].dtype) if kinds[name].is_known else array for name, array in by_name.items()
        }

    def place(self, inputs: Sequence[Array]) -> None:
        """Find the value of each module, in a run from these inputs.

        A value of the module or of those in it that is as recorded is its output, the last one if there are several;
        else the last of the recorded shape that is read outside of the module.
        """
        targets = {self._prefix + name: array for name, array in self._recorded.items()}
        by_path: dict[str, list[str]] = defaultdict(list)
        for name in targets:
            by_path[_path(name)].append(name)
        near: dict[str, str] = {}
        shapes: dict[str, list[tuple[tuple[int, ...], str]]] = defaultdict(list)
        entries = {(entry.layer_id, entry.port): entry for entry in entries_of(self._model) if not entry.scope}
        exits = self._exits()

        read = self._read()
        entering: dict[str, list[str]] = defaultdict(list)
        given = {
            self._prefix + name: array
            for name, array in self._entering.items()
            if array.dtype.kind == "f" and f"{name}#2" not in self._recorded
        }

        def visit(visit: Visit) -> None:
            if visit.where.scope:
                return
            for position, array in enumerate(visit.outputs[: len(visit.node.outputs)]):
                for path in read.get((visit.node.id, position), ()):
                    if path not in given or array.shape != given[path].shape:
                        continue
                    # A convolution that a batch normalization was folded into is no tensor of the module.
                    if visit.node.name in self._named or _is_near(array, given[path]):
                        entering[path].append(entries[visit.node.id, position].path)
            module = self._named.get(visit.node.name)
            if module is None or isinstance(visit.node.op, (Const, Parameter)):
                return
            for position, array in enumerate(visit.outputs[: len(visit.node.outputs)]):
                entry = entries[visit.node.id, position]
                for path in _ancestors(module):
                    if (visit.node.id, position) in exits.get(path, ()):
                        shapes[path].append((array.shape, entry.path))
                    for name in by_path.get(path, ()):
                        if _is_near(array, targets[name]):
                            near[name] = entry.path

        Walker(self._model).run(list(inputs), visit)
        for path, names in by_path.items():
            for name in names:
                if name not in near:
                    alike = [one for one in names if targets[one].shape == targets[name].shape]
                    places = [place for shape, place in shapes[path] if shape == targets[name].shape]
                    if len(alike) == 1 and places:
                        near[name] = places[-1]
                    elif len(alike) == len(places):
                        near[name] = places[alike.index(name)]
        self._values = {name: near[name] for name in targets if name in near}
        if not self._values:
            message = (
                f"{self.title} is no recording of this network: none of its {len(by_path)} modules has a value here"
            )
            raise EvaluationError(message, code=Code.unknown_input)
        for name, place in self._values.items():
            self._arrays.setdefault(place, targets[name])
        self._place_outputs(entries)
        for path, read_there in entering.items():
            if len(read_there) == 1:
                self._arrays.setdefault(read_there[0], given[path])

    def _read(self) -> dict[tuple[str, int], set[str]]:
        """For each value that is computed, the modules that read it from outside in the layout that PyTorch has."""
        found: dict[tuple[str, int], set[str]] = defaultdict(set)
        for node in self._model.graph.nodes:
            reader = self._named.get(node.name)
            for value in node.inputs if reader is not None else ():
                if value is None or reader is None or isinstance(value.node.op, (Const, Parameter)):
                    continue
                if isinstance(node.op, MatMul) and node.op.transpose_a and value is node.inputs[0]:
                    continue
                source = self._modules.get(value.node.name)
                paths = {path for path in _ancestors(reader) if not _is_within(source, path)}
                found[value.node.id, value.position] |= paths
        return found

    def _exits(self) -> dict[str, set[tuple[str, int]]]:
        """For each module the values that are read outside of it."""
        found: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for node in self._model.graph.nodes:
            reader = self._modules.get(node.name)
            for value in node.inputs:
                module = None if value is None else self._modules.get(value.node.name)
                if value is None or module is None:
                    continue
                for path in _ancestors(module):
                    if not _is_within(reader, path):
                        found[path].add((value.node.id, value.position))
        return found

    def _place_outputs(self, entries: Mapping[tuple[str, int], Entry]) -> None:
        ends = list(self._ends.items())
        for position, (result, port) in enumerate(zip(self._model.graph.results, self._model.outputs, strict=True)):
            value = result.values_in[0]
            place = entries[value.node.id, value.position].path
            named = next((self._ends[name] for name in (port.name, *port.names) if name in self._ends), None)
            if named is None and len(ends) == len(self._model.outputs):
                named = ends[position][1]
            if named is not None:
                self._arrays[place] = named

    def explained(self, report: Comparison) -> Comparison:
        """The report with the modules, the first wrong one, and the modules that have no value."""
        layers = {layer.path: layer for layer in report.layers}
        blamed = {fault.path: self._blamed(fault.path, fault.includes, layers) for fault in report.faults}
        own = {path: layers[path] for path in blamed if path in layers}
        modules = []
        for path in self._paths:
            names = [name for name in self._values if _path(name) == path]
            at = [layers[one] for name in names if (one := self._layer(self._values[name])) in layers]
            faults = [own[fault] for fault, module in blamed.items() if fault in own and _is_within(module, path)]
            modules.append(_module(path, at, faults))
        first = next((module for module in blamed.values() if module is not None), None)
        unmatched = [
            Unmatched(side="reference", path=module.path, type="", why="the network has no value for this module")
            for module in modules
            if not module.layers
        ]
        kept = [one for one in report.unmatched if one.side == "model"]
        return report.model_copy(
            update={"modules": tuple(modules), "first_module": first, "unmatched": (*kept, *unmatched)}
        )

    def _layer(self, place: str) -> str:
        return place if place in self._modules else place.rpartition(":")[0]

    def _blamed(self, fault: str, includes: Sequence[str], layers: Mapping[str, ComparedLayer]) -> str | None:
        """The innermost module that has a layer and those of the others in doubt that compute something."""
        doubtful = [one for one in includes if one in layers and _computes(layers[one])]
        if not doubtful or (fault in layers and _computes(layers[fault])) or fault not in layers:
            doubtful.append(fault)
        modules = [module for layer in doubtful if (module := self._modules.get(layer)) is not None]
        return _common(modules) if modules else None


_MOVING = frozenset(
    {
        "Broadcast",
        "Concat",
        "Const",
        "Convert",
        "Gather",
        "Pad",
        "Parameter",
        "Reshape",
        "ShapeOf",
        "Slice",
        "Split",
        "Squeeze",
        "StridedSlice",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "VariadicSplit",
    }
)


def _computes(layer: ComparedLayer) -> bool:
    """Return True for layers that make numbers of numbers: no shapes, masks, or elements in other places."""
    return layer.type not in _MOVING and (layer.element_type or "f32").startswith(("f", "bf"))


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


def _is_near(ours: Array, theirs: Array) -> bool:
    if ours.shape != theirs.shape or not ours.size or not {ours.dtype.kind, theirs.dtype.kind} <= set("fiub"):
        return False
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(b), initial=0.0, where=np.abs(b) < _FILL))
        limit = np.where(np.abs(b) < _FILL, _NEAR * largest, _NEAR * np.abs(b))
        return bool(np.all((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))))
