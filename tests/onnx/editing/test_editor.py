"""Edits of ONNX graphs, bodies and functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ir_exec.codes import Code
from ir_exec.errors import EvaluationError, GraphError, InvalidAttributeError, IRError, UnsupportedError
from ir_exec.onnx.editing.editor import OnnxEditor
from ir_exec.onnx.editing.nodes import NodeText
from ir_exec.onnx.editing.sources import OnnxSource
from ir_exec.onnx.editing.types import dims_of, parse_shapes
from tests.onnx.files import model

CHAIN = "g (float[1,4] x, float[4] b) => (float[1,4] y) { a = Relu(x) c = Add(a, b) y = Elu<alpha = 0.5>(c) }"

LOOP = """g (int64 n, float[2] x, bool keep) => (float[2] y) {
    two = Constant<value_float = 2.0>()
    y = Loop(n, keep, x) <body = b (int64 i, bool on, float[2] s) => (bool on_out, float[2] s_out) {
        on_out = Identity(on) p = Mul(s, two) s_out = Add(p, x)
    }>
}"""

FUNCTION = """<domain: "own", opset_import: ["" : 17]> Twice (v) => (w) { h = Add(v, v) w = Relu(h) }"""


def editor_of(text: str, **options: Any) -> OnnxEditor:
    proto = model(text, **options)
    for graph in (proto.graph, *(a.g for node in proto.graph.node for a in node.attribute if a.HasField("g"))):
        for node in graph.node:
            node.name = f"n_{node.output[0]}"
    return OnnxEditor(OnnxSource(proto.SerializeToString()))


def nodes(editor: OnnxEditor) -> list[tuple[str, list[str], list[str]]]:
    return [(node.op_type, list(node.input), list(node.output)) for node in editor.proto().graph.node]


def run(proto: onnx.ModelProto, **inputs: Any) -> Any:
    from onnx.reference import ReferenceEvaluator

    onnx.checker.check_model(proto)
    return ReferenceEvaluator(proto).run(None, {name: np.asarray(array) for name, array in inputs.items()})[0]


X, B = np.array([[-1, 2, 3, -4]], np.float32), np.array([1, 1, -9, 1], np.float32)


def test_rename_of_values_and_nodes() -> None:
    editor = editor_of(CHAIN).rename("x", "image").rename("a", "active").rename("y", "out").rename("n_c", "sum")
    assert nodes(editor) == [
        ("Relu", ["image"], ["active"]),
        ("Add", ["active", "b"], ["c"]),
        ("Elu", ["c"], ["out"]),
    ]
    proto = editor.proto()
    assert [proto.graph.input[0].name, proto.graph.output[0].name] == ["image", "out"]
    assert proto.graph.node[1].name == "sum"
    np.testing.assert_array_equal(run(proto, image=X, b=B), run(editor.source.proto, x=X, b=B))


def test_rename_in_bodies_and_of_values_that_bodies_read() -> None:
    editor = editor_of(LOOP).rename("x", "start").rename("two", "factor").rename("n_y/body/p", "product")
    body = editor.proto().graph.node[1].attribute[0].g
    assert [list(node.input) for node in body.node] == [["on"], ["s", "factor"], ["product", "start"]]
    inputs = {"n": np.int64(3), "keep": True}
    expected = run(editor.source.proto, x=np.ones(2, np.float32), **inputs)
    np.testing.assert_array_equal(run(editor.proto(), start=np.ones(2, np.float32), **inputs), expected)


@pytest.mark.parametrize("new", ["a", "b", "n_c"])
def test_taken_name_is_refused(new: str) -> None:
    with pytest.raises(GraphError) as error:
        editor_of(CHAIN).rename("x", new)
    assert error.value.code == Code.duplicate_layer_name


def test_insert_after_a_node_keeps_the_name_for_readers() -> None:
    editor = editor_of(CHAIN).insert("a", NodeText("Mul", [2.0]))
    names = [("Relu", ["x"]), ("Mul", ["a_before_Mul", "Mul_1"]), ("Add", ["a", "b"]), ("Elu", ["c"])]
    assert [(operator, inputs) for operator, inputs, _ in nodes(editor)] == names
    expected = run(model(CHAIN.replace("Relu(x)", "Relu(x2)").replace("{", "{ x2 = Add(x, x)")), x=X, b=B)
    np.testing.assert_allclose(run(editor.proto(), x=X, b=B), expected)


def test_insert_after_an_input_and_before_an_output() -> None:
    editor = editor_of(CHAIN).insert("x", NodeText("Neg")).insert("y", NodeText("Neg"))
    proto = editor.proto()
    assert [declared.name for declared in (*proto.graph.input, *proto.graph.output)] == ["x", "b", "y"]
    np.testing.assert_array_equal(run(proto, x=X, b=B), -run(editor.source.proto, x=-X, b=B))


def test_insert_may_read_a_later_value() -> None:
    editor = editor_of("g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(x) y = Add(a, b) }")
    editor.insert("a", NodeText("Mul", ["b"]))
    assert [operator for operator, _, _ in nodes(editor)] == ["Relu", "Neg", "Mul", "Add"]
    with pytest.raises(GraphError) as error:
        editor.insert("b", NodeText("Mul", ["y"]))
    assert error.value.code == Code.cycle


def test_replace_keeps_name_outputs_and_shared_attributes() -> None:
    editor = editor_of(CHAIN).replace("n_y", NodeText("LeakyRelu"))
    node = editor.proto().graph.node[2]
    assert (node.op_type, node.name, list(node.output)) == ("LeakyRelu", "n_y", ["y"])
    assert [(entry.name, entry.f) for entry in node.attribute] == [("alpha", 0.5)]


def test_replace_with_constants_of_the_type_of_the_input() -> None:
    editor = editor_of(CHAIN).replace("n_y", NodeText("Clip", [0, 6]))
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in editor.proto().graph.initializer}
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.float32)}
    expected = np.clip(np.maximum(X, 0) + B, 0, 6)
    np.testing.assert_array_equal(run(editor.proto(), x=X, b=B), expected)


def test_operator_of_another_domain_is_imported() -> None:
    editor = editor_of(CHAIN).replace("n_a", NodeText("com.microsoft.Gelu"))
    assert {entry.domain: entry.version for entry in editor.proto().opset_import} == {"": 17, "com.microsoft": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("n_a", [("Add", ["x", "b"], ["c"]), ("Elu", ["c"], ["y"])]),
        ("n_y", [("Relu", ["x"], ["a"]), ("Add", ["a", "b"], ["y"])]),
    ],
)
def test_remove_reads_the_first_input(name: str, expected: list[Any]) -> None:
    assert nodes(editor_of(CHAIN).remove(name)) == expected


def test_types_follow_a_removed_node() -> None:
    text = "g (float[2] x) => (double[2] y) { a = Relu(x) b = Cast<to = 11>(a) c = Neg(b) y = Abs(c) }"
    source = model(text)
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.DOUBLE, [2]))
    proto = OnnxEditor(source.SerializeToString()).remove("b").proto()
    declared = [*proto.graph.value_info, *proto.graph.output]
    assert [info.type.tensor_type.elem_type for info in declared] == [onnx.TensorProto.FLOAT] * 2


def test_remove_drops_what_only_the_node_read() -> None:
    editor = editor_of("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { k = Neg(w) a = Add(x, k) y = Relu(a) }")
    editor.remove("n_a")
    assert nodes(editor) == [("Relu", ["x"], ["y"])]
    assert not editor.proto().graph.initializer


def test_remove_between_input_and_output_leaves_an_identity() -> None:
    editor = editor_of("g (float[2] x) => (float[2] y) { y = Relu(x) }").remove("n_y")
    assert nodes(editor) == [("Identity", ["x"], ["y"])]


@pytest.mark.parametrize(("value", "expected"), [("2", 2.0), (0.25, 0.25)])
def test_set_attribute(value: Any, expected: float) -> None:
    node = editor_of(CHAIN).set_attribute("n_y", "alpha", value).proto().graph.node[2]
    assert [(entry.name, entry.f, entry.type) for entry in node.attribute] == [("alpha", expected, 1)]


def test_attribute_without_a_value_in_the_file_and_a_type_by_name() -> None:
    editor = editor_of("g (float[2,3] x) => (float[3,2] y) { a = Transpose(x) y = Cast<to = 1>(a) }")
    editor.set_attribute("n_a", "perm", "1,0").set_attribute("n_y", "to", "f16")
    proto = editor.proto()
    assert list(proto.graph.node[0].attribute[0].ints) == [1, 0]
    assert proto.graph.node[1].attribute[0].i == onnx.TensorProto.FLOAT16
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [("alfa", 1, Code.unknown_attribute), ("alpha", "much", Code.invalid_attribute), ("alpha", [1], None)],
)
def test_wrong_attribute(attribute: str, value: Any, code: Code | None) -> None:
    with pytest.raises(InvalidAttributeError) as error:
        editor_of(CHAIN).set_attribute("n_y", attribute, value)
    assert error.value.code == (code or Code.invalid_attribute)


def test_set_constant_keeps_the_type() -> None:
    nodes = "{ k = Constant<value_float = 1.0>() a = Mul(x, k) y = Add(a, w) }"
    editor = (
        editor_of("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}>" + nodes)
        .set_constant("w", [5, 6])
        .set_constant("k", 3)
    )
    np.testing.assert_array_equal(run(editor.proto(), x=np.ones(2, np.float32)), [8, 9])
    with pytest.raises(GraphError):
        editor.set_constant("a", 1)


def test_types_follow_new_shapes() -> None:
    text = "g (float[1,4] x) => (float[1,2,2] y) <int64[3] s = {0, 2, 2}> { a = Relu(x) y = Reshape(a, s) }"
    source = model(text)
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [1, 4]))
    editor = OnnxEditor(OnnxSource(source.SerializeToString()))
    proto = editor.reshape(parse_shapes(["x[batch,4]"], ["x"])).proto()
    declared = {info.name: dims_of(info.type) for info in (*proto.graph.value_info, *proto.graph.output)}
    assert declared == {"a": ("batch", 4), "y": ("batch", 2, 2)}


def test_batch() -> None:
    proto = editor_of("g (float[1,4] x, float[1,4] z) => (float[1,4] y) { y = Add(x, z) }").set_batch(8).proto()
    assert [dims_of(info.type) for info in (*proto.graph.input, *proto.graph.output)] == [(8, 4)] * 3


@pytest.mark.parametrize("text", ["x[1..8]", "x[2 3]", "[1]", "x[-2]"])
def test_wrong_shape(text: str) -> None:
    with pytest.raises(InvalidAttributeError):
        parse_shapes([text], ["x", "z"])


def test_function_and_what_it_computes() -> None:
    editor = editor_of("g (float[2] x) => (float[2] y) { y = own.Twice(x) }", further='"own" : 1', functions=FUNCTION)
    editor.rename("Twice/h", "sum").insert("own.Twice/sum", NodeText("Mul", [3.0]))
    function = editor.proto().functions[0]
    assert [node.op_type for node in function.node] == ["Constant", "Add", "Mul", "Relu"]
    np.testing.assert_array_equal(run(editor.proto(), x=np.ones(2, np.float32)), [6, 6])


def test_output_is_added_with_its_type() -> None:
    proto = editor_of(CHAIN).add_output("n_c").proto()
    assert [(info.name, dims_of(info.type)) for info in proto.graph.output] == [("y", (1, 4)), ("c", (1, 4))]


def test_strip() -> None:
    proto = model(CHAIN)
    node = proto.graph.node[0]
    node.doc_string = "made here"
    for key in ("pkg.torch.onnx.stack_trace", "namespace"):
        node.metadata_props.add(key=key, value="x")
    editor = OnnxEditor(OnnxSource(proto.SerializeToString()))
    editor.strip(("doc-strings", "stack-traces"))
    (stripped, *_) = editor.proto().graph.node
    assert (stripped.doc_string, [entry.key for entry in stripped.metadata_props]) == ("", ["namespace"])


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda editor: editor.rename("z", "w"), EvaluationError),
        (lambda editor: editor.remove("n_z"), EvaluationError),
        (lambda editor: editor.insert("z", NodeText("Relu")), EvaluationError),
        (lambda editor: editor.insert("a", NodeText("Reluu")), UnsupportedError),
        (lambda editor: editor.insert("a", NodeText("Add", ["z"])), EvaluationError),
        (lambda editor: editor.reshape({"z": (1,)}), EvaluationError),
        (lambda editor: editor.retype({"x": "f17"}), UnsupportedError),
        (lambda editor: editor.remove("b"), GraphError),
        (lambda editor: editor.add_output("y"), GraphError),
    ],
)
def test_impossible_edit(edit: Any, error: type[IRError]) -> None:
    with pytest.raises(error):
        edit(editor_of(CHAIN))


@pytest.mark.parametrize(
    ("shape", "code"), [(("x", (1, 5)), Code.no_broadcast), (("b", (3,)), Code.no_broadcast)], ids=str
)
def test_edit_that_makes_the_model_invalid(shape: tuple[str, Any], code: Code) -> None:
    editor = editor_of(CHAIN).reshape(dict([shape]))
    with pytest.raises(GraphError) as error:
        editor.proto()
    assert error.value.code == code
    assert error.value.location.layer_name == "n_c"


def test_errors_of_the_file_itself_do_not_prevent_edits() -> None:
    editor = editor_of("g (float[2] x) => (float[3] y) { a = Gone(x) b = Add(x, missing) y = Relu(a) }").rename(
        "a", "z"
    )
    assert nodes(editor)[0][2] == ["z"]
