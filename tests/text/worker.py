"""A process that runs networks with openvino_tokenizers, which may crash: requests and answers are lines of JSON."""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import openvino
import openvino_tokenizers  # noqa: F401  # adds its operators to every Core


def _array(value):
    if value["dtype"] == "string":
        return np.array([text.encode("utf-8", "surrogateescape") for text in value["data"]]).reshape(value["shape"])
    return np.array(value["data"], value["dtype"]).reshape(value["shape"])


def _tensor(value):
    if value["dtype"] != "bfloat16":
        return _array(value)
    bits = np.array(value["data"], np.float32).view(np.uint32) >> 16
    return openvino.Tensor(bits.astype(np.uint16).reshape(value["shape"]), value["shape"], openvino.Type.bf16)


def _value(tensor):
    if tensor.element_type == openvino.Type.bf16:
        data = (tensor.data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return {"dtype": "float32", "shape": list(tensor.shape), "data": data.ravel().tolist()}
    is_text = tensor.element_type == openvino.Type.string
    data = tensor.str_data if is_text else tensor.data
    return {"dtype": "string" if is_text else str(data.dtype), "shape": list(data.shape), "data": data.ravel().tolist()}


def _same(text):
    return text


def _compile_in_cache(core, xml):
    """The model of a file, put into the place of another one in a cached model of the CPU plugin."""
    config = {"CACHE_ENCRYPTION_CALLBACKS": [_same, _same]}
    other = openvino.opset13.parameter([1], np.float32)
    cached = core.compile_model(openvino.Model([openvino.opset13.relu(other)], [other]), "CPU", config).export_model()
    cached = bytes(cached.getvalue() if hasattr(cached, "getvalue") else cached)
    text, weights = Path(xml).read_bytes(), Path(xml).with_suffix(".bin").read_bytes()
    # Six numbers precede the first part: offset and size of settings, constants, and model.
    start = cached.index(b"<?xml")
    settings = cached[start : start + struct.unpack_from("<Q", cached, start - 40)[0]]
    parts = []
    offset = 48
    for part in (settings, weights, text):
        parts += [offset, len(part)]
        offset += len(part)
    header = cached[: start - 48] + struct.pack("<6Q", *parts)
    return core.import_model(header + settings + weights + text, "CPU", {**config, "INFERENCE_PRECISION_HINT": "f32"})


def _main():
    core = openvino.Core()
    compiled = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            path = request["xml"]
            if "to" in request:
                openvino.serialize(core.read_model(path), request["to"])
                sys.stdout.write("{}\n")
                sys.stdout.flush()
                continue
            if path not in compiled and request["compiled"]:
                compiled[path] = _compile_in_cache(core, path)
            elif path not in compiled:
                compiled[path] = core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            run = compiled[path].create_infer_request()
            run.infer([_tensor(value) for value in request["inputs"]])
            answer = {"outputs": [_value(tensor) for tensor in run.output_tensors]}
        except Exception as error:
            answer = {"refused": str(error)[:500]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


_main()
