"""ONNX files for tests, written as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, parser

__all__ = ["external", "model", "write_model"]


def model(body: str, *, opset: int = 17, further: str = "", functions: str = "") -> onnx.ModelProto:
    """The model of a graph in ONNX's own language: `g (float[2] x) => (float[2] y) { y = Relu(x) }`."""
    imports = f'"" : {opset}' + (f", {further}" if further else "")
    return parser.parse_model(f"<ir_version: 9, opset_import: [{imports}]> {body} {functions}")


def write_model(folder: Path, proto: onnx.ModelProto, name: str = "model.onnx") -> Path:
    """The model in a file."""
    path = folder / name
    path.write_bytes(proto.SerializeToString())
    return path


def external(array: Any, name: str, **entries: str) -> TensorProto:
    """A tensor whose data is in another file, at `location`, `offset` and `length`."""
    tensor: TensorProto = numpy_helper.from_array(np.asarray(array), name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor
