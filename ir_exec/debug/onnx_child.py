"""onnxruntime in a process of its own. Started by `child.Child`, never imported: it knows nothing of ir_exec."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]  # it has no types

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
"""With those of which onnxruntime hands out no arrays."""

_HALF_BYTES = {"i4", "u4", "f4e2m1"}


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # What onnxruntime itself prints must not get between the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            answer = _listed(request) if request["do"] == "list" else _run(request)
        except Exception as error:  # every refusal is an answer
            answer = {"refused": " ".join(str(error).split())[-600:]}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _listed(request: dict[str, Any]) -> dict[str, Any]:
    graph = onnx.load(request["path"], load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return {
        "inputs": [value.name for value in graph.input if value.name not in constants],
        "tensors": [[name, node.op_type] for node in graph.node for name in node.output if name],
        "constants": sorted(constants),
        "outputs": [value.name for value in graph.output],
    }


class _Values:
    """A file of arrays, one after the other; thousands of files would take longer than the network."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, kind: str, shape: Any, data: bytes) -> dict[str, Any]:
        """Where the array is, as `child.load_stored` takes it."""
        self._file.write(b"\0" * (-self._file.tell() % 64))
        start = self._file.tell()
        self._file.write(data)
        return {"type": kind, "shape": list(shape), "file": str(self._path), "start": start, "size": len(data)}

    def close(self) -> None:
        self._file.close()


def _run(request: dict[str, Any]) -> dict[str, Any]:
    inputs = {name: _array(stored) for name, stored in request["inputs"].items()}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    path = request["path"]
    model = onnx.load(path, load_external_data=False)
    values = _Values(Path(request["values"]))
    found = _constants(model.graph, set(request["constants"]), path, values)
    known = {value.name for value in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in request["tensors"] if name not in known)
    # Beside the file, where the paths of external data lead; gone before anything else can fail.
    probed = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")
    try:
        probed.write_bytes(model.SerializeToString())
        session = onnxruntime.InferenceSession(str(probed), options, providers=["CPUExecutionProvider"])
    except OSError:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    finally:
        probed.unlink(missing_ok=True)
    names = [value.name for value in model.graph.output]
    for name, array in zip(names, session.run(names, inputs), strict=True):
        # Sequences, maps and missing optional values are no tensors.
        if isinstance(array, np.ndarray) and array.dtype.name in _TYPES:
            found[name] = values.add(_TYPES[array.dtype.name], array.shape, np.ascontiguousarray(array).tobytes())
    values.close()
    return {"tensors": found}


def _constants(graph: onnx.GraphProto, wanted: set[str], path: str, values: _Values) -> dict[str, Any]:
    """The initializers of these names, read one at a time."""
    found = {}
    for tensor in graph.initializer:
        if tensor.name not in wanted:
            continue
        array = onnx.numpy_helper.to_array(tensor, os.path.dirname(os.path.abspath(path)))
        kind = _TYPES_OF_CONSTANTS.get(array.dtype.name)
        if kind is not None:
            data = _packed(array) if kind in _HALF_BYTES else np.ascontiguousarray(array).tobytes()
            found[tensor.name] = values.add(kind, array.shape, data)
    return found


def _packed(array: Any) -> bytes:
    """Two elements a byte, the first in the low half."""
    halves = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 0xF
    halves = np.append(halves, np.zeros(halves.size % 2, np.uint8))
    return bytes((halves[::2] | halves[1::2] << 4).tobytes())


def _array(stored: dict[str, Any]) -> Any:
    dtype = next((name for name, kind in _TYPES.items() if kind == stored["type"]), None)
    if dtype is None:
        raise ValueError(f"inputs of type {stored['type']} cannot be handed over")
    return np.fromfile(stored["file"], dtype).reshape(stored["shape"])


if __name__ == "__main__":
    main()
