"""Each layer by itself on a device: faults, crashes and refusals are those of the layers that have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

import ir_exec
from ir_exec import EvaluationError, build
from ir_exec.debug import compare
from ir_exec.debug.comparison.metrics import Settings
from ir_exec.debug.device import isolating
from ir_exec.debug.device.devices import Asker
from ir_exec.debug.device.isolating import Isolator
from ir_exec.debug.device.parts import write_together
from ir_exec.debug.device.records import RunPart
from ir_exec.debug.device.verdicts import WrongTogether
from ir_exec.model import Model
from ir_exec.runtime.arguments import bind_inputs
from ir_exec.types import Array
from tests.debug.comparison.references.test_openvino import make_quantized, sequence
from tests.debug.device.faulty import FaultyDevice
from tests.helpers.facts import coded, mentions, naming

NETWORKS = Path(__file__).parents[2] / "networks"
X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)


def parts(model: Model, device: FaultyDevice, *inputs: Array, block: str | None = None) -> dict[str, RunPart]:
    isolated = Isolator(model, Asker(device), Settings(), block).run([inputs or [X]])
    return {part.name: part for part in isolated}


def chain(shape: list[int | None] | None = None) -> Model:
    """Names are as those of modules: enc.0/relu, enc.0/exp, enc.1/relu, enc.1/exp, head."""
    value = build.parameter([2, 3, 4] if shape is None else shape, name="x")
    for number in range(2):
        value = build.exp(build.relu(value, name=f"enc.{number}/relu"), name=f"enc.{number}/exp")
        value = build.multiply(value, np.float32(0.1), name=f"enc.{number}/scale")
    return build.model(build.result(build.tanh(value, name="head"), name="y"))


def test_layers_are_right_on_a_sound_device() -> None:
    device = FaultyDevice()
    by_name = parts(chain(), device)
    assert {part.status for part in by_name.values()} == {"right"}
    assert len(by_name) == 7
    assert len(device.seen) == 1


def test_blocks_on_a_device_that_prefers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values inside of blocks are no outputs; the layers of a wrong block run alone."""
    monkeypatch.setattr(isolating, "BLOCK_LAYERS", 3)
    device = FaultyDevice(prefers_blocks=True)
    by_name = parts(chain(), device)
    assert {name: (part.kind, len(part.layers)) for name, part in by_name.items()} == {
        "enc.0/relu": ("block", 3),
        "enc.1/relu": ("block", 3),
        "head": ("layer", 1),
    }
    assert {part.status for part in by_name.values()} == {"right"}
    by_name = parts(chain(), FaultyDevice(wrong=["Tanh", "ReLU"], prefers_blocks=True))
    assert [(part.name, part.kind) for part in by_name.values() if part.status == "wrong"] == [
        ("enc.0/relu", "layer"),
        ("enc.1/relu", "layer"),
        ("head", "layer"),
    ]
    assert {part.status for name, part in by_name.items() if "exp" in name} == {"right"}


def test_layer_of_a_block_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolating, "BLOCK_LAYERS", 3)
    by_name = parts(chain(), FaultyDevice(crashing=["enc.1/exp"], prefers_blocks=True))
    assert {name: part.status for name, part in by_name.items()} == {
        "enc.0/relu": "right",
        "enc.1/relu": "right",
        "enc.1/exp": "crashed",
        "enc.1/scale": "right",
        "head": "right",
    }


def outputs_of_sessions(folder: Path, monkeypatch: pytest.MonkeyPatch, **lines: str) -> None:
    """Let child processes import an onnxruntime with other execution providers, which the CPU computes."""
    package = folder / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import importlib.util, sys\n"
        "paths = [path for path in sys.path if path != " + repr(str(folder)) + "]\n"
        "spec = importlib.machinery.PathFinder.find_spec('onnxruntime', paths)\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['onnxruntime'] = module\n"
        "spec.loader.exec_module(module)\n"
        "session_class = module.InferenceSession\n"
        "module.get_available_providers = lambda: ['CUDAExecutionProvider', 'CPUExecutionProvider']\n"
        "class Session(session_class):\n"
        "    def __init__(self, model, options=None, providers=(), **other):\n"
        "        super().__init__(model, options, providers=['CPUExecutionProvider'], **other)\n"
        f"        with open({str(folder / 'outputs')!r}, 'a') as file:\n"
        "            file.write(f'{len(self.get_outputs())} {providers[0]}\\n')\n"
        "    def get_providers(self):\n"
        f"        return {lines['providers']}\n"
        "module.InferenceSession = Session\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_execution_provider_runs_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU as a substitute for a GPU: no session has the tensors inside of blocks as outputs."""
    pytest.importorskip("onnxruntime")
    outputs_of_sessions(tmp_path, monkeypatch, providers="['CUDAExecutionProvider', 'CPUExecutionProvider']")
    report = compare(chain(), "onnxruntime", [X], device="CUDA", isolate=True)
    assert (report.verdict, report.equal) == ("equal", True)
    assert report.runtime == mentions("onnxruntime", "CUDA")
    assert report.isolation is not None
    assert [(part.kind, part.status) for part in report.isolation.parts] == [("block", "right")]
    sessions = (tmp_path / "outputs").read_text().split("\n")[:-1]
    assert len(sessions) > 1
    assert set(sessions) == {"1 CUDAExecutionProvider"}


def test_provider_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime falls back to the CPU without an error, which would compare the CPU."""
    pytest.importorskip("onnxruntime")
    outputs_of_sessions(tmp_path, monkeypatch, providers="['CPUExecutionProvider']")
    report = compare(chain(), "onnxruntime", [X], device="GPU")
    assert report.verdict in ("failed", "not compared")
    assert report.failure == mentions("CUDAExecutionProvider")


def test_provider_that_does_not_exist() -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(EvaluationError) as error:
        compare(chain(), "onnxruntime", [X], device="CUDAX")
    assert coded("IR705")(error.value)


def test_wrong_type_affects_no_later_layer() -> None:
    by_name = parts(chain(), FaultyDevice(wrong=["Exp"]))
    assert [name for name, part in by_name.items() if part.status == "wrong"] == ["enc.0/exp", "enc.1/exp"]
    error = by_name["enc.0/exp"].error
    assert error is not None
    assert error.max_abs == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("problem", "status"), [("crashing", "crashed"), ("refused", "refused")])
def test_crash_names_its_layer_and_continues(problem: str, status: str) -> None:
    by_name = parts(chain(), FaultyDevice(**{problem: ["enc.1/relu"]}))  # type: ignore[arg-type]  # one of the two
    assert {name: part.status for name, part in by_name.items() if part.status != "right"} == {"enc.1/relu": status}
    assert by_name["enc.1/relu"].note in ("crashed with SIGSEGV", "no kernel")


def test_hanging_part_is_retried_once() -> None:
    device = FaultyDevice(hanging=["enc.1/relu"])
    by_name = parts(chain(), device)
    assert {name: part.status for name, part in by_name.items() if part.status != "right"} == {"enc.1/relu": "crashed"}
    assert sum("enc.1/relu" in names for names in device.seen) == 2


def test_blocks() -> None:
    device = FaultyDevice(wrong=["Exp"])
    by_name = parts(chain(), device, block="enc.*")
    assert {name: part.kind for name, part in by_name.items()} == {"enc.0": "block", "enc.1": "block", "head": "layer"}
    assert by_name["enc.1"].layers == ("enc.1/relu", "enc.1/exp", "enc.1/scale")
    assert [part.status for part in by_name.values()] == ["wrong", "wrong", "right"]


def test_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolating, "BATCH_PARTS", 3)
    device = FaultyDevice()
    parts(chain(), device)
    assert [len(names) for names in device.seen] == [3, 3, 1]
    monkeypatch.setattr(isolating, "BATCH_PARTS", 64)
    monkeypatch.setattr(isolating, "BATCH_BYTES", 1)
    device = FaultyDevice()
    parts(chain(), device)
    assert [len(names) for names in device.seen] == [1] * 7


def test_refusals_are_retried_with_static_shapes() -> None:
    by_name = parts(chain([None, 3, None]), FaultyDevice(refuses_open_dims=True))
    assert {part.status for part in by_name.values()} == {"right"}
    assert all("static" in (part.note or "") for part in by_name.values())


def test_what_follows_from_weights_stays_constant() -> None:
    x = build.parameter([2, 4], name="x")
    weights = build.convert(np.ones((4, 3), np.float16), destination_type="f32", name="decompressed")
    model = build.model(build.result(build.matmul(x, weights, name="product"), name="y"))
    device = FaultyDevice()
    by_name = parts(model, device, np.ones((2, 4), np.float32))
    assert {name: part.status for name, part in by_name.items()} == {"product": "right", "decompressed": "left out"}
    assert device.seen == [["decompressed", "product"]]


def test_integers_beyond_i32_are_no_fault() -> None:
    x = build.parameter([2], "i64", name="x")
    model = build.model(build.result(build.abs(x, name="abs")))
    by_name = parts(model, FaultyDevice(wrong=["Abs"]), np.array([-5, 2**40]))
    assert by_name["abs"].status == "step"
    assert parts(model, FaultyDevice(wrong=["Abs"]), np.array([-5, 2**20]))["abs"].status == "wrong"


def test_limits_of_dims_are_left_open(tmp_path: Path) -> None:
    x = build.parameter([(1, 2**40), None, 4], name="x")
    model = build.model(build.result(build.tanh(build.relu(x, name="relu"), name="tanh"), name="y"))
    write_together([model], [3], tmp_path / "net.xml")
    assert str(ir_exec.read_model(tmp_path / "net.xml").inputs[0].shape) == "[?,?,4]"
    report = compare(model, "openvino", [X], probe="outputs", isolate=True)
    assert report.isolation is not None
    assert [(part.status, part.note) for part in report.isolation.parts] == [("right", None)] * 2


def test_inputs_of_unknown_rank() -> None:
    x = build.parameter("...", name="x")
    model = build.model(build.result(build.exp(build.relu(x, name="relu"), name="exp"), name="y"))
    report = compare(model, "openvino", [X], isolate=True)
    assert report.isolation is not None
    assert [(part.status, part.note) for part in report.isolation.parts] == [("right", None)] * 2


def test_bodies_and_excluded_parts() -> None:
    x = build.parameter([2, 3], name="x")

    def body(i: build.Value, value: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        return None, [build.exp(value, name="inside")], []

    (looped,) = build.loop(2, None, body, carried=[x], name="loop")
    noise = build.random_uniform([2, 3], np.float32(0), np.float32(1), output_type="f32", name="noise")
    model = build.model(build.result(build.add(looped, noise, name="sum"), name="y"))
    by_name = parts(model, FaultyDevice(wrong=["Exp"]), np.zeros((2, 3), np.float32))
    assert by_name["loop/body/inside"].status == "wrong"
    assert by_name["sum"].status == "right"
    assert (by_name["noise"].status, by_name["noise"].note) == ("left out", "random numbers")


def test_variables_are_excluded_and_last_call_counts() -> None:
    model = ir_exec.read_model(NETWORKS / "llama_stateful.xml")
    with (
        np.load(NETWORKS / "llama_stateful.inputs.npz") as first,
        np.load(NETWORKS / "llama_stateful.inputs2.npz") as two,
    ):
        calls = [[archive[f"in{i}"] for i in range(len(archive.files))] for archive in (first, two)]
    report = compare(model, "openvino", calls[0], then=calls[1:], isolate="**.layers.*")
    assert report.isolation is not None
    assert (report.isolation.verdict, report.isolation.call) == ("right", 2)
    assert {part.note for part in report.isolation.of_status("left out")} >= {"keeps a variable"}
    assert {part.kind for part in report.isolation.parts} == {"layer", "block"}


@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
@pytest.mark.parametrize("name", ["bert_tiny_fp16", "script_loop_seq", "index_ops"])
def test_networks_are_right(engine: str, name: str) -> None:
    model = ir_exec.read_model(NETWORKS / f"{name}.xml")
    with np.load(NETWORKS / f"{name}.inputs.npz") as archive:
        inputs = [archive[f"in{i}"] for i in range(len(archive.files))]
    report = compare(model, engine, inputs, probe="outputs", isolate=True)
    assert report.isolation is not None
    assert report.isolation.verdict == "right"
    assert {part.status for part in report.isolation.parts} <= {"right", "step", "left out"}


class TestTogether:
    def test_layers_wrong_together(self) -> None:
        model = chain()
        search = WrongTogether(model, [X], Asker(FaultyDevice(together=["Exp", "ReLU"])), Settings())
        group = search.above(next(node for node in model.graph.nodes if node.name == "enc.1/scale"))
        assert group is not None
        assert group.layers == ("enc.1/relu", "enc.1/exp", "enc.1/scale")

    def test_an_optimization_of_the_whole_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # The comparison of layers is without optimizations; the device's whole run is with them.
        monkeypatch.setattr(isolating, "device_of", lambda *a, **k: FaultyDevice(together=["Exp", "ReLU"]))
        report = compare(chain(), "onnxruntime", [X], isolate=True)
        assert report.verdict == "equal"
        assert report.isolation is not None
        assert report.isolation.verdict == "fusion"
        assert report.isolation.whole is not None
        assert not report.isolation.whole.is_within
        (fusion,) = report.isolation.fusions
        assert fusion.layers[0] == "enc.1/relu"
        assert not report.isolation.of_status("wrong")
        assert any(part.note for part in report.isolation.of_status("right"))

    def test_none(self) -> None:
        model = chain()
        search = WrongTogether(model, [X], Asker(FaultyDevice()), Settings())
        assert search.above(model.graph.results[0].values_in[0].node) is None


def save_network(network: tuple[ov.Model, list[Array]], path: Path) -> tuple[Path, list[Array]]:
    ov.save_model(network[0], path, compress_to_fp16=False)
    return path, network[1]


class TestKnownFaultsOfThePlugin:
    def test_layer_wrong_alone(self, tmp_path: Path) -> None:
        path, inputs = save_network(sequence(), tmp_path / "sequence.xml")
        report = compare(path, "openvino", inputs, isolate=True)
        assert report.isolation is not None
        assert report.isolation.verdict == "layer"
        (wrong,) = report.isolation.of_status("wrong")
        assert (wrong.name, wrong.note) == ("faulty", mentions("static"))
        assert [layer.alone for layer in report.layers if layer.layer_name == "faulty"] == ["wrong"]

    def test_fusion_of_right_layers(self, tmp_path: Path) -> None:
        path, inputs = save_network(make_quantized(), tmp_path / "quantized.xml")
        report = compare(path, "openvino", inputs, isolate=True)
        assert report.isolation is not None
        assert report.isolation.verdict == "fusion"
        assert not report.isolation.of_status("wrong")
        assert "faulty" in {name for part in report.isolation.fusions for name in part.layers}
        assert "faulty" in str(report)

    def test_a_layer_that_ends_the_process(self, tmp_path: Path) -> None:
        x = build.parameter([1, 2, 8, 8], name="x")
        pads = {"pads_begin": [1, 1], "pads_end": [1, 1]}
        pool = build.avg_pool(build.relu(x), [2, 2], [3, 3], False, **pads, opset=16, name="pool")
        path = tmp_path / "pool.xml"
        build.model(build.result(build.tanh(pool), name="y")).save(path)
        path.write_text(path.read_text().replace(' dilations="1,1"', ""))
        report = compare(path, "openvino", isolate=True)
        assert report.verdict == "failed"
        assert report.isolation is not None
        assert (report.isolation.verdict, report.isolation.crashes > 0) == ("refused", True)
        assert [part.name for part in report.isolation.of_status("crashed")] == ["pool"]
        assert len(report.isolation.of_status("right")) == 2

    def test_the_fewest_layers_of_a_fusion(self) -> None:
        random = np.random.default_rng(1)
        x = build.parameter([1, 8, 14, 12], name="x")
        low, high = np.float32(-3), np.float32(3)
        data = build.fake_quantize(build.exp(x, name="exp"), low, high, low, high, 256, name="quantize")
        kernel = random.normal(0, 0.3, (8, 8, 3, 3)).astype(np.float32)
        most = np.abs(kernel).max(axis=(1, 2, 3), keepdims=True)
        weights = build.fake_quantize(kernel, -most, most, -most, most, 255)
        sizes = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
        convolution = build.convolution(data, weights, **sizes, name="conv")
        model = build.model(build.result(build.tanh(convolution, name="tanh"), name="y"))
        report = compare(model, "openvino", [random.normal(size=(1, 8, 14, 12)).astype(np.float32)], isolate=True)
        assert report.isolation is not None
        assert [part.layers for part in report.isolation.fusions] == [("quantize", "conv")]


def test_network_fails_only_as_a_whole() -> None:
    model = ir_exec.read_model(NETWORKS / "llama_stateful.xml")
    with np.load(NETWORKS / "llama_stateful.inputs.npz") as archive:
        inputs = [archive[f"in{i}"] for i in range(len(archive.files))]
    report = compare(model, "onnxruntime", inputs, isolate=True)
    assert report.verdict == "failed"
    assert report.isolation is not None
    assert report.isolation.verdict == "whole"
    assert {layer.alone for layer in report.layers} == {"right"}


class TestBadInput:
    def test_missing_device_is_reported(self) -> None:
        for engine, device in (("openvino", "NPU.7"), ("onnxruntime", "QNN")):
            with pytest.raises(EvaluationError, match=naming(device)) as raised:
                compare(chain(), engine, [X], device=device, isolate=True)
            assert raised.value.code == "IR705"

    def test_missing_block_is_reported(self) -> None:
        with pytest.raises(EvaluationError, match=r"enc\.0/relu") as raised:
            parts(chain(), FaultyDevice(), block="dec.*")
        assert raised.value.code == "IR705"

    def test_a_reference_that_runs_no_layers(self) -> None:
        with pytest.raises(EvaluationError, match=naming("openvino", "onnxruntime")):
            compare(chain(), NETWORKS / "lstm.xml", [X], isolate=True)


def test_drawn_inputs_are_reported() -> None:
    report = compare(chain(), "openvino", seed=3, isolate=True)
    assert (report.seed, report.drawn is not None) == (3, True)
    assert list(bind_inputs([X], chain().inputs)[0].shape) == list(report.inputs["x"])
