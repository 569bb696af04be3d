"""The kernels of a processor for products of u8 and i8."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from onnx import TensorProto, helper

__all__ = ["saturates"]

_SIZE = 64


@lru_cache(maxsize=4)
def saturates(module: Any) -> bool:
    """Return True if onnxruntime adds products of u8 and i8 in 16 bits, which overflow and are clipped.

    Processors without VNNI do. One product of the largest integers shows it.

    Args:
        module: The package onnxruntime.
    """
    shapes = {"a": (TensorProto.UINT8, [_SIZE, _SIZE]), "b": (TensorProto.INT8, [_SIZE, _SIZE])}
    inputs = [helper.make_tensor_value_info(name, *type) for name, type in shapes.items()]
    output = helper.make_tensor_value_info("c", TensorProto.INT32, [_SIZE, _SIZE])
    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    graph = helper.make_graph([node], "largest", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    options = module.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = module.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    left, right = np.full((_SIZE, _SIZE), 255, np.uint8), np.full((_SIZE, _SIZE), 127, np.int8)
    return bool((session.run(None, {"a": left, "b": right})[0] != 255 * 127 * _SIZE).any())
