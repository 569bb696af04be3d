"""Files with many outputs: each output is compared with a table, not with all outputs before it."""

from __future__ import annotations

import sys
from types import FrameType

from onnx import TensorProto, helper

import ir_exec
from ir_exec.onnx.lowering import models


def content_with_outputs(count: int) -> bytes:
    nodes = [helper.make_node("Relu", ["x"], [f"y{index}"]) for index in range(count)]
    outputs = [helper.make_tensor_value_info(f"y{index}", TensorProto.FLOAT, [2]) for index in range(count)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    graph = helper.make_graph(nodes, "graph", [x], [*outputs, outputs[0]])
    content: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    return content


def count_calls(count: int) -> int:
    """The calls of Python functions and steps of generators in the module of the outputs."""
    calls = 0

    def record(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename == models.__file__

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        model = ir_exec.read_model(content_with_outputs(count))
    finally:
        sys.setprofile(before)
    assert len(model.outputs) == count + 1
    return calls


def test_calls_grow_with_the_outputs() -> None:
    assert count_calls(160) < 5 * count_calls(40)
