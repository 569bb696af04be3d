"""Two runs compared: between files, with traces, and with arrays by name."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ir_exec
from ir_exec import EvaluationError, IRError, Model, build, read_model
from ir_exec.debug import Comparison, compare, trace
from ir_exec.testing import assert_same
from ir_exec.types import Array
from tests.conformance.networks import arrays
from tests.helpers.facts import mentions, naming
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
SCHEMAS = Path(__file__).parents[3] / "schemas"
BERT = NETWORKS / "bert_tiny_fp16.xml"
GNN = NETWORKS / "gnn_gcn_gat.xml"
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def network(
    weights: Array | None = None, middle: str = "Tanh", element_type: str = "f32", shape: str = "3,4", names: str = ""
) -> Model:
    """matmul3 = relu1(x) · const2, then the middle layer, then relu."""
    weights = np.eye(4, dtype=np.float32) * 2 if weights is None else weights
    net = NetworkText()
    x = net.parameter(shape, element_type)
    product = net.op("MatMul", net.op("ReLU", x), net.const(weights), transpose_a=False, transpose_b=False)
    net.result(net.op("Abs", net.op(middle, product)))
    file = net.file()
    xml = file.xml.replace(f'name="{middle.lower()}4"'.encode(), b'name="middle"')
    if names:
        for layer in ("relu1", "matmul3", "middle", "abs5", "const2"):
            xml = xml.replace(f'name="{layer}"'.encode(), f'name="{names}{layer}"'.encode())
    return read_model(xml, weights=file.weights)


class TestBetweenFiles:
    def test_the_same(self) -> None:
        report = compare(network(), network(), [X])
        assert report.equal
        assert report.first_fault is None
        assert {layer.status for layer in report.layers} == {"equal"}
        assert [layer.layer_name for layer in report.layers] == [
            "parameter0",
            "relu1",
            "const2",
            "matmul3",
            "middle",
            "abs5",
        ]
        assert report.unmatched == ()

    def test_an_operator(self) -> None:
        report = compare(network(), network(middle="Sin"), [X])
        first = report.first_fault
        assert first is not None
        assert (first.layer_id, first.layer_name, first.type) == ("4", "middle", "Tanh")
        expected = np.abs(np.tanh(np.maximum(X, 0) * 2) - np.sin(np.maximum(X, 0) * 2)).max()
        assert first.own is not None
        assert first.own.max_abs == pytest.approx(float(expected), rel=1e-5)
        after = report.layers[-1]
        assert after.status == "carried"
        assert after.own is not None
        assert after.own.max_abs == 0
        assert after.carried is not None
        assert after.carried.max_abs > 0.1

    def test_a_constant_is_the_fault_itself(self) -> None:
        other = np.eye(4, dtype=np.float32) * 2
        other[1, 2] = 1.0
        report = compare(network(), network(other), [X])
        assert [fault.layer_name for fault in report.faults] == ["const2"]
        assert report.faults[0].taken_by == ("matmul3",)
        assert "layer 2" in str(report)
        assert mentions("matmul3") in str(report).splitlines()

    def test_two_faults(self) -> None:
        report = compare(network(), network(np.eye(4, dtype=np.float32) * 3, middle="Sin"), [X])
        assert [fault.layer_name for fault in report.faults] == ["const2", "middle"]

    def test_a_network_of_another_precision(self) -> None:
        report = compare(network(), network(np.eye(4, dtype=np.float16) * 2, element_type="f16"), [X])
        assert report.equal, str(report)
        assert not compare(
            network(), network(np.eye(4, dtype=np.float16) * 2, element_type="f16"), [X], rtol=0, atol=0
        ).equal

    def test_names_that_differ(self) -> None:
        report = compare(network(), network(names="renamed_"), [X])
        assert report.equal
        assert {layer.partner for layer in report.layers} >= {"renamed_matmul3", "renamed_middle"}

    def test_layers_of_one_side_only(self) -> None:
        net = NetworkText()
        x = net.parameter("3,4")
        product = net.op("MatMul", net.op("ReLU", x), net.const(np.eye(4, dtype=np.float32) * 2))
        net.result(net.op("Tanh", product))
        file = net.file()
        xml = file.xml.replace(b'name="tanh4"', b'name="middle"').replace(b'version="opset1"/>', b'version="opset1"/>')
        shorter = read_model(xml, weights=file.weights)
        report = compare(network(), shorter, [X])
        assert not report.equal
        assert [(layer.side, layer.path) for layer in report.unmatched] == [("model", "abs5")]
        assert mentions(1, "abs5") in str(report).splitlines()
        back = compare(shorter, network(), [X])
        assert [(layer.side, layer.path) for layer in back.unmatched] == [("reference", "abs5")]
        assert back.equal

    def test_shapes_that_differ(self) -> None:
        report = compare(network(), network(np.ones((4, 2), np.float32)), [X])
        first = report.first_fault
        assert first is not None
        assert first.layer_name == "const2"
        assert first.own is not None
        assert first.own.problem == mentions("[4, 4]", "[4, 2]")

    def test_inputs_are_drawn_from_the_seed(self) -> None:
        first, again, other = (compare(network(), network(middle="Sin"), seed=seed) for seed in (3, 3, 4))
        assert first == again
        assert first != other
        assert first.seed == 3
        assert compare(network(), network(), [X]).seed is None

    def test_unknown_dims(self) -> None:
        report = compare(network(shape="?,4"), network(shape="?,4"), shapes={"parameter0": "5,4"})
        assert report.layers[0].shape == (5, 4)
        with pytest.raises(EvaluationError, match=naming("parameter0", "y")):
            compare(network(shape="?,4"), network(shape="?,4"), shapes={"y": "5,4"})

    def test_a_reference_that_takes_other_inputs(self) -> None:
        net = NetworkText()
        net.result(net.op("Add", net.op("ReLU", net.parameter("3,4")), net.parameter("3,4")))
        file = net.file()
        with pytest.raises(EvaluationError, match=naming("parameter2")):
            compare(network(), read_model(file.xml, weights=file.weights), [X])

    def test_a_network_that_does_not_run(self) -> None:
        with pytest.raises(IRError, match=naming("parameter0")):
            compare(network(), network(), [np.ones((2, 2), np.float32)])


class TestTolerance:
    def test_tolerances_apply_to_all_layers(self) -> None:
        near = network(np.eye(4, dtype=np.float32) * 2.001)
        assert compare(network(), near, [X]).faults
        assert not compare(network(), near, [X], rtol=1e-2, atol=1e-2).faults
        assert not compare(network(), near, [X], rtol=1e-5).equal
        assert compare(network(), near, [X], rtol=1e-2, atol=1e-2).equal

    def test_metrics_of_ones_own(self) -> None:
        def signs(ours: Array, reference: Array) -> float:
            return float((np.sign(ours) != np.sign(reference)).sum())

        report = compare(network(), network(middle="Sin"), [X], metrics=[signs, f"{__name__}:always"])
        layer = next(layer for layer in report.layers if layer.layer_name == "middle")
        assert layer.own is not None
        assert layer.own.custom == {"signs": 2.0, "always": 7.0}
        with pytest.raises(EvaluationError, match=naming("no.such:thing")):
            compare(network(), network(), [X], metrics=["no.such:thing"])


def always(ours: Array, reference: Array) -> float:
    return 7.0


class TestFiles:
    def test_a_trace(self, tmp_path: Path) -> None:
        written = trace(network(middle="Sin"), [X], output=tmp_path / "t")
        for reference in (written, tmp_path / "t", str(tmp_path / "t")):
            # Its inputs are those of the trace.
            report = compare(network(), reference)
            assert report.first_fault is not None
            assert report.first_fault.layer_name == "middle"
            assert report.seed is None
        assert compare(network(middle="Sin"), written).equal

    @pytest.mark.parametrize("name", ["gnn_gcn_gat", "script_loop_seq", "script_if", "bert_tiny_fp16"])
    def test_traces_of_real_networks(self, name: str, tmp_path: Path) -> None:
        path = NETWORKS / f"{name}.xml"
        trace(path, arrays(path, "inputs"), output=tmp_path)
        report = compare(path, tmp_path)
        assert report.equal, str(report)
        assert {layer.status for layer in report.layers} == {"equal"}

    def test_a_trace_that_stopped(self, tmp_path: Path) -> None:
        def stop(name: str) -> None:
            if name == "middle":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            trace(network(), [X], output=tmp_path, progress=stop)
        report = compare(network(), tmp_path, [X])
        assert mentions("KeyboardInterrupt") in report.notes
        assert {layer.path for layer in report.unmatched} == {"middle", "abs5"}
        assert not report.equal

    def test_a_damaged_trace(self, tmp_path: Path) -> None:
        written = trace(network(), [X], output=tmp_path)
        (tmp_path / written.value("relu1").file).write_bytes(b"nothing")
        with pytest.raises(EvaluationError, match=naming("relu1")):
            compare(network(), tmp_path)

    def test_arrays_by_name(self, tmp_path: Path) -> None:
        product = np.maximum(X, 0) * 2
        np.savez(tmp_path / "values.npz", matmul3=product, middle=np.sin(product))
        report = compare(network(), tmp_path / "values.npz", [X])
        assert report.first_fault is not None
        assert report.first_fault.layer_name == "middle"
        assert report.first_fault.includes == ()
        assert {layer.path for layer in report.unmatched} == {"parameter0", "relu1", "const2", "abs5"}
        np.savez(tmp_path / "values.npz", matmul3=product, middle=np.tanh(product))
        assert compare(network(), tmp_path / "values.npz", [X]).equal

    def test_unmatched_values_in_between_are_named(self) -> None:
        report = compare(network(), {"middle": np.tanh(np.maximum(X, 0) * 3)}, [X])
        assert report.first_fault is not None
        assert report.first_fault.includes == ("relu1", "matmul3")

    def test_a_folder_of_npy(self, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        np.save(tmp_path / "deep" / "matmul3.npy", np.zeros((3, 4), np.float32))
        np.save(tmp_path / "middle.npy", np.zeros((3, 4), np.float32))
        report = compare(network(), tmp_path, [X])
        assert [unmatched.path for unmatched in report.unmatched if unmatched.side == "reference"] == ["deep/matmul3"]
        layers = {layer.layer_name: layer.status for layer in report.layers}
        assert layers["middle"] == "wrong"

    def test_names_that_no_file_can_bear(self, tmp_path: Path) -> None:
        model = read_model(GNN)
        inputs = arrays(GNN, "inputs")
        name = next(node.name for node in model.graph.nodes if "/" in node.name and len(node.outputs) == 1)
        value = ir_exec.compile_model(model, outputs=[name])(inputs)[0]
        np.save(tmp_path / f"{name.replace('/', '_').replace('::', '_')}.npy", value)
        report = compare(model, tmp_path, inputs)
        assert next(layer.status for layer in report.layers if layer.layer_name == name) == "equal"

    def test_types_missing_in_npy(self, tmp_path: Path) -> None:
        model = network(np.eye(4, dtype=ml_dtypes.bfloat16) * 2, element_type="bf16")
        x = X.astype(ml_dtypes.bfloat16)
        value = ir_exec.compile_model(model, outputs=["matmul3"])([x])[0]
        np.save(tmp_path / "matmul3.npy", value)
        np.savez(tmp_path / "values.npz", matmul3=value)
        for reference in (tmp_path, tmp_path / "values.npz", {"matmul3": value}):
            report = compare(model, reference, [x])
            assert next(layer.status for layer in report.layers if layer.layer_name == "matmul3") == "equal"
        with pytest.raises(EvaluationError, match=naming("complex128", "matmul3")):
            compare(model, {"matmul3": value.astype(np.complex128)}, [x])

    def test_outputs_as_out0(self) -> None:
        report = compare(GNN, GNN.with_name("gnn_gcn_gat.outputs.npz"), arrays(GNN, "inputs"))
        assert report.equal, str(report)
        assert sum(layer.partner is not None for layer in report.layers) == 2

    @pytest.mark.parametrize(
        ("reference", "words"),
        [
            ("no/such.npz", naming("no/such.npz")),
            ("no/such", naming("no/such", "openvino", "onnxruntime", ".xml", ".npz")),
            ({"nothing": np.ones(3)}, naming("--map")),
        ],
    )
    def test_what_cannot_be_compared(self, reference: str, words: str) -> None:
        with pytest.raises(EvaluationError, match=words):
            compare(network(), reference, [X])

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(EvaluationError, match=naming(str(tmp_path), ".npy")):
            compare(network(), tmp_path, [X])


class TestReport:
    def test_json_fits_the_schema(self) -> None:
        import jsonschema

        schema = json.loads((SCHEMAS / "compare.schema.json").read_text())
        for other in (network(), network(middle="Sin"), network(np.full((4, 4), np.inf, np.float32))):
            report = compare(network(), other, [X])
            parsed = json.loads(report.model_dump_json())
            jsonschema.validate(parsed, schema)
            assert parsed["equal"] is report.equal
            assert list(parsed["layers"][0])[:2] == ["layer_id", "layer_name"]
            assert Comparison.model_validate(report.model_dump()) == report
        assert (parsed["first_fault"] or {})["own"]["max_abs"] == "Infinity"

    def test_rows(self) -> None:
        report = compare(network(), network(middle="Sin"), [X])
        frame = report.to_dataframe()
        assert list(frame["layer_name"]) == [layer.layer_name for layer in report.layers]
        assert frame["own_max_abs"].max() > 0.1
        lines = report.to_csv().splitlines()
        assert len(lines) == 7
        assert lines[0].startswith("layer_id,layer_name,path,type")

    def test_for_tests_of_others(self) -> None:
        assert assert_same(network(), network(), [X]).equal
        with pytest.raises(AssertionError, match='layer 4 "middle"'):
            assert_same(network(), network(middle="Sin"), [X])


def test_memory_stays_within_the_run(tmp_path: Path) -> None:
    """Sixty tensors of 4 MiB are compared, and no more than a few are in memory at a time."""
    import tracemalloc

    net = NetworkText()
    value = net.parameter("1024,1024")
    for _ in range(60):
        value = net.op("ReLU", value)
    net.result(value)
    file = net.file()
    model = read_model(file.xml, weights=file.weights)
    x = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    trace(model, [x], output=tmp_path / "t")
    tracemalloc.start()
    report = compare(model, tmp_path / "t", [x])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.equal
    # The run itself holds two tensors; blocks for the comparison take a little more.
    assert peak < 6 * x.nbytes + 2**24


def test_unread_output_is_not_judged() -> None:
    """Two converters count the places of MaxPool's largest elements from other axes; only one of them is read here."""

    def network(axis: int, *, reads: bool) -> Model:
        x = build.parameter([2, 3, 4, 4], name="x")
        values, places = build.max_pool(x, [2, 2], [2, 2], axis=axis, name="largest")
        outputs = [build.result(build.relu(values), name="y")]
        return build.model(outputs + ([build.result(places, name="places")] if reads else []))

    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)
    assert compare(network(0, reads=False), network(2, reads=False), [x]).equal
    fault = compare(network(0, reads=True), network(2, reads=True), [x]).first_fault
    assert fault is not None
    assert fault.layer_name == "largest"


def test_values_beyond_the_budget_go_to_disk() -> None:
    from ir_exec.debug.values.files import Spill

    spill = Spill(budget=100)
    values = [np.arange(10, dtype=np.float64) + number for number in range(3)]
    for number, value in enumerate(values):
        spill.put(number, value)
    for number, value in enumerate(values):
        stored = spill.get(number)
        assert stored is not None
        np.testing.assert_array_equal(stored, value)
    assert spill.get(3) is None
    spill.close()
    assert spill.get(0) is None
