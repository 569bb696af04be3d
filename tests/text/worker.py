"""A process that runs networks with openvino_tokenizers, which may crash: lines of JSON ask and answer."""

import json
import sys

import numpy as np
import openvino
import openvino_tokenizers  # noqa: F401  # adds its operators to every Core


def _array(value):
    if value["dtype"] == "string":
        return np.array([text.encode("utf-8", "surrogateescape") for text in value["data"]]).reshape(value["shape"])
    return np.array(value["data"], value["dtype"]).reshape(value["shape"])


def _value(tensor):
    is_text = tensor.element_type == openvino.Type.string
    data = tensor.str_data if is_text else tensor.data
    return {"dtype": "string" if is_text else str(data.dtype), "shape": list(data.shape), "data": data.ravel().tolist()}


def _main():
    core = openvino.Core()
    compiled = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            path = request["xml"]
            if path not in compiled:
                compiled[path] = core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            run = compiled[path].create_infer_request()
            run.infer([_array(value) for value in request["inputs"]])
            answer = {"outputs": [_value(tensor) for tensor in run.output_tensors]}
        except Exception as error:
            answer = {"refused": str(error)[:500]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


_main()
