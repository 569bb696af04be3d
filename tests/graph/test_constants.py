"""`model.constants`: arrays by the names of layers."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec import build
from ir_exec.codes import Code
from ir_exec.model import load
from ir_exec.ops.infrastructure.values import Const

NETWORKS = Path(__file__).parents[1] / "networks"
SAMPLE = Path(__file__).parents[2] / "samples" / "gnn_step.xml"


def test_of_a_network_in_memory() -> None:
    data = build.parameter([2], "f32", name="data")
    scale = build.constant(np.array([2, 3], np.float32), name="scale")
    model = build.model(build.multiply(data, scale, name="out"))
    assert list(model.constants) == ["scale"]
    assert model.constants["scale"].tolist() == [2, 3]
    assert not model.constants["scale"].flags.writeable
    assert "data" not in model.constants
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.constants["scale"].tolist() == [2, 3]


def test_of_bodies_and_by_tensor_name() -> None:
    model = ir_exec.read_model(NETWORKS / "script_if.xml")
    name = "prim::If/If/then_body/self.a.weight"
    assert name in model.constants
    assert model.constants[name].shape == (8, 8)
    (tensor, *_) = next(
        node.outputs[0].names for node in model.graph.nodes if node.type == "Const" and node.outputs[0].names
    )
    assert model.constants[tensor].size


@pytest.mark.parametrize("path", sorted(NETWORKS.glob("*.xml")), ids=lambda path: path.stem)
def test_every_constant_can_be_read(path: Path) -> None:
    model = ir_exec.read_model(path)
    assert model.weights is not None
    assert len(model.constants) == sum(node.type == "Const" for node in model.graph.all_nodes())
    assert len(list(model.constants.values())) == len(model.constants)
    for node in model.graph.nodes:
        if isinstance(node.op, Const):
            expected = node.op.evaluate(weights=model.weights)
            assert model.constants[node.name].dtype == expected.dtype
            assert model.constants[node.name].tobytes() == expected.tobytes()


def test_missing_names_are_reported() -> None:
    model = ir_exec.read_model(NETWORKS / "script_if.xml")
    with pytest.raises(KeyError) as caught:
        model.constants["self.a.wieght"]
    assert isinstance(caught.value, ir_exec.EvaluationError)
    assert caught.value.code == Code.unknown_input
    assert "self.a.weight" in str(caught.value)
    assert model.constants.get("nothing") is None


def test_layers_of_one_name() -> None:
    text, weights = SAMPLE.read_text(), SAMPLE.with_suffix(".bin")
    names = list(ir_exec.read_model(SAMPLE).constants)
    twice = text.replace(f'name="{names[1]}"', f'name="{names[0]}"')
    model = ir_exec.read_model(twice.encode(), weights=weights)
    keys = list(model.constants)
    assert keys[0] == names[0]
    assert keys[1].startswith(f"{names[0]}#")
    assert len(keys) == len(names)


def test_without_weights() -> None:
    loaded = load(SAMPLE.read_bytes(), report=lambda fault: None)
    assert loaded is not None
    model = ir_exec.Model(loaded)
    name = next(iter(model.constants))
    with pytest.raises(ir_exec.WeightsError) as caught:
        model.constants[name]
    assert caught.value.code == Code.weights_missing
    assert caught.value.fault.location.layer_name == name
