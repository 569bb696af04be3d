"""Types during editing: as of a complete inference after each edit, from as few layers as changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.build import Editor, edit
from ir_exec.build.edited_types import EditedTypes, value_paths
from ir_exec.errors import IRError
from ir_exec.infer import infer


def reshaping() -> ir_exec.Model:
    """x is reshaped to a size that is computed from constants, and a sum of it is in a loop."""
    x = build.parameter([-1, 12], name="x")
    size = build.add(build.constant(np.array([0, 3], np.int64), name="size"), np.array([0, 1], np.int64), name="sizes")
    rows = build.reshape(x, size, special_zero=True, name="rows")
    turned = build.transpose(build.softmax(rows, axis=1, name="softmax"), [1, 0], name="turned")

    def body(i: build.Value, sum: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        more = build.add(sum, build.reduce_sum(turned, [0, 1], name="reduced"), name="more")
        return None, [more], [build.unsqueeze(build.relu(more, name="relu"), 0, name="row")]

    last, collected = build.loop(2, None, body, carried=[np.float32(0)], name="loop")
    return build.model([build.result(last, name="last"), build.result(collected, name="all")])


def types_by_path(editor: Editor) -> dict[Any, tuple[Any, ...]]:
    """The types with known elements of all values that the edited model has now, inferred completely."""
    model = editor.model()
    shown: dict[Any, tuple[Any, ...]] = {}
    for value, path in value_paths(model.graph).items():
        type = model.all_types()[value]
        elements = type.value
        shown[path] = str(type), None if elements is None else elements.tolist()
    return shown


EDITS: Sequence[Callable[[Editor, int], object]] = [
    lambda editor, number: editor.set_constant("size", np.array([0, 3 if number % 2 else -2], np.int64)),
    lambda editor, number: editor.set_constant("size", np.array([0, 2 + number % 2], np.int64)),
    lambda editor, number: editor.set_attribute("softmax", "axis", number % 2),
    lambda editor, number: editor.reshape({"x": [number % 3 + 1, 12]}),
    lambda editor, number: editor.insert("rows", lambda rows: build.relu(rows, name=f"relu{number}")),
    lambda editor, number: editor.insert("sizes", lambda size: build.maximum(size, np.array([0, 1], np.int64))),
    lambda editor, number: editor.replace("turned", lambda data, order: build.transpose(data, order, name="turned")),
    lambda editor, number: editor.insert("loop/body/more", lambda more: build.tanh(more, name=f"tanh{number}")),
    lambda editor, number: editor.insert("loop/body/reduced", lambda reduced: build.add(reduced, build.relu(reduced))),
    lambda editor, number: editor.remove(f"relu{number - 4}"),
    lambda editor, number: editor.remove("softmax"),
]


@pytest.mark.parametrize("seed", range(12))
def test_types_after_edits_equal_complete_inference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    reference = Editor(reshaping())
    types_of_editors: list[EditedTypes] = []

    def make_types(*arguments: Any) -> EditedTypes:
        types_of_editors.append(EditedTypes(*arguments))
        return types_of_editors[-1]

    monkeypatch.setattr(edit, "EditedTypes", make_types)
    editor = Editor(reshaping())
    for number in range(8):
        change = chance.choice(EDITS)
        outcomes: list[str] = []
        for subject in (editor, reference):
            try:
                change(subject, number)
                outcomes.append("done")
            except IRError as error:
                outcomes.append(f"{error.code} {error.location.layer_name}")
        assert outcomes[0] == outcomes[1]
        try:
            expected = types_by_path(reference)
        except IRError:
            return  # the model is broken, as the tests of errors show
        (types,) = types_of_editors
        for path, type in expected.items():
            inferred = types.get(path)
            elements = inferred.value
            assert (str(inferred), None if elements is None else elements.tolist()) == type
        assert types.types is not None


def test_fault_of_edit_is_raised_by_next_query() -> None:
    editor = Editor(reshaping())
    editor.set_constant("size", np.array([0, 4, 5], np.int64))
    with pytest.raises(IRError) as caught:
        editor.value("turned")
    assert caught.value.location.layer_name == "sizes"
    editor.set_constant("size", np.array([2, 3], np.int64))
    assert str(editor.value("turned").shape) == "[4,2]"


def chain(layers: int) -> ir_exec.Model:
    value = build.parameter([2, 3], name="x")
    for number in range(layers):
        value = build.add(value, build.constant(np.ones((1, 3), np.float32), name=f"bias{number}"), name=f"sum{number}")
    return build.model(build.result(value, name="y"))


def count_inferred(layers: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The operators whose outputs are inferred during twenty alternating edits."""
    editor = Editor(chain(layers))
    calls: list[None] = []
    infer_outputs = infer.infer_outputs

    def count_call(*arguments: Any) -> Any:
        calls.append(None)
        return infer_outputs(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(infer, "infer_outputs", count_call)
        for number in range(10):
            editor.set_constant(f"bias{number}", np.full((1, 3), number, np.float32))
            editor.insert(f"sum{number + 5}", build.tanh)
            editor.set_constant(f"bias{number}", np.full((1, 1), number, np.float32))
            editor.replace(f"sum{number + 20}", build.subtract)
    assert len(editor.model().graph.nodes) > layers
    return len(calls)


def test_alternating_edits_infer_a_fixed_number_of_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_inferred(40, monkeypatch) == count_inferred(400, monkeypatch) < 300
