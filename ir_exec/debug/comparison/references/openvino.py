"""OpenVINO as a reference: its run of the model, with probed values as additional outputs.

An output between two layers prevents OpenVINO from fusing them. The probed values may therefore differ from those of a
run without probes; a note in the report states if the outputs of the model change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ir_exec.build.cutting import cut, region_at
from ir_exec.debug.comparison.metrics import Difference, difference, tolerance_of
from ir_exec.debug.comparison.references.child import (
    Child,
    ChildCrashed,
    ChildRefused,
    Stored,
    load_stored,
    require_device,
    require_openvino,
    settings_of,
    store_arrays,
)
from ir_exec.debug.comparison.references.expanded_weights import find_expanded_weights
from ir_exec.debug.comparison.references.reference import ReferenceState
from ir_exec.debug.comparison.references.repeating import VARIED, RepeatedValue, RunSetting, Vary
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.entries import Entry, Key, entries_of
from ir_exec.debug.values.files import Spill
from ir_exec.errors import EvaluationError, IRError
from ir_exec.graph import Node
from ir_exec.graph.order import reachable
from ir_exec.ir import default_weights_path
from ir_exec.ir.array_weights import ArrayWeights
from ir_exec.ir.storage import temporary_folder
from ir_exec.model import Model
from ir_exec.ops.infrastructure.values import AssignsVariable, ReadsVariable
from ir_exec.report.text import list_names
from ir_exec.runtime.precision import Precision, as_declared
from ir_exec.types import Array, ElementType

__all__ = [
    "OpenVINOReference",
    "original_layers",
    "what_to_run",
]


_MOST_SPLITS = 40
"""Maximum sets of probes that are halved because OpenVINO refuses them."""

MOST_ROUNDS = 30
"""Maximum runs of OpenVINO in a search that was not requested, for probes that change its outputs or are refused."""

MOST_COMPILED = 120_000
"""Maximum layers compiled in all of these runs, which takes about a minute; 4 runs are always allowed."""

MOST_OPINIONS = 40
"""Maximum opinions about wrong layers: each takes about 0.1 s."""


class OpenVINOReference(ReferenceState):
    """MODEL itself, run by OpenVINO in a child process.

    Args:
        probe: As for `compare`.
        device: As for `compare`.
        hint: As for `compare`.
        timeout: As for `compare`.
        is_lowered: True for a model that ir_exec lowered to IR, for the title.

    Raises:
        EvaluationError: If OpenVINO is not installed.
    """

    def __init__(
        self,
        model: Model,
        *,
        probe: str,
        device: str,
        hint: str,
        timeout: float,
        threads: int | None = None,
        precision: Precision = "f32",
        is_lowered: bool = False,
    ) -> None:
        require_openvino()
        title = f"openvino ({device}, {hint}{', lowered by ir_exec' if is_lowered else ''})"
        super().__init__(title, runtime=title)
        self.fuses = True
        self.varied: frozenset[Vary] = frozenset(VARIED)
        self._hint = hint
        self._model = model
        self._walker = Walker(model, threads=threads, precision=precision)
        self._probe = probe
        self._threads = threads
        self._child = Child("openvino_child.py", timeout)
        self._folder = temporary_folder()
        self._splits = self._asked = 0
        self._changes = False
        self._begin_search()
        self._stored: dict[Key, Stored] = {}
        self._outputs: dict[Key, Stored] = {}
        self._mapped: dict[str, Array] = {}
        self._calls: list[list[Stored]] = []
        self._arrays: list[list[Array]] = []
        self._request = self._make_request(device, hint)
        self._nodes = {node.id: node for node in model.graph.nodes}
        self._constants = {((), node.id, 0): node for node in model.graph.nodes if node.layer.is_constant}

    def _make_request(self, device: str, hint: str) -> dict[str, Any]:
        """Return the fields of every request to the child, as `what_to_run`."""
        return what_to_run(self._model, Path(self._folder.name), device, hint, self._threads)

    def entries(self) -> list[Entry]:
        """The values of the main graph; values of bodies cannot be outputs."""
        return [entry for entry in entries_of(self._model) if not entry.scope]

    def inputs(self) -> dict[str, Array]:
        return {}

    def run(self, arrays: Mapping[Key, Array], requested: Collection[Key], *, goes_on: bool = False) -> None:
        if not goes_on:
            self._arrays, self._calls = [], []
        self._begin_search()
        self._arrays.append([arrays[(), node.id, 0] for node in self._model.graph.parameters])
        arrays_in_order = self._in_order(self._arrays[-1])
        self._request["shapes"] |= self._ranks(arrays_in_order)
        self._calls.append(store_arrays(arrays_in_order, self._new_folder(f"call{len(self._calls)}")))
        self._mapped.clear()
        for file in {stored["file"] for stored in (*self._stored.values(), *self._outputs.values())}:
            with suppress(OSError):  # Windows does not delete mapped files
                Path(file).unlink()
        self._stored, self._outputs, self._changes = {}, {}, False
        probes = self._leave_out_expanded_weights(self._visible_entries(requested))
        try:
            plain = self._run([])
        except (ChildCrashed, ChildRefused) as error:
            self._fail(error)
            return
        self._set_type(plain["computes_in"])
        for node, stored in zip(self._model.graph.results, plain["outputs"], strict=True):
            value = node.values_in[0]
            self._outputs[(), value.node.id, value.position] = stored
        if self._probe == "all":
            self._run_all(probes)
        if self._probe == "bisect" or (self._probe == "all" and self._changes):
            # The values with all probes are not those of a run without probes.
            self._stored.clear()
            self._begin_search()
            _Bisection(self, probes).run()
        for key, stored in self._outputs.items():
            self._stored.setdefault(key, stored)

    def _visible_entries(self, requested: Collection[Key]) -> list[Entry]:
        """Return the requested values that can be probed."""
        return [entry for entry in entries_of(self._model) if entry.key in requested and _can_be_seen(entry)]

    def repeat(self, settings: Sequence[RunSetting], requested: Collection[Key]) -> Iterator[RepeatedValue]:
        ends = [node.values_in[0] for node in self._model.graph.results]
        outputs: list[Key] = [((), value.node.id, value.position) for value in ends]
        try:
            yield from self._repeat(settings, [], outputs)
        except (ChildCrashed, ChildRefused) as error:
            self._note(f"OpenVINO does not repeat its run: {_reason(error)}")
            return
        probes = self._leave_out_expanded_weights(self._visible_entries(requested)) if self._probe == "all" else []
        if not probes:
            return
        try:
            yield from self._repeat(settings, probes, [entry.key for entry in probes])
        except (ChildCrashed, ChildRefused) as error:
            self._note(f"OpenVINO does not repeat its run with intermediate values: {_reason(error)}")

    def _repeat(
        self, settings: Sequence[RunSetting], probes: Sequence[Entry], keys: Sequence[Key]
    ) -> Iterator[RepeatedValue]:
        """Yield the outputs, or the probes if there are any, that differ from those of the first run.

        Args:
            keys: The keys of what is yielded, in order.
        """
        self.rounds += 1 + len(settings)
        folder = self._new_folder(f"repeat{self.rounds}")
        request = {**self._request, "probes": list(map(self._port_of, probes)), "calls": self._calls}
        request["runs"] = [self._repeated_run(setting) for setting in (RunSetting(is_base=True), *settings)]
        with self._child.patience(1 + len(settings)):
            answer = self._child.ask(do="repeat", folder=str(folder), **request)
        mapped: dict[str, Array] = {}
        base, *others = [self._repeated_values(run, bool(probes)) for run in answer["runs"]]
        for number, (setting, run, values) in enumerate(zip(settings, answer["runs"][1:], others, strict=True)):
            if setting.is_base:
                base = values
                continue
            name = run["computes_in"]
            computes_in = ElementType.parse(name) if name in ("f16", "bf16") else self.computes_in
            for key, before, after in zip(keys, base, values, strict=True):
                if before is not None and after is not None:
                    arrays = load_stored(before, mapped), load_stored(after, mapped)
                    yield RepeatedValue(number, setting, key, *arrays, bool(probes), computes_in)

    def _repeated_run(self, setting: RunSetting) -> dict[str, Any]:
        hint = self._hint if setting.hint is None else setting.hint
        threads = self._threads if setting.threads is None else setting.threads
        config = settings_of(self._request["device"], hint, threads)
        return {"compile": setting.compiles, "is_base": setting.is_base, "config": config}

    def _repeated_values(self, run: Mapping[str, Any], is_probed: bool) -> list[Stored | None]:
        values: list[Stored | None] = run["probes"] if is_probed else self._in_model_order(run["outputs"])
        return values

    def _in_model_order(self, outputs: Sequence[Any]) -> list[Any]:
        """Return what belongs to OpenVINO's outputs, in the order of the model's outputs."""
        return list(outputs)

    def _leave_out_expanded_weights(self, probes: list[Entry]) -> list[Entry]:
        """Return the probes without large values that depend on weights alone, if they take too much memory."""
        weights = find_expanded_weights(self._model, [entry.key for entry in probes], "OpenVINO")
        if weights is None:
            return probes
        self._note(weights.note)
        return [entry for entry in probes if entry.key not in weights.keys]

    def _fail(self, error: ChildCrashed | ChildRefused) -> None:
        """Record the failure of the run without probes."""
        self.failure = self._absent(error) or f"OpenVINO {_reason(error)}"

    def _in_order(self, items: Sequence[Any]) -> list[Any]:
        """Return what belongs to the inputs of the model, in the order of OpenVINO's inputs."""
        return list(items)

    def _absent(self, refusal: Exception) -> str | None:
        """The message about a device that this machine does not have, if that explains a refusal."""
        try:
            if isinstance(refusal, ChildRefused):
                require_device(self._child, self._request["device"])
        except EvaluationError as error:
            return error.message
        return None

    def _ranks(self, arrays: Sequence[Array]) -> dict[str, str]:
        """Shapes for inputs of unknown rank, which the plugins do not accept."""
        types = self._in_order([self._model.types[node.outputs[0].number] for node in self._model.graph.parameters])
        return {
            str(position): f"[{','.join('?' * array.ndim)}]"
            for position, (type, array) in enumerate(zip(types, arrays, strict=True))
            if type.rank is None
        }

    def value(self, key: Key, iterations: tuple[int, ...]) -> Array | None:
        if key in self._constants:
            return self._walker.constant(self._constants[key])
        node = self._nodes.get(key[1])
        if node is not None and node in self._model.graph.parameters:
            return self._arrays[-1][self._model.graph.parameters.index(node)]
        stored = self._stored.get(key)
        return None if stored is None else self._load(stored)

    def output(self, key: Key) -> Array | None:
        """An output of the model from the run without probes."""
        stored = self._outputs.get(key)
        return None if stored is None else self._load(stored)

    def _load(self, stored: Stored) -> Array:
        return load_stored(stored, self._mapped)

    def opinions(
        self, node: Node, inputs: Sequence[Array], partners: Sequence[str | None]
    ) -> dict[str, list[Array | None]]:
        """Run a layer in other ways: by the `kernel` of `Model.evaluate`, and `alone` on the device.

        Ways that OpenVINO does not support are left out. Only the first layers have opinions.
        """
        if node.bodies or isinstance(node.op, (AssignsVariable, ReadsVariable)) or self._asked == MOST_OPINIONS:
            return {}
        self._asked += 1
        array_of = dict(zip(node.values_in, inputs, strict=True))
        folder = self._new_folder(f"opinion{self._asked}")
        try:
            part = cut(region_at(self._model), {node}, list(node.outputs))
            part.model.save(folder / "layer.xml")
            arrays = [
                as_declared(array_of[value], port.element_type)
                for value, port in zip(part.inputs, part.model.inputs, strict=True)
            ]
            request = {**self._request, **what_to_run(part.model, folder, "", "accuracy", None)}
            request |= {"device": self._request["device"], "config": self._request["config"]}
            answer = self._child.ask(do="opinions", inputs=store_arrays(arrays, folder), folder=str(folder), **request)
        except (IRError, ChildCrashed, ChildRefused):
            return {}
        return {who: [self._load(stored) for stored in outputs] for who, outputs in answer.items()}

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()

    def probe(self, entries: Sequence[Entry]) -> dict[Key, Array]:
        """The values of these layers, probed in one run.

        Raises:
            ChildCrashed: If the process ends without an answer.
            ChildRefused: If the process reports an error.
        """
        answer = self._run(entries)
        self._note_changes(answer["outputs"], entries)
        by_place = {(name, port): stored for name, port, stored in answer["probes"]}
        places = {entry.key: self._port_of(entry) for entry in entries}
        locations = {key: by_place[layer_port] for key, layer_port in places.items() if layer_port in by_place}
        self._stored |= locations
        return {key: self._load(stored) for key, stored in locations.items()}

    def _set_type(self, name: str | None) -> None:
        """Record the element type of the computation; settings may select a shorter type than that of the file."""
        if self.computes_in is None and name in ("f16", "bf16"):
            self.computes_in = ElementType.parse(name)
            self._note(f"OpenVINO computes in {name}, and the tolerances are those of {name}")

    def _begin_search(self) -> None:
        self._before, self._is_enough = self.rounds, False

    def is_enough(self) -> bool:
        """Return True, and add a note, if a search that was not requested exceeds the limit of runs."""
        rounds = self.rounds - self._before
        most = max(min(MOST_ROUNDS, MOST_COMPILED // len(self._nodes)), 4)
        if self._probe == "bisect" or self._is_enough or rounds < most:
            return self._is_enough
        self._is_enough = True
        self._note(
            f"the search for layers that change OpenVINO's outputs ended after {rounds} runs; "
            "--probe bisect continues it, --probe outputs compares only the outputs"
        )
        return True

    def is_close(self, ours: Array, theirs: Array) -> bool:
        """Return True if values agree within the tolerance for values computed by many layers."""
        return self._change(ours, theirs).is_within

    def _change(self, array: Array, other: Array) -> Difference:
        kinds = [ElementType.of(array), ElementType.of(other)]
        if self.computes_in is not None and any(element_type.is_float for element_type in kinds):
            kinds.append(self.computes_in)
        return difference(array, other, tolerance_of(kinds))

    def _run(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """Run all calls, and return the answer for the last call."""
        self.rounds += 1
        folder = self._new_folder(f"run{self.rounds}")
        probes = list(map(self._port_of, entries))
        answer = self._child.ask(do="run", probes=probes, calls=self._calls, folder=str(folder), **self._request)
        return {**answer, "outputs": self._in_model_order(answer["outputs"])}

    def _port_of(self, entry: Entry) -> tuple[str, int]:
        """Return the layer of OpenVINO and its output for a value."""
        return entry.layer_name, entry.port

    def _new_folder(self, name: str) -> Path:
        folder = Path(self._folder.name, name)
        folder.mkdir(exist_ok=True)
        return folder

    def _note(self, text: str) -> None:
        self.notes.append(f"in call {len(self._calls)}: {text}" if len(self._calls) > 1 else text)

    def _run_all(self, probes: Sequence[Entry]) -> None:
        """Probe all values at once, or halves of them if OpenVINO fails."""
        try:
            self.probe(probes)
        except (ChildCrashed, ChildRefused) as error:
            self._splits += 1
            names = list_names([entry.path for entry in probes], 3, is_counted=False)
            if isinstance(error, ChildCrashed) or len(probes) == 1:
                self._note(f"with {len(probes)} probes ({names}) OpenVINO {_reason(error)}")
            half = len(probes) // 2
            for some in (probes[:half], probes[half:]) if len(probes) > 1 else ():
                if self._splits < _MOST_SPLITS and not self.is_enough():
                    self._run_all(some)

    def _note_changes(self, outputs: Sequence[Stored], probes: Sequence[Entry]) -> None:
        """Add a note for each output that differs from the run without probes."""
        for port, before, after in zip(self._model.outputs, self._outputs.values(), outputs, strict=False):
            old, new = self._load(before), self._load(after)
            change = self._change(new, old)
            if not change.is_within:
                self._changes = True
                self.widen_spread(port.name, change)
                what = f"{len(probes)} probes" if len(probes) != 1 else f"a probe at {probes[0].path}"
                self._note(
                    f"OpenVINO's outputs change with {what}: output {port.name!r} by {change.max_abs:.4g}; the cause "
                    "is a fusion there"
                )


def _can_be_seen(entry: Entry) -> bool:
    cls = entry.op_class
    # Values that are known without a probe, and layers without values.
    if entry.scope or entry.is_constant or cls.is_parameter or cls.is_result or issubclass(cls, AssignsVariable):
        return False
    element_type = ElementType.parse(entry.element_type) if entry.element_type else ElementType.dynamic
    return not element_type.is_known or element_type.bits == 0 or element_type.bits >= 8


def _reason(error: Exception) -> str:
    return f"refuses: {error}" if isinstance(error, ChildRefused) else str(error)


def what_to_run(model: Model, folder: Path, device: str, hint: str, threads: int | None) -> dict[str, Any]:
    """The fields of every request to the child: files, shapes, device and settings.

    Args:
        folder: The folder to write the model to, if OpenVINO cannot read its file.
    """
    config = settings_of(device, hint, threads)
    path = model.graph.path
    weights = getattr(model.weights, "path", None)
    is_other = weights is not None and weights != default_weights_path(path or "")
    # Constants in memory are in no file: the model was changed, or lowered from a format that OpenVINO does not read.
    if path is None or is_other or isinstance(model.weights, ArrayWeights) or model.document.version < 10:
        path = str(Path(folder, "network.xml"))
        model.save(path)
    shapes = {
        str(position): str(model.given[node.outputs[0]].shape)
        for position, node in enumerate(model.graph.parameters)
        if node.outputs[0] in model.given
    }
    beside = default_weights_path(path)
    return {
        "xml": path,
        "bin": beside if Path(beside).exists() else None,
        "shapes": shapes,
        "device": device,
        "config": config,
    }


class _Bisection:
    """Bisection for the first layer with a wrong value, with few probes in each run."""

    def __init__(self, reference: OpenVINOReference, probes: Sequence[Entry]) -> None:
        self._reference = reference
        self._probes = list(probes)
        self._by_node: dict[str, list[Entry]] = {}
        for entry in probes:
            self._by_node.setdefault(entry.layer_id, []).append(entry)
        self._ours = Spill()
        self._judged: dict[Key, bool] = {}

    def run(self) -> None:
        probed = {entry.key for entry in self._probes} | set(self._reference._outputs)

        def keep(visit: Visit) -> None:
            if not visit.where.scope:
                for position, array in enumerate(visit.outputs):
                    if ((), visit.node.id, position) in probed:
                        self._ours.put(((), visit.node.id, position), array)

        try:
            *before, arrays = self._reference._arrays
            for number, earlier in enumerate(before):
                self._reference._walker.run(earlier, goes_on=number > 0)
            self._reference._walker.run(arrays, keep, goes_on=bool(before))
            for key, stored in self._reference._outputs.items():
                if self._is_wrong(key, self._reference._load(stored)):
                    self._close_in(self._reference._nodes[key[1]])
                    return
        except (ChildCrashed, ChildRefused) as error:
            self._reference.failure = f"OpenVINO {_reason(error)}"
        finally:
            self._ours.close()

    def _close_in(self, node: Node) -> None:
        """Bisect between the inputs and this layer, whose value is wrong."""
        while True:
            above = reachable([node])
            order = [node for node in self._reference._model.graph.nodes if node in above and node.id in self._by_node]
            low, high = -1, len(order) - 1
            while high - low > 1:
                if self._reference.is_enough():
                    return
                middle = (low + high) // 2
                if self._wrong_at([order[middle]]):
                    high = middle
                else:
                    low = middle
            if not order:
                return
            if self._reference.is_enough():
                return
            node = order[high]
            sources = self._sources(node)
            self._wrong_at([node, *sources])
            wrong = [
                source for source in sources if any(self._judged.get(entry.key) for entry in self._by_node[source.id])
            ]
            if not wrong:
                if not any(self._judged.get(entry.key) for entry in self._by_node[node.id]):
                    self._reference._note(
                        f"OpenVINO's value of {node.name} is wrong, but right if its inputs are outputs as well: "
                        "the cause is a fusion there"
                    )
                return
            node = wrong[0]

    def _sources(self, node: Node) -> list[Node]:
        """The nearest upstream layers that can be probed."""
        sources: dict[Node, None] = {}
        pending = [value.node for value in node.values_in]
        while pending:
            source = pending.pop(0)
            if source.id in self._by_node:
                sources[source] = None
            elif source not in sources:
                pending += [value.node for value in source.values_in]
        return list(sources)

    def _wrong_at(self, nodes: Sequence[Node]) -> bool:
        entries = [entry for node in nodes for entry in self._by_node[node.id]]
        values = self._reference.probe(entries)
        for key, array in values.items():
            self._judged[key] = self._is_wrong(key, array)
        return any(self._judged[key] for key in values)

    def _is_wrong(self, key: Key, theirs: Array) -> bool:
        ours = self._ours.get(key)
        if ours is None:
            return False
        return not self._reference.is_close(ours, theirs)


def original_layers(text: str, names: set[str]) -> tuple[str, ...]:
    """The names in `originalLayersNames`, separated by commas; names may contain commas.

    Names generated by OpenVINO, which are not in the model, are left out.
    """
    parts = text.split(",")
    layers: dict[str, None] = {}
    start = 0
    while start < len(parts):
        for stop in range(len(parts), start, -1):
            if (name := ",".join(parts[start:stop])) in names:
                layers[name] = None
                start = stop - 1
                break
        start += 1
    return tuple(layers)
