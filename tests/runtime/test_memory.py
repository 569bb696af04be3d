"""Whose memory a run writes to, and how much of it it takes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import ir_exec
from ir_exec.runtime import plan as planning
from tests.helpers.ir_text import const, layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parent.parent / "networks"
SHARED = Path(__file__).parent.parent.parent.parent / "shared" / "models"
PATHS = {path.stem: path for folder in (SHARED, NETWORKS) for path in sorted(folder.glob("*.xml"))}


def chain(types, dims):
    """x -> unary operators, one after the other."""
    layers, ends, last = [parameter(0, "f32", dims, "x")], [], (0, 0)
    for id, type in enumerate(types, 1):
        layers.append(layer(id, type, name=f"{type}{id}", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)]))
        ends.append((*last, id, 0))
        last = (id, 1)
    layers.append(result(len(types) + 1, dims=dims))
    return net(layers, [*ends, (*last, len(types) + 1, 0)])


@pytest.mark.parametrize("name", sorted(PATHS))
def test_results_are_the_same_with_and_without_overwriting(name, monkeypatch):
    monkeypatch.setattr(planning, "OVERWRITE_FROM", 1)
    path = PATHS[name]
    try:
        compiled = ir_exec.compile_model(path)
    except ir_exec.UnsupportedError as error:
        pytest.skip(error.message)
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    copies = [array.copy() for array in inputs]
    # An observer may keep what it sees, so that nothing is overwritten where there is one.
    plain = compiled(inputs, observe=lambda node, arrays, outputs: None)
    compiled.reset_state()
    for _ in range(2):
        overwritten = compiled(inputs)
        compiled.reset_state()
        for index in range(len(plain)):
            np.testing.assert_array_equal(overwritten[index], plain[index])
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_chain_is_written_into_one_buffer():
    size = 2**20
    compiled = ir_exec.compile_model(chain(["Abs", "Sqrt", "Negative", "ReLU", "Abs"], (size,)))
    x = np.ones(size, np.float32)
    compiled([x])
    tracemalloc.start()
    compiled([x])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * 4 * size


@pytest.mark.parametrize("name", ["bert_tiny_fp16", "index_ops", "llama_int4_asym", "gnn_gcn_gat"])
def test_the_memory_plan_is_what_tracemalloc_sees(name):
    """Within the plan's peak and what the operators of one layer need besides, which is a few times its tensors."""
    path = PATHS[name]
    compiled = ir_exec.compile_model(path)
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    compiled(inputs)
    compiled(inputs)
    planned = compiled.memory_plan(dict(enumerate(array.shape for array in inputs)))
    tracemalloc.start()
    compiled(inputs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert planned.peak > 0
    assert peak <= 3 * planned.peak + 2**20
    assert planned.layer is not None


def test_the_plan_of_a_chain_holds_two_tensors():
    compiled = ir_exec.compile_model(chain(["Exp"] * 5, (1000, 1000)))
    planned = compiled.memory_plan()
    assert planned.peak == 2 * 4_000_000
    assert planned.constants == 0


def test_an_open_input_needs_a_shape():
    compiled = ir_exec.compile_model(chain(["Exp"], (-1, 1000)))
    with pytest.raises(ir_exec.ShapeError, match="open shape"):
        compiled.memory_plan()
    assert compiled.memory_plan({"x": (500, 1000)}).peak == 4 * 500_000
    with pytest.raises(ir_exec.ShapeError, match="expected"):
        compiled.memory_plan({"x": (500, 999)})


def test_the_live_set_is_held_against_the_budget_before_anything_runs():
    compiled = ir_exec.compile_model(chain(["Exp", "Exp"], (1000, 1000)), max_memory=7_000_000)
    with pytest.raises(ir_exec.ResourceError, match="8,000,000 bytes at this layer") as caught:
        compiled([np.ones((1000, 1000), np.float32)])
    assert caught.value.location.layer_name == "Exp2"


@pytest.mark.parametrize(
    ("type", "data", "dims"),
    [
        ("Interpolate", 'mode="nearest" axes="0,1"', (2**16, 2**16)),
        ("Convert", 'destination_type="f64"', (2, 2)),
        ("Concat", 'axis="0"', (4, 2)),
    ],
)
def test_what_is_larger_than_the_inputs_is_no_view_of_them(type, data, dims):
    """Operators that may hand on an input as it is take memory where they do not."""
    second = {"Interpolate": port(1, "i64", (2,)), "Concat": port(1, dims=(2, 2))}
    inputs = [port(0, dims=(2, 2)), *([second[type]] if type in second else [])]
    made = layer(2, type, name="made", data=data, inputs=inputs, outputs=[port(2, dims=None)])
    layers = [parameter(0, "f32", (2, 2), "x"), const(1, "i64", [2], 0, 16), made, result(3)]
    ends = [(0, 0, 2, 0), (2, 2, 3, 0)] + ([(0 if type == "Concat" else 1, 0, 2, 1)] if type in second else [])
    size = int(np.prod(dims)) * (8 if type == "Convert" else 4)
    weights = np.array(dims, np.int64).tobytes()
    compiled = ir_exec.compile_model(net(layers, ends), weights=weights, max_memory=size - 1)
    with pytest.raises(ir_exec.ResourceError, match=f"takes {size:,} bytes at this layer"):
        compiled([np.ones((2, 2), np.float32)])


def test_a_view_of_open_shape_is_not_taken_for_memory_of_its_own(monkeypatch):
    """Of NonZero [2,?] -> Add the run owns memory of a size that nobody knows; seen as [2,4] it may not change."""
    monkeypatch.setattr(planning, "OVERWRITE_FROM", 1)
    net = NetworkText()
    places = net.op("NonZero", net.parameter("2,2"), opset=3, output_type="i64")
    own = net.op("Add", places, net.const(np.array(10)))
    seen = net.op("Reshape", own, net.const(np.array([2, 4])), special_zero="false")
    net.result(net.op("Negative", seen))
    net.result(net.op("Add", own, net.const(np.array(100))))
    file = net.file()
    negative, more = ir_exec.compile_model(file.xml, weights=file.weights)([np.ones((2, 2), np.float32)]).values()
    assert np.array_equal(more, 100 - negative)


def test_weights_are_kept_small_when_that_is_asked_for():
    path = NETWORKS / "llama_int4_asym.xml"
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    expanded, kept = ir_exec.compile_model(path, weights="expand"), ir_exec.compile_model(path, weights="keep")
    for one, other in zip(expanded(inputs).values(), kept(inputs).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    shapes = dict(enumerate(array.shape for array in inputs))
    assert kept.memory_plan(shapes).constants < expanded.memory_plan(shapes).constants / 2


def test_a_value_that_is_still_needed_is_not_overwritten():
    """y = x + abs(x), z = y * y: abs may be overwritten, x may not; y may be by z alone."""
    dims = (100, 100)
    ports = [port(0, dims=dims), port(1, dims=dims)]
    xml = net(
        [
            parameter(0, "f32", dims, "x"),
            layer(1, "Abs", inputs=ports[:1], outputs=[port(1, dims=dims)]),
            layer(2, "Add", name="y", inputs=ports, outputs=[port(2, dims=dims)]),
            layer(3, "Multiply", name="z", inputs=ports, outputs=[port(2, dims=dims)]),
            result(4, dims=dims),
            result(5, dims=dims),
        ],
        [(0, 0, 1, 0), (0, 0, 2, 0), (1, 1, 2, 1), (2, 2, 3, 0), (2, 2, 3, 1), (2, 2, 4, 0), (3, 2, 5, 0)],
    )
    x = np.full(dims, -3, np.float32)
    x[0] = 2
    outputs = ir_exec.compile_model(xml)([x])
    np.testing.assert_array_equal(outputs["y"], x + np.abs(x))
    np.testing.assert_array_equal(outputs["z"], (x + np.abs(x)) ** 2)
    assert x[1, 1] == -3


def test_outputs_that_do_not_depend_on_values_are_the_callers_own():
    """A constant and a shape, which the network computes once and keeps."""
    xml = net(
        [
            parameter(0, "f32", (2, 3), "x"),
            const(1, "i64", (2,), 0, 16),
            layer(2, "ShapeOf", opset="opset3", inputs=[port(0)], outputs=[port(1, "i64", (2,))]),
            layer(3, "Add", name="sum", inputs=[port(0), port(1)], outputs=[port(2, "i64", (2,))]),
            result(4, "i64", (2,)),
            result(5, "i64", (2,)),
            result(6, "i64", (2,)),
        ],
        [(0, 0, 2, 0), (1, 0, 3, 0), (2, 1, 3, 1), (1, 0, 4, 0), (2, 1, 5, 0), (3, 2, 6, 0)],
    )
    compiled = ir_exec.compile_model(ir_exec.read_model(xml, weights=np.array([10, 20], np.int64).tobytes()))
    for _ in range(2):
        outputs = compiled([np.zeros((2, 3), np.float32)])
        assert [array.tolist() for array in outputs.values()] == [[10, 20], [2, 3], [12, 23]]
        for array in outputs.values():
            array[:] = -1
