"""OpenVINO as a reference: its faults are placed, its crashes are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from ir_exec import EvaluationError, build, read_model
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.records import ComparedLayer
from ir_exec.debug.comparison.references import openvino
from ir_exec.debug.comparison.references.child import Child, ChildCrashed, ChildRefused
from ir_exec.debug.comparison.references.openvino import OpenVINOReference
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.facts import mentions, naming
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[3] / "networks"


def floats(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def constant(value: Any) -> Any:
    return op.constant(np.asarray(value, np.float32))


def find_blamed(report: Comparison) -> list[ComparedLayer]:
    """The layers at which the reference differs from itself."""
    return [layer for layer in report.layers if layer.status == "reference"]


def sequence() -> tuple[Any, list[Array]]:
    """A GRUSequence with lengths, in a network of dynamic shape: the plugin continues after the lengths."""
    random = np.random.default_rng(0)
    x, lengths = op.parameter([-1, -1, 8], np.float32, name="x"), op.parameter([-1], np.int32, name="lengths")
    zero = op.constant(np.array(0, np.int64))
    batch = op.gather(op.shape_of(x), op.constant(np.array([0], np.int64)), zero)
    sizes = op.concat([batch, op.constant(np.array([1, 16], np.int64))], 0)
    weights = (constant(floats(random, 1, 48, size) * 0.3) for size in (8, 16))
    outputs = op.gru_sequence(
        op.relu(x),
        op.broadcast(constant(0), sizes),
        lengths,
        *weights,
        constant(floats(random, 1, 48) * 0.1),
        16,
        "forward",
    )
    outputs.set_friendly_name("faulty")
    scaled = op.multiply(op.squeeze(outputs.output(0), op.constant(np.array([1], np.int64))), constant(2))
    inputs = [floats(random, 3, 7, 8), np.array([7, 3, 1], np.int32)]
    return ov.Model([scaled.output(0), outputs.output(1)], [x, lengths], "sequence"), inputs


def make_quantized() -> tuple[Any, list[Array]]:
    """FakeQuantize with ranges per channel after a depthwise convolution of int8 weights."""
    random = np.random.default_rng(20)
    x = op.parameter([1, 8, 14, 12], np.float32, name="x")
    low, high = constant(-4), constant(4 * 127 / 128)
    data = op.fake_quantize(x, low, high, low, high, 256)
    kernel = floats(random, 8, 1, 1, 1, 1) * 0.3
    most = constant(np.abs(kernel))
    least = constant(-np.abs(kernel))
    weights = op.fake_quantize(constant(kernel), least, most, least, most, 255)
    convolution = op.group_convolution(data, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    convolution = op.add(convolution, constant(floats(random, 1, 8, 1, 1)))
    ranges = (0.5 + random.random((1, 8, 1, 1)) * 2).astype(np.float32)
    low, high = constant(-ranges), constant(ranges * 127 / 128)
    convolution = op.fake_quantize(convolution, low, high, low, high, 255)
    convolution.set_friendly_name("faulty")
    return ov.Model([op.relu(op.add(convolution, convolution)).output(0)], [x], "quantized"), [
        floats(random, 1, 8, 14, 12)
    ]


def not_a_number() -> tuple[Any, list[Array]]:
    """ReLU of NaN: the maximum of 0 and NaN is 0 in the plugin."""
    x = op.parameter([6], np.float32, name="x")
    activation = op.relu(op.power(x, constant(0.5)))
    activation.set_friendly_name("faulty")
    return ov.Model([op.sin(activation).output(0)], [x], "not_a_number"), [np.array([-1, 0, 4, 1, 2, 9], np.float32)]


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("make", [sequence, make_quantized, not_a_number])
@pytest.mark.parametrize("probe", ["all", "bisect"])
def test_known_faults_are_placed(make: Callable[[], tuple[Any, list[Array]]], probe: Any, tmp_path: Path) -> None:
    model, inputs = make()
    path = tmp_path / "network.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    report = compare(path, "openvino", inputs, probe=probe)
    assert not report.equal
    assert report.faults == ()
    assert find_blamed(report)[0].layer_name == "faulty"


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", ["gnn_gcn_gat", "lstm", "dynamic_output_ops", "script_loop_seq", "nms9"])
def test_networks_without_faults(name: str) -> None:
    path = NETWORKS / f"{name}.xml"
    report = compare(path, "openvino", arrays(path, "inputs"))
    assert report.equal, str(report)
    assert report.rounds == 2
    assert all(layer.path.count("/body/") or layer.type == "Assign" for layer in report.unmatched)


class TestOpinions:
    def test_of_the_kernel_and_of_the_layer_alone(self) -> None:
        """Of NaN the plugin's ReLU makes 0, in any network; the reference kernel keeps it."""
        x = build.parameter([3], name="x")
        model = build.model(build.result(build.relu(x, name="faulty"), name="y"))
        report = compare(model, "openvino", [np.float32([np.nan, 1, -1])])
        assert report.faults == ()
        (layer,) = find_blamed(report)
        kernel, alone = layer.note.split("; ")
        assert kernel == mentions("OpenVINO", "ir_exec")
        assert alone == mentions("OpenVINO")
        assert "ir_exec" not in alone
        assert layer.note in str(report)
        assert not report.equal

    def test_fused_layer_is_blamed(self, tmp_path: Path) -> None:
        """In an int8 pipeline the zero of a range lies between two levels."""
        random = np.random.default_rng(1)
        x = build.parameter([1, 3, 12, 12], name="x")
        limits = [np.float32(-3), np.float32(3)]
        data = build.fake_quantize(x, *limits, *limits, levels=256)
        numbers = build.convert(random.integers(-127, 127, (8, 3, 3, 3)).astype(np.int8), "f32")
        weights = build.multiply(numbers, np.full((8, 1, 1, 1), 0.005, np.float32))
        sides = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
        model = build.model(build.result(build.convolution(data, weights, **sides, name="faulty"), name="y"))
        report = compare(model, "openvino", [floats(random, 1, 3, 12, 12)])
        assert report.faults == ()
        (layer,) = find_blamed(report)
        assert (layer.layer_name, layer.note) == ("faulty", mentions("OpenVINO", "ir_exec"))

    def test_refusals_and_crashes_are_no_finding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = build.parameter([3], name="x")
        model = build.model(build.result(build.relu(x, name="faulty"), name="y"))
        ask = Child.ask

        def refuse(self: Child, **request: Any) -> dict[str, Any]:
            if request["do"] == "opinions":
                raise ChildCrashed("crashed with SIGSEGV")
            return ask(self, **request)

        monkeypatch.setattr(Child, "ask", refuse)
        report = compare(model, "openvino", [np.float32([np.nan, 1, -1])])
        assert report.failure is None
        assert [(fault.layer_name, fault.note) for fault in report.faults] == [("faulty", None)]

    def test_few_layers_are_probed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ir_exec.debug.comparison.references.openvino.MOST_OPINIONS", 5)
        x = build.parameter([3], name="x")
        faulty = [build.result(build.relu(build.multiply(x, np.float32(n + 1)), name=f"relu{n}")) for n in range(8)]
        report = compare(build.model(faulty), "openvino", [np.float32([np.nan, 1, -1])])
        assert len(find_blamed(report)) == 5
        assert [fault.note for fault in report.faults] == [None] * 3


def test_outputs_alone() -> None:
    path = NETWORKS / "gnn_gcn_gat.xml"
    report = compare(path, "openvino", arrays(path, "inputs"), probe="outputs")
    assert report.equal, str(report)
    assert report.rounds == 1
    seen = [layer for layer in report.layers if layer.partner and layer.type not in ("Parameter", "Const")]
    assert sum(layer.status != "unmatched" for layer in seen) == 2


def test_bisection_takes_few_runs(tmp_path: Path) -> None:
    model, inputs = sequence()
    path = tmp_path / "network.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    report = compare(path, "openvino", inputs, probe="bisect")
    assert report.rounds <= 8
    assert {layer.path for layer in report.unmatched}.isdisjoint({"faulty"})


@pytest.mark.parametrize(("most", "layers"), [(5, 100_000), (100, 80)])
def test_unrequested_search_ends(most: int, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO refuses every run of several probes, so that each would run alone."""
    monkeypatch.setattr(openvino, "MOST_ROUNDS", most)
    monkeypatch.setattr(openvino, "MOST_COMPILED", layers)
    ask = Child.ask

    def refuse(self: Child, **request: Any) -> dict[str, Any]:
        if len(request.get("probes", ())) > 1:
            raise ChildRefused("too many")
        return ask(self, **request)

    monkeypatch.setattr(Child, "ask", refuse)
    x = value = build.parameter([3], name="x")
    for number in range(12):
        value = build.sin(value, name=f"sin{number}")
    model = build.model(build.result(value, name="y"), [x])
    assert len(model.graph.nodes) == 14
    report = compare(model, "openvino", [np.float32([1, 2, 3])])
    assert report.rounds == 5
    assert len(report.notes) == 1
    assert report.equal


def test_networks_without_file() -> None:
    net = NetworkText()
    x = net.parameter("2,3")
    net.result(net.op("Tanh", net.op("Add", x, net.const(np.ones(3, np.float32)))))
    file = net.file()
    model = read_model(file.xml, weights=file.weights)
    assert compare(model, "openvino").equal
    model.reshape("5,3")
    assert compare(model, "openvino").layers[0].shape == (5, 3)


def broken(script: Path, text: str) -> Child:
    script.write_text(text)
    return Child(str(script), timeout=10)


DIES = "import os, sys\nsys.stdin.readline()\nprint('at the end', file=sys.stderr)\nsys.stderr.flush()\nos.abort()"


class TestChild:
    def test_a_crash_is_told(self, tmp_path: Path) -> None:
        child = broken(tmp_path / "child.py", DIES)
        with pytest.raises(ChildCrashed, match=naming("SIGABRT")):
            child.ask(do="anything")
        assert not child.is_running
        with pytest.raises(ChildCrashed):
            child.ask(do="again, of another child")
        child.close()

    def test_no_answer_in_time(self, tmp_path: Path) -> None:
        child = broken(tmp_path / "child.py", "import sys\nsys.stdin.readline()\nsys.stdin.read()")
        child.timeout = 0.2
        with pytest.raises(ChildCrashed, match=naming("0.2")):
            child.ask(do="anything")
        child.close()

    def test_refusals(self, tmp_path: Path) -> None:
        text = 'import sys\nfor line in sys.stdin: print(\'{"refused": "no"}\', flush=True)'
        child = broken(tmp_path / "child.py", text)
        for _ in range(2):
            with pytest.raises(ChildRefused, match="no"):
                child.ask(do="anything")
        assert child.is_running
        child.close()

    def test_a_crash_of_openvino_is_a_finding(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        script = tmp_path / "child.py"
        script.write_text(DIES)
        monkeypatch.setattr(
            "ir_exec.debug.comparison.references.openvino.Child", lambda name, timeout: Child(str(script), timeout)
        )
        path = NETWORKS / "lstm.xml"
        report = compare(path, "openvino", arrays(path, "inputs"))
        assert not report.equal
        assert report.failure == mentions("OpenVINO", "SIGABRT")
        assert report.failure in str(report)

    def test_refused_probes_are_bisected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ask = Child.ask

        def picky(self: Child, **request: Any) -> dict[str, Any]:
            if any("MatMul" in name for name, _ in request.get("probes", ())):
                raise ChildCrashed("crashed with SIGSEGV")
            return ask(self, **request)

        monkeypatch.setattr(Child, "ask", picky)
        path = NETWORKS / "lstm.xml"
        report = compare(path, "openvino", arrays(path, "inputs"))
        assert report.equal, str(report)
        assert any("with 1 probes (" in note and "SIGSEGV" in note for note in report.notes)
        assert {layer.type for layer in report.unmatched} == {"MatMul"}


@pytest.mark.parametrize("most_bytes", [0, 64 * 1024 * 4])
def test_large_expanded_weights_are_not_probed(
    most_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = build.parameter([1, 64], "f32", name="x")
    weights = build.convert(np.ones((64, 1024), np.float16), "f32", name="expanded")
    scale = build.multiply(np.ones((1, 1024), np.float32), np.float32(2), name="scale")
    product = build.matmul(x, weights, name="product")
    build.model(build.multiply(product, scale, name="scaled")).save(tmp_path / "net.xml")
    probed: set[str] = set()
    ask = Child.ask

    def record(self: Child, **request: Any) -> dict[str, Any]:
        probed.update(name for name, _ in request.get("probes", ()))
        return ask(self, **request)

    monkeypatch.setattr(Child, "ask", record)
    monkeypatch.setattr("ir_exec.debug.comparison.references.expanded_weights.MOST_WEIGHT_BYTES", most_bytes + 4 * 1024)
    report = compare(tmp_path / "net.xml", "openvino", [np.ones((1, 64), np.float32)])
    assert report.equal
    assert {"scale", "product"} <= probed
    assert ("expanded" in probed) == (most_bytes > 0)
    assert any("1 value" in note for note in report.notes) == (most_bytes == 0)


def test_shorter_type_chosen_by_openvino_is_no_fault(tmp_path: Path) -> None:
    """On processors with bf16, `performance` computes f32 networks in it; the consequences are reported once."""
    random = np.random.default_rng(0)
    x = op.parameter([1, 8, 9, 9], np.float32, name="x")
    activation = op.relu(op.convolution(x, constant(floats(random, 8, 8, 3, 3)), [1, 1], [1, 1], [1, 1], [1, 1]))
    limits = [constant(value) for value in (-8, 8, -8, 8)]
    activation = op.fake_quantize(activation, *limits, levels=256)
    activation = op.convolution(activation, constant(floats(random, 4, 8, 1, 1)), [1, 1], [0, 0], [0, 0], [1, 1])
    ov.save_model(ov.Model([op.softmax(activation, 1)], [x]), tmp_path / "net.xml", compress_to_fp16=False)
    report = compare(tmp_path / "net.xml", "openvino", [floats(random, 1, 8, 9, 9)], hint="performance")
    assert not report.faults, str(report)
    shorter = [note for note in report.notes if note == mentions("OpenVINO", "bf16")]
    compiled = ov.Core().compile_model(tmp_path / "net.xml", "CPU")
    assert bool(shorter) == (compiled.get_property("INFERENCE_PRECISION_HINT") != ov.Type.f32)


def test_missing_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.debug.comparison.references.child.find_spec", lambda name: None)
    model = read_model(NETWORKS / "lstm.xml")
    with pytest.raises(EvaluationError, match=naming("OpenVINO")) as caught:
        OpenVINOReference(model, probe="all", device="CPU", hint="accuracy", timeout=1)
    assert caught.value.hint == mentions(".[openvino]")


def test_devices_that_do_not_exist() -> None:
    path = NETWORKS / "lstm.xml"
    report = compare(path, "openvino", arrays(path, "inputs"), device="NPU")
    assert report.failure == mentions("OpenVINO", "NPU")
