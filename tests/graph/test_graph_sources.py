"""Sources of layers for which the file does not contain one."""

from __future__ import annotations

import pytest

from ir_exec import build, read_model
from ir_exec.build import Value
from ir_exec.build.values import derived_from
from ir_exec.graph.sources import find_sources
from ir_exec.ir import source_info
from ir_exec.ir.sources import CodeLocation, module_entries
from ir_exec.model import Model
from tests.helpers.sources import EXPORTS, NET, find_line


def of_module(module: str, x: Value, name: str) -> Value:
    with derived_from(source_info(module_entries(module, name))):
        return build.relu(x, name=name)


def modules(model: Model) -> dict[str, str | None]:
    return {node.name: source.module for node, source in model.sources.items()}


def test_layer_gets_module_containing_its_readers() -> None:
    x = build.parameter([2], "f32", name="x")
    shared = build.abs(x, name="shared")
    ends = [of_module(module, shared, module) for module in ("a.b.c", "a.b.d")]
    model = build.model([build.result(end, name=f"out{at}") for at, end in enumerate(ends)], [x])
    assert modules(model) == {"a.b.c": "a.b.c", "a.b.d": "a.b.d", "shared": "a.b"}


def test_layer_without_readers_gets_source_of_its_input() -> None:
    x = build.parameter([2], "f32", name="x")
    end = build.abs(build.abs(of_module("a.b", x, "a"), name="after"), name="last")
    assert modules(build.model([end], [x])) == {"a": "a.b", "after": "a.b", "last": "a.b"}


def test_a_model_without_sources_has_none() -> None:
    x = build.parameter([2], "f32", name="x")
    assert build.model([build.abs(x)], [x]).sources == {}


def test_branch_layers_belong_to_branch_module() -> None:
    model = read_model(EXPORTS / "choice.onnx")
    line = find_line("chosen = torch.cond(x.sum() > 0, self.if_positive, self.if_negative, (x,))")
    for scope, graph in model.graph.scopes():
        for node in graph.nodes if scope else ():
            if not (node.op_class.is_parameter or node.op_class.is_result):
                source = model.sources[node]
                assert (source.file, source.line, source.module) == (NET, line, "")


@pytest.mark.parametrize(("framework", "module"), [("tensorflow", "model.dense"), ("pytorch", None)])
def test_scopes_of_tensorflow_are_modules(framework: str, module: str | None) -> None:
    x = build.parameter([2], "f32", name="x")
    model = build.model([build.relu(x, name="model/dense/Relu")], [x])
    document = build.network.with_conversion_parameters(model.document, {"framework": framework})
    (node,) = (node for node in model.graph.nodes if node.type == "ReLU")
    expected = None if module is None else CodeLocation(module=module)
    assert find_sources(model.graph, document).get(node) == expected
