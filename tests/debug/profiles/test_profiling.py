"""Profiles: what ran, how much it did, and that nothing is lost between layers."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError, IRError, compile_model, read_model
from ir_exec.debug import Profile, profile
from ir_exec.debug.comparison.references.openvino import original_layers
from ir_exec.debug.profiles.engine_profile import PAUSE
from ir_exec.debug.profiles.profile_report import LayerProfile, MachineSpeed, measure_machine, summary
from ir_exec.debug.profiles.profiling import grouped_by_prefix
from ir_exec.debug.profiles.recording import Recorder, bytes_moved
from ir_exec.infer import count_work
from ir_exec.plan.records import Step
from ir_exec.runtime.compiled import CompiledModel
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.facts import coded, mentions, naming

NETWORKS = Path(__file__).parents[2] / "networks"
NAMES = [path.stem for path in sorted(NETWORKS.glob("*.xml"))]


def inputs(name: str) -> list[Array]:
    return arrays(NETWORKS / f"{name}.xml", "inputs")


def profile_network(name: str, **options: object) -> Profile:
    return profile(NETWORKS / f"{name}.xml", inputs(name), repeat=2, **options)  # type: ignore[arg-type]


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_every_network(name: str) -> None:
    report = profile_network(name)
    assert report.layers
    assert sum(layer.share for layer in report.layers) == pytest.approx(1)
    for groups in (report.by_type,):
        assert sum(group.seconds for group in groups) == pytest.approx(report.layer_seconds)
        assert sum(group.layers for group in groups) == len(report.layers)
        assert sum(group.bytes_moved for group in groups) == sum(layer.bytes_moved for layer in report.layers)
    assert report.overhead_seconds > 0
    assert report.peak_memory == max(layer.memory for layer in report.layers) > 0
    assert report.peak_layer in {layer.path for layer in report.layers}
    assert len({layer.path for layer in report.layers}) == len(report.layers) or name == "index_ops"


def test_work_equals_inference() -> None:
    model = read_model(NETWORKS / "conv_zoo.xml")
    report = profile(model, inputs("conv_zoo"), repeat=1)
    shapes = {port.name: array.shape for port, array in zip(model.inputs, inputs("conv_zoo"), strict=True)}
    model.reshape(shapes)
    counted = count_work(model.graph, model.types, model.weights)
    assert counted.is_exact
    assert sum(layer.multiply_adds for layer in report.layers) == counted.multiply_adds


def test_layers_of_bodies_count_for_themselves() -> None:
    report = profile_network("script_loop_seq")
    (loop,) = [layer for layer in report.layers if layer.type == "Loop"]
    inner = [layer for layer in report.layers if layer.path.startswith("prim::Loop/Loop/body/")]
    assert {layer.calls for layer in inner} == {6}
    assert loop.calls == 1
    assert loop.with_bodies > loop.seconds
    assert loop.with_bodies >= max(layer.with_bodies for layer in inner)
    # The innermost layer that holds the peak is reported, and not its loop.
    assert report.peak_layer is not None
    assert report.peak_layer.startswith("prim::Loop/Loop/body/")


def test_profiled_layers_equal_the_plan() -> None:
    """Constants are folded and known values left out as in any other run."""
    path = NETWORKS / "bert_tiny_fp16.xml"
    report = profile(path, inputs("bert_tiny_fp16"), repeat=1)
    assert report.not_run
    assert not any(layer.type == "Const" for layer in report.layers)
    assert report.measured == mentions("f16", "bf16", "f32")
    assert {layer.element_type for layer in report.layers} & {"f16"} == set()
    as_filed = profile(path, inputs("bert_tiny_fp16"), repeat=1, precision="file")
    assert "f16" not in as_filed.measured


def test_instrumented_runs_give_the_same_values() -> None:
    model, recorder = read_model(NETWORKS / "llama_stateful.xml"), Recorder()
    watched, plain = CompiledModel(model, instrument=recorder.instrument), compile_model(model)
    arrays = inputs("llama_stateful")
    for record in (recorder.record_times, recorder.record_work):
        with record() as seen:
            outputs = watched(arrays)
        assert seen
        for mine, theirs in zip(outputs.to_tuple(), plain(arrays).to_tuple(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_events_lie_within_each_other() -> None:
    model, recorder = read_model(NETWORKS / "script_loop_seq.xml"), Recorder()
    watched = CompiledModel(model, instrument=recorder.instrument)
    with recorder.record_times() as events:
        watched(inputs("script_loop_seq"))
    top = [event for event in events if event.node in set(model.graph.nodes)]
    for before, after in pairwise(top):
        assert before.end <= after.start
    (loop,) = [event for event in top if event.node.type == "Loop"]
    inside = [event for event in events if event not in top]
    assert sum(event.end - event.start for event in inside) == loop.inside
    assert all(loop.start <= event.start <= event.end <= loop.end for event in inside)


def test_bytes_moved() -> None:
    nodes = {node.type: node for node in read_model(NETWORKS / "llama_stateful.xml").graph.nodes}
    data = np.zeros((100, 8), np.float32)
    some = np.array([3, 4])
    gather, reshape, add = nodes["Gather"].op, nodes["Reshape"].op, nodes["Add"].op
    assert gather is not None
    assert reshape is not None
    assert add is not None
    # Two rows of the table are read and written, and the index is read.
    assert bytes_moved(gather, (data, some), [data[some]]) == 2 * 64 + 16
    assert bytes_moved(reshape, (data, some), [data.reshape(8, 100)]) == 0
    assert bytes_moved(reshape, (data.T, some), [data.T.reshape(100, 8)]) == 2 * 3200 + 16
    # What is broadcast is read once.
    wide = np.broadcast_to(data[:1], data.shape)
    assert bytes_moved(add, (data, wide), [data + wide]) == 2 * 3200 + 32


def test_the_machine() -> None:
    speed = measure_machine(2)
    assert min(speed.gflops, speed.gbytes, speed.cache_gbytes) > 0
    machine = MachineSpeed(threads=1, gflops=10, gbytes=5, cache_gbytes=50)
    assert machine.least_seconds(5 * 10**9, 0) == pytest.approx(1)
    assert machine.least_seconds(0, 5 * 10**9) == pytest.approx(1)
    assert machine.least_seconds(0, 10**6) == pytest.approx(2e-5)
    assert machine.least_seconds(5 * 10**9, 10**10) == pytest.approx(2)


def layer(path: str) -> LayerProfile:
    rates = {"seconds": 1.0, "share": 0.1, "calls": 1, "bytes_moved": 4, "multiply_adds": 2, "gflops": 1.0}
    facts = {"layer_id": "0", "layer_name": path, "path": path, "type": "Add", "element_type": "f32", "shape": (1,)}
    return LayerProfile(**rates, **facts, gbytes=1.0, of_peak=None, with_bodies=1.0, memory=0)  # type: ignore[arg-type]


def test_prefixes() -> None:
    names = ["net.layers.0/mul", "net.layers.0/add", "net.layers.1/mul", "net.layers.1/add", "net.head", "other", "o/x"]
    layer_counts = {group.name: group.layers for group in grouped_by_prefix(list(map(layer, names)))}
    # `net.` is informative; what has one layer alone, or the layers of a longer prefix, is left out.
    assert layer_counts == {"net.": 5, "net.layers.": 4, "net.layers.0/": 2, "net.layers.1/": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", ("a", "b")),
        ("a,c,d", ("a", "c,d")),
        ("", ()),
        ("made up,b,b", ("b",)),
        ("a_abc,c", ()),
    ],
)
def test_original_layers(text: str, expected: tuple[str, ...]) -> None:
    assert original_layers(text, {"a", "b", "c,d"}) == expected


def test_openvino_beside_it() -> None:
    report = profile_network("conv_zoo", reference="openvino")
    assert report.openvino is not None
    theirs = {layer.name: layer for layer in report.openvino.layers}
    fused = theirs["__module.c2/aten::_convolution/GroupConvolution"]
    assert fused.layers == (
        "__module.c2/aten::_convolution/GroupConvolution",
        "__module.c2/aten::_convolution/Add",
        "aten::gelu/Gelu",
    )
    ours = {layer.path: layer for layer in report.layers}
    assert fused.ours == pytest.approx(sum(ours[path].with_bodies for path in fused.layers))
    assert {ours[path].openvino for path in fused.layers} == {fused.name}
    assert sum(layer.share for layer in report.openvino.layers) == pytest.approx(1)


def test_lowered_model_is_named() -> None:
    path = NETWORKS / "onnx" / "separable.onnx"
    for source, lowered in ((path, True), (NETWORKS / "gnn_gcn_gat.xml", False)):
        with np.load(source.with_name(f"{source.stem}.inputs.npz")) as stored:
            report = profile(source, [stored[name] for name in stored.files], repeat=1, reference="openvino")
        assert report.openvino is not None
        assert report.openvino.lowered is lowered
        line = next(text for text in summary(report) if report.openvino.version in text)
        assert ("ir_exec" in line) is lowered


def test_each_contestant_runs_in_blocks_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs without and with timers, of the interpreter and of the engine."""
    pytest.importorskip("onnxruntime")
    pauses: list[float] = []
    monkeypatch.setattr("ir_exec.debug.profiles.engine_profile.sleep", pauses.append)
    report = profile_network("gnn_gcn_gat", engine="onnxruntime")
    assert report.repeat == 2
    assert pauses == [PAUSE] * 4


def test_openvino_refuses() -> None:
    with pytest.raises(EvaluationError, match="NO_SUCH_DEVICE"):
        profile_network("conv_zoo", reference="openvino", device="NO_SUCH_DEVICE")
    with pytest.raises(EvaluationError, match=naming("onnx", "openvino")):
        profile_network("conv_zoo", reference="onnx")


def test_trace_events(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    report = profile_network("script_loop_seq", reference="openvino", trace_events=path)
    events = json.loads(path.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert len(slices) == 1 + sum(layer.calls for layer in report.layers)
    for event in slices:
        assert event["dur"] >= 0
        assert set(event) >= {"name", "cat", "ts", "pid", "tid", "args"}
    run_slice = slices[0]
    # Slices of a thread are nested or apart, or else viewers cannot stack them.
    ends = [(run_slice["ts"], run_slice["ts"] + run_slice["dur"])]
    for event in slices[1:]:
        start, end = event["ts"], event["ts"] + event["dur"]
        while start >= ends[-1][1]:
            ends.pop()
        assert end <= ends[-1][1] + 1e-6
        ends.append((start, end))
    theirs = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
    assert report.openvino is not None
    assert [event["name"] for event in theirs] == [layer.name for layer in report.openvino.layers]
    assert {event["ph"] for event in events} == {"X", "M", "C"}


def test_trace_events_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(IRError, check=coded("IR009")):
        profile_network("lstm", trace_events=tmp_path / "none" / "events.json")
    assert not list(tmp_path.iterdir())


def test_drawn_inputs() -> None:
    report = profile(NETWORKS / "conv_zoo.xml", seed=3, repeat=1)
    assert report.seed == 3
    assert mentions(3) in str(report).splitlines()


def test_rows() -> None:
    report = profile_network("lstm")
    heading, *rows = report.to_csv().splitlines()
    assert heading.startswith("layer_id,path,type,element_type,shape,seconds")
    assert len(rows) == len(report.layers)
    assert [row["path"] for row in report.to_rows()] == [layer.path for layer in report.layers]


def test_repeat_is_a_number() -> None:
    with pytest.raises(EvaluationError, match="repeat"):
        profile(NETWORKS / "lstm.xml", repeat=0)


@pytest.mark.parametrize("engine", [None, "onnxruntime"])
def test_a_model_is_compiled_once(engine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    original = CompiledModel.__init__

    def record_compilation(self: CompiledModel, *arguments: Any, **options: Any) -> None:
        compiled.append(type(self))
        original(self, *arguments, **options)

    monkeypatch.setattr(CompiledModel, "__init__", record_compilation)
    report = profile_network("llama_stateful", engine=engine)
    assert len(compiled) == len(set(compiled)) == (1 if engine is None else 2)
    assert report.run_seconds > 0
    assert (report.engine is None) == (engine is None)


def test_kernels_are_replaced_within_records_alone() -> None:
    model, recorder = read_model(NETWORKS / "script_loop_seq.xml"), Recorder()
    steps: list[Step] = []

    def instrument(step: Step) -> Step:
        steps.append(recorder.instrument(step))
        return steps[-1]

    watched = CompiledModel(model, instrument=instrument)
    with recorder.record_times() as first:
        watched(inputs("script_loop_seq"))
    kernels = [step.evaluate for step in steps]
    with recorder.record_times() as second:
        assert all(step.evaluate is not kernel for step, kernel in zip(steps, kernels, strict=False))
        watched(inputs("script_loop_seq"))
    assert all(step.evaluate is kernel for step, kernel in zip(steps, kernels, strict=False))
    assert len(first) >= len(second) > 0
