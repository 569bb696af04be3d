"""Recordings of modules and what today's exporters write of them: each module has its layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import build, read_model
from ir_exec.build import Editor
from ir_exec.debug import compare
from ir_exec.model import Model
from tests.helpers.sources import EXPORTS

EXPORTERS = [".onnx", "_traced.onnx", "_traced.xml", "_program.xml"]

RIGHT = {"equal", "close", "carried"}


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("name", ["nested", "encoder"])
def test_each_recorded_module_has_a_value(name: str, exporter: str) -> None:
    report = compare(EXPORTS / f"{name}{exporter}", EXPORTS / f"{name}.npz")
    recorded = {key for key in np.load(EXPORTS / f"{name}.npz") if "/" not in key and "@" not in key and "#" not in key}
    assert {module.path for module in report.modules} == recorded
    statuses = {module.path: module.status for module in report.modules if module.layers}
    assert statuses.keys() == recorded
    assert set(statuses.values()) <= RIGHT
    assert report.equal
    assert report.faults == ()


def types_of_modules(name: str, exporter: str) -> dict[str, list[str]]:
    model = read_model(EXPORTS / f"{name}{exporter}")
    types = {node.name: node.type for node in model.graph.nodes}
    report = compare(model, EXPORTS / f"{name}.npz")
    return {module.path: [types[layer] for layer in module.layers] for module in report.modules}


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_layer_of_a_module_is_its_last(exporter: str) -> None:
    types = types_of_modules("nested", exporter)
    assert types["stem"] == types["stem.1"] == types["blocks.0"] == types["blocks.1"] == ["ReLU"]
    assert types["shared"] == ["Add", "Add"]
    types = types_of_modules("encoder", exporter)
    assert types["embed"] == ["Gather"]
    assert types["layers.0.mlp.1"] == ["Gelu"]
    assert types["layers.0"] == ["Add"]
    assert types["layers.0.attention"] == types["layers.0.attention.out"] == ["Add"]


def change_weight(model: Model, weight: str) -> Model:
    spellings = {weight, f"self.{weight}", f"{weight.replace('.', '_')}:0"}
    constants = [node for node in model.graph.nodes if node.type == "Const"]
    (name,) = (node.name for node in constants if not spellings.isdisjoint({node.name, *node.outputs[0].names}))
    editor = Editor(model)
    editor.set_constant(name, np.asarray(model.constants[name]) + np.float32(0.25))
    return editor.model()


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_wrong_module_is_found(exporter: str) -> None:
    model = change_weight(read_model(EXPORTS / f"nested{exporter}"), "head.weight")
    report = compare(model, EXPORTS / "nested.npz")
    assert not report.equal
    assert report.first_module == "head"
    statuses = {module.path: module.status for module in report.modules}
    assert statuses.pop("head") == "wrong"
    assert set(statuses.values()) <= RIGHT


def test_a_model_without_any_known_module_is_compared_by_its_outputs(tmp_path: Path) -> None:
    x = build.parameter([2, 4], "f32", name="x")
    model = build.model([build.result(build.relu(x), name="y")], [x])
    array = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    arrays = {"inputs/x": array, "m.inner": np.cos(array) * 3, "outputs/0": np.maximum(array, 0)}
    np.savez(tmp_path / "right.npz", **arrays)
    np.savez(tmp_path / "wrong.npz", **arrays | {"outputs/0": array})
    right, wrong = (compare(model, tmp_path / f"{name}.npz") for name in ("right", "wrong"))
    assert (right.equal, wrong.equal) == (True, False)
    assert [module.path for module in right.modules if module.layers] == []
    assert right.notes
