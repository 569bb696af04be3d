"""Functions of ONNX files that are replaced by their nodes, without a change of the outputs in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from ir_exec.onnx.editing.inlining import calls_of, count_nodes, inline_calls

HEAD = '<ir_version: 9, opset_import: ["": 17, "lib": 1]>'

MODELS = {
    "attributes": """
        net (float[2,4] x) => (float[2,4] y) {
            [first] a = lib.Leaky <alpha: float = 0.5> (x)
            [second] b = lib.Leaky (a)
            y = Neg(b)
        }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Leaky <alpha: float = 0.25> (X) => (Y) { T = Sub(X, X) U = Add(X, T) Y = LeakyRelu <alpha: float = @alpha> (U) }
    """,
    "nested": """
        net (float[2,4] x) => (float[2,4] y) { [outer] y = lib.Twice(x) }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Twice (X) => (Y) { [one] T = lib.Step(X) [two] Y = lib.Step(T) }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Step (X) => (Y) { C = Constant <value = float {2.0}> () T = Mul(X, C) Y = Sin(T) }
    """,
    "body": """
        net (float[2,4] x, bool c) => (float[2,4] y) { [outer] y = lib.Choose(x, c) }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Choose (X, C) => (Y) {
            T = Neg(X)
            Y = If (C) <
                then_branch = then_graph () => (r) { r = Add(T, X) },
                else_branch = else_graph () => (s) { s = Mul(T, X) }
            >
        }
    """,
    "call in a body": """
        net (float[2,4] x, bool c) => (float[2,4] y) {
            y = If (c) <
                then_branch = then_graph () => (r) { [call] r = lib.Step(x) },
                else_branch = else_graph () => (s) { s = Neg(x) }
            >
        }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Step (X) => (Y) { T = Exp(X) Y = Sin(T) }
    """,
    "optional input": """
        net (float[2,4] x) => (float[2,4] y, float[2,4] z) {
            [call] y = lib.Bound(x)
            k = Constant <value = float {0.1}> ()
            z = lib.Bound(x, k)
        }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Bound (X, L) => (Y) { Y = Clip(X, L) }
    """,
    "passed through": """
        net (float[2,4] x) => (float[2,4] y, float[2,4] z) { [call] y, z = lib.Both(x) }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Both (X) => (X, Z) { Z = Neg(X) }
    """,
    "same names": """
        net (float[2,4] x) => (float[2,4] y) {
            [call] T = lib.Step(x)
            U = Neg(T)
            y = lib.Step(U)
        }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Step (U) => (Y) { T = Exp(U) Y = Sin(T) }
    """,
}
X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


def parse(name: str) -> ModelProto:
    return onnx.parser.parse_model(HEAD + MODELS[name])


def run(model: ModelProto, *, condition: bool = True) -> list[Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": X, "c": np.array(condition)}
    return list(session.run(None, {port.name: feeds[port.name] for port in session.get_inputs()}))


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "passed through"])
def test_inlined_calls_compute_the_same(name: str, condition: bool) -> None:
    model = parse(name)
    inlined = inline_calls(model)
    onnx.checker.check_model(inlined)
    assert not inlined.functions
    for left, right in zip(run(model, condition=condition), run(inlined, condition=condition), strict=True):
        assert np.array_equal(left, right)
    assert parse(name) == model, "the model itself is not changed"
    assert count_nodes(model) == count_nodes(inlined)


def test_output_that_is_an_input() -> None:
    inlined = inline_calls(parse("passed through"))
    y, z = run(inlined)
    assert np.array_equal(y, X)
    assert np.array_equal(z, -X)


def test_names_have_the_path_of_the_call() -> None:
    inlined = inline_calls(parse("nested"))
    assert [node.output[0] for node in inlined.graph.node] == [
        "outer/one/C",
        "outer/one/T",
        "outer/T",
        "outer/two/C",
        "outer/two/T",
        "y",
    ]


def test_names_that_are_taken() -> None:
    model = parse("nested")
    model.graph.node.add(op_type="Neg", input=["x"], output=["outer/T"])
    names = [name for node in inline_calls(model).graph.node for name in node.output]
    assert len(set(names)) == len(names)


def test_calls_that_remain() -> None:
    """A function that calls itself, and one that imports another version."""
    text = """
        net (float[2,4] x) => (float[2,4] y) { [call] y = lib.Again(x) }
        <domain: "lib", opset_import: ["": 17, "lib": 1]>
        Again (X) => (Y) { T = Neg(X) Y = lib.Again(T) }
    """
    recursive = inline_calls(onnx.parser.parse_model(HEAD + text))
    assert [node.op_type for node in recursive.graph.node] == ["Neg", "Again"]
    assert len(recursive.functions) == 1
    older = parse("nested")
    older.functions[1].opset_import[0].version = 16
    assert [node.op_type for node in inline_calls(older).graph.node] == ["Step", "Step"]


def test_calls_of_a_function() -> None:
    model = parse("attributes")
    assert list(calls_of(model, "Leaky")) == list(calls_of(model, "lib.Leaky")) == ["first", "second"]
    assert not list(calls_of(model, "Step"))
