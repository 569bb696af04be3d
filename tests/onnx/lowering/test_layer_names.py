"""Names of the layers that nodes become."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx import parser

import ir_exec
from ir_exec.cli import main
from ir_exec.onnx.lowering.layer_names import node_of_layer
from tests.onnx.files import model, write_model


def names(text: str, *, opset: int = 17, functions: str = "", further: str = "") -> dict[str, str]:
    """The type of each layer by its name; nodes are named after their first outputs where the text names none."""
    proto = model(text, opset=opset, functions=functions, further=further)
    return {node.name: node.type for node in ir_exec.read_model(proto.SerializeToString()).graph.nodes}


def test_a_convolution_and_its_bias() -> None:
    text = "g (float[1,2,4,4] x, float[3,2,1,1] w, float[3] b) => (float[1,3,4,4] y) { [conv] y = Conv(x, w, b) }"
    types = names(text)
    assert types["conv"] == "Add"
    assert types["conv/WithoutBiases"] == "Convolution"
    assert types["conv/Reshape"] == "Reshape"


def test_a_product_without_a_bias() -> None:
    types = names("g (float[1,2,4,4] x, float[3,2,1,1] w) => (float[1,3,4,4] y) { [conv] y = Conv(x, w) }")
    assert types["conv"] == "Convolution"
    types = names("g (float[2,4] x, float[4,3] w, float[3] b) => (float[2,3] y) { [fc] y = Gemm(x, w, b) }")
    assert types["fc"] == "Add"
    assert types["fc/WithoutBiases"] == "MatMul"


def test_layers_of_one_type_are_numbered() -> None:
    types = names("g (float[2,4] x, float[4] s) => (float[2,4] y) { [norm] y = LayerNormalization(x, s) }")
    assert {name for name in types if name.startswith("norm")} > {"norm"}
    assert all(node_of_layer(name, {"norm"}) == "norm" for name in types if name not in ("x", "s", "y/sink_port_0"))
    assert not [name for name in types if name.rpartition("_")[0] in set(types.values())]


def test_a_constant_node_has_its_name() -> None:
    text = "g (float[2] x) => (float[2] y) { [two] c = Constant <value = float[2] {1.0, 2.0}> () y = Add(x, c) }"
    assert names(text)["two"] == "Const"


def test_nodes_of_functions_stand_below_the_call() -> None:
    text = "g (float[2] x) => (float[2] y) { [call] y = own.twice(x) }"
    function = '<domain: "own", opset_import: ["": 17]> twice (a) => (b) { [inner] h = Abs(a) [outer] b = Add(h, h) }'
    types = names(text, further='"own" : 1', functions=function)
    assert types["call/inner"] == "Abs"
    assert types["call/outer"] == "Add"


def test_nodes_of_bodies_keep_their_names() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
        [choice] y = If (c) <
            then_branch = t () => (float[2] a) { [left] a = Abs(x) },
            else_branch = e () => (float[2] b) { [right] b = Neg(x) }
        >
    }"""
    network = ir_exec.read_model(model(text).SerializeToString())
    assert {"choice", "left", "right"} <= {node.name for node in network.graph.all_nodes()}


def test_the_longest_name_of_a_node_counts() -> None:
    assert node_of_layer("a/b/Const_1", {"a", "a/b"}) == "a/b"
    assert node_of_layer("a/b", {"a", "a/b"}) == "a/b"
    assert node_of_layer("a/c", {"a", "a/b"}) == "a"
    assert node_of_layer("ab", {"a"}) is None


def test_the_language_of_the_tests_names_nodes() -> None:
    assert parser.parse_graph("g (float[2] x) => (float[2] y) { [n] y = Abs(x) }").node[0].name == "n"


@pytest.mark.parametrize("node", ["Identity(x)", "Dropout(x)", "Cast<to = 1>(x)", "Reshape(x, s)"])
def test_an_input_keeps_its_only_name(node: str, tmp_path: Path) -> None:
    """The names of values that are the input itself would be further names of it."""
    text = f"g (float[2] x) => (float[2] y) {{ s = Constant<value_ints = [2]>() a = {node} y = Neg(a) }}"
    path = tmp_path / "model.xml"
    ir_exec.read_model(model(text).SerializeToString()).save(path)
    converted = ir_exec.read_model(path)
    assert [(port.name, port.names) for port in converted.inputs] == [("x", {"x"})]
    assert [port.name for port in converted.outputs] == ["y"]


@pytest.mark.parametrize(
    "node", ["Identity(x)", "Reshape(x, s)", "Squeeze(x)", "Expand(x, s)", "Transpose<perm = [0]>(x)"]
)
def test_conversion_gives_an_input_no_further_name(node: str, tmp_path: Path) -> None:
    """Layers without effect are removed by default."""
    text = f"g (float[2] x) => (float[2] y) {{ s = Constant<value_ints = [2]>() a = {node} y = Neg(a) }}"
    source, path = write_model(tmp_path, model(text)), tmp_path / "converted.xml"
    result = CliRunner().invoke(main, ["convert", str(source), "-o", str(path)])
    assert result.exit_code == 0, result.output
    converted = ir_exec.read_model(path)
    assert [(port.name, port.names) for port in converted.inputs] == [("x", {"x"})]
