"""TensorIterator and Memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.older.cases import image
from tests.older.files import OlderFile, Port

X = image(1, 4, 3)
H = image(1, 2, seed=1)
W, B = image(2, 5, seed=2), image(2, seed=3)


def recurrent(*, reverse: bool = False, has_inputs: bool = False) -> OlderFile:
    """An RNNCell over the second axis, whose states are collected, with the last state as a second output.

    has_inputs: the body has Input layers, as some writers made them.
    """
    file, body = OlderFile(), OlderFile()
    x, h = file.input("x", *X.shape), file.input("h", *H.shape)
    if has_inputs:
        part, state = body.input("part", 1, 1, 3), body.input("state", 1, 2)
        to_part, to_state = (0, 0), (1, 0)
        flat = body.layer("Reshape", [part], (1, 3), data={"dim": (1, 3)})
        cell = body.layer("RNNCell", [*flat, state], (1, 2), data={"hidden_size": 2}, blobs={"weights": W, "biases": B})
    else:
        # Ports of layers take the values: the edges to them do not exist.
        outside = [Port(-1, 0, (1, 1, 3)), Port(-1, 1, (1, 2))]
        flat = body.layer("Reshape", outside[:1], (1, 3), data={"dim": (1, 3)})
        cell = body.layer(
            "RNNCell", [*flat, outside[1]], (1, 2), data={"hidden_size": 2}, blobs={"weights": W, "biases": B}
        )
        body.edges = [edge for edge in body.edges if 'from-layer="-1"' not in edge]
        to_part, to_state = (0, 0), (1, 1)
    step = body.layer("Reshape", cell, (1, 1, 2), data={"dim": (1, 1, 2)})
    end = (cell[0].layer, cell[0].id)
    ends = 'start="-1" end="0" stride="-1"' if reverse else 'start="0" end="-1" stride="1"'
    inner = f"""
    <back_edges>
      <edge from-layer="{end[0]}" from-port="{end[1]}" to-layer="{to_state[0]}" to-port="{to_state[1]}"/>
    </back_edges>
    <port_map>
      <input axis="1" external_port_id="0" internal_layer_id="{to_part[0]}" internal_port_id="{to_part[1]}" {ends}/>
      <input external_port_id="1" internal_layer_id="{to_state[0]}" internal_port_id="{to_state[1]}"/>
      <output axis="1" external_port_id="2" internal_layer_id="{step[0].layer}" internal_port_id="{step[0].id}" {ends}/>
      <output external_port_id="3" internal_layer_id="{end[0]}" internal_port_id="{end[1]}"/>
    </port_map>
    <body><layers>{"".join(body.layers)}</layers><edges>{"".join(body.edges)}</edges></body>
    """
    file.layer("TensorIterator", [x, h], (1, 4, 2), (1, 2), inner=inner)
    file.stored = body.stored
    return file


def expected(*, reverse: bool = False) -> tuple[np.ndarray, np.ndarray]:
    states, state = np.zeros((1, 4, 2), np.float32), H
    for step in reversed(range(4)) if reverse else range(4):
        state = np.tanh(np.concatenate([X[:, step], state], 1) @ W.T + B)
        states[:, step] = state
    return states, state


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("has_inputs", [False, True], ids=["ports", "inputs"])
def test_tensor_iterator(reverse: bool, has_inputs: bool, oracle: Oracle, tmp_path: Path) -> None:
    file = recurrent(reverse=reverse, has_inputs=has_inputs)
    report = file.report()
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["IR005"], str(report)
    reference = expected(reverse=reverse)
    for ours, theirs in zip(file.run(X, H), reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    file.model().save(tmp_path / "new.xml")
    answer = oracle.values(IRFile((tmp_path / "new.xml").read_bytes(), (tmp_path / "new.bin").read_bytes(), (X, H)))
    assert not isinstance(answer, Refused), answer.reason
    for ours, theirs in zip(answer, reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_port_map_of_missing_port() -> None:
    file = recurrent()
    file.layers[-1] = file.layers[-1].replace('external_port_id="1"', 'external_port_id="9"')
    (error,) = file.report().errors
    assert (error.code, error.location.layer_id) == ("IR112", "2")


def test_memory_is_a_variable() -> None:
    file = OlderFile()
    x = file.input("x", 1, 2)
    before = file.layer("Memory", [], (1, 2), data={"id": "r", "index": 1, "size": 2})
    total = file.layer("Eltwise", [x, *before], (1, 2), data={"operation": "sum"}, name="total")
    file.layer("Power", total, (1, 2), data={"power": 1, "scale": 2, "shift": 0}, name="twice")
    file.layer("Memory", total, data={"id": "r", "index": 0, "size": 2})
    compiled = ir_exec.compile_model(file.model())
    request = compiled.create_infer_request()
    data = np.float32([[1, 2]])
    results = [request.infer([data])["twice"].tolist() for _ in range(2)]
    assert results == [[[2, 4]], [[4, 8]]]
