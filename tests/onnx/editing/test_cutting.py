"""Parts of ONNX models between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, UnsupportedError
from ir_exec.onnx.editing.checking import infer_types
from ir_exec.onnx.editing.cutting import OnnxPart, cut_between
from ir_exec.onnx.editing.sources import OnnxSource
from tests.onnx.files import model

GRAPH = """g (float[1,4] x, float[1,4] z) => (float[1,4] y, float[1,4] v)
    <float[4] w = {1, 2, 3, 4}, float[4] u = {1, 1, 1, 1}>
{ k = Neg(w) a = Relu(x) b = Mul(a, k) c = Add(b, z) y = Elu(c) v = Add(z, u) }"""

LOOP = """g (int64 n, float[2] x, bool keep) => (float[2] y) {
    two = Constant<value_float = 2.0>()
    y = Loop(n, keep, x) <body = b (int64 i, bool on, float[2] s) => (bool on_out, float[2] s_out) {
        on_out = Identity(on) p = Mul(s, two) q = Exp(p) s_out = Add(q, x)
    }>
}"""


def cut(text: str, starts: Sequence[str], ends: Sequence[str], **options: Any) -> OnnxPart:
    proto = model(text, **options)
    source = OnnxSource(proto.SerializeToString())
    return cut_between(proto, starts, ends, lambda: infer_types(source, proto))


def run(proto: onnx.ModelProto, **inputs: Any) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    onnx.checker.check_model(proto)
    return list(ReferenceEvaluator(proto).run(None, inputs))


@pytest.mark.parametrize(
    ("starts", "ends", "inputs", "outputs", "nodes", "tensors"),
    [
        ((), ("b",), ("x",), ("b",), ["Neg", "Relu", "Mul"], ["w"]),
        (("a",), ("c",), ("a", "z"), ("c",), ["Neg", "Mul", "Add"], ["w"]),
        (("b",), (), ("b", "z"), ("y",), ["Add", "Elu"], []),
        (("z",), (), ("z", "b"), ("y", "v"), ["Add", "Elu", "Add"], ["u"]),
        (("a", "k"), ("b",), ("a", "k"), ("b",), ["Mul"], []),
        ((), ("v",), ("z",), ("v",), ["Add"], ["u"]),
    ],
)
def test_part(starts: Any, ends: Any, inputs: Any, outputs: Any, nodes: list[str], tensors: list[str]) -> None:
    part = cut(GRAPH, starts, ends)
    assert (part.inputs, part.outputs) == (inputs, outputs)
    assert [node.op_type for node in part.proto.graph.node] == nodes
    assert [tensor.name for tensor in part.proto.graph.initializer] == tensors
    onnx.checker.check_model(part.proto, full_check=True)
    originals = {node.SerializeToString() for node in model(GRAPH).graph.node}
    assert {node.SerializeToString() for node in part.proto.graph.node} <= originals


def test_values_are_those_of_the_model() -> None:
    x, z = np.array([[-1, 2, -3, 4]], np.float32), np.ones((1, 4), np.float32)
    expected = run(model(GRAPH.replace("(float[1,4] y, float[1,4] v)", "(float[1,4] y, float[1,4] a)")), x=x, z=z)
    (actual,) = run(cut(GRAPH, ["a"], []).proto, a=expected[1], z=z)
    np.testing.assert_array_equal(actual, expected[0])


def test_declarations_opsets_and_metadata_are_kept() -> None:
    proto = model(GRAPH)
    proto.metadata_props.add(key="author", value="x")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, ["batch", 4]))
    part = cut_between(proto, [], ["b"]).proto
    assert list(part.metadata_props) == list(proto.metadata_props)
    assert list(part.opset_import) == list(proto.opset_import)
    assert list(part.graph.value_info) == list(proto.graph.value_info)
    assert part.graph.input[0] == proto.graph.input[0]
    assert cut_between(proto, ["a"], ["b"]).proto.graph.input[0] == proto.graph.value_info[0]


def test_part_of_a_body_has_the_constants_of_the_outer_graph() -> None:
    part = cut(LOOP, [], ["y/body/q"])
    assert (part.inputs, part.outputs, part.scope) == (("s",), ("q",), "y/body/")
    assert [node.op_type for node in part.proto.graph.node] == ["Constant", "Mul", "Exp"]
    (actual,) = run(part.proto, s=np.array([0, 1], np.float32))
    np.testing.assert_allclose(actual, np.exp([0, 2]), rtol=1e-6)
    assert cut(LOOP, [], ["y/body/s_out"]).inputs == ("s", "x")


def test_start_in_a_body_has_an_inferred_type() -> None:
    part = cut(LOOP, ["y/body/p"], ["y/body/s_out"])
    assert part.inputs == ("p", "x")
    assert [info.type.tensor_type.elem_type for info in part.proto.graph.input] == [1, 1]


def test_start_that_follows_from_constants_has_an_inferred_type() -> None:
    text = "g (float[2] x) => (float[2] y) <int64[1] s = {2}> { a = Cast<to = 1>(s) b = Neg(a) y = Mul(x, b) }"
    part = cut(text, ["b"], [])
    assert part.inputs == ("b", "x")
    assert [info.type.tensor_type.elem_type for info in part.proto.graph.input] == [1, 1]
    assert cut(
        "g (float[2] x) => (float[2] y) { c = Constant<value = float[1] {2}>() y = Mul(x, c) }", ["c"], []
    ).inputs


def test_start_that_is_one_of_several_outputs() -> None:
    text = """g (float[4] x) => (float[2] y) {
        h = Constant<value = float[4] {1, 2, 3, 4}>() p, q = Split<num_outputs = 2>(h) y = Add(p, q)
    }"""
    part = cut(text, ["p"], [], opset=18)
    assert (part.inputs, [node.op_type for node in part.proto.graph.node]) == (("p",), ["Constant", "Split", "Add"])
    (actual,) = run(part.proto, p=np.array([5, 6], np.float32))
    np.testing.assert_array_equal(actual, [8, 10])


def test_functions_that_are_not_called_are_dropped() -> None:
    functions = """<domain: "own", opset_import: ["" : 17]> First (v) => (w) { w = Relu(v) }
    <domain: "own", opset_import: ["" : 17]> Second (v) => (w) { w = Neg(v) }"""
    text = "g (float[2] x) => (float[2] y) { a = own.First(x) y = own.Second(a) }"
    part = cut(text, [], ["a"], further='"own" : 1', functions=functions)
    assert [function.name for function in part.proto.functions] == ["First"]


def test_unknown_operators_outside_and_inside_of_a_part() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Relu(x) b = Gone(a) c = Relu(b) y = Gone(c) }"
    assert [node.op_type for node in cut(text, [], ["c"]).proto.graph.node] == ["Relu", "Gone", "Relu"]
    with pytest.raises(UnsupportedError):
        cut(text, ["b"], ["c"])


@pytest.mark.parametrize(
    ("text", "starts", "ends", "error"),
    [
        (GRAPH, ["nothing"], [], EvaluationError),
        (GRAPH, ["y"], [], EvaluationError),
        (GRAPH, ["c"], ["a"], EvaluationError),
        (GRAPH, ["x"], ["v"], EvaluationError),
        (GRAPH, ["x", "v"], ["y"], EvaluationError),
        (GRAPH, ["a"], ["a"], EvaluationError),
        (GRAPH, [], ["x"], EvaluationError),
        (LOOP, ["x"], ["y/body/p"], EvaluationError),
    ],
)
def test_impossible_part(text: str, starts: list[str], ends: list[str], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        cut(text, starts, ends)
    assert caught.value.code == Code.unknown_input  # type: ignore[attr-defined]  # an IRError


def test_part_of_a_function_is_refused() -> None:
    functions = '<domain: "own", opset_import: ["" : 17]> First (v) => (w) { h = Neg(v) w = Relu(h) }'
    text = "g (float[2] x) => (float[2] y) { y = own.First(x) }"
    with pytest.raises(GraphError):
        cut(text, [], ["First/h"], further='"own" : 1', functions=functions)
