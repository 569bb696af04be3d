"""Networks without a common name: inputs and outputs are paired by what they are, layers by structure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from ir_exec import EvaluationError, Model, build
from ir_exec.cli import main
from ir_exec.debug import compare

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)


def network(prefix: str, activation: str = "tanh", types: tuple[str, ...] = ("f32", "f32")) -> Model:
    a, b = (build.parameter([3, 4], element_type, name=f"{prefix}{index}") for index, element_type in enumerate(types))
    total = build.add(build.convert(a, "f32"), build.convert(b, "f32"), name=f"{prefix}sum")
    product = build.matmul(total, WEIGHTS, name=f"{prefix}product")
    last = getattr(build, activation)(product, name=f"{prefix}last")
    other = build.relu(product, name=f"{prefix}other")
    return build.model([build.result(last, name=f"{prefix}y"), build.result(other, name=f"{prefix}z")])


def onnx_file(path: Path, operator_type: str = "Tanh") -> Path:
    nodes = [
        helper.make_node("Add", ["p", "q"], ["r"], name="n0"),
        helper.make_node("MatMul", ["r", "w"], ["s"], name="n1"),
        helper.make_node(operator_type, ["s"], ["t"], name="n2"),
        helper.make_node("Relu", ["s"], ["u"], name="n3"),
    ]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names] for names in ("pq", "tu")]
    graph = helper.make_graph(nodes, "g", *ends, [numpy_helper.from_array(WEIGHTS, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for port in (*model.graph.input, *model.graph.output):
        port.type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [3, 4 if port.name in "pq" else 5]))
    onnx.save(model, path)
    return path


def test_ir_files() -> None:
    report = compare(network("first_"), network("other."), [X, X + 1])
    assert report.equal
    assert [
        (pairing.end, pairing.model, pairing.reference) for pairing in report.pairings if pairing.end == "output"
    ] == [
        ("output", "first_y", "other.y"),
        ("output", "first_z", "other.z"),
    ]
    assert report.unmatched == ()
    different = compare(network("first_"), network("other.", "sin"), [X, X + 1])
    assert [fault.layer_name for fault in different.faults] == ["first_last"]


def test_outputs_are_paired_in_the_order_of_the_model() -> None:
    """The order of computation may be another one, for example of the two states of an LSTM."""

    def states(prefix: str, *, is_reversed: bool) -> Model:
        x = build.parameter([3, 4], "f32", name=f"{prefix}x")
        # Different layers on both sides, so that only their positions pair the outputs.
        if is_reversed:
            second = build.subtract(np.float32(0), x)
            first = build.add(x, x)
        else:
            first = build.multiply(x, np.float32(2))
            second = build.multiply(x, np.float32(-1))
        return build.model([build.result(first, name=f"{prefix}y"), build.result(second, name=f"{prefix}z")])

    report = compare(states("a.", is_reversed=False), states("b.", is_reversed=True), [X])
    pairs = {pairing.model: pairing.reference for pairing in report.pairings if pairing.end == "output"}
    assert (report.verdict, pairs) == ("equal", {"a.y": "b.y", "a.z": "b.z"})


def test_an_onnx_file(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "m.onnx")
    report = compare(network("first_"), path, [X, X + 1])
    assert report.equal
    partners = {layer.layer_name: layer.partner for layer in report.layers}
    assert (partners["first_sum"], partners["first_product"], partners["first_last"]) == ("r", "s", "t")
    different = compare(network("first_"), onnx_file(path, "Sin"), [X, X + 1])
    assert different.verdict == "different"
    assert [fault.layer_name for fault in different.faults] == ["first_last"]


def test_by_type_where_the_order_differs() -> None:
    report = compare(
        network("first_", types=("f32", "i64")), network("b", types=("i64", "f32")), [X, X.astype(np.int64)]
    )
    assert report.equal
    assert {pairing.how for pairing in report.pairings if pairing.end == "input"} == {"type and shape"}


def test_unclear_pairs_are_requested(tmp_path: Path) -> None:
    x = build.parameter([3, 4], name="x")
    several = build.model([build.result(build.clamp(x, 0, 9), name="b"), build.result(build.tanh(x), name="a")])
    single = build.model(build.result(build.relu(build.parameter([3, 4], name="input")), name="c"))
    with pytest.raises(EvaluationError):
        compare(single, several, [X])
    report = compare(single, several, [X], pairs={"c": "b"})
    assert report.equal
    assert [(pair.end, pair.model, pair.how) for pair in report.pairings if pair.how == "asked"] == [
        ("output", "c", "asked")
    ]
    assert compare(single, several, [X], pairs={"c": "a"}).verdict == "different"
    with pytest.raises(EvaluationError):
        compare(single, several, [X], pairs={"c": "nothing"})
    single.save(tmp_path / "one.xml")
    several.save(tmp_path / "several.xml")
    files = str(tmp_path / "one.xml"), "--with", str(tmp_path / "several.xml")
    codes = {"c=b": 0, "c=a": 1, "c": 2, "=b": 2, "c=": 2, "no=b": 2}
    exit_codes = {text: CliRunner().invoke(main, ["compare", *files, "--map", text]).exit_code for text in codes}
    assert exit_codes == codes
