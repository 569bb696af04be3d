"""onnxruntime, ONNX's reference and OpenVINO in a separate process, because they may crash. Started by `engine`.

A message is its length in eight bytes and a pickle. Arrays of types missing in NumPy travel as wider ones: the model
gets a Cast at its inputs and outputs, and every value has an equal in the wider type.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]  # it has no types
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

_WIDER = {
    TensorProto.BFLOAT16: TensorProto.FLOAT,
    TensorProto.FLOAT8E4M3FN: TensorProto.FLOAT,
    TensorProto.FLOAT8E5M2: TensorProto.FLOAT,
    TensorProto.FLOAT8E8M0: TensorProto.FLOAT,
    TensorProto.FLOAT4E2M1: TensorProto.FLOAT,
    TensorProto.INT4: TensorProto.INT8,
    TensorProto.UINT4: TensorProto.UINT8,
}


def main() -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # What the engines themselves print must not get between the answers.
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    while (request := _read(requests)) is not None:
        message = pickle.dumps(_verdict(request))
        answers.write(len(message).to_bytes(8, "little") + message)
        answers.flush()


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    length = int.from_bytes(stream.read(8), "little")
    return pickle.loads(stream.read(length)) if length else None


def _verdict(request: dict[str, Any]) -> tuple[str, Any]:
    """Outputs by onnxruntime, or by ONNX's reference where onnxruntime refuses the model; or by OpenVINO."""
    if request["by"] == "openvino":
        try:
            return "answer", ("openvino", _by_openvino(request["model"], request["inputs"]))
        except Exception as error:  # every refusal is an answer
            return "refused", _short(error)
    model = onnx.load_from_string(request["model"])
    try:
        if _has_ranks(model):
            onnx.checker.check_model(model, full_check=request["full_check"])
    except Exception as error:  # every refusal is an answer
        return "refused", f"onnx.checker: {_short(error)}"
    _widen(model)
    try:
        return "answer", ("onnxruntime", _by_onnxruntime(model, request["inputs"], request["optimize"]))
    except Exception as error:  # the other engine runs after every refusal
        refusal = _short(error)
    try:
        with np.errstate(all="ignore"):
            outputs = ReferenceEvaluator(model).run(None, request["inputs"])
        return "answer", ("reference", [np.asarray(output) for output in outputs])
    except Exception as error:  # every refusal is an answer
        return "refused", f"onnxruntime: {refusal} | reference: {_short(error)}"


def _has_ranks(model: onnx.ModelProto) -> bool:
    """Every input and output declares a rank; onnx.checker demands it, engines do not."""
    return all(value.type.tensor_type.HasField("shape") for value in (*model.graph.input, *model.graph.output))


def _by_onnxruntime(model: onnx.ModelProto, inputs: dict[str, Any], optimize: bool) -> list[Any]:
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs: list[Any] = session.run(None, inputs)
    return outputs


def _by_openvino(content: bytes, inputs: dict[str, Any]) -> list[Any]:
    # Its telemetry calls a server from a forked process, which outlives a crash and keeps the pipes open.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: not to be found
    import openvino as ov

    core = ov.Core()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(content)
        model = core.read_model(path)
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": "1",
    }
    compiled = core.compile_model(model, "CPU", config)
    outputs = compiled({name: np.ascontiguousarray(array) for name, array in inputs.items()})
    return [np.array(outputs[i]) for i in range(len(compiled.outputs))]


def _widen(model: onnx.ModelProto) -> None:
    graph = model.graph
    for value in graph.input:
        code = value.type.tensor_type.elem_type
        if code in _WIDER:
            inner = f"{value.name}/narrow"
            for node in graph.node:
                node.input[:] = [inner if name == value.name else name for name in node.input]
            graph.node.insert(0, helper.make_node("Cast", [value.name], [inner], to=code))
            value.type.tensor_type.elem_type = _WIDER[code]
    for value in graph.output:
        code = value.type.tensor_type.elem_type
        if code in _WIDER:
            inner, value.name = value.name, f"{value.name}/wide"
            graph.node.append(helper.make_node("Cast", [inner], [value.name], to=_WIDER[code]))
            value.type.tensor_type.elem_type = _WIDER[code]


def _short(error: Exception) -> str:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return text if len(text) < 800 else f"{text[:300]} ... {text[-500:]}"


if __name__ == "__main__":
    main()
