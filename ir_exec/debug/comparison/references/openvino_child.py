"""OpenVINO in a child process. Started by `child.Child`, never imported; it is independent of ir_exec."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

# Its telemetry connects to a server in a forked process, which survives a crash and keeps the pipes open.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: the import fails

import openvino as ov  # type: ignore[import-untyped]  # noqa: E402  # after the change of sys.modules; without types

try:
    from openvino.op import Result  # type: ignore[import-untyped]  # it has no types
except ImportError:  # before 2025
    from openvino.runtime.op import Result  # type: ignore[import-untyped]  # it has no types


_PAUSE = 0.03
"""Seconds before a block of measured runs."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Output of OpenVINO must not be mixed with the answers.
    os.dup2(2, 1)
    core = ov.Core()
    for line in sys.stdin.buffer:
        try:
            answer = _answer(core, json.loads(line))
        except Exception as error:  # an error is an answer as well
            answer = {"refused": " ".join(str(error).split())[-600:]}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


class _OpenVINOValues:
    """A file of consecutive arrays; writing thousands of files would take longer than the model."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, element_type: str, shape: Any, data: bytes) -> dict[str, Any]:
        """Write an array, and return its place as for `child.load_stored`."""
        self._file.write(b"\0" * (-self._file.tell() % 64))
        start = self._file.tell()
        self._file.write(data)
        return {"type": element_type, "shape": list(shape), "file": str(self._path), "start": start, "size": len(data)}

    def close(self) -> None:
        self._file.close()


def _answer(core: Any, request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "devices":
        return {"devices": list(core.available_devices), "version": ov.__version__}
    model = _read(core, request)
    if request["do"] == "list":
        layers = [[op.get_friendly_name(), len(op.outputs())] for op in model.get_ops()]
        return {"layers": layers, "version": ov.__version__}
    if request["do"] == "tensors":
        return _tensors(model)
    if request["do"] == "constants":
        return _constants(model, request)
    if request["do"] == "fused":
        return {"fused": _list_fused(core.compile_model(model, request["device"], request["config"]))}
    if request["do"] == "steps":
        return {"steps": _list_steps(core.compile_model(model, request["device"], request["config"]))}
    if request["do"] == "paged attention":
        return {"count": _count_paged_attention(model)}
    if request["do"] == "profile":
        return _profile(core, model, request)
    if request["do"] == "opinions":
        return _opinions(core, model, request)
    if request["do"] == "repeat":
        return _repeat(core, model, request)
    count = len(model.outputs)
    requested, positions = _add_probes(model, request)
    compiled = core.compile_model(model, request["device"], request["config"])
    infer = compiled.create_infer_request()
    _run_calls(infer, request["calls"])
    values = _OpenVINOValues(Path(request["folder"], "values.bin"))
    answer = {
        "computes_in": _computes_in(compiled),
        "outputs": [_store_tensor(infer.get_output_tensor(source), values) for source in range(count)],
        "probes": [
            [name, port, _store_tensor(infer.get_output_tensor(positions[name, port]), values)]
            for name, port in sorted(requested)
            if (name, port) in positions
        ],
    }
    values.close()
    return answer


def _add_probes(model: Any, request: dict[str, Any]) -> tuple[set[tuple[str, int]], dict[tuple[str, int], int]]:
    """Make the requested values outputs of a model; return them, and the position of each value of an output."""
    requested = {(name, port) for name, port in request["probes"]}
    positions = _output_positions(model)
    results = [
        Result(output)
        for op in model.get_ops()
        for output in op.outputs()
        if (source := (op.get_friendly_name(), output.get_index())) in requested and source not in positions
    ]
    # All at once, because each `add_outputs` visits all existing results.
    model.add_results(results)
    return requested, _output_positions(model)


def _run_calls(infer: Any, calls: list[list[dict[str, Any]]]) -> None:
    for inputs in calls:
        for position, stored in enumerate(inputs):
            infer.set_input_tensor(position, _tensor(stored))
        infer.infer()


def _repeat(core: Any, model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The values of several runs, each from the initial state: all of a base, then those with other bits.

    Outputs and probes are in the order of the model and of the request; None for values with the same bits.
    """
    count = len(model.outputs)
    _, positions = _add_probes(model, request)
    sources = [positions.get((name, port)) for name, port in request["probes"]] if request["probes"] else range(count)
    compiled: dict[str, Any] = {}
    runs: list[dict[str, Any]] = []
    base: list[Any] = []
    for number, run in enumerate(request["runs"]):
        key = json.dumps(run["config"], sort_keys=True)
        if run["compile"] or key not in compiled:
            program = core.compile_model(model, request["device"], run["config"])
            infer = program.create_infer_request()
        else:
            program, infer = compiled[key]
        if not run["compile"]:
            # One program at a time, because each holds the weights of the model.
            compiled = {key: (program, infer)}
        infer.reset_state()
        _run_calls(infer, request["calls"])
        values = _OpenVINOValues(Path(request["folder"], f"values{number}.bin"))
        base = [] if run["is_base"] else base
        stored = [
            None if source is None else _store_changed(infer.get_output_tensor(source), values, base, position)
            for position, source in enumerate(sources)
        ]
        values.close()
        if run["is_base"]:
            base = [None if value is None else _Mapped(value) for value in stored]
        name = "probes" if request["probes"] else "outputs"
        runs.append({"computes_in": _computes_in(program), name: stored})
    return {"runs": runs}


class _Mapped:
    """The bytes of a stored value."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self._stored = stored

    def is_same(self, data: bytes, shape: list[int]) -> bool:
        with open(self._stored["file"], "rb") as file:
            file.seek(self._stored["start"])
            return shape == self._stored["shape"] and file.read(self._stored["size"]) == data


def _store_changed(tensor: Any, values: _OpenVINOValues, base: list[Any], position: int) -> dict[str, Any] | None:
    """Write a tensor if its bits are not those of the base, or if there is none."""
    data = _tensor_data(tensor)
    if base and (base[position] is None or base[position].is_same(data, list(tensor.shape))):
        return None
    return values.add(tensor.element_type.to_string(), tensor.shape, data)


def _tensors(model: Any) -> dict[str, Any]:
    """The names of the tensors of a model; layers that share their name with another are left out."""
    names = Counter(op.get_friendly_name() for op in model.get_ops())
    return {
        "inputs": [sorted(port.get_names()) for port in model.inputs],
        "outputs": [sorted(port.get_names()) for port in model.outputs],
        "values": [
            [op.get_friendly_name(), output.get_index(), sorted(output.get_names())]
            for op in model.get_ops()
            for output in op.outputs()
            if names[op.get_friendly_name()] == 1
        ],
    }


def _constants(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The values of constants by name."""
    values = _OpenVINOValues(Path(request["folder"], "values.bin"))
    names = set(request["names"])
    constants = {
        op.get_friendly_name(): values.add(op.get_element_type().to_string(), op.get_output_shape(0), op.data.tobytes())
        for op in model.get_ops()
        if op.get_type_name() == "Constant" and op.get_friendly_name() in names
    }
    values.close()
    return {"constants": constants}


def _output_positions(model: Any) -> dict[tuple[str, int], int]:
    """The first output of the model for each value, by the name of its layer and its port."""
    positions: dict[tuple[str, int], int] = {}
    for position, result in enumerate(model.get_results()):
        source = result.input_value(0)
        positions.setdefault((source.get_node().get_friendly_name(), source.get_index()), position)
    return positions


def _opinions(core: Any, model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a small model by the kernels of `Model.evaluate` and by a device, if supported."""
    inputs = [_tensor(stored) for stored in request["inputs"]]
    model.reshape({position: ov.PartialShape(list(tensor.shape)) for position, tensor in enumerate(inputs)})
    values = _OpenVINOValues(Path(request["folder"], "values.bin"))
    opinions = {}
    try:
        outputs = [ov.Tensor(output.element_type, output.shape) for output in model.outputs]
        if model.evaluate(outputs, inputs):
            opinions["kernel"] = [_store_tensor(tensor, values) for tensor in outputs]
    except (AttributeError, RuntimeError, TypeError):
        pass  # most types have no such kernel, and some versions have no such call
    try:
        infer = core.compile_model(model, request["device"], request["config"]).create_infer_request()
        for position, tensor in enumerate(inputs):
            infer.set_input_tensor(position, tensor)
        infer.infer()
        count = len(model.outputs)
        opinions["alone"] = [_store_tensor(infer.get_output_tensor(at), values) for at in range(count)]
    except RuntimeError:
        pass
    values.close()
    return opinions


def _computes_in(compiled: Any) -> str | None:
    """The element type that floats are computed in; None if a device does not report it."""
    try:
        return str(compiled.get_property("INFERENCE_PRECISION_HINT").to_string())
    except (AttributeError, RuntimeError):
        return None


def _profile(core: Any, model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of whole runs without and with counters, and seconds of the executed layers, in order."""
    plain, _ = _timed_runs(core.compile_model(model, request["device"], request["config"]), request)
    compiled = core.compile_model(model, request["device"], {**request["config"], "PERF_COUNT": "YES"})
    originals = {}
    precisions = {}
    counted, counters = _timed_runs(compiled, request)
    for op in compiled.get_runtime_model().get_ordered_ops():
        info = {name: str(getattr(value, "value", value)) for name, value in op.get_rt_info().items()}
        originals[op.get_friendly_name()] = info.get("originalLayersNames", "")
        precisions[op.get_friendly_name()] = info.get("runtimePrecision", "")
    layers: dict[str, dict[str, Any]] = {}
    for run in counters:
        for timing in run:
            if str(timing.status).endswith("EXECUTED"):
                new = {"type": timing.node_type, "kernel": timing.exec_type, "seconds": []}
                layers.setdefault(timing.node_name, new)["seconds"].append(timing.real_time.total_seconds())
    for name, layer in layers.items():
        layer |= {"name": name, "originals": originals.get(name, ""), "precision": precisions.get(name, "")}
    return {"plain": plain, "counted": counted, "layers": list(layers.values()), "version": ov.__version__}


def _list_fused(compiled: Any) -> list[str]:
    """The names of the layers that each step of a compiled model computes, separated by commas."""
    names = []
    for op in compiled.get_runtime_model().get_ordered_ops():
        info = {name: str(getattr(value, "value", value)) for name, value in op.get_rt_info().items()}
        names.append(info.get("originalLayersNames", ""))
    return names


def _list_steps(compiled: Any) -> list[dict[str, Any]]:
    """The name, type, kernel and number of outputs of each step of a compiled model."""
    steps = []
    for op in compiled.get_runtime_model().get_ordered_ops():
        info = {name: str(getattr(value, "value", value)) for name, value in op.get_rt_info().items()}
        steps.append(
            {
                "name": op.get_friendly_name(),
                "type": info.get("layerType", op.get_type_name()),
                "kernel": info.get("primitiveType", info.get("execType", "")),
                "layers": info.get("originalLayersNames", ""),
                "outputs": len(op.outputs()),
                "inputs": [str(value.get_element_type().to_string()) for value in op.inputs()],
            }
        )
    return steps


def _count_paged_attention(model: Any) -> int:
    """The number of PagedAttention operators after the conversion, which fails for models without support."""
    from openvino._offline_transformations import (  # type: ignore[import-untyped]  # it has no types
        paged_attention_transformation,
    )

    paged_attention_transformation(model)
    return sum(op.get_type_name() == "PagedAttentionExtension" for op in model.get_ops())


def _timed_runs(compiled: Any, request: dict[str, Any]) -> tuple[list[float], list[Any]]:
    """The seconds and the counters of each run from the initial state, without the first run.

    The pause is that of `ir_exec.debug.profiles.engine_profile`: threads of an earlier compiled model may still spin.
    """
    infer = compiled.create_infer_request()
    for position, stored in enumerate(request["inputs"]):
        infer.set_input_tensor(position, _tensor(stored))
    seconds, counters = [], []
    sleep(_PAUSE)
    for _ in range(request["repeat"] + 1):
        infer.reset_state()
        start = perf_counter()
        infer.infer()
        seconds.append(perf_counter() - start)
        counters.append(infer.get_profiling_info())
    return seconds[1:], counters[1:]


def _read(core: Any, request: dict[str, Any]) -> Any:
    model = core.read_model(request["xml"], request["bin"]) if request["bin"] else core.read_model(request["xml"])
    if request["shapes"]:
        model.reshape({int(position): ov.PartialShape(shape) for position, shape in request["shapes"].items()})
    return model


def _tensor(stored: dict[str, Any]) -> Any:
    tensor = ov.Tensor(getattr(ov.Type, stored["type"]), ov.Shape(stored["shape"]))
    data = Path(stored["file"]).read_bytes()
    if stored["type"] == "string":
        strings = _strings(data)
        if strings:  # the dtype of an empty array is not a string
            tensor.str_data = np.array(strings).reshape(stored["shape"])
    elif data:
        tensor.data.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return tensor


def _store_tensor(tensor: Any, values: _OpenVINOValues) -> dict[str, Any]:
    return values.add(tensor.element_type.to_string(), tensor.shape, _tensor_data(tensor))


def _tensor_data(tensor: Any) -> bytes:
    if tensor.element_type.to_string() == "string":
        return _pack_strings(tensor.str_data.ravel().tolist())
    return bytes(tensor.data.tobytes())


def _strings(data: bytes) -> list[str]:
    count = int.from_bytes(data[:4], "little")
    ends = np.frombuffer(data, "<i4", count + 1, 4).tolist()
    text = data[4 * (count + 2) :]
    return [text[start:end].decode() for start, end in pairwise(ends)]


def _pack_strings(strings: list[str]) -> bytes:
    encoded = [text.encode() for text in strings]
    ends = np.cumsum([0, *map(len, encoded)])
    return np.array([len(encoded), *ends], "<i4").tobytes() + b"".join(encoded)


if __name__ == "__main__":
    main()
