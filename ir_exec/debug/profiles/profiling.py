"""Profile of a run: time by layer, by type and by prefix of names, compared with the speed of the machine.

The measured model is that of `compile_model`: constants are folded, buffers reused, and kernels chosen by the plan.
Fused layers are one entry, with the name of the last of them. The time of a layer is that of its kernel; memory and
work are counted in a separate run, which is not timed.
"""

from __future__ import annotations

import gc
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any, Literal, NamedTuple

from ir_exec.codes import Code
from ir_exec.debug.inputs.drawing import drawn_inputs
from ir_exec.debug.profiles.engine_profile import measure_in_blocks, profile_engine
from ir_exec.debug.profiles.profile_report import (
    GroupProfile,
    LayerProfile,
    MachineSpeed,
    OpenVINOProfile,
    Profile,
    Rates,
    measure_machine,
)
from ir_exec.debug.profiles.recording import Counted, Event, Recorder
from ir_exec.debug.profiles.recording import trace_events as as_trace_events
from ir_exec.debug.values.entries import class_of_type
from ir_exec.debug.values.files import write_file
from ir_exec.errors import EvaluationError, IRError
from ir_exec.fusions import find_fused_layers
from ir_exec.graph import Node
from ir_exec.ir.sources import module_order
from ir_exec.model import Model, ShapeLike, Source, read_model
from ir_exec.ops.infrastructure.values import Const, Parameter, Result
from ir_exec.readers import OpenVINOCompiled, is_compiled_by_openvino
from ir_exec.runtime.arguments import Inputs, whole_number
from ir_exec.runtime.calls import BoundCalls, bind_calls
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.runtime.precision import Precision, run_as_f32
from ir_exec.runtime.threads import chosen_threads
from ir_exec.runtime.weight_modes import WeightMode, checked_weight_mode, weight_mode_of_one_run
from ir_exec.types import Array

__all__ = ["profile"]


def profile(
    model: Model | Source,
    inputs: Inputs | None = None,
    seed: int = 0,
    *,
    shapes: Mapping[str, ShapeLike] | None = None,
    repeat: int = 10,
    reference: Literal["openvino"] | OpenVINOCompiled | None = None,
    device: str = "CPU",
    hint: Literal["accuracy", "performance"] = "performance",
    timeout: float = 600.0,
    threads: int | None = None,
    precision: Precision = "f32",
    weight_mode: WeightMode = "auto",
    trace_events: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
    engine: str | None = None,
    providers: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Profile:
    """Measure the time, memory and work of every layer of a model.

    Args:
        inputs: As for a call of a compiled model. The default are inputs drawn from `seed`, with `shapes` for dynamic
            dims. Every run starts with the initial values of the variables.
        repeat: The number of runs for each median, after a warm-up.
        reference: "openvino" to add OpenVINO's counters, or an `openvino.CompiledModel` with `PERF_COUNT` for its own.
        device: As for `compare`, for "openvino".
        hint: As for `compare`, for "openvino".
        timeout: As for `compare`.
        threads: As for `compile_model`.
        precision: As for `compile_model`.
        weight_mode: As for `compile_model`, but "auto" is "keep" if expanded weights would add more than 64 MiB. For
            the engine it is "expand".
        trace_events: A file for the run with a time closest to the median, in Trace Event Format.
        progress: Called with a description of the next action.
        engine: As for `compile_model`; the times of the engine are in `Profile.engine`.
        providers: As for `compile_model`.
        options: As for `compile_model`.

    Raises:
        IRError: The errors of reading and running the model. If `trace_events` cannot be written.
        EvaluationError: If OpenVINO cannot run it.
    """
    repeat = whole_number(repeat, "repeat", 1)
    if not (reference in (None, "openvino") or is_compiled_by_openvino(reference)):
        expected = "'openvino' or an openvino.CompiledModel"
        raise EvaluationError("reference is", actual=repr(reference), expected=expected, code=Code.unknown_input)
    model = model if isinstance(model, Model) else read_model(model)
    called = bind_calls(model, drawn_inputs(model, seed, shapes) if inputs is None else inputs)
    model, (arrays,), _ = called
    tell = progress or (lambda _: None)
    mode = weight_mode_of_one_run(model, checked_weight_mode(weight_mode), precision)
    runs = _Runs(model, arrays, repeat, tell, threads=threads, precision=precision, expand_weights=mode == "expand")
    tell("measuring the machine")
    machine = measure_machine(chosen_threads(threads))
    layers = dict(_layers(model, runs, machine))
    openvino = None
    if reference is not None:
        tell("OpenVINO")
        of_runtime = {"device": device, "hint": hint, "timeout": timeout, "threads": chosen_threads(threads)}
        openvino = _openvino(model, arrays, layers, repeat, reference, of_runtime)
        layers = dict(_join_layers(layers, openvino))
    on_engine = None
    if engine is not None:
        ours = {node.name: layers[node].with_bodies for node in model.graph.nodes if node in layers}
        how: dict[str, Any] = {"threads": threads, "precision": precision, "expand_weights": weight_mode != "keep"}
        # The expanded weights of the compiled model are referenced in cycles.
        gc.collect()
        how |= {"engine": engine, "providers": providers, "options": options}
        on_engine = profile_engine(model, arrays, ours, repeat=repeat, tell=tell, how=how)
    if trace_events is not None:
        usual = min(runs.timed, key=lambda run: abs(run.seconds - runs.timed_seconds))
        content = as_trace_events(usual.start, usual.end, usual.events, layers, openvino)
        try:
            write_file(trace_events, content)
        except OSError as error:
            message = f"cannot write {os.fspath(trace_events)}: {error.strerror or error}"
            raise IRError(message, code=Code.unwritable) from None
    report = _report(model, runs, machine, list(layers.values()), openvino, seed if inputs is None else None, called)
    return report if on_engine is None else report.model_copy(update={"engine": on_engine})


class _Timed(NamedTuple):
    start: int
    end: int
    events: list[Event]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9

    @property
    def overhead(self) -> float:
        return self.seconds - sum(event.own for event in self.events) / 1e9


class _Runs:
    """The runs of a model, compiled once: blocks of warm runs without and with timers, and one that counts its work.

    Args:
        how: Keywords of CompiledModel.
    """

    def __init__(
        self,
        model: Model,
        arrays: Sequence[Array],
        repeat: int,
        tell: Callable[[str], None],
        **how: Any,
    ) -> None:
        recorder = Recorder()
        compiled = CompiledModel(model, **how, instrument=recorder.instrument)
        self.is_wide = how["precision"] == "f32" and bool(run_as_f32(model).ops)
        self.expands_weights: bool = how["expand_weights"]
        tell("first run")
        self._run(compiled, arrays)
        with recorder.record_work() as self.counted:
            self._run(compiled, arrays)

        def run_plain() -> _Timed:
            return _Timed(*self._run(compiled, arrays), [])

        def run_timed() -> _Timed:
            with recorder.record_times() as events:
                start, end = self._run(compiled, arrays)
            return _Timed(start, end, events)

        tell(f"{2 * repeat} runs")
        runs, self.timed = measure_in_blocks([run_plain, run_timed], repeat)
        self.plain = [run.seconds for run in runs]
        shapes = {port.name: array.shape for port, array in zip(compiled.inputs, arrays, strict=True)}
        self.constants = compiled.memory_plan(shapes).constants

    @staticmethod
    def _run(compiled: CompiledModel, arrays: Sequence[Array]) -> tuple[int, int]:
        compiled.reset_state()
        start = perf_counter_ns()
        compiled(list(arrays))
        return start, perf_counter_ns()

    @property
    def timed_seconds(self) -> float:
        return median([run.seconds for run in self.timed])

    def seconds_by_node(self) -> dict[Node, tuple[float, float]]:
        """The medians of the seconds of each layer, without and with its bodies."""
        own: dict[Node, list[float]] = defaultdict(list)
        inclusive: dict[Node, list[float]] = defaultdict(list)
        for run in self.timed:
            mine, inclusive_nanoseconds = Counter[Node](), Counter[Node]()
            for event in run.events:
                mine[event.node] += event.own
                inclusive_nanoseconds[event.node] += event.end - event.start
            for node in mine:
                own[node].append(mine[node] / 1e9)
                inclusive[node].append(inclusive_nanoseconds[node] / 1e9)
        return {node: (_usual(own[node], self), _usual(inclusive[node], self)) for node in own}


def _usual(seconds: list[float], runs: _Runs) -> float:
    """The median over all runs. A run without the layer counts as 0 seconds."""
    return median(seconds + [0.0] * (len(runs.timed) - len(seconds)))


def _layers(model: Model, runs: _Runs, machine: MachineSpeed) -> Iterator[tuple[Node, LayerProfile]]:
    paths, sources = model.graph.node_paths(), model.sources
    fusions, outer_nodes = find_fused_layers(model), frozenset(model.graph.nodes)
    seconds = runs.seconds_by_node()
    total = sum(own for own, _ in seconds.values()) or 1.0
    # A layer that runs only in some runs, depending on random numbers, may be missing from the counting run.
    for node in dict.fromkeys([*runs.counted, *seconds]):
        counted = runs.counted.get(node, Counted())
        own, inclusive = seconds.get(node, (0.0, 0.0))
        yield (
            node,
            LayerProfile(
                layer_id=node.id,
                layer_name=node.name,
                path=paths[node],
                type=counted.fused_type or node.type,
                fused=tuple([paths[member] for member in counted.fused]),
                element_type=None if counted.element_type is None else str(counted.element_type),
                shape=None if counted.element_type is None else counted.shape,
                with_bodies=inclusive,
                memory=counted.memory,
                source=sources[node].summary if node in sources else None,
                fusion=fusions.get(node.id) if node in outer_nodes else None,
                **_rates(own, total, counted.calls, counted.bytes_moved, counted.multiply_adds, machine).model_dump(),
            ),
        )


def _rates(seconds: float, total: float, calls: int, moved: int, multiply_adds: int, machine: MachineSpeed) -> Rates:
    # A layer with many calls moves little data in each of them.
    least = calls * machine.least_seconds(multiply_adds // max(calls, 1), moved // max(calls, 1))
    return Rates(
        seconds=seconds,
        share=seconds / total,
        calls=calls,
        bytes_moved=moved,
        multiply_adds=multiply_adds,
        gflops=2e-9 * multiply_adds / seconds if seconds else 0.0,
        gbytes=1e-9 * moved / seconds if seconds else 0.0,
        of_peak=least / seconds if seconds and least else None,
    )


def _group(name: str, layers: Sequence[LayerProfile]) -> GroupProfile:
    seconds = sum(layer.seconds for layer in layers)
    least = sum(layer.of_peak * layer.seconds for layer in layers if layer.of_peak is not None)
    moved, multiply_adds = sum(layer.bytes_moved for layer in layers), sum(layer.multiply_adds for layer in layers)
    return GroupProfile(
        name=name,
        layers=len(layers),
        seconds=seconds,
        share=sum(layer.share for layer in layers),
        calls=sum(layer.calls for layer in layers),
        bytes_moved=moved,
        multiply_adds=multiply_adds,
        gflops=2e-9 * multiply_adds / seconds if seconds else 0.0,
        gbytes=1e-9 * moved / seconds if seconds else 0.0,
        of_peak=least / seconds if seconds and least else None,
    )


def _by_type(layers: Iterable[LayerProfile]) -> Iterator[GroupProfile]:
    members: dict[str, list[LayerProfile]] = defaultdict(list)
    for layer in layers:
        members[layer.type].append(layer)
    for name, some in members.items():
        yield _group(name, some)


_PARTS = re.compile(r"[^/.]*(?:[/.]+|$)")
"""The components of a name: converters separate modules by `/` and `.`."""


def grouped_by_prefix(layers: Sequence[LayerProfile]) -> Iterator[GroupProfile]:
    """Yield every prefix that several layers share, unless all of them share a longer prefix."""
    members: dict[str, list[LayerProfile]] = defaultdict(list)
    for layer in layers:
        parts = [part for part in _PARTS.findall(layer.path) if part][:-1]
        for count in range(1, len(parts) + 1):
            members["".join(parts[:count])].append(layer)
    longest: dict[tuple[int, ...], str] = {}
    for prefix, some in sorted(members.items(), key=lambda item: len(item[0])):
        longest[tuple(map(id, some))] = prefix
    for prefix in sorted(longest.values()):
        if len(members[prefix]) > 1:
            yield _group(prefix, members[prefix])


def grouped_by_module(layers: Sequence[LayerProfile]) -> Iterator[GroupProfile]:
    """Yield each module with its layers and those of the modules in it, in the order of their paths."""
    members: dict[str, list[LayerProfile]] = defaultdict(list)
    for layer in layers:
        steps = layer.source.module.split(".") if layer.source is not None and layer.source.module else []
        for size in range(1, len(steps) + 1):
            members[".".join(steps[:size])].append(layer)
    for module in sorted(members, key=module_order):
        yield _group(module, members[module])


def grouped_by_node(
    layers: Sequence[LayerProfile], nodes: Container[str]
) -> Iterator[tuple[GroupProfile, list[LayerProfile]]]:
    """Yield each node of an ONNX file with its layers, the slowest first; other layers are separate groups.

    Args:
        nodes: The names of the nodes.
    """
    from ir_exec.onnx.lowering.layer_names import node_of_layer  # imported for ONNX files only

    members: dict[str, list[LayerProfile]] = defaultdict(list)
    for layer in layers:
        members[node_of_layer(layer.path, nodes) or layer.path].append(layer)
    groups = [(_group(name, some), some) for name, some in members.items()]
    yield from sorted(groups, key=lambda group: -group[0].seconds)


def grouped_by_line(layers: Sequence[LayerProfile]) -> Iterator[GroupProfile]:
    """Yield each line of Python with its layers; files of the same name are shown with their paths."""
    members: dict[tuple[str, int | None], list[LayerProfile]] = defaultdict(list)
    code: dict[tuple[str, int | None], str | None] = {}
    names: dict[str, set[str]] = defaultdict(set)
    for layer in layers:
        source = layer.source
        if source is not None and source.file is not None:
            members[source.file, source.line].append(layer)
            code[source.file, source.line] = source.code
            names[source.file_and_line].add(source.file)
    for (file, line), some in members.items():
        source = some[0].source
        assert source is not None, "the layers of a line have a source"
        name = source.file_and_line if len(names[source.file_and_line]) == 1 else f"{file}:{line}"
        yield _group(name, some).model_copy(update={"code": code[file, line]})


def _openvino(
    model: Model,
    arrays: Sequence[Array],
    layers: Mapping[Node, LayerProfile],
    repeat: int,
    reference: object,
    options: Mapping[str, Any],
) -> OpenVINOProfile:
    """Return the counters of OpenVINO, or of a compiled model.

    Args:
        options: For OpenVINO in a child process: device, hint, timeout and threads.
    """
    from ir_exec.debug.profiles.compiled_profile import profile_compiled
    from ir_exec.debug.profiles.recording import profile_openvino

    ours = {node.name: layers[node].with_bodies for node in model.graph.nodes if node in layers}
    if is_compiled_by_openvino(reference):
        return profile_compiled(reference, model, arrays, ours, repeat=repeat)
    return profile_openvino(model, arrays, ours, repeat=repeat, **options)


def _join_layers(layers: Mapping[Node, LayerProfile], openvino: OpenVINOProfile) -> Iterator[tuple[Node, LayerProfile]]:
    theirs = {name: layer.name for layer in openvino.layers for name in layer.layers}
    for node, layer in layers.items():
        is_inside = layer.path != layer.layer_name
        yield node, layer if is_inside else layer.model_copy(update={"openvino": theirs.get(layer.layer_name)})


def _report(
    model: Model,
    runs: _Runs,
    machine: MachineSpeed,
    layers: Sequence[LayerProfile],
    openvino: OpenVINOProfile | None,
    seed: int | None,
    called: BoundCalls,
) -> Profile:
    peak = max(layers, key=lambda layer: layer.memory, default=None)
    # Of the layers that ran at the peak, `max` returns the innermost, because it ended first.
    computing = sum(not isinstance(node.op, (Const, Parameter, Result)) for node in model.graph.all_nodes())
    ran = sum(max(len(layer.fused), 1) for layer in layers if not issubclass(class_of_type(layer.type), Const))
    together = sum(len(layer.fused) for layer in layers)
    fused = (
        f", {together:,} layers computed in {sum(bool(layer.fused) for layer in layers):,} steps" if together else ""
    )
    wide = ", f16 and bf16 computed in f32" if runs.is_wide else ""
    mode_note = "" if runs.expands_weights else ', weights compressed (weight_mode="keep")'
    return Profile(
        model=model.graph.path or model.name,
        measured=f"the compiled model: constants folded, buffers reused{fused}{wide}{mode_note}",
        threads=machine.threads,
        repeat=len(runs.timed),
        run_seconds=median(runs.plain),
        least_seconds=min(runs.plain),
        timed_seconds=runs.timed_seconds,
        layer_seconds=sum(layer.seconds for layer in layers),
        overhead_seconds=median([run.overhead for run in runs.timed]),
        layers=tuple(layers),
        by_type=tuple(sorted(_by_type(layers), key=lambda group: -group.seconds)),
        by_prefix=tuple(grouped_by_prefix(layers)),
        by_module=tuple(grouped_by_module(layers)),
        by_line=tuple(sorted(grouped_by_line(layers), key=lambda group: -group.seconds)),
        not_run=computing - ran,
        peak_memory=0 if peak is None else peak.memory,
        peak_layer=None if peak is None else peak.path,
        constants=runs.constants,
        machine=machine,
        openvino=openvino,
        seed=seed,
        specialised=called.depends or None,
    )
