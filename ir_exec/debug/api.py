"""`compare` and what it takes: references by their kind, inputs given or drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ir_exec.codes import Code
from ir_exec.debug.comparing import compare_with
from ir_exec.debug.drawing import checked_inputs
from ir_exec.debug.entries import entries_of
from ir_exec.debug.metrics import Metric, Settings, load_metric
from ir_exec.debug.reference import ArraysReference, IRReference, Reference, TraceReference, arrays_in, kinds_of
from ir_exec.debug.report import Comparison
from ir_exec.debug.tracing import INDEX, Trace
from ir_exec.errors import EvaluationError
from ir_exec.model import Model, ShapeLike, Source, read_model
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array

__all__ = ["Probe", "ReferenceLike", "compare"]

Probe: TypeAlias = Literal["all", "bisect", "outputs"]

ReferenceLike: TypeAlias = Model | Trace | Mapping[str, Array] | str | os.PathLike[str]
"""A network, what `trace` gave, arrays by name, "openvino", or a path: an .xml, an .onnx, an .npz, or a folder that
holds a trace or .npy files."""


def compare(
    model: Model | Source,
    reference: ReferenceLike,
    inputs: Inputs | None = None,
    seed: int = 0,
    *,
    then: Sequence[Inputs] = (),
    calls: int | None = None,
    shapes: Mapping[str, ShapeLike] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    metrics: Iterable[str | Metric] = (),
    probe: Probe = "all",
    device: str = "CPU",
    hint: Literal["accuracy", "performance"] = "accuracy",
    timeout: float = 600.0,
    threads: int | None = None,
    precision: Precision = "f32",
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Which layer of a network is wrong, by the values of a reference.

    inputs: as for a call of a compiled model. Without them those of the reference, where it is a trace that holds them;
        else they are drawn from `seed`, with `shapes`, and sizes that fit for dims that are still open.
    then: the inputs of calls that follow, each of which goes on from the variables as its own network has left them.
    calls: how many calls there are, where that is more: inputs that were given are given again, others drawn anew.
    rtol, atol: an element may differ by atol + rtol * (the reference's); without both, by what the element types and
        the length of the layer's sums explain.
    metrics: functions of our value and the reference's, or `module:function`, to be told for each layer.
    probe, device, hint, timeout: for "openvino". probe: which values are made outputs there: all at once, few in each
        of several runs that close in on the first wrong one ("bisect"), or none but the outputs. hint: whether it
        computes in the types of the file ("accuracy") or may choose shorter ones. timeout: seconds for one answer.
    threads, precision: as for `compile_model`; an IR file that is the reference runs with the same.
    progress: called with each layer's path, in bodies once for each iteration whose layers are looked at.
    Raises what reading and running the networks raises, and EvaluationError IR705 where nothing can be compared, or
    where several calls are to be compared with files of values.
    """
    model = model if isinstance(model, Model) else read_model(model)
    options: dict[str, Any] = {"threads": threads, "precision": precision}
    found = _reference(model, reference, options, probe=probe, device=device, hint=hint, timeout=timeout)
    with closing(found):
        known = found.inputs() if inputs is None else {}
        drawn = inputs is None and len(known) < len(model.inputs)
        if drawn:
            inputs, _ = checked_inputs(model, seed, shapes, known, **options)
        first = bind_inputs(known if inputs is None else inputs, model.inputs)
        rows = [first, *(bind_inputs(one, model.inputs) for one in then)]
        while len(rows) < (calls or 1):
            if drawn and not then:
                inputs, _ = checked_inputs(model, seed + len(rows), shapes, known, **options)
                rows.append(bind_inputs(inputs, model.inputs))
            else:
                rows.append(rows[-1])
        if len(rows) > 1 and isinstance(found, (TraceReference, ArraysReference)):
            raise EvaluationError(f"{found.title} has the values of one call", code=Code.unknown_input)
        named = {_name_of(metric): load_metric(metric) if isinstance(metric, str) else metric for metric in metrics}
        settings = Settings(
            rtol=rtol, atol=atol, metrics=named, progress=progress, threads=threads, precision=precision
        )
        name = model.graph.path or model.name
        return compare_with(model, found, rows, settings, seed=seed if drawn else None, name=name)


def _name_of(metric: str | Metric) -> str:
    return metric.rpartition(":")[2] if isinstance(metric, str) else getattr(metric, "__name__", "metric")


def _reference(
    model: Model,
    reference: ReferenceLike,
    options: Mapping[str, Any],
    *,
    probe: Probe,
    device: str,
    hint: str,
    timeout: float,
) -> Reference:
    """options: of runs by ir_exec: threads and precision."""
    outputs = [port.name for port in model.outputs]
    if isinstance(reference, Model):
        return IRReference(reference, reference.graph.path or reference.name, **options)
    if isinstance(reference, Trace):
        return TraceReference(reference.folder)
    if isinstance(reference, Mapping):
        return ArraysReference(reference, "the given arrays", outputs, kinds_of(entries_of(model)))
    path = Path(reference)
    if os.fspath(reference) == "openvino":
        from ir_exec.debug.openvino import OpenVINOReference

        return OpenVINOReference(model, probe=probe, device=device, hint=hint, timeout=timeout, **options)
    if path.suffix.lower() == ".onnx":
        from ir_exec.debug.reference import ONNXReference

        return ONNXReference(path, timeout=timeout)
    if (path / INDEX).exists():
        return TraceReference(path)
    if path.is_dir() or path.suffix.lower() == ".npz":
        entries = list(entries_of(model))
        return ArraysReference(arrays_in(path, entries), os.fspath(path), outputs, kinds_of(entries))
    if path.suffix.lower() == ".xml" or path.exists():
        return IRReference(read_model(path), os.fspath(path), **options)
    choices = "openvino, an .xml, an .onnx, an .npz, or a folder of a trace or of .npy files"
    raise EvaluationError(f"{os.fspath(reference)!r} is no reference: expected {choices}", code=Code.unknown_input)
