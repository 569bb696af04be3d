"""A run as Trace Event Format, which Perfetto and chrome://tracing open.

Source: the document "Trace Event Format" of the Chromium project; times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ir_exec.debug.profile_report import LayerProfile, OpenVINOProfile
from ir_exec.debug.recording import Event
from ir_exec.graph import Node

__all__ = ["trace_events"]

_OURS, _OPENVINO = 1, 2


def trace_events(
    start: int,
    end: int,
    events: Sequence[Event],
    layers: Mapping[Node, LayerProfile],
    openvino: OpenVINOProfile | None,
) -> bytes:
    """One run from `start` to `end`, in nanoseconds, as JSON. OpenVINO's counters say how long its layers take, and not
    when they run: they stand one after the other."""
    threads = {thread: number for number, thread in enumerate(dict.fromkeys(event.thread for event in events), 1)}
    shown: list[dict[str, Any]] = [_named("process_name", "ir_exec", _OURS)]
    shown += [_named("thread_name", f"thread {number}", _OURS, number) for number in threads.values()]
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
    yield _named(
        "process_name", f"OpenVINO {openvino.version} {openvino.device} (in order, its own counters)", _OPENVINO
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
    name: str, kind: str, since: float, took: float, process: int, thread: int, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    place = {"ts": since, "dur": took, "pid": process, "tid": thread}
    return {"name": name, "cat": kind, "ph": "X", **place, "args": dict(arguments)}


def _named(what: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
