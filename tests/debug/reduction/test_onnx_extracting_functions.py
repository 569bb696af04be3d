"""Parts of functions of ONNX files: extracted by path, and reduced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ir_exec import EvaluationError, read_model
from ir_exec.debug.reduction.onnx_extracting import extract_onnx
from ir_exec.debug.reduction.onnx_reducing import reduce_onnx
from ir_exec.onnx.editing.sources import OnnxSource
from tests.helpers.facts import coded

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
TEXT = """
<ir_version: 9, opset_import: ["": 17, "lib": 1]>
net (float[2,4] x) => (float[2,4] y) {
    [first] a = lib.Norm <alpha: float = 0.5> (x)
    [middle] b = Sin(a)
    [second] y = lib.Norm <alpha: float = 0.25> (b)
}
<domain: "lib", opset_import: ["": 17]>
Norm <alpha> (X) => (Y) {
    [mean] M = ReduceMean <axes: ints = [-1]> (X)
    [center] C = Sub(X, M)
    [act] Y = LeakyRelu <alpha: float = @alpha> (C)
}
"""


def source() -> OnnxSource:
    return OnnxSource(onnx.parser.parse_model(TEXT).SerializeToString())


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize(
    ("path", "call"), [("first/center", "first"), ("Norm/center", "first"), ("second/C", "second")]
)
def test_part_of_a_call(path: str, call: str) -> None:
    stored = source()
    extracted = extract_onnx(stored, read_model(bytes(stored.content)), {"x": X}, to=path)
    assert extracted.part.outputs == (f"{call}/C",)
    assert not extracted.part.proto.functions
    assert extracted.outputs is not None
    value = X
    if call == "second":
        centered = X - X.mean(-1, keepdims=True)
        value = np.sin(np.where(centered < 0, 0.5 * centered, centered))
    expected = value - value.mean(-1, keepdims=True)
    assert np.allclose(extracted.outputs[f"{call}/C"], expected, atol=1e-6)


def test_part_between_calls() -> None:
    part = extract_onnx(source(), from_="first/C", to="second/mean").part
    assert operators(part.proto) == ["LeakyRelu", "Sin", "ReduceMean"]
    assert part.inputs == ("first/C",)
    assert part.proto.graph.node[0].attribute[0].f == 0.5


def test_whole_calls_stay_calls() -> None:
    part = extract_onnx(source(), to="first").part
    assert operators(part.proto) == ["Norm"]
    assert len(part.proto.functions) == 1


@pytest.mark.parametrize("name", ["third/center", "first/centre", "Norm/none", "Other/center"])
def test_names_that_do_not_exist(name: str) -> None:
    with pytest.raises(EvaluationError) as error:
        extract_onnx(source(), to=name)
    assert coded("IR705")(error.value)


def test_function_that_is_not_called() -> None:
    model = onnx.parser.parse_model(TEXT)
    del model.graph.node[2], model.graph.node[0]
    model.graph.node[0].input[0], model.graph.node[0].output[0] = "x", "y"
    with pytest.raises(EvaluationError) as error:
        extract_onnx(OnnxSource(model.SerializeToString()), to="Norm/center")
    assert coded("IR705")(error.value)


def test_fault_inside_of_a_function() -> None:
    def fails(path: str) -> bool:
        return b"LeakyRelu" in Path(path).read_bytes()

    reduced = reduce_onnx(source(), fails)
    assert operators(reduced.part.proto) == ["LeakyRelu"]
    assert not reduced.part.proto.functions
    assert (reduced.before, reduced.nodes) == (3, 1)


def test_fault_of_the_call_itself() -> None:
    """A model without calls does not fail: the smallest one has a call."""

    def fails(path: str) -> bool:
        return b"Norm" in Path(path).read_bytes()

    reduced = reduce_onnx(source(), fails)
    assert operators(reduced.part.proto) == ["Norm"]
    assert len(reduced.part.proto.functions) == 1


def test_function_that_is_needed_as_a_whole() -> None:
    """Its nodes are not better than its call."""

    def fails(path: str) -> bool:
        content = Path(path).read_bytes()
        return all(name in content for name in (b"ReduceMean", b"Sub", b"LeakyRelu"))

    assert operators(reduce_onnx(source(), fails).part.proto) == ["Norm"]
