"""Representations of a model for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir_exec
from tests.helpers.facts import fault_with, mentions
from tests.helpers.ir_text import layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText
from tests.report.test_html import texts

SAMPLES = Path(__file__).parents[1] / "samples"
GATHER = SAMPLES / "gather_elements.xml"

GNN_STEP = """{} 'gnn_step': 18 layers, 4 constants of 156 bytes
  input   features  f32[?,4]
  input   edges     i64[2,?]
  output  hidden    f32[?,8]"""


def test_models_show_their_inputs_and_outputs() -> None:
    model = ir_exec.read_model(SAMPLES / "gnn_step.xml")
    assert repr(model) == GNN_STEP.format("Model")
    compiled = ir_exec.compile_model(model)
    assert repr(compiled) == GNN_STEP.format("CompiledModel")
    model.reshape({"features": "10,4"})
    assert mentions("features", "f32[10,4]") in repr(model).splitlines()
    assert repr(compiled) == GNN_STEP.format("CompiledModel")


def test_notebooks_show_a_table() -> None:
    model = ir_exec.read_model(SAMPLES / "gnn_step.xml")
    cells = ["input", "features", "f32[?,4]", "input", "edges", "i64[2,?]", "output", "hidden", "f32[?,8]"]
    for thing, class_name in ((model, "Model"), (ir_exec.compile_model(model), "CompiledModel")):
        html = thing._repr_html_()
        assert texts(html, "caption") == [mentions(class_name, "gnn_step", 18, 4, 156)]
        assert texts(html, "td") == cells


def test_unsupported_layers_are_counted_with_names_on_one_line() -> None:
    dims = (1, 2)
    unknown = layer(1, "Unknown", opset="extension", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)])
    xml = net([parameter(0, dims=dims, name="a&#10;b"), unknown, result(2, dims=dims)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    model = ir_exec.read_model(xml)
    first, second, _ = repr(model).splitlines()
    assert first == mentions("net", 3, 0, 0, 1)
    assert second == r"  input   'a\nb'  f32[1,2]"


@pytest.mark.parametrize(("count", "lines"), [(20, 22), (21, 23), (200, 23)])
def test_long_lists_are_cut(count: int, lines: int) -> None:
    text = NetworkText()
    text.result(text.op("Concat", *[text.parameter("1") for _ in range(count)], axis=0))
    shown = repr(ir_exec.read_model(text.file().xml)).splitlines()
    assert len(shown) == lines
    assert (f"... {count - 20} more" in shown[-2]) == (count > 20)


def test_a_reshape_of_another_input_keeps_the_first() -> None:
    text = NetworkText()
    text.result(text.op("Concat", text.parameter("?,3"), text.parameter("?,3"), axis=0))
    model = ir_exec.read_model(text.file().xml)
    model.reshape({0: "2,3"})
    model.reshape({1: "5,3"})
    assert [str(port.shape) for port in (*model.inputs, *model.outputs)] == ["[2,3]", "[5,3]", "[7,3]"]
    with pytest.raises(ir_exec.ShapeError):
        model.reshape({1: "5,4"})
    assert str(model.outputs[0].shape) == "[7,3]"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: ir_exec.read_model(5),
            ir_exec.ParseError,
            fault_with(actual="int", expected=mentions("openvino.Model")),
        ),
        (
            lambda: ir_exec.read_model(GATHER, weights=5),
            ir_exec.WeightsError,
            fault_with(actual="int", expected=mentions()),
        ),
        (lambda: ir_exec.read_model(GATHER).save(5), ir_exec.IRError, fault_with(actual="int", expected=mentions())),
        (lambda: ir_exec.read_model(GATHER).reshape(5), ir_exec.EvaluationError, fault_with(2, expected=mentions())),
        (
            lambda: ir_exec.read_model(GATHER).reshape({0: 5}),
            ir_exec.ShapeError,
            fault_with(actual=5, expected=mentions("1,?,1..512", "[1, None, (1, 512)]")),
        ),
        (
            lambda: ir_exec.read_model(GATHER).reshape({0: [1.5, 2, 3]}),
            ir_exec.ShapeError,
            fault_with(actual="[1.5, 2, 3]", expected=mentions("1,?,1..512", "[1, None, (1, 512)]")),
        ),
        (lambda: ir_exec.read_model(GATHER).reshape({None: "1"}), ir_exec.EvaluationError, fault_with("None")),
    ],
)
def test_arguments_of_the_wrong_kind(call: Callable[[], object], error: type[Exception], words: fault_with) -> None:
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ir_exec.IRError)
    assert caught.value == words
    assert caught.value.code != "IR999"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"batch": -1}, "IR705", fault_with("batch", actual=-1, expected=mentions(0))),
        ({"batch": "2"}, "IR705", fault_with("batch", actual="'2'", expected=mentions(0))),
        ({"shapes": 5}, "IR705", fault_with(actual="int", expected=mentions("x[1..8,3]", "y[2]"))),
        (
            {"shapes": {"data": 5}},
            "IR505",
            fault_with(actual=5, expected=mentions("1,?,1..512", "[1, None, (1, 512)]")),
        ),
        ({"weights": 5}, "IR201", fault_with(actual="int", expected=mentions())),
        ({"target": 5}, "IR705", fault_with(5)),
    ],
)
def test_arguments_of_a_check(arguments: dict[str, Any], code: str, words: fault_with) -> None:
    (diagnostic,) = ir_exec.check_model(GATHER, **arguments).diagnostics
    assert diagnostic.code == code
    assert diagnostic == words


@pytest.mark.parametrize(
    "text", ['<?xml version="1.0"?><net secret="1"/>', '\ufeff\n <net name="secret">' + "x" * 9999]
)
def test_text_is_no_path(text: str) -> None:
    with pytest.raises(ir_exec.IRError) as caught:
        ir_exec.read_model(text)
    assert caught.value.code == "IR001"
    assert str(caught.value) == mentions("XML")
    assert 'text.encode("utf-8")' in str(caught.value)
    report = ir_exec.check_model(text)
    assert report.path is None
    assert "secret" not in str(caught.value) + str(report) + repr(report)
    assert ir_exec.check_model(text.encode()).diagnostics[0].code != "IR001"


def test_reshaped_network_is_saved(tmp_path: Path) -> None:
    model = ir_exec.read_model(SAMPLES / "gnn_step.xml")
    unchanged = {layer.name: layer for layer in model.document.layers}
    model.reshape({"features": "10,4", "edges": "2,1..30"})
    model.save(tmp_path / "fixed.xml")
    again = ir_exec.read_model(tmp_path / "fixed.xml")
    assert [str(port.shape) for port in again.inputs] == ["[10,4]", "[2,1..30]"]
    assert [str(port.shape) for port in again.outputs] == [str(port.shape) for port in model.outputs]
    declared = {layer.name: layer for layer in again.document.layers}
    assert declared["features"].outputs[0].dims == (10, 4)
    assert declared["hidden"].inputs[0].dims == (10, 8)
    report = ir_exec.check_model(tmp_path / "fixed.xml")
    assert (report.errors, report.warnings) == ((), ())
    constants = [layer for layer in again.document.layers if layer.is_constant]
    assert constants
    for constant in constants:
        ports = zip(unchanged[constant.name].outputs, constant.outputs, strict=True)
        assert constant.outputs == tuple(port.model_copy(update={"line": now.line}) for port, now in ports)


def test_bodies_of_reshaped_network_are_saved(tmp_path: Path) -> None:
    from ir_exec import build

    x = build.parameter("?,3", name="x")
    (total,) = build.loop(
        3, None, lambda i, before: (None, [build.add(before, x)], []), carried=[build.multiply(x, 0.0)]
    )
    model = build.model(build.result(total, name="total")).reshape({"x": "5,3"})
    model.save(tmp_path / "loop.xml")
    again = ir_exec.read_model(tmp_path / "loop.xml")
    (loop,) = (layer for layer in again.document.layers if layer.type == "Loop")
    inside = [layer for layer in loop.bodies[0].layers if layer.type in ("Parameter", "Add")]
    assert [port.dims for layer in inside for port in layer.outputs if port.precision == "FP32"] == [(5, 3)] * 3
    assert [layer.data.get("shape") for layer in inside if layer.type == "Parameter"] == ["", "5,3", "5,3"]
    report = ir_exec.check_model(tmp_path / "loop.xml")
    assert (report.errors, report.warnings) == ((), ())
