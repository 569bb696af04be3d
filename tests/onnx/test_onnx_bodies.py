"""A fault in a body or a function is found once, without unrolling: the rest is not checked."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import NodeProto

from ir_exec import IRError, check_model
from ir_exec.onnx.checking.definitions import broken_constraints
from ir_exec.onnx.lowering import graphs
from tests.onnx.files import model

FAULT = "Softmax<axis = 7>"


@pytest.fixture
def converted_types(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the nodes that are converted."""
    types: list[str] = []

    def record_type(node: NodeProto, *arguments: Any) -> list[IRError]:
        types.append(node.op_type)
        return broken_constraints(node, *arguments)

    monkeypatch.setattr(graphs, "broken_constraints", record_type)
    return types


LOOPS = {
    "Loop": f"""g (float[2] x) => (float[2] y) {{ n = Constant<value_int = 1000>()
        y = Loop<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w)
        {{ d = Identity(c) a = Neg(v) w = {FAULT}(a) }}>(n, , x) }}""",
    "Loop in a Loop": f"""g (float[2] x) => (float[2] y) {{ n = Constant<value_int = 1000>()
        y = Loop<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w)
        {{ d = Identity(c) w = Loop<body = b (int64 j, bool e, float[2] s) => (bool f, float[2] t)
        {{ f = Identity(e) t = {FAULT}(s) }}>(n, , v) }}>(n, , x) }}""",
    "Loop with a list": f"""g (float[2] x) => (float[2] y) {{ n = Constant<value_int = 1000>()
        s = SequenceConstruct(x)
        z = Loop<body = b (int64 i, bool c, seq(float[2]) v) => (bool d, seq(float[2]) w)
        {{ d = Identity(c) a = {FAULT}(x) w = SequenceInsert(v, a) }}>(n, , s)
        y = ConcatFromSequence<axis = 0>(z) }}""",
    "If": f"""g (float[2] x, bool c) => (float[2] y) {{
        y = If(c) <then_branch = t () => (a) {{ a = {FAULT}(x) }}, else_branch = e () => (b) {{ b = Neg(x) }}> }}""",
    "Scan": f"""g (float[3] x, float[1000,3] z) => (float[3] y, float[1000,3] w) {{
        y, w = Scan<num_scan_inputs = 1, body = b (float[3] s, float[3] e) => (float[3] t, float[3] o)
        {{ t = {FAULT}(s) o = Identity(e) }}>(x, z) }}""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_fault_in_body_is_one_finding(name: str, converted_types: list[str]) -> None:
    report = check_model(model(LOOPS[name]).SerializeToString())
    assert [(error.code, error.location.layer_type) for error in report.errors] == [("IR503", "Softmax")]
    assert report.layers_not_checked > 0
    assert len(converted_types) < 40


def test_loop_with_unknown_operator_is_not_unrolled(converted_types: list[str]) -> None:
    text = """g (float[2] x) => (float[2] y) { n = Constant<value_int = 1000>()
        y = Loop<body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w)
        { d = Identity(c) a = own.F(v) w = Neg(a) }>(n, , x) }"""
    report = check_model(model(text, further='"own" : 1').SerializeToString())
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["IR901"]
    assert len(converted_types) < 40


def functions(depth: int, last: str) -> str:
    """Functions that call the next one twice; the last one has a node."""
    texts = [f'<domain: "own", opset_import: ["" : 17, "own" : 1]> F0 (a) => (b) {{ {last} }}']
    for level in range(1, depth + 1):
        inner = f"c = own.F{level - 1}(a) b = own.F{level - 1}(c)"
        texts.append(f'<domain: "own", opset_import: ["" : 17, "own" : 1]> F{level} (a) => (b) {{ {inner} }}')
    return " ".join(texts)


def nest(depth: int, last: str) -> bytes:
    body = f"g (float[2] x) => (float[2] y) {{ y = own.F{depth}(x) }}"
    return model(body, further='"own" : 1', functions=functions(depth, last)).SerializeToString()  # type: ignore[no-any-return]


def test_repeated_faulty_calls_are_expanded_once(converted_types: list[str]) -> None:
    report = check_model(nest(12, f"b = {FAULT}(a)"))
    assert [error.code for error in report.errors] == ["IR503"]
    assert converted_types.count("Softmax") == 1


def test_calls_with_too_many_nodes_are_refused_in_advance(converted_types: list[str]) -> None:
    report = check_model(nest(30, "b = Neg(a)"))
    assert [error.code for error in report.errors] == ["IR006"]
    assert len(converted_types) < 10


def test_nested_functions_within_the_limit_are_clean() -> None:
    assert not check_model(nest(6, "b = Neg(a)")).errors


def test_recursive_functions_are_one_finding() -> None:
    texts = """<domain: "own", opset_import: ["" : 17, "own" : 1]> F (a) => (b) { c = own.G(a) b = own.F(c) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]> G (a) => (b) { b = own.F(a) }"""
    proto = model("g (float[2] x) => (float[2] y) { y = own.F(x) }", further='"own" : 1', functions=texts)
    assert "IR107" in {error.code for error in check_model(proto.SerializeToString()).errors}
