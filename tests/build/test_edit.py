"""Editing: requested changes only, all else is written as in the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Editor
from ir_exec.build.draft import OrderedLayers
from ir_exec.codes import Code
from ir_exec.ir import Layer
from ir_exec.types import Array
from tests.helpers.facts import naming
from tests.helpers.network_text import NetworkText

SAMPLES = Path(__file__).parents[2] / "samples"


def small() -> ir_exec.Model:
    """relu(x * 2 + 1) and the largest element of each row, which is not named."""
    x = build.parameter("?,3", name="x")
    doubled = build.multiply(x, build.constant(np.float32(2), name="two"), name="double")
    y = build.relu(build.add(doubled, 1.0, name="plus"), name="relu")
    return build.model([build.result(y, name="y"), build.reduce_max(y, [1], name="largest")])


def run(model: ir_exec.Model, *arrays: Array) -> list[Array]:
    return list(ir_exec.compile_model(model)(list(arrays)).values())


def save_and_read(model: ir_exec.Model, folder: Path) -> ir_exec.Model:
    """The model from its file, which has no faults."""
    model.save(folder / "edited.xml")
    report = ir_exec.check_model(folder / "edited.xml")
    assert [str(finding) for finding in (*report.errors, *report.warnings)] == []
    return ir_exec.read_model(folder / "edited.xml")


def plain(layer: Layer) -> dict[str, object]:
    """A layer without the places of its elements and constants."""
    record = layer.model_dump(exclude={"line", "data_line"})
    for port in (*record["inputs"], *record["outputs"]):
        del port["line"]
    record["data"].pop("offset", None)
    return record


DATA = np.array([[1, -2, 3]], np.float32)


def test_without_edits_nothing_changes() -> None:
    for path in (sample for sample in SAMPLES.glob("*.xml") if sample.stem != "broken"):
        model = ir_exec.read_model(path)
        again = Editor(model).model()
        assert again.document.layers == model.document.layers
        assert {(*edge.model_dump(exclude={"line"}).values(),) for edge in again.document.edges} == {
            (*edge.model_dump(exclude={"line"}).values(),) for edge in model.document.edges
        }
        assert again.types == model.types


def test_inputs_outputs_and_tensors_are_renamed(tmp_path: Path) -> None:
    model = Editor(small()).rename("x", "image").rename("y", "scores").rename("largest", "best").model()
    again = save_and_read(model, tmp_path)
    assert [port.name for port in (*again.inputs, *again.outputs)] == ["image", "scores", "best"]
    assert np.array_equal(run(again, DATA)[1], [7])
    assert again.document.layers[0].outputs[0].names == ("image",)


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda editor: editor.rename("z", "w"), Code.unknown_input),
        (lambda editor: editor.rename("x", "relu"), Code.duplicate_layer_name),
        (lambda editor: editor.set_attribute("largest", "keep", True), Code.unknown_attribute),
        (lambda editor: editor.set_attribute("largest", "keep_dims", "perhaps"), Code.invalid_attribute),
        (lambda editor: editor.set_attribute("biggest", "keep_dims", True), Code.unknown_input),
        (lambda editor: editor.set_constant("relu", 1), Code.graph),
        (lambda editor: editor.reshape({"y": [1, 3]}), Code.unknown_input),
        (lambda editor: editor.reshape({"x": [1.5]}), Code.impossible_shape),
        (lambda editor: editor.remove("x"), Code.graph),
        (lambda editor: editor.insert("y", lambda y: build.matmul(y, np.ones((7, 7), np.float32))), Code.dims_differ),
        (lambda editor: editor.insert("x", build.exp, before="relu"), Code.graph),
        (lambda editor: editor.replace("x", lambda: None), Code.graph),
        (lambda editor: editor.cut(inputs=["nothing"]), Code.unknown_input),
    ],
)
def test_what_cannot_be(edit: Callable[[Editor], object], code: Code) -> None:
    with pytest.raises(ir_exec.IRError) as caught:
        edit(Editor(small()))
    assert caught.value.code == code


def test_set_attribute_updates_later_declarations(tmp_path: Path) -> None:
    model = Editor(small()).set_attribute("largest", "keep_dims", True).model()
    again = save_and_read(model, tmp_path)
    assert str(again.outputs[1].shape) == "[?,1]"
    before = {layer.name: plain(layer) for layer in small().document.layers}
    after = {layer.name: plain(layer) for layer in again.document.layers}
    assert [name for name in after if before[name] != after[name]] == ["largest", "largest/sink_port_0"]


def test_constants_are_set(tmp_path: Path) -> None:
    model = Editor(small()).set_constant("two", 3).model()
    assert np.array_equal(run(save_and_read(model, tmp_path), DATA)[0], [[4, 0, 10]])
    wider = Editor(small()).set_constant("two", np.array([[1], [2]], np.float32)).model()
    assert [str(port.shape) for port in save_and_read(wider, tmp_path).outputs] == ["[2,3]", "[2]"]


def test_shapes_and_types_of_inputs(tmp_path: Path) -> None:
    again = save_and_read(Editor(small()).reshape({"x": "4,3"}).model(), tmp_path)
    assert [str(port.shape) for port in (*again.inputs, *again.outputs)] == ["[4,3]", "[4,3]", "[4]"]
    with pytest.raises(ir_exec.ElementTypeError, match="double"):
        Editor(small()).retype({"x": "f16"}).model()
    x = build.parameter([2], name="x")
    model = build.model(build.result(build.relu(x), name="y"))
    halved = save_and_read(Editor(model).retype({"x": "f16"}).model(), tmp_path)
    assert [str(port) for port in (*halved.inputs, *halved.outputs)] == ["x f16[2]", "y f16[2]"]


def test_layers_are_inserted_behind_a_value(tmp_path: Path) -> None:
    again = save_and_read(Editor(small()).insert("y", lambda y: build.negative(y)).model(), tmp_path)
    assert [port.name for port in again.outputs] == ["y", "largest"]
    assert [output.tolist() for output in run(again, DATA)] == [[[-3, 0, -7]], [0]]


def test_layers_are_inserted_before_one_layer(tmp_path: Path) -> None:
    again = save_and_read(
        Editor(small()).insert("relu", lambda y: build.negative(y), before="largest").model(), tmp_path
    )
    assert [output.tolist() for output in run(again, DATA)] == [[[3, 0, 7]], [0]]


def test_converted_input_keeps_its_name(tmp_path: Path) -> None:
    """u8 images for a network of floats."""
    editor = Editor(small()).insert("x", lambda x: build.convert(x, destination_type="f32"))
    again = save_and_read(editor.retype({"x": "u8"}).model(), tmp_path)
    assert [str(port) for port in again.inputs] == ["x u8[?,3]"]
    assert run(again, np.array([[1, 2, 3]], np.uint8))[0].tolist() == [[3, 5, 7]]


def test_inserted_layers_may_read_values_and_hold_bodies(tmp_path: Path) -> None:
    editor = Editor(small())
    x = editor.value("x")

    def function(y: build.Value) -> build.Value:
        flag = build.greater(build.reduce_sum(x, [0, 1]), 0.0)
        return build.if_(flag, lambda: build.add(y, x), lambda: build.multiply(x, 0.0))

    again = save_and_read(editor.insert("double", function).model(), tmp_path)
    assert run(again, DATA)[0].tolist() == [[4, 0, 10]]
    assert run(again, -DATA)[0].tolist() == [[1, 1, 1]]


def test_a_layer_is_replaced(tmp_path: Path) -> None:
    model = Editor(small()).replace("relu", lambda plus: build.clamp(plus, min=0.0, max=5.0)).model()
    again = save_and_read(model, tmp_path)
    assert run(again, DATA)[0].tolist() == [[3, 0, 5]]
    assert [port.name for port in again.outputs] == ["y", "largest"]
    with pytest.raises(ir_exec.GraphError, match=naming("relu", 1, 2)):
        Editor(small()).replace("relu", lambda plus: [plus, plus])


def test_removal_includes_exclusive_inputs(tmp_path: Path) -> None:
    again = save_and_read(Editor(small()).remove("plus").model(), tmp_path)
    assert run(again, DATA)[0].tolist() == [[2, 0, 6]]
    assert [port.name for port in again.outputs] == ["y", "largest"]
    assert len(again.document.layers) == len(small().document.layers) - 2
    fewer = save_and_read(Editor(small()).remove("largest/sink_port_0").model(), tmp_path)
    assert [port.name for port in fewer.outputs] == ["y"]


def test_a_part_is_cut_out(tmp_path: Path) -> None:
    again = save_and_read(Editor(small()).cut(inputs=["plus"], outputs=["relu"]).model(), tmp_path)
    assert [str(port) for port in (*again.inputs, *again.outputs)] == ["plus f32[?,3]", "y f32[?,3]"]
    assert run(again, DATA)[0].tolist() == [[1, 0, 3]]
    assert [layer.type for layer in again.document.layers] == ["Parameter", "ReLU", "Result"]


def test_cut_includes_variables_it_reads(tmp_path: Path) -> None:
    x = build.parameter([2], name="x")
    sums = [build.add(build.read_value(np.zeros(2, np.float32), name), x) for name in ("a", "b")]
    model = build.model(
        [build.result(value, name=name) for value, name in zip(sums, "ab", strict=True)],
        sinks=[build.assign(value, name) for value, name in zip(sums, "ab", strict=True)],
    )
    again = save_and_read(Editor(model).cut(outputs=["b"]).model(), tmp_path)
    variables = [layer.data["variable_id"] for layer in again.document.layers if "variable_id" in layer.data]
    assert variables == ["b", "b"]


def test_a_cut_through_one_of_several_outputs(tmp_path: Path) -> None:
    x = build.parameter([4], name="x")
    parts = build.split(x, 0, num_splits=2, name="halves")
    parts[1].tensor_names = ("second",)
    model = build.model([build.result(build.subtract(*parts), name="y")])
    again = save_and_read(Editor(model).cut(inputs=["second"]).model(), tmp_path)
    assert [str(port) for port in (*again.inputs, *again.outputs)] == ["x f32[4]", "second f32[2]", "y f32[2]"]
    assert run(again, [1, 2, 3, 4], [10, 20])[0].tolist() == [-9, -18]


def test_a_cut_keeps_outputs_of_the_same_value_apart(tmp_path: Path) -> None:
    x = build.parameter([2], name="x")
    total = build.relu(build.negative(x, name="less"))
    model = build.model([build.result(total, name="a"), build.result(total, name="b")])
    again = save_and_read(Editor(model).cut(inputs=["less"]).model(), tmp_path)
    assert [layer.name for layer in again.document.layers if layer.is_result] == ["a", "b"]
    assert [port.name for port in again.inputs] == ["less"]


def test_cut_to_layer_unused_by_outputs(tmp_path: Path) -> None:
    net = NetworkText()
    x = net.parameter("2")
    net.op("Tanh", net.op("Abs", x))
    net.result(net.op("ReLU", x))
    file = net.file()
    again = save_and_read(
        Editor(ir_exec.read_model(file.xml, weights=file.weights)).cut(["abs1"], ["tanh2"]).model(), tmp_path
    )
    assert [(layer.type, layer.name) for layer in again.document.layers] == [
        ("Parameter", "abs1"),
        ("Tanh", "tanh2"),
        ("Result", "tanh2/sink_port_0"),
    ]


def test_a_value_becomes_an_output(tmp_path: Path) -> None:
    again = save_and_read(Editor(small()).add_output("double", "doubled").model(), tmp_path)
    assert [port.name for port in again.outputs] == ["y", "largest", "doubled"]
    assert run(again, DATA)[2].tolist() == [[2, -4, 6]]


def test_edits_leave_original_unchanged() -> None:
    model = small()
    before = model.document.model_dump_json()
    Editor(model).rename("x", "image").set_constant("two", 5).remove("relu").model()
    assert model.document.model_dump_json() == before
    assert run(model, DATA)[0].tolist() == [[3, 0, 7]]


def test_untouched_layers_keep_their_content() -> None:
    model = ir_exec.read_model(SAMPLES / "gnn_step.xml")
    edited = Editor(model).insert("hidden", lambda value: build.exp(value, name="new")).model()
    after = {layer.name: layer for layer in edited.document.layers}
    (source,) = (layer.name for layer in model.document.layers for port in layer.outputs if "hidden" in port.names)
    assert [name for name, layer in after.items() if layer not in model.document.layers] == [source, "new"]
    assert (after[source].outputs[0].names, after["new"].outputs[0].names) == ((), ("hidden",))


def test_edits_do_not_visit_all_layers_or_infer_types(monkeypatch: pytest.MonkeyPatch) -> None:
    editor = Editor(small())

    def refuse(*arguments: object) -> None:
        raise AssertionError("all layers are visited")

    with monkeypatch.context() as patch:
        patch.setattr(OrderedLayers, "__iter__", refuse)
        patch.setattr("ir_exec.build.edit.infer_types", refuse)
        editor.rename("relu", "activation").rename_layer("plus", "sum").add_output("sum", "before")
        editor.insert("double", build.tanh).replace("activation", build.sigmoid).rename("x", "image")
        editor.set_constant("two", np.float32(3)).reshape({"image": [2, 3]}).remove("sum")
    again = editor.model()
    assert [port.name for port in again.outputs] == ["y", "largest", "before"]
    assert [port.name for port in again.inputs] == ["image"]
