"""Every value of a run on disk."""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ir_exec import EvaluationError, ResourceError, compile_model, read_model
from ir_exec.debug import Trace, TraceIndex, trace
from ir_exec.debug.values.facts import PIECE, digest, facts_of
from ir_exec.debug.values.files import read_value, write_value
from ir_exec.types import ALL, STRING, Array, ElementType
from tests.conformance.networks import arrays
from tests.helpers.facts import coded, fault_with, naming
from tests.helpers.network_text import NetworkText

NETWORKS = Path(__file__).parents[2] / "networks"
GNN = NETWORKS / "gnn_gcn_gat.xml"
LOOP = NETWORKS / "script_loop_seq.xml"


def chain(*types: str) -> NetworkText:
    net = NetworkText()
    value = net.parameter("2,3")
    for type in types:
        value = net.op(type, value)
    net.result(value)
    return net


def test_all_values_are_written(tmp_path: Path) -> None:
    model = read_model(GNN)
    inputs = arrays(GNN, "inputs")
    seen: dict[str, Array] = {}
    compile_model(model)(inputs, observe=lambda node, _, outputs: seen.update({node.name: outputs[0]}))
    written = trace(model, inputs, output=tmp_path / "t")
    assert len(written) == sum(len(node.outputs) for node in model.graph.nodes)
    for name, array in seen.items():
        np.testing.assert_allclose(written[name if name in written else f"{name}:0"], array, rtol=1e-6, atol=1e-6)
    index = TraceIndex.model_validate_json((tmp_path / "t" / "index.json").read_bytes())
    assert index.complete
    assert {value.name for value in index.values} == set(written)
    files = {path.name for path in (tmp_path / "t").iterdir()}
    assert files == {"index.json", *(value.file for value in index.values)}


def test_by_tensor_name(tmp_path: Path) -> None:
    model = read_model(GNN)
    written = trace(model, arrays(GNN, "inputs"), output=tmp_path)
    port = model.outputs[0]
    assert np.array_equal(written[port.name], written[sorted(port.names)[0]])
    with pytest.raises(KeyError, match=naming(port.name)):
        written[port.name + "x"]


def test_values_of_bodies_by_iteration(tmp_path: Path) -> None:
    written = trace(LOOP, arrays(LOOP, "inputs"), output=tmp_path)
    steps = [value for value in written.index.values if value.iterations and value.type == "Parameter"]
    assert {value.iterations for value in steps} == {(i,) for i in range(len({v.iterations for v in steps}))}
    assert len({value.iterations for value in steps}) > 1
    name = f"{steps[-1].name}[{steps[-1].iterations[0]}]"
    assert written[name].shape == steps[-1].shape
    constants = [value for value in written.index.values if value.type == "Const" and value.scope]
    assert {value.iterations for value in constants} == {(0,)}


@pytest.mark.parametrize(
    ("layers", "types", "count"), [(["relu1"], [], 1), ([], ["Tanh"], 2), (["tanh*"], ["ReLU"], 0)]
)
def test_a_choice_of_layers(layers: list[str], types: list[str], count: int, tmp_path: Path) -> None:
    file = chain("ReLU", "Tanh", "Tanh").file()
    model = read_model(file.xml, weights=file.weights)
    written = trace(model, [np.ones((2, 3), np.float32)], output=tmp_path, layers=layers, types=types)
    assert len(written) == count
    assert written.index.filtered


def test_patterns_that_match_nothing(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=naming("nothing")):
        trace(GNN, arrays(GNN, "inputs"), output=tmp_path / "t", layers=["nothing"])
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("element_type", sorted(ALL, key=str), ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (), (0, 2)])
def test_every_element_type_comes_back(element_type: ElementType, shape: tuple[int, ...], tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    array: Array
    if element_type in STRING:
        array = np.array(random.choice(["ä", "", "a\0"], shape), object)
    elif element_type is ElementType.boolean:
        array = random.integers(0, 2, shape).astype(bool)
    elif element_type.dtype.names:
        array = np.asarray(random.integers(0, 2**element_type.bits, shape, np.uint8)).view(element_type.dtype)
    else:
        array = np.asarray(random.integers(0, 2, shape)).astype(element_type.dtype)
    write_value(tmp_path / "value.npy", array)
    value = read_value(tmp_path / "value.npy", element_type, shape)
    assert value.dtype == element_type.dtype
    assert value.shape == shape
    assert str(value.tolist()) == str(array.tolist())  # as text: NaN is not equal to itself
    assert digest(value) == digest(array)


def test_bits_are_kept(tmp_path: Path) -> None:
    array = np.array([0x7FC1, 0x8000, 0xFF80, 1], np.uint16).view(ml_dtypes.bfloat16)
    write_value(tmp_path / "value.npy", array)
    assert read_value(tmp_path / "value.npy", ElementType.bf16, (4,)).view(np.uint16).tolist() == [
        32705,
        32768,
        65408,
        1,
    ]


def test_facts() -> None:
    facts = facts_of(np.array([1, 3, np.nan, np.inf, -np.inf, 8], np.float32))
    assert (facts.min, facts.max, facts.nans, facts.infinities) == (1, 8, 1, 2)
    assert facts.mean == 4
    assert facts.std == pytest.approx(np.std([1, 3, 8]))
    large = np.random.default_rng(0).standard_normal(600_000).astype(np.float32) + 1000
    measured = facts_of(large)
    assert measured.mean == pytest.approx(float(large.mean(dtype=np.float64)), rel=1e-12)
    assert measured.std == pytest.approx(float(large.std(dtype=np.float64)), rel=1e-9)
    assert facts_of(np.empty((0,), np.float32)).min is None
    assert facts_of(np.array([True, False])).mean == 0.5
    assert facts_of(np.array([np.nan], np.float32)).max is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_statistics_without_non_finite_elements_of_one_chunk(value: float) -> None:
    array = np.random.default_rng(0).standard_normal(3 * PIECE).astype(np.float32)
    array[PIECE + 5 : 2 * PIECE : 3] = value
    finite = array[np.isfinite(array)].astype(np.float64)
    facts = facts_of(array)
    assert (facts.min, facts.max) == (finite.min(), finite.max())
    assert facts.nans + facts.infinities == array.size - finite.size
    assert facts.mean == pytest.approx(float(finite.mean()), rel=1e-9)
    assert facts.std == pytest.approx(float(finite.std()), rel=1e-9)


def test_digests_tell_type_shape_and_bits() -> None:
    array = np.arange(6, dtype=np.int32)
    others = [array.reshape(2, 3), array.astype(np.int64), array[::-1], array.view(np.uint32)]
    assert len({digest(sample) for sample in [array, *others]}) == 5
    assert digest(array[::2]) == digest(array[::2].copy())


class TestTrouble:
    def test_failed_run_keeps_index_of_written_values(self, tmp_path: Path) -> None:
        net = NetworkText()
        x = net.parameter("?")
        net.result(net.op("Add", net.op("ReLU", x), net.const(np.ones(3, np.float32))))
        file = net.file()
        model = read_model(file.xml, weights=file.weights)
        with pytest.raises(Exception, match="add"):
            trace(model, [np.ones(2, np.float32)], output=tmp_path)
        written = Trace(tmp_path)
        assert not written.index.complete
        assert "add" in str(written.index.error)
        assert written["relu1"].tolist() == [1, 1]

    @pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX's")
    def test_a_full_disk_is_one_error(self, tmp_path: Path) -> None:
        net = NetworkText()
        x = net.parameter("8")
        net.result(net.op("Tile", net.op("ReLU", x), net.const(np.array([40_000], np.int64))))
        file = net.file()
        model = read_model(file.xml, weights=file.weights)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
        try:
            with pytest.raises(ResourceError, match=naming("000003-tile3.npy")):
                trace(model, [np.ones(8, np.float32)], output=tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, before)
        written = Trace(tmp_path)
        assert not written.index.complete
        assert set(written) == {"parameter0", "relu1", "const2"}
        assert {path.name for path in tmp_path.iterdir()} == {"index.json", *(v.file for v in written.index.values)}

    def test_room_is_kept_for_the_index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        reserved: list[int] = []

        def full(path: Path, array: Array) -> None:
            reserved.append((tmp_path / "index.reserve").stat().st_size)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("ir_exec.debug.traces.tracing.write_value", full)
        with pytest.raises(ResourceError, match="No space left on device", check=coded("IR009")):
            trace(GNN, arrays(GNN, "inputs"), output=tmp_path)
        assert reserved[0] > 100_000
        assert [path.name for path in tmp_path.iterdir()] == ["index.json"]

    @pytest.mark.parametrize("has_index", [True, False])
    def test_error_names_available_values(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_index: bool
    ) -> None:
        written: list[Path] = []

        def fill(path: Path, array: Array) -> None:
            if len(written) == 3:
                raise OSError(28, "No space left on device")
            write_value(path, array)
            written.append(path)

        def full(path: Path, content: bytes) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("ir_exec.debug.traces.tracing.write_value", fill)
        if not has_index:
            monkeypatch.setattr("ir_exec.debug.traces.tracing.write_file", full)
        with pytest.raises(ResourceError, check=coded("IR009")) as caught:
            trace(GNN, arrays(GNN, "inputs"), output=tmp_path)
        assert caught.value == fault_with(3, tmp_path, "index.json")
        names = {path.name for path in written} | ({"index.json"} if has_index else set())
        assert {path.name for path in tmp_path.iterdir()} == names
        if has_index:
            assert not Trace(tmp_path).index.complete

    def test_an_older_trace_goes_and_nothing_else(self, tmp_path: Path) -> None:
        model = read_model(GNN)
        trace(model, arrays(GNN, "inputs"), output=tmp_path)
        again = trace(model, arrays(GNN, "inputs"), output=tmp_path, types=["ReLU", "Add"])
        assert len(list(tmp_path.iterdir())) == len(again) + 1
        (tmp_path / "mine.txt").write_text("kept")
        with pytest.raises(EvaluationError, match=naming("mine.txt")):
            trace(model, arrays(GNN, "inputs"), output=tmp_path)
        assert (tmp_path / "mine.txt").read_text() == "kept"
        assert len(Trace(tmp_path)) == len(again)

    def test_index_naming_foreign_files_deletes_none(self, tmp_path: Path) -> None:
        file = chain("ReLU").file()
        model = read_model(file.xml, weights=file.weights)
        trace(model, [np.ones((2, 3), np.float32)], output=tmp_path / "t")
        (tmp_path / "mine.npy").write_text("kept")
        text = (tmp_path / "t" / "index.json").read_text()
        name = Trace(tmp_path / "t").value("relu1").file
        (tmp_path / "t" / "index.json").write_text(text.replace(name, "../mine.npy"))
        with pytest.raises(EvaluationError, match=naming("index.json"), check=coded("IR705")):
            trace(model, [np.ones((2, 3), np.float32)], output=tmp_path / "t")
        assert (tmp_path / "mine.npy").read_text() == "kept"

    def test_damaged_dumps(self, tmp_path: Path) -> None:
        file = chain("ReLU").file()
        model = read_model(file.xml, weights=file.weights)
        written = trace(model, [np.ones((2, 3), np.float32)], output=tmp_path)
        path = tmp_path / written.value("relu1").file
        path.write_bytes(path.read_bytes()[:-4])
        with pytest.raises(EvaluationError, match=naming("relu1")):
            written["relu1"]
        path.unlink()
        with pytest.raises(EvaluationError, match="No such file"):
            written["relu1"]
        np.save(path, np.ones(6, np.float32))
        with pytest.raises(EvaluationError, match=naming("f32[2, 3]", "float32[6]")):
            written["relu1"]
        index = json.loads((tmp_path / "index.json").read_text())
        del index["values"][0]["digest"]
        (tmp_path / "index.json").write_text(json.dumps(index))
        with pytest.raises(EvaluationError, match=naming("index.json"), check=coded("IR705")):
            Trace(tmp_path)
        (tmp_path / "index.json").unlink()
        with pytest.raises(EvaluationError, match=naming("index.json"), check=coded("IR001")):
            Trace(tmp_path)
        with pytest.raises(EvaluationError, match="No such file"):
            Trace(tmp_path / "nowhere")
