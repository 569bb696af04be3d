"""Differences between ONNX files, as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ir_exec.debug import NetworkDiff, diff
from ir_exec.debug.diffs.listing import listed
from ir_exec.errors import IRError
from tests.onnx.files import external, model, write_model

TEXT = """g (float[1,4] x, float[4] b) => (float[1,4] y) <float[4] w = {1, 2, 3, 4}>
{ a = Relu(x) c = Add(a, b) d = Mul(c, w) y = Elu<alpha = 0.5>(d) }"""

LOOP = """g (int64 n, float[2] x, bool keep) => (float[2] y) {
    two = Constant<value_float = 2.0>()
    y = Loop(n, keep, x) <body = b (int64 i, bool on, float[2] s) => (bool on_out, float[2] s_out) {
        on_out = Identity(on) p = Mul(s, two) s_out = Add(p, x)
    }>
}"""


def content(text: str | onnx.ModelProto, **options: Any) -> bytes:
    return (text if isinstance(text, onnx.ModelProto) else model(text, **options)).SerializeToString()


def compare(a: Any, b: Any, **options: Any) -> NetworkDiff:
    return diff(content(a), content(b), **options)


def changes(report: NetworkDiff) -> dict[str, list[tuple[str, str | None, str | None]]]:
    return {
        layer.path: [(change.what, change.before, change.after) for change in layer.changes] for layer in report.changed
    }


def entries(report: NetworkDiff) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    return [(entry.path, entry.type) for entry in report.removed], [(entry.path, entry.type) for entry in report.added]


def test_equal_files() -> None:
    report = compare(TEXT, TEXT)
    assert (report.equal, report.unchanged, report.unit) == (True, 5, "node")


def test_order_of_nodes_and_of_fields_does_not_matter() -> None:
    left, other = (model("g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(x) y = Add(a, b) }") for _ in range(2))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in other.graph.node]
    del other.graph.node[:]
    other.graph.node.extend([nodes[1], nodes[0], nodes[2]])
    assert compare(left, other).equal


@pytest.mark.parametrize(
    ("old", "new", "path", "change"),
    [
        ("alpha = 0.5", "alpha = 0.75", "y", ("attribute alpha", "0.5", "0.75")),
        ("Elu<alpha = 0.5>", "LeakyRelu<alpha = 0.5>", "y", ("operator", "Elu", "LeakyRelu")),
        ("Mul(c, w)", "Mul(w, c)", "d", ("input 0", "c", "w")),
        ("Add(a, b)", "Add(x, b)", "c", ("input 0", "a", "x")),
        ("float[1,4] x", "float[2,4] x", "x", ("type", "f32[1,4]", "f32[2,4]")),
    ],
)
def test_changed_node(old: str, new: str, path: str, change: tuple[str, str, str]) -> None:
    report = compare(TEXT, TEXT.replace(old, new))
    assert not report.equal
    assert entries(report) == ([], [])
    assert list(changes(report)) == [path]
    assert change in changes(report)[path]


def test_constant_by_value() -> None:
    report = compare(TEXT, TEXT.replace("3, 4}", "3, 4.5}"))
    (layer,) = report.changed
    assert (layer.path, layer.type) == ("w", "initializer")
    assert layer.constant is not None
    assert layer.constant.max_abs == 0.5


def test_constant_in_another_place_of_the_file() -> None:
    text = "g (float[2] x) => (float[2] y) { w = Constant<value = float[2] {1, 2}>() y = Add(x, w) }"
    other = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    report = compare(text, other)
    assert changes(report) == {"w": [("stored as", "Constant", "initializer")]}


def test_inserted_node_with_numbers_shifted_behind_it() -> None:
    before = model("g (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = Relu(b) }")
    after = model("g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) c = Relu(b) y = Relu(c) }")
    for proto in (before, after):
        for position, node in enumerate(proto.graph.node):
            node.name = f"{node.op_type}_{position}"
    report = compare(before, after)
    assert entries(report) == ([], [("Neg_1", "Neg")])
    assert changes(report) == {"Relu_1": [("input 0", "a", "b"), ("name of output 0", "b", "c")]}


def test_all_names_differ() -> None:
    other = TEXT
    for old, new in (
        ("x", "image"),
        ("w", "weights"),
        ("a", "first"),
        ("c", "second"),
        ("d", "third"),
        ("y", "result"),
    ):
        for before, after in (("(", ","), ("(", ")"), (" ", " ="), ("] ", ","), ("] ", ")"), (", ", ")"), ("] ", " =")):
            other = other.replace(f"{before}{old}{after}", f"{before}{new}{after}")
    assert "image" in other
    report = compare(TEXT, other)
    assert entries(report) == ([], [])
    assert {what for changed in changes(report).values() for what, *_ in changed} <= {"name", "name of output 0"}


def test_headers_opsets_metadata_and_functions() -> None:
    function = '<domain: "own", opset_import: ["" : 17]> Twice (v) => (w) { w = Add(v, v) }'
    text = "g (float[2] x) => (float[2] y) { y = own.Twice(x) }"
    before = model(text, further='"own" : 1', functions=function)
    after = model(text, opset=18, further='"own" : 1', functions=function.replace("Add", "Mul"))
    after.metadata_props.add(key="author", value="me")
    after.producer_name = "hand"
    report = compare(before, after)
    assert len(report.order) == 3
    assert changes(report) == {"own.Twice/w": [("operator", "Add", "Mul")]}
    del after.functions[:]
    assert entries(compare(before, after))[0] == [("own.Twice", "function")]


def test_bodies() -> None:
    report = compare(LOOP, LOOP.replace("Mul(s, two)", "Add(s, two)"))
    assert changes(report) == {"y/body/p": [("operator", "Mul", "Add")]}
    report = compare(LOOP, LOOP.replace("Add(p, x)", "Add(p, p)"))
    assert changes(report) == {"y/body/s_out": [("input 1", "x", "p")]}
    assert compare(LOOP, LOOP.replace("x)", "image)").replace("[2] x", "[2] image")).changed[0].path == "x"


def test_types_that_follow_are_no_differences_of_their_own() -> None:
    protos = [model(TEXT), model(TEXT.replace("float[1,4] x", "float[2,4] x"))]
    for proto, batch in zip(protos, (1, 2), strict=True):
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [batch, 4]))
    report = compare(*protos)
    assert list(changes(report)) == ["x"]
    assert [layer.path for layer in report.consequences] == ["a"]


@pytest.mark.parametrize("text", ["Gone(x)", "Relu(missing)", "Relu(y)"], ids=["unknown", "dangling", "cycle"])
def test_invalid_files(text: str) -> None:
    before = "g (float[2] x) => (float[2] y) { a = NODE b = Neg(a) y = Relu(b) }".replace("NODE", text)
    assert compare(before, before).equal
    report = compare(before, before.replace("Neg(a)", "Abs(a)"))
    assert changes(report) == {"b": [("operator", "Neg", "Abs")]}


def test_damaged_file_is_compared_up_to_the_damage() -> None:
    complete = content(TEXT)
    report = diff(complete, complete[:60])
    assert not report.equal
    assert report.order
    assert "a" not in {entry.path for entry in report.removed}
    with pytest.raises(IRError):
        diff(complete, complete[:3])


def test_names_that_are_not_utf_8() -> None:
    damaged = content(TEXT.replace("float[1,4] x", "float[n,4] x")).replace(b"n", b"\xff")
    assert not diff(content(TEXT), damaged).equal
    assert list(listed(damaged))


def test_external_data(tmp_path: Path) -> None:
    paths = []
    for name, array in (("a", np.ones(4)), ("b", np.ones(4)), ("c", np.arange(4.0))):
        proto = model("g (double[4] x) => (double[4] y) { y = Add(x, w) }")
        proto.graph.initializer.append(external(array, "w", location=f"{name}.bin", offset="0", length="32"))
        (tmp_path / f"{name}.bin").write_bytes(array.astype(np.float64).tobytes())
        paths.append(write_model(tmp_path, proto, f"{name}.onnx"))
    assert diff(paths[0], paths[1]).equal
    (layer,) = diff(paths[0], paths[2]).changed
    assert layer.constant is not None
    assert layer.constant.max_abs == 2
    (tmp_path / "c.bin").unlink()
    report = diff(paths[0], paths[2])
    assert report.constants_not_compared == 1


def test_metadata_of_nodes_on_request() -> None:
    other = model(TEXT)
    other.graph.node[0].doc_string = "the first"
    other.graph.node[1].metadata_props.add(key="namespace", value="model")
    assert compare(TEXT, other).equal
    report = compare(TEXT, other, rt_info=True)
    assert [what for changed in changes(report).values() for what, *_ in changed] == [
        "doc string",
        "metadata namespace",
    ]


def test_narrow_and_string_constants() -> None:
    def with_tensor(array: Any) -> onnx.ModelProto:
        proto = model("g (float[2] x) => (float[2] y) { y = Gone(x, w) }")
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), "w"))
        return proto

    strings = [with_tensor(np.array(texts, object)) for texts in (["a", "b"], ["a", "c"])]
    assert compare(strings[0], strings[0]).equal
    assert [layer.path for layer in compare(*strings).changed] == ["w"]


def test_lines_for_git_name_every_part() -> None:
    before, after = (list(listed(content(text))) for text in (LOOP, LOOP.replace("Mul(s", "Add(s")))
    different = [(left, right) for left, right in zip(before, after, strict=True) if left != right]
    assert len(different) == 1
    assert list(listed(content(LOOP)[:-3]))
