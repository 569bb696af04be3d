"""Every output of a file has its name in the ONNX file that is written: constants, inputs and copies too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ir_exec
from ir_exec import build
from ir_exec.onnx.export.lower import lower_model
from ir_exec.types import Array
from tests.onnx.export.sessions import run, session

X = np.array([[1, -2], [3, 4]], np.float32)
C = np.array([5, -6], np.float32)


def proto(
    nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], code: int = TensorProto.FLOAT, shape: Sequence[int] = (2,)
) -> onnx.ModelProto:
    """A model with the input x [2, 2] and the initializer w [2]."""
    types = {output: (TensorProto.FLOAT, [2, 2]) if output in "xy" else (code, shape) for output in outputs}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info(name, *type) for name, type in types.items()],
        [numpy_helper.from_array(C, "w")],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def node(operator: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


RELU = node("Relu", "x", "y")
CONSTANT = node("Constant", "", "c", value=numpy_helper.from_array(C))

FILES = {
    "constant": proto([RELU, CONSTANT], ["y", "c"]),
    "initializer": proto([RELU], ["w", "y"]),
    "initializer that is read": proto([node("Add", "x w", "y")], ["y", "w"]),
    "input": proto([RELU], ["y", "x"]),
    "folded": proto([RELU, node("Shape", "x", "s")], ["s", "y"], TensorProto.INT64),
    "folded sum": proto([RELU, CONSTANT, node("Add", "c w", "t")], ["t", "y", "c"]),
    "one constant twice": proto([CONSTANT, node("Identity", "c", "a"), node("Identity", "c", "b")], ["b", "a"]),
    "constant and its copy": proto([CONSTANT, node("Identity", "c", "a")], ["a", "c"]),
    "one value twice": proto([RELU, node("Identity", "y", "a")], ["a", "y"], shape=(2, 2)),
    "copies of the input": proto(
        [node("Identity", "x", "a"), node("Identity", "x", "b")], ["b", "x", "a"], shape=(2, 2)
    ),
    "only a constant": proto([CONSTANT], ["c"]),
}


def names(model: onnx.ModelProto) -> list[str]:
    return [output.name for output in model.graph.output]


@pytest.mark.parametrize("target", ["", "onnxruntime"])
@pytest.mark.parametrize("case", FILES)
def test_outputs_of_an_onnx_file_keep_their_names(case: str, target: str, tmp_path: Path) -> None:
    file = FILES[case]
    model = ir_exec.read_model(file.SerializeToString())
    model.save(tmp_path / "model.xml")
    expected = session(file.SerializeToString()).run(None, {"x": X})
    for again in (model, ir_exec.read_model(tmp_path / "model.xml")):
        exported = again.to_onnx(target=target or None)
        assert names(exported) == names(file)
        for ours, theirs in zip(session(exported.SerializeToString()).run(None, {"x": X}), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def outputs_of(model: ir_exec.Model, *arrays: Array) -> dict[str, Array]:
    exported = lower_model(model)
    return dict(zip(exported.outputs, run(exported, arrays), strict=True))


def test_an_output_named_after_its_second_tensor_name() -> None:
    x = build.parameter([2, 2], "f32", name="x")
    relu = build.relu(x, name="layer")
    relu.tensor_names = ("first", "second")
    model = build.model([build.result(relu, tensor_names=("second",))], [x])
    port = model.outputs[0].name
    assert list(outputs_of(model, X)) == [port]


def test_inner_value_named_like_output_is_renamed() -> None:
    x = build.parameter([2, 2], "f32", name="x")
    inner = build.negative(x, name="y")
    outer = build.relu(inner, name="last")
    outputs = outputs_of(build.model([build.result(outer, tensor_names=("y",))], [x]), X)
    assert list(outputs) == ["y"]
    np.testing.assert_array_equal(outputs["y"], np.maximum(-X, 0))
