"""Whose memory a run writes to, and how much of it it takes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tracemalloc
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

import ir_exec
from ir_exec.graph import last_uses
from ir_exec.plan import planner as planning
from ir_exec.plan.memory import Buffers, keep_some_freed_memory
from tests.conformance.networks import networks
from tests.helpers.facts import naming
from tests.helpers.ir_text import const, layer, net, parameter, port, result
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parent.parent / "networks"
PATHS = networks()


def chain(types, dims):
    """x -> unary operators, one after the other."""
    layers, ends, last = [parameter(0, "f32", dims, "x")], [], (0, 0)
    for id, type in enumerate(types, 1):
        layers.append(layer(id, type, name=f"{type}{id}", inputs=[port(0, dims=dims)], outputs=[port(1, dims=dims)]))
        ends.append((*last, id, 0))
        last = (id, 1)
    layers.append(result(len(types) + 1, dims=dims))
    return net(layers, [*ends, (*last, len(types) + 1, 0)])


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(PATHS))
def test_results_are_the_same_with_and_without_overwriting(name, monkeypatch):
    monkeypatch.setattr(planning, "OVERWRITE_FROM", 1)
    path = PATHS[name]
    try:
        compiled = ir_exec.compile_model(path, optimize=False)
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
def test_memory_plan_matches_tracemalloc(name):
    """Within the plan's peak and the temporary memory of the operators of one layer, a few times its tensors."""
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
    with pytest.raises(ir_exec.ShapeError) as caught:
        compiled.memory_plan()
    assert caught.value.code == "IR506"
    assert compiled.memory_plan({"x": (500, 1000)}).peak == 4 * 500_000
    with pytest.raises(ir_exec.ShapeError, match=naming("x", "[500,999]", "[?,1000]")):
        compiled.memory_plan({"x": (500, 999)})


def test_live_set_is_checked_against_budget_in_advance():
    compiled = ir_exec.compile_model(chain(["Exp", "Exp"], (1000, 1000)), max_memory=7_000_000)
    with pytest.raises(ir_exec.ResourceError, match=naming("8,000,000")) as caught:
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
def test_value_larger_than_inputs_is_no_view(type, data, dims):
    """Operators that may hand on an input as it is take memory where they do not."""
    second = {"Interpolate": port(1, "i64", (2,)), "Concat": port(1, dims=(2, 2))}
    inputs = [port(0, dims=(2, 2)), *([second[type]] if type in second else [])]
    middle = layer(2, type, name="made", data=data, inputs=inputs, outputs=[port(2, dims=None)])
    layers = [parameter(0, "f32", (2, 2), "x"), const(1, "i64", [2], 0, 16), middle, result(3)]
    ends = [(0, 0, 2, 0), (2, 2, 3, 0)] + ([(0 if type == "Concat" else 1, 0, 2, 1)] if type in second else [])
    size = int(np.prod(dims)) * (8 if type == "Convert" else 4)
    weights = np.array(dims, np.int64).tobytes()
    compiled = ir_exec.compile_model(net(layers, ends), weights=weights, max_memory=size - 1)
    with pytest.raises(ir_exec.ResourceError, match=naming(f"{size:,}")):
        compiled([np.ones((2, 2), np.float32)])


def test_open_shape_view_has_no_memory_of_its_own(monkeypatch):
    """Of NonZero [2,?] -> Add the run owns memory of unknown size; seen as [2,4] it may not change."""
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


def test_weights_stay_compressed_on_request():
    path = NETWORKS / "llama_int4_asym.xml"
    with np.load(path.with_suffix(".inputs.npz")) as stored:
        inputs = [stored[f"in{i}"] for i in range(len(stored.files))]
    expanded, compressed = (
        ir_exec.compile_model(path, weight_mode="expand"),
        ir_exec.compile_model(path, weight_mode="keep"),
    )
    for first, other in zip(expanded(inputs).values(), compressed(inputs).values(), strict=True):
        np.testing.assert_allclose(first, other, rtol=1e-5, atol=1e-6)
    shapes = dict(enumerate(array.shape for array in inputs))
    assert compressed.memory_plan(shapes).constants < expanded.memory_plan(shapes).constants / 2


def test_needed_value_is_not_overwritten():
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


def test_value_independent_outputs_belong_to_caller():
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


def compiled_of(text):
    file = text.file()
    return ir_exec.compile_model(ir_exec.read_model(file.xml, weights=file.weights))


def test_memory_of_variables_is_not_overwritten():
    """Exp is the last to read what Assign was given, and might write over it before the run is over."""
    text = NetworkText()
    dims = {"variable_id": "v", "variable_type": "f32", "variable_shape": "100,100"}
    x = text.parameter("100,100")
    before = text.op("ReadValue", x, opset=6, **dims)
    total = text.op("Add", before, x)
    text.op("Assign", total, opset=6, variable_id="v")
    text.result(text.op("Exp", total))
    compiled = compiled_of(text)
    ones = np.ones((100, 100), np.float32)
    for number in (2, 3, 4):
        np.testing.assert_allclose(compiled([ones])[0], np.exp(number * ones), rtol=1e-6)
        np.testing.assert_array_equal(compiled.state["v"], number * ones)


def test_operand_viewed_by_other_input_is_not_overwritten():
    """Every row of data becomes another row of itself, seen by a reversed view."""
    size = 2**16
    text = NetworkText()
    data = text.op("Negative", text.parameter(f"{size}"))
    turned = text.op("Slice", data, *(text.const(np.array([n])) for n in (size - 1, -size - 1, -1)), opset=8)
    places = text.const(np.arange(size))
    text.result(text.op("ScatterUpdate", data, places, turned, text.const(np.array(0)), opset=3))
    x = np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(compiled_of(text)([x])[0], -x[::-1])


def buffers_of(text, *types):
    """The buffers of the nodes of these types, in their order, and what was typed."""
    file = text.file()
    model = ir_exec.read_model(file.xml, weights=file.weights)
    nodes = [node for node in model.graph.nodes if node.type in types]
    keep = {node.values_in[0].number for node in model.graph.results}
    return Buffers(nodes, model.types, keep, last_uses(nodes))


def test_aliased_operands_are_not_overwritten():
    text = NetworkText()
    data = text.op("Exp", text.parameter("100,100"))
    turned = text.op("Transpose", data, text.const(np.array([1, 0])))
    text.result(text.op("Add", data, turned))
    text.result(text.op("Add", text.op("Abs", text.parameter("100,100")), text.op("Abs", text.parameter("100,100"))))
    buffers = buffers_of(text, "Exp", "Transpose", "Add", "Abs")
    assert [buffers.may_overwrite(2, position) for position in (0, 1)] == [False, False]
    assert [buffers.may_overwrite(5, position) for position in (0, 1)] == [True, True]


def test_view_of_several_buffers_is_released_with_all():
    """The output of Einsum may be a view of either input; of the first pair one is read later on."""
    text = NetworkText()
    pairs = [[text.op("Exp", text.parameter("1,100")) for _ in range(2)] for _ in range(2)]
    for left, other in pairs:
        text.result(text.op("Negative", text.op("Einsum", left, other, opset=7, equation="ab,ab->ab")))
    text.result(text.op("Sqrt", pairs[0][0]))
    # Four Exp, Einsum, Negative, Einsum, Negative, Sqrt.
    buffers = buffers_of(text, "Exp", "Einsum", "Negative", "Sqrt")
    assert [buffers.may_overwrite(index, 0) for index in (5, 7)] == [False, True]


@pytest.mark.parametrize(
    "array",
    [
        np.broadcast_to(np.ones(3, np.float32), (2, 3)),
        np.ones((3, 2), np.float32).T,
        np.ones((2, 6), np.float32)[:, ::2],
        np.frombuffer(b"1234", np.float32),
    ],
    ids=["broadcast", "transposed", "strided", "read-only"],
)
def test_views_of_foreign_elements_are_no_output_buffers(array):
    buffers = []
    planning.overwrite_input(lambda *arrays, out: buffers.append(out), 1, np.ones(3), array)
    assert buffers == [None]


def test_array_of_run_is_output_buffer():
    array, buffers = np.ones((2, 3), np.float32), []
    planning.overwrite_input(lambda *arrays, out: buffers.append(out), 1, np.ones(3), array)
    assert buffers[0] is array


def test_values_are_freed_after_their_last_use():
    """While the last layer runs, what only the first ones read is gone."""
    text = NetworkText()
    value = text.parameter("50,50")
    for _ in range(4):
        # A product has memory of its own.
        value = text.op("MatMul", value, text.const(np.eye(50, dtype=np.float32)))
    text.result(value)
    seen, alive = [], []

    def look(node, inputs, outputs):
        alive.append(sum(other() is not None for other in seen))
        seen.append(ref(outputs[0].base))

    compiled_of(text)([np.ones((50, 50), np.float32)], observe=look)
    assert alive == [0, 1, 1, 1]


FAULTS = """
import resource, sys
import numpy as np
import ir_exec
compiled = ir_exec.compile_model(sys.argv[1], weights=None, threads=1, optimize=False)
x = np.ones(1_000_000, np.float32)
for _ in range(3):
    compiled([x])
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    compiled([x])
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have other rules")
def test_run_reuses_memory_of_previous_run(tmp_path):
    text = NetworkText()
    x = text.parameter("1000000")
    branches = [
        text.op(operator_type, x) for operator_type in ("Exp", "Abs", "Sqrt", "Sin", "Cos", "Tan", "Negative", "Floor")
    ]
    text.result(text.op("Concat", *branches, axis=0))
    path = tmp_path / "branches.xml"
    path.write_bytes(text.file().xml)
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name and "GLIBC" not in name}
    run = [sys.executable, "-c", FAULTS, str(path)]
    process = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    # A tensor of 4 MB has 977 pages.
    assert int(process.stdout) < 100


@pytest.mark.parametrize("answer", [None, ValueError("unrecognized configuration name")])
def test_other_allocators_are_left_alone(monkeypatch, answer):
    def confstr(name):
        if answer is not None:
            raise answer
        return

    monkeypatch.setattr(os, "confstr", confstr, raising=False)
    monkeypatch.setattr(np, "empty", lambda *_: pytest.fail("an array that nothing needs"))
    keep_some_freed_memory.__wrapped__()


def test_no_room_for_what_could_be_kept(monkeypatch):
    def empty(*_):
        raise MemoryError

    monkeypatch.setattr(np, "empty", empty)
    keep_some_freed_memory.__wrapped__()
