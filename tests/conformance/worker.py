"""OpenVINO in a process of its own, for it may crash: requests come in on stdin, answers go out on stdout.

A message is its length in eight bytes and a pickle. Tensors travel as (element type, shape, bytes), strings as lists.
Started by `oracle`, never imported.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

import numpy as np

# Its telemetry calls a server from a forked process, which outlives a crash and keeps the pipes open.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # None: not to be found

import openvino as ov  # noqa: E402  # only now

CONFIG = {
    "INFERENCE_PRECISION_HINT": "f32",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
    "NUM_STREAMS": "1",
    "INFERENCE_NUM_THREADS": "1",
}


def main() -> None:
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # What OpenVINO itself prints must not get between the answers.
    os.dup2(2, 1)
    core = ov.Core()
    while (request := _read(requests)) is not None:
        message = pickle.dumps(_verdict(core, request))
        answers.write(len(message).to_bytes(8, "little") + message)
        answers.flush()


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    length = int.from_bytes(stream.read(8), "little")
    return pickle.loads(stream.read(length)) if length else None


def _answer(core: ov.Core, request: dict[str, Any]) -> Any:
    if request["mode"] == "together":
        return _together(core, request["parts"])
    model = core.read_model(request["xml"], request["weights"])
    if request["shapes"] is not None:
        model.reshape({position: ov.PartialShape(shape) for position, shape in enumerate(request["shapes"])})
    if request["mode"] == "types":
        model.validate_nodes_and_infer_types()
        return [_node_types(node) for node in model.get_ordered_ops()]
    if request["mode"] == "attributes":
        return {node.get_friendly_name(): list(node.get_attributes()) for node in model.get_ordered_ops()}
    tensors = [_tensor(*parts) for parts in request["inputs"]]
    if request["mode"] == "reference":
        outputs = [ov.Tensor(output.element_type, ov.Shape([0])) for output in model.outputs]
        if not model.evaluate(outputs, tensors):
            raise RuntimeError("the reference kernels have no answer")
        return [_parts(tensor) for tensor in outputs]
    return _run(core, model, tensors)


def _run(core: ov.Core, model: ov.Model, tensors: list[ov.Tensor]) -> list[Any]:
    infer = core.compile_model(model, "CPU", CONFIG).create_infer_request()
    for position, tensor in enumerate(tensors):
        infer.set_input_tensor(position, tensor)
    infer.infer()
    return [_parts(infer.get_output_tensor(i)) for i in range(len(model.outputs))]


def _together(core: ov.Core, parts: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """The answer to each of several requests for values, from one network with all of their layers.

    To compile a network takes 20 ms, however small it is. If one of them is refused, each is repeated alone.
    """
    try:
        models = [core.read_model(part["xml"], part["weights"]) for part in parts]
        for number, model in enumerate(models):
            for node in model.get_ops():
                node.set_friendly_name(f"{number}/{node.get_friendly_name()}")
        results = [result for model in models for result in model.get_results()]
        parameters = [parameter for model in models for parameter in model.get_parameters()]
        tensors = [_tensor(*tensor) for part in parts for tensor in part["inputs"]]
        outputs = iter(_run(core, ov.Model(results, parameters, "together"), tensors))
        return [("answer", [next(outputs) for _ in model.outputs]) for model in models]
    except Exception:  # the layer at fault is reported below
        return [_verdict(core, part) for part in parts]


def _verdict(core: ov.Core, request: dict[str, Any]) -> tuple[str, Any]:
    try:
        return "answer", _answer(core, request)
    except Exception as error:  # every refusal is an answer
        return "refused", str(error)


def _node_types(node: ov.Node) -> tuple[str, str, str, list[Any]]:
    outputs = [(output.element_type.to_string(), _intervals(output.partial_shape)) for output in node.outputs()]
    info = node.get_type_info()
    return node.get_friendly_name(), info.name, info.version_id or "", outputs


def _intervals(shape: ov.PartialShape) -> list[tuple[int, int]] | None:
    if shape.rank.is_dynamic:
        return None
    return [(dim.get_min_length(), dim.get_max_length()) for dim in shape]


def _tensor(element_type: str, shape: tuple[int, ...], data: bytes | list[str]) -> ov.Tensor:
    tensor = ov.Tensor(getattr(ov.Type, element_type), ov.Shape(shape))
    if isinstance(data, list):
        if data:
            tensor.str_data = np.array(data).reshape(shape)
    elif data:
        tensor.data.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return tensor


def _parts(tensor: ov.Tensor) -> tuple[str, tuple[int, ...], bytes | list[str]]:
    element_type = tensor.element_type.to_string()
    data = tensor.str_data.ravel().tolist() if element_type == "string" else tensor.data.tobytes()
    return element_type, tuple(tensor.shape), data


if __name__ == "__main__":
    main()
