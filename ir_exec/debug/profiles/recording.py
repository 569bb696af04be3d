"""Records of the steps of a run: their time, memory and work, and OpenVINO's counters for the same layers.

Memory and work are from a separate run. Perfetto and chrome://tracing open a run in Trace Event Format, with times in
microseconds. Source: the document "Trace Event Format" of the Chromium project.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median
from threading import get_ident, local
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeAlias

from ir_exec.codes import Code
from ir_exec.debug.comparison.references.child import (
    Child,
    ChildCrashed,
    ChildRefused,
    require_device,
    require_openvino,
    store_arrays,
)
from ir_exec.debug.comparison.references.openvino import original_layers, what_to_run
from ir_exec.debug.profiles.profile_report import LayerProfile, OpenVINOLayer, OpenVINOProfile
from ir_exec.errors import EvaluationError
from ir_exec.graph import Node
from ir_exec.ir.storage import temporary_folder
from ir_exec.kernels.limits import owner_of, owners
from ir_exec.model import Model
from ir_exec.ops import Op
from ir_exec.plan.records import Kernel, Step
from ir_exec.types import Array, ElementType

__all__ = ["Counted", "Event", "Recorder", "bytes_moved", "join_timings", "profile_openvino", "trace_events"]

_Around: TypeAlias = Callable[[Step, Kernel, tuple[Array, ...]], Any]


class Event(NamedTuple):
    """A step of a run, with times in nanoseconds.

    Attributes:
        inside: The time of layers in its bodies.
        thread: The thread's id.
    """

    node: Node
    start: int
    end: int
    inside: int
    thread: int

    @property
    def own(self) -> int:
        return self.end - self.start - self.inside


@dataclass(slots=True)
class Counted:
    """The work of a layer in a run.

    Attributes:
        memory: The peak bytes in use while it ran, including those of other layers.
        fused: All layers of a fused step, this layer last.
        fused_type: The type of the fused operator.
    """

    calls: int = 0
    bytes_moved: int = 0
    multiply_adds: int = 0
    memory: int = 0
    element_type: ElementType | None = None
    shape: tuple[int, ...] = ()
    fused: tuple[Node, ...] = ()
    fused_type: str = ""


class Recorder:
    """Instrumentation of the steps of a compiled model.

    Their kernels are replaced within `record_times` and `record_work` alone: other runs are those of a model without
    instrumentation.
    """

    def __init__(self) -> None:
        self._around: _Around | None = None
        self._kernels: list[tuple[Step, Kernel]] = []

    def instrument(self, step: Step) -> Step:
        """Return the step, to be observed in later records."""
        self._kernels.append((step, step.evaluate))
        if self._around is not None:
            step.evaluate = self._wrap_kernel(step, step.evaluate, self._around)
        return step

    @staticmethod
    def _wrap_kernel(step: Step, kernel: Kernel, observer: _Around) -> Kernel:
        return lambda *arrays: observer(step, kernel, arrays)

    @contextmanager
    def record_times(self) -> Iterator[list[Event]]:
        """Record the steps that run in the block, in the order of completion."""
        clock = _Clock()
        with self._with(clock):
            yield clock.events

    @contextmanager
    def record_work(self) -> Iterator[dict[Node, Counted]]:
        """Record the work of the layers that run in the block, in the order of completion; runs are much slower."""
        was_tracing = tracemalloc.is_tracing()
        if not was_tracing:
            tracemalloc.start()
        try:
            gauge = _Gauge(tracemalloc.get_traced_memory()[0])
            with self._with(gauge):
                yield gauge.counted
        finally:
            if not was_tracing:
                tracemalloc.stop()

    @contextmanager
    def _with(self, observer: _Around) -> Iterator[None]:
        self._around = observer
        for step, kernel in self._kernels:
            step.evaluate = self._wrap_kernel(step, kernel, observer)
        try:
            yield
        finally:
            self._around = None
            for step, kernel in self._kernels:
                step.evaluate = kernel


class _Clock:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self._local = local()

    def __call__(self, step: Step, compute: Kernel, arrays: tuple[Array, ...]) -> Any:
        mine = self._local
        outer = getattr(mine, "inside", 0)
        mine.inside = 0
        start = perf_counter_ns()
        result = compute(*arrays)
        end = perf_counter_ns()
        self.events.append(Event(step.node, start, end, mine.inside, get_ident()))
        mine.inside = outer + end - start
        return result


class _Gauge:
    """A counter of work and memory.

    Args:
        before: The traced bytes in use before the run.
    """

    def __init__(self, before: int) -> None:
        self.counted: dict[Node, Counted] = {}
        self._before = before
        self._highest = 0

    def __call__(self, step: Step, compute: Kernel, arrays: tuple[Array, ...]) -> Any:
        outer, self._highest = self._highest, 0
        tracemalloc.reset_peak()
        result = compute(*arrays)
        # Layers of bodies have reset the peak.
        most = max(self._highest, tracemalloc.get_traced_memory()[1] - self._before)
        self._highest = max(outer, most)
        outputs = list(result) if isinstance(result, tuple) else [result]
        work = self.counted.setdefault(step.node, Counted())
        work.calls += 1
        work.memory = max(work.memory, most)
        if len(step.members) > 1:
            work.fused, work.fused_type = step.members, step.op.type_name
        if not step.node.bodies:
            work.bytes_moved += bytes_moved(step.op, arrays, outputs)
            shapes = [array.shape for array in arrays], [array.shape for array in outputs]
            work.multiply_adds += step.op.multiply_adds(*shapes)
        if outputs:
            work.element_type, work.shape = ElementType.of(outputs[0]), outputs[0].shape
        tracemalloc.reset_peak()
        return result


def bytes_moved(op: Op, inputs: tuple[Array, ...], outputs: list[Array]) -> int:
    """The minimum bytes that a layer reads and writes: those of inputs and outputs, each element counted once.

    A view moves no bytes, and a broadcast element counts once. An input that a layer only gathers elements from counts
    at most as much as the outputs.
    """
    input_owners = owners(inputs)
    new_arrays = [array for array in outputs if not op.may_alias or id(owner_of(array)) not in input_owners]
    if outputs and not new_arrays:
        return 0
    written = sum(map(_extent, new_arrays))
    picked = {position for position, declared in enumerate(op.inputs) if declared.name in op.reads_sparsely}
    return written + sum(
        min(_extent(array), written) if position in picked else _extent(array) for position, array in enumerate(inputs)
    )


def _extent(array: Array) -> int:
    sizes: list[int] = [size for size, stride in zip(array.shape, array.strides, strict=True) if stride or not size]
    return array.itemsize * prod(sizes)


_OURS, _OPENVINO = 1, 2


def trace_events(
    start: int,
    end: int,
    events: Sequence[Event],
    layers: Mapping[Node, LayerProfile],
    openvino: OpenVINOProfile | None,
) -> bytes:
    """One run from `start` to `end`, in nanoseconds, as JSON.

    OpenVINO's counters have durations but no start times, therefore its layers are shown one after the other.
    """
    threads = {thread: number for number, thread in enumerate(dict.fromkeys(event.thread for event in events), 1)}
    shown: list[dict[str, Any]] = [_name_event("process_name", "ir_exec", _OURS)]
    shown += [_name_event("thread_name", f"thread {number}", _OURS, number) for number in threads.values()]
    shown.append(_slice("run", "run", 0.0, (end - start) / 1e3, _OURS, 1, {}))
    for event in sorted(events, key=lambda event: (event.start, -event.end)):
        layer = layers[event.node]
        since = (event.start - start) / 1e3
        took = (event.end - event.start) / 1e3
        shown.append(_slice(layer.path, layer.type, since, took, _OURS, threads[event.thread], _arguments(layer)))
        memory = {"bytes": layer.memory}
        shown.append({"name": "memory", "ph": "C", "ts": since, "pid": _OURS, "args": memory})
    if openvino is not None:
        shown += _of_openvino(openvino)
    return json.dumps({"traceEvents": shown, "displayTimeUnit": "ms"}, separators=(",", ":")).encode()


def _of_openvino(openvino: OpenVINOProfile) -> Iterable[dict[str, Any]]:
    yield _name_event(
        "process_name", f"OpenVINO {openvino.version} {openvino.device} (in order, by its counters)", _OPENVINO
    )
    since = 0.0
    for layer in openvino.layers:
        arguments = {"kernel": layer.kernel, "precision": layer.precision, "layers": ", ".join(layer.layers)}
        yield _slice(layer.name, layer.type, since, layer.seconds * 1e6, _OPENVINO, 1, arguments)
        since += layer.seconds * 1e6


def _arguments(layer: LayerProfile) -> dict[str, Any]:
    shape = ",".join(map(str, layer.shape or ()))
    return {
        "id": layer.layer_id,
        "output": f"{layer.element_type}[{shape}]" if layer.element_type else "",
        "bytes moved": layer.bytes_moved // max(layer.calls, 1),
        "multiply-adds": layer.multiply_adds // max(layer.calls, 1),
    }


def _slice(
    name: str, category: str, since: float, took: float, process: int, thread: int, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    position = {"ts": since, "dur": took, "pid": process, "tid": thread}
    return {"name": name, "cat": category, "ph": "X", **position, "args": dict(arguments)}


def _name_event(what: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def profile_openvino(
    model: Model,
    arrays: Sequence[Array],
    ours: Mapping[str, float],
    *,
    repeat: int,
    device: str,
    hint: str,
    timeout: float,
    threads: int | None,
) -> OpenVINOProfile:
    """Run OpenVINO with the same inputs in a child process.

    Args:
        ours: The seconds of each of our layers outside bodies, including its bodies, by name.

    Raises:
        EvaluationError: If OpenVINO is not installed, refuses the model, crashes, or does not answer in time.
    """
    require_openvino()
    with (
        temporary_folder() as folder,
        closing(Child("openvino_child.py", timeout)) as child,
    ):
        request = what_to_run(model, Path(folder), device, hint, threads)
        if device != "CPU":
            require_device(child, device)
        try:
            answer = child.ask(do="profile", repeat=repeat, inputs=store_arrays(arrays, Path(folder)), **request)
        except (ChildRefused, ChildCrashed) as error:
            told = f"refuses: {error}" if isinstance(error, ChildRefused) else str(error)
            raise EvaluationError(f"OpenVINO {told}", code=Code.failed) from None
    return OpenVINOProfile(
        version=answer["version"].split("-")[0],
        device=device,
        hint=hint,
        run_seconds=median(answer["plain"]),
        counted_seconds=median(answer["counted"]),
        layers=join_timings(model, answer["layers"], ours, repeat),
        lowered=model.lowered_from is not None,
    )


def join_timings(
    model: Model, timings: Sequence[Mapping[str, Any]], ours: Mapping[str, float], repeat: int
) -> tuple[OpenVINOLayer, ...]:
    """Return the layers of OpenVINO with their times and our layers.

    Args:
        timings: The name, type, kernel, precision, seconds and original layers of each layer.
        ours: As for `profile_openvino`.
        repeat: The number of runs.
    """
    names = {node.name for node in model.graph.nodes}
    # A run without the layer counts as 0 seconds.
    seconds = [median([*layer["seconds"], *[0.0] * (repeat - len(layer["seconds"]))]) for layer in timings]
    total = sum(seconds) or 1.0
    layers = []
    for layer, duration in zip(timings, seconds, strict=True):
        originals = original_layers(layer["originals"], names)
        layers.append(
            OpenVINOLayer(
                name=layer["name"],
                type=layer["type"],
                kernel=layer["kernel"],
                precision=layer["precision"],
                seconds=duration,
                share=duration / total,
                layers=originals,
                ours=sum(ours.get(name, 0.0) for name in originals),
            )
        )
    return tuple(layers)
