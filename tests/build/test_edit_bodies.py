"""Layers inside of bodies are edited by `loop/body/name`, and OpenVINO computes the edited network."""

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
from tests.conformance.build import IRFile
from tests.conformance.compare import value_faults
from tests.conformance.oracle import Oracle, Refused
from tests.helpers.bodies import body_layers
from tests.helpers.facts import mentions, naming


def loop_model() -> ir_exec.Model:
    """Three times sum = sum + x * 2, with every sum collected."""
    x = build.parameter([2], name="x")

    def body(i: build.Value, sum: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        doubled = build.multiply(x, build.constant(np.float32(2), name="two"), name="double")
        after = build.add(sum, doubled, name="plus", tensor_names=["sum"])
        return None, [after], [build.unsqueeze(after, 0, name="row")]

    last, rows = build.loop(3, None, body, carried=[np.zeros(2, np.float32)], name="loop")
    return build.model([build.result(last, name="last"), build.result(rows, name="rows")])


def chosen() -> ir_exec.Model:
    """x * 2 where the sum is above 0, else -x."""
    x = build.parameter([2], name="x")
    flag = build.greater(build.reduce_sum(x, [0], name="total"), 0.0)
    y = build.if_(
        flag, lambda: build.multiply(x, 2.0, name="scaled"), lambda: build.negative(x, name="turned"), name="if"
    )
    return build.model(build.result(y, name="y"))


def parts() -> ir_exec.Model:
    """The exponentials of both elements, one after the other."""
    x = build.parameter([2], name="x")
    (y,) = build.tensor_iterator(lambda part: ([], [build.exp(part, name="exp")]), sliced=[build.Sliced(x)], name="ti")
    return build.model(build.result(y, name="y"))


def nested_model() -> ir_exec.Model:
    """Twice: x, to which 1 is added where it is above 2."""
    x = build.parameter([2], name="x")

    def body(i: build.Value, value: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        flag = build.greater(build.reduce_sum(value, [0]), 2.0)
        return None, [build.if_(flag, lambda: build.add(value, 1.0, name="more"), lambda: value, name="if")], []

    (y,) = build.loop(2, None, body, carried=[x], name="loop")
    return build.model(build.result(y, name="y"))


DATA = np.array([1, 3], np.float32)

EDITS: dict[str, tuple[Callable[[], ir_exec.Model], Callable[[Editor], object], list[object]]] = {
    "constant": (loop_model, lambda e: e.set_constant("loop/body/two", 5), [[15, 45], [[5, 15], [10, 30], [15, 45]]]),
    "attribute": (chosen, lambda e: e.set_attribute("total", "keep_dims", False), [[2, 6]]),
    "insert": (
        loop_model,
        lambda e: e.insert("loop/body/double", lambda value: build.negative(value)),
        [[-6, -18], [[-2, -6], [-4, -12], [-6, -18]]],
    ),
    "insert before": (
        loop_model,
        lambda e: e.insert("loop/body/sum", lambda value: build.negative(value), before="loop/body/row"),
        [[6, 18], [[-2, -6], [-4, -12], [-6, -18]]],
    ),
    "insert a wider shape": (
        loop_model,
        lambda e: e.insert("loop/body/row", lambda value: build.concat([value, value], 1)),
        [[6, 18], [[2, 6, 2, 6], [4, 12, 4, 12], [6, 18, 6, 18]]],
    ),
    "replace": (chosen, lambda e: e.replace("if/then_body/scaled", lambda x, two: build.subtract(x, two)), [[-1, 1]]),
    "replace in the other branch": (chosen, lambda e: e.replace("if/else_body/turned", build.exp), [[2, 6]]),
    "remove": (chosen, lambda e: e.remove("if/then_body/scaled"), [[1, 3]]),
    "remove in a TensorIterator": (parts, lambda e: e.remove("ti/body/exp"), [[1, 3]]),
    "in a body in a body": (
        nested_model,
        lambda e: e.replace("loop/body/if/then_body/more", lambda value, operand: build.multiply(value, 3.0)),
        [[9, 27]],
    ),
    "a value from outside": (
        loop_model,
        lambda e: e.insert("loop/body/double", lambda value: build.add(value, e.value("x"))),
        [[9, 27], [[3, 9], [6, 18], [9, 27]]],
    ),
    "a value from outside that the body has not": (
        chosen,
        lambda e: e.insert("if/then_body/scaled", lambda value: build.add(value, e.value("total"))),
        [[6, 10]],
    ),
    "a value from two bodies outside": (
        nested_model,
        lambda e: e.insert("loop/body/if/then_body/more", lambda value: build.subtract(value, e.value("x"))),
        [[1, 1]],
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_openvino_runs_edited_models(name: str, oracle: Oracle, tmp_path: Path) -> None:
    make, edit, expected = EDITS[name]
    editor = Editor(make())
    edit(editor)
    model = editor.model()
    model.save(tmp_path / "edited.xml")
    again = ir_exec.read_model(tmp_path / "edited.xml")
    report = ir_exec.check_model(tmp_path / "edited.xml")
    assert [str(item) for item in (*report.errors, *report.warnings)] == []
    assert again.types == model.types
    arrays = [np.array(item, np.float32) for item in expected]
    theirs = oracle.values(
        IRFile((tmp_path / "edited.xml").read_bytes(), (tmp_path / "edited.bin").read_bytes(), (DATA,))
    )
    assert not isinstance(theirs, Refused), theirs.reason
    assert not value_faults(theirs, arrays)
    assert not value_faults(list(ir_exec.compile_model(again)([DATA]).values()), arrays)


def test_outer_input_is_created_once() -> None:
    editor = Editor(chosen())
    total = editor.value("total")
    for name in ("if/then_body/scaled", "if/else_body/turned"):
        editor.insert(name, lambda value: build.add(value, total)).insert(name, lambda value: build.add(value, total))
    (layer,) = (layer for layer in editor.model().document.layers if layer.type == "If")
    assert [len(body.port_map) for body in layer.bodies] == [3, 3]
    assert len(layer.inputs) == 4
    ids = [int(port.id) for port in (*layer.inputs, *layer.outputs)]
    assert ids == list(range(len(ids)))


def test_values_survive_moved_ports() -> None:
    editor = Editor(loop_model())
    rows = editor.value("loop:1")
    editor.insert("loop/body/double", lambda value: build.add(value, editor.value("x")))
    editor.insert("last", lambda last: build.add(last, build.reduce_sum(rows, [0])))
    assert [str(port.shape) for port in editor.model().outputs] == ["[2]", "[3,2]"]


def test_names_in_bodies(tmp_path: Path) -> None:
    editor = Editor(loop_model()).rename("loop/body/sum", "total").rename("loop/body/double", "twice")
    editor.rename("loop", "repeat").set_constant("repeat/body/two", 3)
    editor.model().save(tmp_path / "edited.xml")
    again = ir_exec.read_model(tmp_path / "edited.xml")
    layers = {layer.name: layer for layer in body_layers(again, "repeat")}
    assert layers["plus"].outputs[0].names == ("total",)
    assert "twice" in layers
    assert "double" not in layers


def test_edit_in_body_leaves_other_layers_unchanged() -> None:
    before = loop_model()
    after = Editor(before).set_attribute("loop/body/plus", "auto_broadcast", "none").model()
    assert [layer for layer in after.document.layers if layer not in before.document.layers] == [
        layer for layer in after.document.layers if layer.name == "loop"
    ]
    changed = [layer.name for layer in body_layers(after, "loop") if layer not in body_layers(before, "loop")]
    assert changed == ["plus"]


def test_layer_name_with_slashes_takes_precedence() -> None:
    x = build.parameter([2], name="x")
    y = build.relu(x, name="if/then_body/scaled")
    editor = Editor(build.model(build.result(y, name="y"))).rename("if/then_body/scaled", "relu")
    assert "relu" in [layer.name for layer in editor.model().document.layers]


def test_edits_of_bodies_do_not_visit_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    editor = Editor(loop_model()).rename("loop/body/two", "factor")

    def refuse(*arguments: object) -> None:
        raise AssertionError("all layers are visited")

    with monkeypatch.context() as patch:
        patch.setattr(OrderedLayers, "__iter__", refuse)
        editor.rename("loop/body/double", "twice").rename_layer("loop/body/row", "line")
        outside = editor.value("x")
        editor.insert("loop/body/twice", lambda value: build.add(value, outside))
    names = [layer.name for layer in body_layers(editor.model(), "loop")]
    assert {"factor", "twice", "line"} <= set(names)
    assert names.index("x") < names.index("factor")


def test_layer_in_body_of_first_layer_with_matching_name() -> None:
    x = build.parameter([2], name="x")
    flag = build.greater(build.reduce_sum(x, [0]), 0.0)

    def choose(name: str, leaf: str) -> build.Value:
        return build.if_(flag, lambda: build.relu(x, name=leaf), lambda: build.negative(x), name=name)

    holders = "if", "if/then_body/branch"
    first, second = choose(holders[0], "branch/then_body/leaf"), choose(holders[1], "leaf")
    editor = Editor(build.model([build.result(first, name="first"), build.result(second, name="second")]))
    editor.rename_layer("if/then_body/branch/then_body/leaf", "renamed")
    names = [[layer.name for layer in body_layers(editor.model(), holder)] for holder in holders]
    assert ["renamed" in body for body in names] == [True, False]


@pytest.mark.parametrize(
    ("edit", "code", "told"),
    [
        (lambda e: e.set_constant("loop/body/too", 1), Code.unknown_input, mentions("loop/body/two")),
        (lambda e: e.rename("loop/body/double", "plus"), Code.duplicate_layer_name, mentions("loop/body/plus")),
        (lambda e: e.remove("loop/body/plus", passes=5), Code.graph, mentions("loop/body/plus", 2, 1, 2)),
        (lambda e: e.cut(outputs=["loop/body/plus"]), Code.graph, mentions("loop/body/plus")),
        (lambda e: e.add_output("loop/body/plus"), Code.graph, mentions("loop/body/plus")),
        (lambda e: e.reshape({"loop/body/plus": [1]}), Code.unknown_input, mentions("x")),
        (
            lambda e: e.insert("x", lambda x: build.add(x, e.value("loop/body/plus"))),
            Code.graph,
            mentions("loop/body/plus"),
        ),
        (
            lambda e: e.insert("loop/body/plus", lambda value: build.add(value, build.parameter([2]))),
            Code.graph,
            mentions("Parameter"),
        ),
        (lambda e: e.insert("last", build.relu, before="loop/body/plus"), Code.graph, mentions("last")),
        (
            lambda e: e.insert("loop/body/plus", lambda v: build.add(v, e.value("last"))).model(),
            Code.cycle,
            mentions(),
        ),
    ],
)
def test_what_cannot_be(edit: Callable[[Editor], object], code: Code, told: mentions) -> None:
    with pytest.raises(ir_exec.IRError) as caught:
        edit(Editor(loop_model()))
    assert caught.value.code == code
    assert str(caught.value) == told


def test_the_ends_of_a_body_stay() -> None:
    editor = Editor(loop_model())
    ends = [layer.name for layer in body_layers(loop_model(), "loop") if layer.is_parameter or layer.is_result]
    for name in ends:
        with pytest.raises(ir_exec.GraphError, match=naming(f"loop/body/{name}")):
            editor.remove(f"loop/body/{name}")
