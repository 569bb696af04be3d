"""Any value as an output: `compile_model(..., outputs=[...])`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, compile_model, read_model
from tests.helpers.facts import facts, naming
from tests.helpers.network_text import NetworkText

LLAMA = Path(__file__).parents[1] / "networks" / "llama_stateful.xml"


def network() -> NetworkText:
    net = NetworkText()
    x = net.parameter("4")
    first, second = net.outputs(2, "Split", net.op("ReLU", x), net.const(np.array(0, np.int64)), num_splits=2)
    net.result(net.op("Add", net.op("Tanh", first), second))
    return net


def test_layers_and_ports_in_the_order_asked_for() -> None:
    file = network().file()
    model = read_model(file.xml, weights=file.weights)
    compiled = compile_model(model, outputs=["split3:1", "relu1", "tanh4"])
    seen: list[str] = []
    outputs = compiled([np.array([-1, 1, 2, 3], np.float32)], observe=lambda node, *_: seen.append(node.name))
    assert list(outputs) == ["split3:1", "relu1", "tanh4"]
    assert outputs["split3:1"].tolist() == [2, 3]
    assert outputs[1].tolist() == [0, 1, 2, 3]
    assert outputs["tanh4"].shape == (2,)
    assert "add5" not in seen
    assert [str(port.shape) for port in compiled.outputs] == ["[2]", "[4]", "[2]"]


def test_layers_behind_a_result() -> None:
    """A Result precedes the requested layer, and one has the name of a Result."""
    net = NetworkText()
    relu = net.op("ReLU", net.parameter("2"))
    first = net.result(relu)
    net.result(net.op("Negative", relu))
    file = net.file()
    compiled = compile_model(
        read_model(file.xml, weights=file.weights), outputs=["negative3", f"result{first}", "parameter0"]
    )
    outputs = compiled([np.array([-1, 2], np.float32)])
    assert [outputs[position].tolist() for position in range(3)] == [[0, -2], [0, 2], [-1, 2]]


def test_model_is_unchanged() -> None:
    file = network().file()
    model = read_model(file.xml, weights=file.weights)
    compile_model(model, outputs=["relu1"])
    assert len(compile_model(model)([np.ones(4, np.float32)])) == 1
    assert [port.name for port in model.outputs] == ["add5"]


def test_inputs_constants_and_the_same_value_twice() -> None:
    file = network().file()
    model = read_model(file.xml, weights=file.weights)
    outputs = compile_model(model, outputs=["parameter0", "const2", "relu1", "relu1"])([np.ones(4, np.float32)])
    assert [array.shape for array in outputs.values()] == [(4,), (), (4,), (4,)]


def test_variables_are_assigned_all_the_same() -> None:
    model = read_model(LLAMA)
    assigns = sum(node.type == "Assign" for node in model.graph.nodes)
    seen: list[str] = []
    inputs = [np.asarray(array) for array in np.load(LLAMA.with_name("llama_stateful.inputs.npz")).values()]
    compiled = compile_model(model, outputs=[model.graph.parameters[0].name])
    compiled(inputs, observe=lambda node, *_: seen.append(node.type))
    assert seen.count("Assign") == assigns > 0


def test_missing_names_are_reported() -> None:
    file = network().file()
    model = read_model(file.xml, weights=file.weights)
    with pytest.raises(EvaluationError, match=naming("tahn4")) as caught:
        compile_model(model, outputs=["tahn4"])
    assert facts(caught.value.hint) == ["tanh4"]
    with pytest.raises(EvaluationError, match=naming("0", "1", "2", "split3", "split3")):
        compile_model(model, outputs=["split3"])


class TestWeightsInPlaceOfADevice:
    """`compile_model(xml, bin)`, as `read_model(xml, bin)`."""

    GNN = Path(__file__).parents[2] / "samples" / "gnn_step.xml"
    FEATURES, EDGES = np.ones((3, 4), np.float32), np.zeros((2, 5), np.int64)

    @pytest.fixture
    def weights(self, tmp_path: Path) -> Path:
        path = tmp_path / "other.bin"
        stored = self.GNN.with_suffix(".bin").read_bytes()
        path.write_bytes(stored[:28] + (2 * np.frombuffer(stored, np.float32, offset=28)).tobytes())
        return path

    def test_they_are_read(self, weights: Path) -> None:
        inputs = {"features": self.FEATURES, "edges": self.EDGES}
        expected = compile_model(self.GNN, weights=weights)(inputs).to_tuple()
        for argument in (weights, str(weights)):
            for options in ({}, {"weight_mode": "keep"}):
                actual = compile_model(self.GNN, argument, **options)(inputs).to_tuple()  # type: ignore[arg-type,call-overload]
                assert all(np.array_equal(a, b) for a, b in zip(actual, expected, strict=True))
        assert not np.array_equal(expected[0], compile_model(self.GNN)(inputs).to_tuple()[0])

    def test_not_for_a_model_that_was_read(self, weights: Path) -> None:
        with pytest.raises(EvaluationError):
            compile_model(read_model(self.GNN), str(weights))

    def test_two_weights(self, weights: Path) -> None:
        with pytest.raises(EvaluationError, match=naming(weights)):
            compile_model(self.GNN, str(weights), weights=str(weights))
