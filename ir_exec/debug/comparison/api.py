"""The function `compare`, with its references and with given or drawn inputs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ir_exec.codes import Code
from ir_exec.debug.comparison.comparing import compare_with
from ir_exec.debug.comparison.metrics import CallObserver, Metric, Settings, Tolerance, load_metric
from ir_exec.debug.comparison.pairing.ends import require_same_ports
from ir_exec.debug.comparison.records import FailOn
from ir_exec.debug.comparison.references.modules import RecordingReference, is_recording
from ir_exec.debug.comparison.references.reference import (
    ArraysReference,
    IRReference,
    IterationsReference,
    Reference,
    TraceReference,
    arrays_in,
    kinds_of,
)
from ir_exec.debug.comparison.references.repeating import VARIED, RunSetting, Vary, plan_runs
from ir_exec.debug.comparison.references.torch_hooks import Recording
from ir_exec.debug.comparison.references.torch_module import is_torch_module, record_module
from ir_exec.debug.comparison.report_text import Comparison
from ir_exec.debug.inputs.drawing import Drawn, checked_inputs, drawn_inputs
from ir_exec.debug.traces.tracing import INDEX, Trace
from ir_exec.debug.values.entries import Key, entries_of
from ir_exec.debug.values.polygraphy import read_runs
from ir_exec.errors import EvaluationError, IRError, ReferenceTypeError
from ir_exec.hints import path_hint, suggested
from ir_exec.hub_cache import resolve_model
from ir_exec.model import Model, ShapeLike, Source, read_model
from ir_exec.ops.infrastructure.values import ReadsVariable
from ir_exec.readers import SOURCE_TYPES, ModelObject, TorchModule, class_of_object
from ir_exec.report.numbers import format_count
from ir_exec.runtime.arguments import Inputs, bind_inputs
from ir_exec.runtime.calls import BoundCalls, bind_calls
from ir_exec.runtime.precision import Precision, run_as_f32
from ir_exec.types import Array

__all__ = ["Probe", "ReferenceLike", "compare"]

ONNX_REFERENCE = "onnx-reference:"
"""Prefix of the path of an ONNX file to run with onnx.reference instead of onnxruntime."""

Probe: TypeAlias = Literal["all", "bisect", "outputs"]

ReferenceLike: TypeAlias = (
    Model | Trace | Recording | Mapping[str, Array] | str | os.PathLike[str] | ModelObject | TorchModule
)
"""A model, also one of another package in memory, a module or exported program of PyTorch, the result of `trace` or of
`torch_recorder`, arrays by name, "openvino", "onnxruntime",
"onnx-reference:FILE.onnx", or a path: an .xml, an .onnx, an .npz, a .json of Polygraphy (`FILE.json:RUNNER` for one of
several runners), or a folder with a trace or .npy files."""


def compare(
    model: Model | Source,
    reference: ReferenceLike | None = None,
    inputs: Inputs | None = None,
    seed: int = 0,
    *,
    with_: ReferenceLike | None = None,
    then: Sequence[Inputs] = (),
    calls: int | None = None,
    shapes: Mapping[str, ShapeLike] | None = None,
    rtol: float | Mapping[str, float] | None = None,
    atol: float | Mapping[str, float] | None = None,
    nan_equal: bool = False,
    pairs: Mapping[str, str] | None = None,
    metrics: Iterable[str | Metric] = (),
    probe: Probe = "all",
    device: str = "CPU",
    hint: Literal["accuracy", "performance"] = "accuracy",
    timeout: float = 600.0,
    threads: int | None = None,
    precision: Precision = "f32",
    isolate: bool | str = False,
    lowered: bool = False,
    repeat: int | None = None,
    vary: Collection[Vary] = (),
    fail_on: FailOn = "outputs",
    progress: Callable[[str], None] | None = None,
    on_call: CallObserver | None = None,
) -> Comparison:
    """Compare each value of a model with a reference, and find the wrong layers.

    Args:
        reference: A reference of any kind. A module of PyTorch is called once with the inputs, in evaluation mode, and
            recorded as by `torch_recorder`.
        inputs: As for a call of a compiled model. By default, the inputs of the reference if it is a trace that
            contains them; else inputs are drawn from `seed`, with `shapes`. For open dims, suitable sizes are chosen.
        with_: Another name of `reference`.
        then: The inputs of further calls. In each call, both sides continue from their own variables.
        calls: The total number of calls, if larger: given inputs are repeated, others drawn anew. Without it and
            without inputs, the model is called up to 4 times, until every body has run.
        rtol: The relative tolerance: an element may differ by atol + rtol * |reference|. Without `rtol` and `atol`,
            tolerances follow from the element types and the length of the layer's sums. A mapping specifies them by
            output name, "*" for all other values.
        atol: The absolute tolerance in this sum, also as a mapping by output name.
        nan_equal: Count elements that are NaN or infinite on both sides as compared. By default they count as not
            compared, and if an output has no other elements, the verdict is "not compared".
        pairs: Names of values of MODEL, with the names of the values of the reference to pair them with. Inputs and
            outputs without a common name are paired by position, type and shape if there is one choice.
        metrics: Functions of the model's value and the reference's, or `module:function`, evaluated for each layer.
        probe: For "openvino". The intermediate values to read as outputs: all at once, a few in each of several runs
            that narrow down the first wrong value ("bisect"), or none ("outputs").
        device: For "openvino" and "onnxruntime": CPU, GPU, or an execution provider of onnxruntime (CUDA, TensorRT), on
            which only the outputs are read. With `isolate`, its layers run in blocks.
        hint: For "openvino". Compute in the types of the file ("accuracy"), or allow shorter ones ("performance").
        timeout: For "openvino". Seconds per run.
        threads: As for `compile_model`; they also apply to a reference that is an IR file.
        precision: As for `compile_model`.
        isolate: For "openvino" and "onnxruntime": also run each layer alone there, with its inputs in a run by ir_exec.
            A pattern of names runs layers with the same prefix as one block (`isolate="model.layers.*"`). `*` matches
            any characters except dots and slashes, and `**` any characters. The report's `isolation` lists the layers
            that are wrong without any fusion, and those that are wrong only in combination.
        lowered: For "openvino" and "onnxruntime" with an .onnx file: run the model as ir_exec lowers it. By default
            they run the file itself.
        repeat: For "openvino" and "onnxruntime": run the reference this often, at least twice, to find layers whose
            values vary between its runs. The report's `variation` lists them; they are not counted as faults of the
            model.
        vary: Repeat it also with other settings: "threads", "compile" (compiled for each run) and, for "openvino",
            "hint".
        fail_on: The differences that count for the verdict. "outputs": outputs beyond their tolerance and layers with
            gross errors. "layers": also all other layers beyond their tolerance.
        progress: Called with each layer's path, in bodies once per iteration whose layers are examined.
        on_call: Called after each call with its inputs, the outputs of the model, and the outputs of the reference, by
            the names of the model; outputs that the reference does not have are missing.

    Raises:
        IRError: What reading and running the models raises.
        EvaluationError: IR705 if nothing can be compared, or for several calls with a reference that is a file of
            values.
        ReferenceTypeError: For a reference of another type; a TypeError as well.
    """
    model = model if isinstance(model, Model) else read_model(model)
    reference = _checked_reference(reference, with_)
    if lowered and (model.lowered_from is None or not _is_runtime(reference)):
        message = f"lowered requires an .onnx file, and expected the reference {' or '.join(_RUNTIMES)}"
        raise EvaluationError(message, code=Code.unknown_input)
    plan = _plan_repetition(repeat, vary, hint)
    if isolate and plan:
        raise EvaluationError("repeat cannot be combined with isolate", expected="one of them", code=Code.unknown_input)
    if isolate:
        from ir_exec.debug.device.isolating import compare_isolated  # it imports the records of comparisons

        settings = Settings(
            rtol=_general(rtol),
            atol=_general(atol),
            progress=progress,
            threads=threads,
            precision=precision,
            fail_on=fail_on,
        )
        again: dict[str, Any] = {"rtol": rtol, "atol": atol, "nan_equal": nan_equal, "pairs": pairs, "metrics": metrics}
        again |= {"probe": probe, "device": device, "hint": hint, "timeout": timeout, "threads": threads}
        again |= {"precision": precision, "lowered": lowered, "fail_on": fail_on, "progress": progress}
        again |= {"on_call": on_call}
        return compare_isolated(
            model,
            reference,
            inputs,
            then,
            calls,
            seed,
            None if shapes is None else {model.input(key).name: shape for key, shape in shapes.items()},
            block=isolate if isinstance(isolate, str) else None,
            settings=settings,
            device=device,
            hint=hint,
            timeout=timeout,
            compare_complete=lambda network, rows: compare(network, reference, rows[0], then=rows[1:], **again),
        )
    options: dict[str, Any] = {"threads": threads, "precision": precision}
    record: Drawn | None = None
    notes: list[str] = []
    is_module = is_torch_module(reference)
    if inputs is not None or model.is_partial or is_module:
        called, record = _complete_calls(model, reference, inputs, then, seed, shapes, options)
        model, (inputs, *then), _ = called
        notes = [called.summary] if called.summary else []
    if is_module and inputs is not None:
        reference = record_module(reference, model, bind_inputs(inputs, model.inputs))
    if isinstance(reference, Model) and inputs is not None:
        reference = reference.specialize_for(_for_reference(reference, model, inputs))
    settings_of_runtime: dict[str, Any] = {"device": device, "hint": hint, "timeout": timeout, "lowered": lowered}
    opened = _reference(model, reference, options, probe=probe, **settings_of_runtime)
    opened.notes += notes
    with closing(opened):
        stored_inputs = opened.inputs() if inputs is None else {}
        drawn = inputs is None and len(stored_inputs) < len(model.inputs)
        shapes = None if shapes is None else {model.input(key).name: shape for key, shape in shapes.items()}
        if drawn:
            inputs, record = checked_inputs(model, seed, shapes, stored_inputs, **options)
        first = bind_inputs(stored_inputs if inputs is None else inputs, model.inputs)
        rows = [first, *(bind_inputs(arguments, model.inputs) for arguments in then)]

        def drawn_again(number: int) -> list[Array]:
            again, _ = checked_inputs(model, seed + number, shapes, stored_inputs, **options)
            return bind_inputs(again, model.inputs)

        if isinstance(opened, RecordingReference):
            opened.locate_modules(first)
        draws_again = drawn and not then
        while len(rows) < (calls or 1):
            rows.append(drawn_again(len(rows)) if draws_again else rows[-1])
        if opened.stored_calls is not None and len(rows) > opened.stored_calls:
            raise EvaluationError(
                f"{opened.title} has the values of {format_count(opened.stored_calls, 'call')}",
                expected=f"values of {len(rows)} calls",
                code=Code.unknown_input,
            )
        if opened.stored_calls is not None and len(rows) < opened.stored_calls:
            opened.notes.append(f"{opened.title} has {opened.stored_calls} calls: the first {len(rows)} are compared")
        named = {_name_of(metric): load_metric(metric) if isinstance(metric, str) else metric for metric in metrics}
        settings = Settings(
            rtol=_general(rtol),
            atol=_general(atol),
            outputs=_output_tolerances(model, rtol, atol),
            nan_equal=nan_equal,
            metrics=named,
            progress=progress,
            threads=threads,
            precision=precision,
            fail_on=fail_on,
            on_call=on_call,
        )
        name = model.graph.path or model.lowered_from or model.name
        has_state = any(isinstance(node.op, ReadsVariable) for node in model.graph.all_nodes())
        further = drawn_again if draws_again and calls is None and not has_state and len(stored_inputs) == 0 else None
        compared = partial(
            compare_with, model, opened, settings=settings, further=further, asked=pairs, repeat=plan, name=name
        )
        try:
            report = _with_precision_note(compared(rows, drawn=record), model, precision)
            return opened.add_modules(report) if isinstance(opened, RecordingReference) else report
        except IRError as error:
            if not draws_again or not isinstance(opened, IRReference) or len(rows) > 1:
                raise _explained_by_ports(error, model, opened) from None
            # The drawn sizes may be valid only for this model. Sizes valid for the reference may be valid for both.
            try:
                sizes = _sizes_of(opened.model, model, seed, shapes)
                inputs, record = checked_inputs(model, seed, sizes, stored_inputs, **options)
                return compared([bind_inputs(inputs, model.inputs)], drawn=record)
            except IRError:
                raise _explained_by_ports(error, model, opened) from None


def _checked_reference(reference: ReferenceLike | None, with_: ReferenceLike | None) -> ReferenceLike:
    """Return the reference of the two arguments; a model of another package is read.

    Raises:
        ReferenceTypeError: For both, for neither, and for an object that is no reference.
    """
    if with_ is not None and reference is not None:
        message = "there are two references, the second argument and with_, expected one"
        raise ReferenceTypeError(message, code=Code.unknown_input)
    reference = with_ if reference is None else reference
    reference = resolve_model(reference)  # type: ignore[assignment]  # a path, or the reference itself
    if class_of_object(reference) is not None:
        return read_model(reference)  # type: ignore[arg-type]  # an object of another package
    if not isinstance(reference, (Model, Trace, Recording, Mapping, str, os.PathLike)) and not is_torch_module(
        reference
    ):
        raise ReferenceTypeError(
            "the reference is of type",
            actual=type(reference).__name__,
            expected=f"a trace, a recording, arrays by name, a module or exported program of PyTorch, {SOURCE_TYPES}",
            code=Code.unknown_input,
        )
    return reference  # type: ignore[return-value]  # checked above


def _plan_repetition(repeat: int | None, vary: Collection[Vary], hint: str) -> list[RunSetting]:
    """Return the settings of repeated runs; raises EvaluationError for invalid arguments."""
    unknown = [name for name in vary if name not in VARIED]
    if unknown:
        message = f"vary contains {unknown[0]!r}"
        raise EvaluationError(message, expected=", ".join(VARIED), code=Code.unknown_input)
    if repeat is None and vary:
        raise EvaluationError("vary requires repeat", expected="a number of runs", code=Code.unknown_input)
    if repeat is not None and repeat < 2:
        raise EvaluationError("repeat is", actual=str(repeat), expected="at least 2", code=Code.bad_value)
    return [] if repeat is None else plan_runs(repeat, vary, hint)


_F16_NOTE = "ir_exec computes the 16-bit floats of the file in f32, onnxruntime in 16 bits: try --precision file"


def _with_precision_note(report: Comparison, model: Model, precision: Precision) -> Comparison:
    """Add a note to a report that is not equal if the two sides compute 16-bit floats in different types."""
    is_mixed = report.runtime == "onnxruntime" and precision == "f32" and report.verdict in ("different", "reference")
    notes = (*report.notes, _F16_NOTE)
    return report.model_copy(update={"notes": notes}) if is_mixed and run_as_f32(model).ops else report


def _explained_by_ports(error: IRError, model: Model, reference: Reference) -> IRError:
    """Return an error that names the inputs and outputs that differ, if a reference that is a model has others."""
    if not isinstance(reference, IRReference):
        return error
    try:
        require_same_ports(model, reference.model, "the model", reference.title)
    except EvaluationError as different:
        return different.changed(hint=error.hint)
    return error


def _complete_calls(
    model: Model,
    reference: ReferenceLike,
    inputs: Inputs | None,
    then: Sequence[Inputs],
    seed: int,
    shapes: Mapping[str, ShapeLike] | None,
    options: Mapping[str, Any],
) -> tuple[BoundCalls, Drawn | None]:
    """Return the model for the calls; inputs given by neither the caller nor a trace are drawn."""
    record: Drawn | None = None
    if inputs is None:
        stored_inputs: Mapping[str, Array] = {}
        if isinstance(reference, Trace) or (isinstance(reference, (str, Path)) and Path(reference, INDEX).exists()):
            stored_inputs = TraceReference(reference).inputs()
        shapes = None if shapes is None else {model.input(key).name: shape for key, shape in shapes.items()}
        inputs, record = checked_inputs(model, seed, shapes, stored_inputs, **options)
        record = record if len(stored_inputs) < len(model.inputs) else None
    return bind_calls(model, inputs, *then), record


def _for_reference(reference: Model, model: Model, inputs: Inputs) -> Inputs:
    """Return the inputs of a model for a reference: by name if it has the same names, else by position."""
    arrays = bind_inputs(inputs, model.inputs)
    named = {port.name: array for port, array in zip(model.inputs, arrays, strict=True)}
    names = [port.name for port in reference.inputs]
    return {name: named[name] for name in names} if set(names) <= named.keys() else arrays


def _sizes_of(
    reference: Model, model: Model, seed: int, shapes: Mapping[str, ShapeLike] | None
) -> dict[str, ShapeLike]:
    """Return the shapes of inputs drawn for a reference, by the model's input names; `shapes` have priority."""
    theirs = [array.shape for array in drawn_inputs(reference, seed).values()]
    ours = [port.name for port in model.inputs]
    return {**dict(zip(ours, theirs, strict=False)), **(shapes or {})}


_ALL = "*"
"""Key for every value without a specific tolerance, in place of the name of an output."""


def _general(tolerance: float | Mapping[str, float] | None) -> float | None:
    return tolerance.get(_ALL) if isinstance(tolerance, Mapping) else tolerance


def _output_tolerances(
    model: Model, rtol: float | Mapping[str, float] | None, atol: float | Mapping[str, float] | None
) -> dict[Key, Tolerance]:
    """Return the specific tolerances of outputs; raises EvaluationError for a name that is not an output."""
    by_name = {
        name: result.values_in[0]
        for result, port in zip(model.graph.results, model.outputs, strict=True)
        for name in (*port.names, port.name)
    }
    options = [
        limits if isinstance(limits, Mapping) else {} if limits is None else {_ALL: limits} for limits in (rtol, atol)
    ]
    tolerances: dict[Key, Tolerance] = {}
    for name in dict.fromkeys(name for limits in options for name in limits if name != _ALL):
        if name not in by_name:
            names = ", ".join(port.name for port in model.outputs)
            raise EvaluationError(
                "tolerance for unknown output",
                actual=repr(name),
                expected=f"one of: {names}",
                code=Code.unknown_input,
                hint=suggested(name, by_name),
            )
        relative, absolute = (limits.get(name, limits.get(_ALL, 0.0)) for limits in options)
        value = by_name[name]
        tolerances[(), value.node.id, value.position] = Tolerance(rtol=relative, atol=absolute)
    return tolerances


def _name_of(metric: str | Metric) -> str:
    return metric.rpartition(":")[2] if isinstance(metric, str) else getattr(metric, "__name__", "metric")


_RUNTIMES = ("openvino", "onnxruntime")


def _is_runtime(reference: ReferenceLike) -> bool:
    """Return True for the name of a runtime."""
    return isinstance(reference, (str, os.PathLike)) and os.fspath(reference) in _RUNTIMES


def _by_onnxruntime(
    model: Model, own: Path | None, lowered: bool, *, timeout: float, precision: Precision, device: str
) -> Reference:
    """Open onnxruntime's run of the model.

    Args:
        own: The .onnx file of the model, which runs as it is unless `lowered`; None for IR.
    """
    if own is not None and not lowered:
        from ir_exec.debug.comparison.references.onnx_reference import ONNXReference

        options: dict[str, Any] = {"engine": "only onnxruntime", "title": "onnxruntime", "model": model}
        return ONNXReference(own, timeout=timeout, device=device, **options)
    from ir_exec.debug.comparison.references.onnx_reference import ExportedReference

    title = "onnxruntime (exported)" if own is None else "onnxruntime (lowered by ir_exec)"
    return ExportedReference(model, timeout=timeout, precision=precision, title=title, device=device)


def _by_openvino(model: Model, own: Path | None, lowered: bool, **options: Any) -> Reference:
    """Open OpenVINO's run of the model.

    Args:
        own: The .onnx file of the model, which OpenVINO reads itself unless `lowered`; None for IR.
        options: Those of OpenVINOReference.
    """
    if own is not None and not lowered:
        from ir_exec.debug.comparison.references.openvino_onnx import OpenVINOONNXReference

        return OpenVINOONNXReference(model, own, **options)
    from ir_exec.debug.comparison.references.openvino import OpenVINOReference

    return OpenVINOReference(model, is_lowered=own is not None, **options)


def _polygraphy_path(name: str) -> tuple[str, str | None] | None:
    """Return the path of a .json and the name of a runner, `FILE.json:RUNNER`; None for other references."""
    if name.lower().endswith(".json"):
        return name, None
    match = re.fullmatch(r"(.+?\.json):(.+)", name, re.IGNORECASE)
    return None if match is None or os.path.exists(name) else (match[1], match[2])


def _of_polygraphy(
    path: str, runner: str | None, outputs: Sequence[str], kinds: Mapping[str, str | None]
) -> IterationsReference:
    """Open the outputs of a runner, by default of the first."""
    runs = read_runs(path)
    if runner is not None and runner not in runs:
        raise EvaluationError(
            f"{path} has no runner {runner!r}",
            expected=f"one of: {', '.join(runs)}",
            code=Code.unknown_input,
            hint=suggested(runner, runs),
        )
    name = next(iter(runs)) if runner is None else runner
    opened = IterationsReference(runs[name], f"{path} ({name})", outputs, kinds)
    if runner is None and len(runs) > 1:
        others = ", ".join(f"{path}:{other}" for other in list(runs)[1:])
        opened.notes.append(f"{path} has {len(runs)} runners, and the first is compared: see also {others}")
    return opened


def _reference(
    model: Model,
    reference: ReferenceLike,
    options: Mapping[str, Any],
    *,
    probe: Probe,
    device: str,
    hint: str,
    timeout: float,
    lowered: bool,
) -> Reference:
    """Open a reference of any kind.

    Args:
        options: Threads and precision of runs by ir_exec.
    """
    opened: Reference
    is_path = isinstance(reference, (str, os.PathLike))
    name = os.fspath(reference) if is_path else ""  # type: ignore[arg-type]
    path = Path(name.removeprefix(ONNX_REFERENCE))
    own = None if model.lowered_from is None else Path(model.lowered_from)
    outputs = [port.name for port in model.outputs]
    if isinstance(reference, Model):
        opened = IRReference(reference, reference.graph.path or reference.lowered_from or reference.name, **options)
    elif isinstance(reference, Trace):
        opened = TraceReference(reference)
    elif isinstance(reference, Recording):
        opened = RecordingReference(model, reference.arrays, reference.title)
    elif isinstance(reference, Mapping):
        opened = ArraysReference(reference, "the given arrays", outputs, kinds_of(entries_of(model)))
    elif name == "openvino":
        opened = _by_openvino(model, own, lowered, probe=probe, device=device, hint=hint, timeout=timeout, **options)
    elif name == "onnxruntime" and not path.exists():
        opened = _by_onnxruntime(model, own, lowered, timeout=timeout, precision=options["precision"], device=device)
    elif name.startswith(ONNX_REFERENCE) or path.suffix.lower() == ".onnx":
        from ir_exec.debug.comparison.references.onnx_reference import ONNXReference

        engine: Any = "reference" if name.startswith(ONNX_REFERENCE) else "onnxruntime"
        is_own = own is not None and own.exists() and path.exists() and own.samefile(path)
        opened = ONNXReference(path, timeout=timeout, engine=engine, model=model if is_own else None)
    elif (results := _polygraphy_path(name)) is not None:
        opened = _of_polygraphy(*results, outputs, kinds_of(entries_of(model)))
    elif (path / INDEX).exists():
        opened = TraceReference(path)
    elif path.is_dir() or path.suffix.lower() == ".npz":
        entries = list(entries_of(model))
        arrays = arrays_in(path, entries)
        in_memory = {key: array for key, array in arrays.items() if not isinstance(array, Path)}
        if len(in_memory) == len(arrays) and is_recording(model, in_memory):
            opened = RecordingReference(model, in_memory, os.fspath(path))
        else:
            opened = ArraysReference(arrays, os.fspath(path), outputs, kinds_of(entries))
    elif path.suffix.lower() == ".xml" or path.exists():
        opened = IRReference(read_model(path), os.fspath(path), **options)
    else:
        files = "an .xml, an .onnx, onnx-reference:FILE.onnx, an .npz, a .json, or a folder with a trace or .npy files"
        message = f"{name!r} is not a reference, expected openvino, onnxruntime, {files}"
        near = suggested(name, _RUNTIMES) or path_hint(name)
        raise EvaluationError(message, code=Code.unknown_input, hint=near)
    return opened
