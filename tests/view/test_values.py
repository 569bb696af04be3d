"""Statistics of the values of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec.errors import EvaluationError
from ir_exec.view import view
from ir_exec.view.data import GraphView, LayerView
from tests.helpers.ir_text import layer, net, parameter, port, result

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


def layer_of(graph: GraphView, key: str) -> LayerView:
    return next(one for one in graph.layers if one.key == key)


def clamped(array: np.ndarray) -> LayerView:
    inputs, outputs = [port(0, dims=array.shape)], [port(1, dims=array.shape)]
    clamp = layer(1, "Clamp", data='min="-1" max="2"', inputs=inputs, outputs=outputs)
    file = net([parameter(0, dims=array.shape), clamp, result(2)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    return layer_of(view(file, inputs=[array]).networks[0].graph, "1")


def test_statistics_are_those_of_the_elements() -> None:
    array = np.array([[-5, 0, 0, 0.5, 2, 7, np.nan, np.inf]], np.float32)
    values = clamped(array).outputs[0].values
    assert values is not None
    # An infinity is clamped as well.
    found = np.array([-1, 0, 0, 0.5, 2, 2, 2])
    assert (values.min, values.max, values.nans, values.infinities) == (-1, 2, 1, 0)
    assert values.mean == pytest.approx(found.mean())
    assert values.std == pytest.approx(found.std())
    assert (values.zeros, values.saturated, values.elements) == (2, 4, 8)
    assert values.shape == (1, 8)
    assert sum(values.histogram) == 7
    assert values.histogram[0] == 1
    assert values.histogram[-1] == 3


def test_every_value_of_a_sample_is_that_of_openvino() -> None:
    inputs = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))
    expected = dict(np.load(SAMPLES / "gnn_step.outputs.npz"))
    page = view(SAMPLES / "gnn_step.xml", inputs=inputs)
    assert page.colour == "values"
    graph = page.networks[0].graph
    assert all(output.values for one in graph.layers for output in one.outputs)
    values = layer_of(graph, "16").outputs[0].values
    assert values is not None
    array = expected["hidden"]
    assert values.shape == array.shape
    assert values.max == pytest.approx(float(array.max()), rel=1e-5)
    assert values.zeros == np.count_nonzero(array == 0)
    np.testing.assert_allclose(values.first, array.reshape(-1)[:8], rtol=1e-5)


def test_bodies_count_their_runs() -> None:
    network = ROOT / "tests" / "networks" / "script_loop_seq.xml"
    page = view(network, inputs=list(np.load(network.with_suffix(".inputs.npz")).values()))
    (loop,) = [one for one in page.networks[0].graph.layers if one.bodies]
    runs = {
        output.values.runs
        for one in loop.bodies[0].graph.layers
        if not one.constant
        for output in one.outputs
        if output.values
    }
    assert max(runs) > 1


def test_a_run_that_fails_leaves_the_page_with_what_was_before() -> None:
    dims = (1, 2)
    unknown = layer(1, "Unknown", opset="extension", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)])
    file = net([parameter(0, dims=dims), unknown, result(2, dims=dims)], [(0, 0, 1, 0), (1, 1, 2, 0)])
    page = view(file, inputs=[np.ones(dims, np.float32)])
    assert page.sections[0].heading == "The run failed"
    assert "Unknown" in page.sections[0].lines[0]


def test_inputs_of_another_network_are_refused() -> None:
    with pytest.raises(EvaluationError):
        view(SAMPLES / "gnn_step.xml", inputs={"nothing": np.ones(1, np.float32)})
