"""onnxruntime, and `onnx.reference` for files that it refuses, in a child process.

Started by `child.Child`, never imported; it is independent of ir_exec.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

_TYPES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bool": "boolean",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}

_TYPES_OF_CONSTANTS = {
    **_TYPES,
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1",
    "int4": "i4",
    "uint4": "u4",
}
"""The types above, and types that onnxruntime does not support for inputs and outputs."""

_HALF_BYTES = {"i4", "u4", "f4e2m1"}

_STATE = "ir_exec.state."
"""Prefix of the metadata of states, as in `ir_exec.onnx.lowering.states`."""

_F32_ACCURACY = 1
"""The `accuracy_level` with which onnxruntime computes products of compressed weights in f32."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Output of onnxruntime must not be mixed with the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            answer = answer_request(request)
        except Exception as error:  # an error is an answer as well
            answer = {"refused": _message(error)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, by its `do`."""
    return _ANSWERS[request["do"]](request)


def _list_values(request: dict[str, Any]) -> dict[str, Any]:
    model = _load_model(request["path"])
    graph = model.graph
    constants = {tensor.name: _type_of(tensor) for tensor in graph.initializer}
    return {
        "inputs": [value.name for value in graph.input if value.name not in constants],
        "tensors": [[name, node.op_type] for node in graph.node for name in node.output if name],
        "constants": sorted(constants.items()),
        "outputs": [value.name for value in graph.output],
        "has_states": _has_states(model),
    }


def _type_of(tensor: onnx.TensorProto) -> str:
    """The element type of an initializer; "" for types that are not supported."""
    try:
        name = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).name
    except KeyError:
        return ""
    return _TYPES_OF_CONSTANTS.get(name, "")


def _has_states(model: onnx.ModelProto) -> bool:
    return any(entry.key.startswith(_STATE) for entry in model.metadata_props)


def _load_model(path: str, *, with_external: bool = False) -> onnx.ModelProto:
    """The model of a file, with states initialized by the tensors in its metadata (see `ir_exec.onnx.lowering.states`).

    A state with a default is an optional input; a state without a default is an input that the first run lacks.
    """
    model = onnx.load(path, load_external_data=with_external)
    graph = model.graph
    for entry in model.metadata_props:
        past, tensor = _parse_state(entry.value) if entry.key.startswith(_STATE) else ("", "")
        places = [position for position, port in enumerate(graph.input) if port.name == past]
        if not tensor or not places:
            continue
        del graph.input[places[0]]
        reader = next((position for position, node in enumerate(graph.node) if past in node.input), len(graph.node))
        graph.node.insert(reader, onnx.helper.make_node("Identity", [tensor], [past]))
    return model


def _parse_state(text: str) -> tuple[str, str]:
    """The input and the initial tensor of a state; "" for both if another program changed the metadata."""
    try:
        note = json.loads(text)
        return str(note.get("past", "")), str(note.get("tensor", ""))
    except (ValueError, AttributeError):
        return "", ""


def _providers(request: dict[str, Any]) -> dict[str, Any]:
    import onnxruntime

    return {"providers": onnxruntime.get_available_providers(), "version": onnxruntime.__version__}


def _run(request: dict[str, Any]) -> dict[str, Any]:
    """Values by onnxruntime, or by onnx.reference if requested or if onnxruntime fails, with its error as `refusal`."""
    if request["engine"] == "reference":
        return {"tensors": _store_tensors(request, _by_reference)}
    try:
        return _run_as_is(request) if request.get("as_is") else {"tensors": _store_tensors(request, _by_onnxruntime)}
    except Exception as error:  # any error leads to onnx.reference
        if request["engine"] == "only onnxruntime":
            raise
        refusal = _message(error)
    try:
        return {"tensors": _store_tensors(request, _by_reference), "refusal": refusal}
    except Exception as error:
        raise RuntimeError(f"{refusal} (onnx.reference: {type(error).__name__}: {error})") from None


def _run_as_is(request: dict[str, Any]) -> dict[str, Any]:
    """The outputs of the file itself with the default optimizations, and all values of a run without optimizations.

    If only one of the two runs, the error of the other is `unprobed` or `unoptimized`. A file that is refused with the
    default optimizations runs without them only if onnxruntime was not requested by name.
    """
    answer: dict[str, Any] = {}
    refusal: Exception | None = None
    try:
        answer["outputs"] = outputs_as_is(request)["tensors"]
    except Exception as error:  # the optimizations may be the cause
        if request["engine"] == "only onnxruntime":
            raise
        refusal = error
        answer["unoptimized"] = _message(error)
    try:
        answer["tensors"] = _store_tensors(request, _by_onnxruntime)
    except Exception as error:  # the additional outputs may be the cause
        if refusal is not None:
            raise refusal from None
        answer["unprobed"] = _message(error)
        answer["tensors"] = answer["outputs"]
    return answer


def outputs_as_is(request: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a file with the default optimizations, and with the `config` of a session."""
    path = request["path"]
    model = _load_model(path)
    names = [value.name for value in model.graph.output]
    options = _options("ORT_ENABLE_ALL")
    for key, value in request.get("config", {}).items():
        options.add_session_config_entry(key, value)
    if "level" in request:
        options.graph_optimization_level = _level(request["level"])
    session = _session(model if _has_states(model) else None, path, options, request)
    with _OnnxValues(f"{request['values']}.outputs") as values:
        return {"tensors": values.add_all(zip(names, session.run(names, _feeds(request, model)), strict=True))}


def _optimized_outputs(request: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a file with the graph optimizers of a level, without those that are disabled.

    The log of the session is written to the file `log`, also if the process crashes. An error of onnxruntime is the
    `refusal` of the answer.
    """
    options = _options(request["level"])
    if request.get("log"):
        options.log_severity_level = 0
    errors = os.dup(2)
    with open(request.get("log") or os.devnull, "wb") as log:
        os.dup2(log.fileno(), 2)
        try:
            session = _session(None, request["path"], options, request)
        except Exception as error:  # the refusal is the answer
            return {"refusal": _message(error)}
        finally:
            os.dup2(errors, 2)
            os.close(errors)
    names = [port.name for port in session.get_outputs()]
    try:
        results = session.run(names, _feeds(request, _load_model(request["path"])))
    except Exception as error:  # the refusal is the answer
        return {"refusal": _message(error)}
    with _OnnxValues(request["values"]) as values:
        return {"tensors": values.add_all(zip(names, results, strict=True))}


def _repeat(request: dict[str, Any]) -> dict[str, Any]:
    """The values of several runs: all of the first run, then those with other bits.

    Without `tensors`, these are the outputs of the file with the default optimizations, else the tensors of a run
    without optimizations.
    """
    path, names = request["path"], request["tensors"]
    model = _load_model(path)
    is_changed = bool(names) or _has_states(model)
    names = names or [value.name for value in model.graph.output]
    if request["tensors"]:
        model = _with_outputs(model, names)
    feeds = _feeds(request, model)
    sessions: dict[int | None, Any] = {}
    runs: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    for number, run in enumerate(request["runs"]):
        if run["compile"] or run["threads"] not in sessions:
            options = _options("ORT_DISABLE_ALL" if request["tensors"] else "ORT_ENABLE_ALL")
            if run["threads"] is not None:
                options.intra_op_num_threads = run["threads"]
            session = _session(model if is_changed else None, path, options, request)
        else:
            session = sessions[run["threads"]]
        if not run["compile"]:
            # One session at a time, because each holds the weights of the model.
            sessions = {run["threads"]: session}
        results = dict(_tensors(zip(names, session.run(names, feeds), strict=True)))
        changed = {name: array for name, array in results.items() if not number or not _is_same(array, first[name])}
        first = first or results
        with _OnnxValues(f"{request['values']}.{number}") as values:
            runs.append(values.add_all(changed.items()))
    return {"runs": runs}


def _is_same(left: Any, right: Any) -> bool:
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return True
    is_alike = left.dtype == right.dtype and left.shape == right.shape
    return is_alike and (np.array_equal(left, right) if left.dtype == object else left.tobytes() == right.tobytes())


def _message(error: Exception) -> str:
    return " ".join(str(error).split())[-600:]


class _OnnxValues:
    """A file of consecutive arrays; writing thousands of files would take longer than the model."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = open(path, "wb")  # noqa: SIM115  # open until the last array is written

    def __enter__(self) -> _OnnxValues:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, array: Any) -> dict[str, Any] | None:
        """Write an array, and return its place as for `child.load_stored`; None for unsupported types."""
        # Maps and missing optional values are not tensors.
        type_name = _TYPES_OF_CONSTANTS.get(array.dtype.name) if isinstance(array, (np.ndarray, np.generic)) else None
        if type_name is None:
            return None
        data = _pack_half_bytes(array) if type_name in _HALF_BYTES else np.ascontiguousarray(array).tobytes()
        self._file.write(b"\0" * (-self._file.tell() % 64))
        start = self._file.tell()
        self._file.write(data)
        return {"type": type_name, "shape": list(array.shape), "file": self._path, "start": start, "size": len(data)}

    def add_all(self, arrays: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Write arrays by name; the elements of a list are named `name/0`, `name/1`, ..."""
        locations = ((name, self.add(array)) for name, array in _tensors(arrays))
        return {name: stored for name, stored in locations if stored is not None}


def _tensors(arrays: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, array in arrays:
        if isinstance(array, list):
            yield from _tensors((f"{name}/{position}", element) for position, element in enumerate(array))
        else:
            yield name, array


def _store_tensors(
    request: dict[str, Any], run: Callable[[dict[str, Any], list[str]], Iterable[Any]]
) -> dict[str, Any]:
    """Write the requested constants and tensors to a file."""
    path = request["path"]
    graph = _load_model(path).graph
    names = list(dict.fromkeys([*(value.name for value in graph.output), *request["tensors"]]))
    with _OnnxValues(request["values"]) as values:
        constants = values.add_all(_constants(graph, set(request["constants"]), path))
        return constants | values.add_all(zip(names, run(request, names), strict=True))


def _by_onnxruntime(request: dict[str, Any], names: list[str]) -> Iterable[Any]:
    options = _options("ORT_ENABLE_ALL" if request.get("optimized") else "ORT_DISABLE_ALL")
    model = _with_outputs(_load_model(request["path"]), names)
    results: list[Any] = _session(model, request["path"], options, request).run(names, _feeds(request, model))
    return results


def _options(level: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = _level(level)
    options.log_severity_level = 3
    return options


def _level(name: str) -> Any:
    import onnxruntime

    return getattr(onnxruntime.GraphOptimizationLevel, name)


def _session(model: onnx.ModelProto | None, path: str, options: Any, request: dict[str, Any]) -> Any:
    """A session of a changed model, or of the file itself without one."""
    import onnxruntime

    providers = request.get("providers", ["CPUExecutionProvider"])
    if model is None:
        disabled = request.get("disabled", [])
        session = onnxruntime.InferenceSession(path, options, providers=providers, disabled_optimizers=disabled)
        return _with_provider(session, providers)
    content = model.SerializeToString()
    # Next to the file, because external data have relative paths; deleted before other operations can fail.
    probed = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")
    try:
        probed.write_bytes(content)
        session = onnxruntime.InferenceSession(str(probed), options, providers=providers)
    except OSError:
        session = onnxruntime.InferenceSession(content, options, providers=providers)
    finally:
        probed.unlink(missing_ok=True)
    return _with_provider(session, providers)


def _with_provider(session: Any, providers: list[str]) -> Any:
    """Return a session; onnxruntime falls back to the CPU without an error if the libraries of a provider are missing.

    Raises:
        RuntimeError: If the session does not have the first provider.
    """
    actual = session.get_providers()
    if providers[0] not in actual:
        raise RuntimeError(f"onnxruntime cannot load {providers[0]}, and has {', '.join(actual)} only")
    return session


def _feeds(request: dict[str, Any], model: onnx.ModelProto) -> dict[str, Any]:
    """The inputs of a run; the elements of a list are named `name/0`, `name/1`, ..."""
    arrays = {name: _array(stored) for name, stored in request["inputs"].items()}
    feeds: dict[str, Any] = {}
    for value in model.graph.input:
        if value.name in arrays:
            feeds[value.name] = arrays[value.name]
        elif value.type.WhichOneof("value") != "tensor_type":
            count = sum(f"{value.name}/{position}" in arrays for position in range(len(arrays)))
            feeds[value.name] = [arrays[f"{value.name}/{position}"] for position in range(count)]
    return feeds


def _by_reference(request: dict[str, Any], names: list[str]) -> Iterable[Any]:
    from onnx.reference import ReferenceEvaluator

    model = _with_outputs(_load_model(request["path"], with_external=True), names)
    with np.errstate(all="ignore"):
        return list(ReferenceEvaluator(model).run(names, _feeds(request, model)))


def _with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    existing = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in existing)
    return model


def _opinion(request: dict[str, Any]) -> dict[str, Any]:
    """The outputs of the node of some tensors by other ways, for the inputs that onnxruntime computes.

    The ways are onnx.reference, and onnxruntime in f32 for a node that allows activations of fewer bits.
    """
    path = request["path"]
    model = _load_model(path)
    node = next(node for node in model.graph.node if set(node.output) & set(request["tensors"]))
    if any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for attribute in node.attribute):
        raise ValueError(f"{node.op_type} has bodies, which read values of the enclosing graph")
    folder = os.path.dirname(os.path.abspath(path))
    constants = {constant.name: constant for constant in model.graph.initializer if constant.name in node.input}
    stored_inputs = {name: _array(stored) for name, stored in request["inputs"].items()}
    computed = [name for name in node.input if name and name not in constants and name not in stored_inputs]
    values = dict(zip(computed, _by_onnxruntime(request, computed), strict=True)) if computed else {}
    values |= {
        name: onnx.numpy_helper.to_array(constant, folder) for name, constant in constants.items()
    } | stored_inputs
    inputs = {name: values[name] for name in dict.fromkeys(node.input) if name}
    ways: dict[str, Any] = {}
    level = _accuracy_level(node)
    with _OnnxValues(request["values"]) as stored:
        for way, answer in (("evaluator", _evaluate), ("f32", _in_f32)):
            try:
                arrays = answer(node, inputs, model)
            except Exception:  # not every way supports every operator
                continue
            names = [name for name in node.output if name]
            ways[way] = stored.add_all((f"{way}:{name}", array) for name, array in zip(names, arrays, strict=True))
    return {"ways": ways, "accuracy_level": None if level is None else level.i}


def _evaluate(node: onnx.NodeProto, inputs: dict[str, Any], model: onnx.ModelProto) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    alone, feeds = _alone(node, inputs, model)
    return list(map(np.asarray, ReferenceEvaluator(alone).run(None, feeds)))


def _in_f32(node: onnx.NodeProto, inputs: dict[str, Any], model: onnx.ModelProto) -> list[Any]:
    """The outputs of a node by onnxruntime in f32.

    Raises:
        ValueError: If the node is computed in f32 anyway.
    """
    import onnxruntime

    level = _accuracy_level(node)
    if level is None or level.i == _F32_ACCURACY:
        raise ValueError(f"{node.op_type} has no other accuracy level")
    exact = onnx.NodeProto()
    exact.CopyFrom(node)
    next(attribute for attribute in exact.attribute if attribute.name == level.name).i = _F32_ACCURACY
    alone, feeds = _alone(exact, inputs, model)
    session = onnxruntime.InferenceSession(
        alone.SerializeToString(), _options("ORT_DISABLE_ALL"), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, feeds))


def _accuracy_level(node: onnx.NodeProto) -> onnx.AttributeProto | None:
    """The attribute by which a node allows activations of fewer bits, if it has one."""
    return next((attribute for attribute in node.attribute if attribute.name == "accuracy_level"), None)


def _alone(
    node: onnx.NodeProto, inputs: dict[str, Any], model: onnx.ModelProto
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one node with the constants of the model, and its other inputs."""
    constants = {feed.name for feed in model.graph.initializer} & inputs.keys()
    feeds = {name: array for name, array in inputs.items() if name not in constants}
    code = onnx.helper.np_dtype_to_tensor_dtype
    graph = onnx.helper.make_graph(
        [node],
        "layer",
        [onnx.helper.make_tensor_value_info(name, code(feed.dtype), feed.shape) for name, feed in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
        [onnx.numpy_helper.from_array(inputs[name], name) for name in sorted(constants)],
    )
    alone = onnx.helper.make_model(
        graph, opset_imports=model.opset_import, functions=model.functions, ir_version=model.ir_version
    )
    return alone, feeds


def _constants(graph: onnx.GraphProto, names: set[str], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the initializers with these names, read one at a time."""
    for tensor in graph.initializer:
        if tensor.name in names:
            yield tensor.name, onnx.numpy_helper.to_array(tensor, os.path.dirname(os.path.abspath(path)))


def _pack_half_bytes(array: Any) -> bytes:
    """Two elements per byte, the first in the low four bits."""
    halves = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 0xF
    halves = np.append(halves, np.zeros(halves.size % 2, np.uint8))
    return bytes((halves[::2] | halves[1::2] << 4).tobytes())


def _array(stored: dict[str, Any]) -> Any:
    numpy_name = next((name for name, ir_name in _TYPES_OF_CONSTANTS.items() if ir_name == stored["type"]), None)
    dtype = np.dtype(numpy_name if numpy_name in _TYPES else getattr(ml_dtypes, numpy_name)) if numpy_name else None
    if dtype is None or stored["type"] in _HALF_BYTES:
        raise ValueError(f"inputs of type {stored['type']} are not supported")
    return np.fromfile(stored["file"], dtype).reshape(stored["shape"])


_ANSWERS = {
    "providers": _providers,
    "list": _list_values,
    "run": _run,
    "outputs": outputs_as_is,
    "optimized": _optimized_outputs,
    "repeat": _repeat,
    "opinion": _opinion,
}

if __name__ == "__main__":
    main()
