"""Inputs that nobody gave have sizes that the network takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import EvaluationError, Model, ShapeError, compile_model, read_model
from ir_exec.debug import drawing, drawn_inputs
from tests.helpers.network_text import NetworkText

ROOT = Path(__file__).parents[2]
NETWORKS = ROOT / "tests" / "networks"


def read(net: NetworkText) -> Model:
    file = net.file()
    return read_model(file.xml, weights=file.weights)


@pytest.mark.parametrize(
    ("path", "shapes"),
    [
        (NETWORKS / "lstm.xml", {"x": (1, 1, 24)}),
        (NETWORKS / "gnn_gcn_gat.xml", {"x": (2, 12), "ei": (2, 2)}),
        (NETWORKS / "index_ops.xml", {"x": (2, 3), "idx": (2, 2)}),
        (NETWORKS / "llama_stateful.xml", {"input_ids": (2, 2), "attention_mask": (2, 2), "beam_idx": (2,)}),
        (NETWORKS / "dynamic_output_ops.xml", {"x": (2, 2), "q": (2,)}),
        (ROOT / "samples" / "gnn_step.xml", {"features": (2, 4), "edges": (2, 2)}),
        (ROOT / "samples" / "scatter_update.xml", {"data": (2, 16, 10, 15)}),
    ],
    ids=lambda one: one.stem if isinstance(one, Path) else "",
)
def test_networks_run_with_what_is_drawn(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    model = read_model(path)
    inputs = drawn_inputs(model, 0)
    assert {name: inputs[name].shape for name in shapes} == shapes
    compile_model(model)(inputs)


def convolution(*, image: str = "?,3,?,?") -> Model:
    """Without padding, so that a filter of 7 and one of 5, each by steps of 2, need an image of 15."""
    net = NetworkText()
    value = net.parameter(image)
    for channels, size in ((3, 7), (4, 5)):
        filters = net.const(np.ones((4, channels, size, size), np.float32))
        pads = {"strides": "2,2", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
        value = net.op("Convolution", value, filters, **pads)
    net.result(value)
    return read(net)


def test_the_smallest_of_the_sizes_that_fit() -> None:
    model = convolution()
    (image,) = drawn_inputs(model, 0).values()
    assert image.shape == (1, 3, 15, 15)
    (smaller,) = (array[:, :, :14] for array in (image,))
    with pytest.raises(ShapeError):
        compile_model(model)([smaller])


def test_within_what_is_declared() -> None:
    (image,) = drawn_inputs(convolution(image="2..4,3,20..30,?"), 0).values()
    assert image.shape == (2, 3, 20, 15)


def test_what_is_asked_for_stays() -> None:
    model = convolution()
    (name,) = (port.name for port in model.inputs)
    (image,) = drawn_inputs(model, 0, {name: "5,3,?,40"}).values()
    assert image.shape == (5, 3, 15, 40)


def test_what_is_given_stays_and_others_follow() -> None:
    net = NetworkText()
    first, second = net.parameter("?,4"), net.parameter("?,?")
    net.result(net.op("MatMul", first, second, transpose_a=True, transpose_b=False))
    model = read(net)
    a, b = (port.name for port in model.inputs)
    given = np.ones((7, 4), np.float32)
    drawn = drawn_inputs(model, 0, given={a: given})
    assert drawn[a] is given
    assert drawn[b].shape == (7, 1)


def test_one_seed_one_answer() -> None:
    model = read_model(NETWORKS / "lstm.xml")
    first, second, other = (drawn_inputs(model, seed)["x"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_nothing_is_inferred_where_no_dim_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it was not to be asked")

    monkeypatch.setattr(drawing, "Prober", refuse)
    model = convolution()
    (name,) = (port.name for port in model.inputs)
    assert drawn_inputs(model, 0, {name: "1,3,16,16"})[name].shape == (1, 3, 16, 16)
    assert drawn_inputs(convolution(image="1,3,16,16"), 0)


def test_where_nothing_fits_a_run_tells_why() -> None:
    net = NetworkText()
    value = net.op("Reshape", net.parameter("?,4"), net.const(np.array([3, 5])), special_zero=False)
    net.result(value)
    model = read(net)
    inputs = drawn_inputs(model, 0)
    assert [array.shape for array in inputs.values()] == [(1, 4)]
    with pytest.raises(ShapeError):
        compile_model(model)(inputs)


def test_errors() -> None:
    with pytest.raises(EvaluationError, match="there is no input 'nothing'"):
        drawn_inputs(convolution(), 0, {"nothing": "1"})
    net = NetworkText()
    net.result(net.op("ReLU", net.parameter("...")))
    with pytest.raises(ShapeError, match="the rank of input"):
        drawn_inputs(read(net), 0)
