"""Sources of layers that nodes were lowered to, and their way through the formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from ir_exec import read_model
from ir_exec.build import Editor, multiply
from ir_exec.ir.sources import STACK_TRACE, CodeLocation
from ir_exec.model import Model
from ir_exec.rewrite import simplified
from tests.helpers.sources import EXPORTS, NET, find_line

EXPORTED = ["nested", "encoder", "choice"]


def read_sources(model: Model) -> dict[str, CodeLocation | None]:
    """The sources in the file, of all layers but inputs and outputs, by path."""
    return {
        path: node.source
        for node, path in model.graph.node_paths().items()
        if not (node.op_class.is_parameter or node.op_class.is_result)
    }


def collect_lines(model: Model) -> set[tuple[str | None, int | None, str | None, str | None]]:
    sources = read_sources(model).values()
    return {(source.file, source.line, source.function, source.module) for source in sources if source is not None}


@pytest.mark.parametrize("name", EXPORTED)
def test_each_layer_of_an_export_has_a_line(name: str) -> None:
    for source in read_sources(read_model(EXPORTS / f"{name}.onnx")).values():
        assert source is not None
        assert source.file == NET
        assert source.line == find_line(source.code or "") or source.code == "x = self.shared(x)"


def test_line_is_that_of_the_module() -> None:
    layers = read_sources(read_model(EXPORTS / "nested.onnx"))
    sum_of_block, weight = layers["node_add_1"], layers["stem.0.weight"]
    assert sum_of_block is not None and weight is not None  # noqa: PT018
    assert (sum_of_block.module, sum_of_block.module_class) == ("blocks.1", "net.ConvBlock")
    assert sum_of_block.line == find_line("return functional.relu(y + x)")
    assert (weight.module, weight.line) == ("stem.0", find_line("x = self.stem(image)"))
    assert [frame.file for frame in sum_of_block.trace] == [NET, NET]


@pytest.mark.parametrize("name", [f"{name}_traced" for name in EXPORTED[:2]])
def test_the_tracing_exporter_gives_modules(name: str) -> None:
    expected = (
        {"embed", "layers.0.attention.query", "layers.0", "norm"} if "encoder" in name else {"blocks.0", "shared"}
    )
    model = read_model(EXPORTS / f"{name}.onnx")
    modules = {source.module for source in model.sources.values()}
    assert model.sources.keys() == {node for node in model.graph.nodes if node.name in read_sources(model)}
    assert None not in modules
    assert expected <= modules


@pytest.mark.parametrize("name", EXPORTED)
def test_sources_survive_both_formats(name: str, tmp_path: Path) -> None:
    model = read_model(EXPORTS / f"{name}.onnx")
    model.save(tmp_path / "a.xml")
    as_ir = read_model(tmp_path / "a.xml")
    assert read_sources(as_ir) == read_sources(model)
    exported = as_ir.to_onnx()
    (tmp_path / "b.onnx").write_bytes(exported.SerializeToString())
    as_onnx = read_model(tmp_path / "b.onnx")
    as_onnx.save(tmp_path / "c.xml", compress_to_fp16=True)
    for other in (as_onnx, read_model(tmp_path / "c.xml")):
        assert None not in read_sources(other).values()
        assert collect_lines(other) == collect_lines(model)


def test_functions_of_equal_layers_are_shared(tmp_path: Path) -> None:
    model = read_model(EXPORTS / "encoder.onnx")
    proto = model.to_onnx(target="onnxruntime")
    assert not [node for function in proto.functions for node in function.node if node.metadata_props]
    assert all(node.metadata_props for node in proto.graph.node)


def test_simplified_models_keep_sources() -> None:
    model = simplified(read_model(EXPORTS / "encoder.onnx"))
    assert None not in read_sources(model).values()


def test_edited_layers_inherit_the_source() -> None:
    model = read_model(EXPORTS / "nested.onnx")
    before = read_sources(model)
    editor = Editor(model)
    editor.replace("node_tanh", lambda x: multiply(x, 2.0))
    editor.insert("node_add", lambda x: multiply(x, 3.0))
    edited = read_sources(editor.model())
    added = [edited[name] for name in edited if name not in before]
    assert edited["node_tanh"] == before["node_tanh"]
    assert added
    assert set(added) <= {before["node_tanh"], before["node_add"]}


def test_nodes_of_a_repeated_function_share_their_source() -> None:
    inner = helper.make_node("Relu", ["a"], ["b"])
    inner.metadata_props.add(key=STACK_TRACE, value='File "/net.py", line 3, in forward\n    code')
    function = helper.make_function("own", "Block", ["a"], ["b"], [inner], [helper.make_opsetid("", 21)])
    nodes = [helper.make_node("Block", [f"x{at}"], [f"x{at + 1}"], domain="own") for at in range(3)]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])] for name in ("x0", "x3")]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    proto = helper.make_model(helper.make_graph(nodes, "g", *ends), opset_imports=opsets, functions=[function])
    model = read_model(proto.SerializeToString())
    layers = [node for node in model.graph.nodes if node.type == "ReLU"]
    assert [node.source and (node.source.file, node.source.line) for node in layers] == [("/net.py", 3)] * 3
    assert len({id(node.layer.rt_info) for node in layers}) == 1


def test_long_metadata_is_ignored() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r")
    node.metadata_props.add(key=STACK_TRACE, value='File "/net.py", line 3, in forward\n' * 10**4)
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])] for name in ("x", "y")]
    model = read_model(helper.make_model(helper.make_graph([node], "g", *ends)).SerializeToString())
    assert model.sources == {}
