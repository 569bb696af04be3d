"""OpenVINO reads and runs the .onnx file itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_exec import read_model
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.references.child import Child
from tests.debug.comparison.references.quantized_files import write_kind
from tests.helpers.facts import mentions

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
WEIGHTS = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def write_file(path: Path, nodes: list[Any] | None = None, names: str = "xy") -> Path:
    """y = LeakyRelu(Tanh(x · w)) · 2, with tensors p, t, l, y."""
    nodes = nodes or [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Tanh", ["p"], ["t"]),
        helper.make_node("LeakyRelu", ["t"], ["l"], alpha=0.25),
        helper.make_node("Mul", ["l", "two"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 4]) for name in names]
    constants = [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(np.float32([2]), "two")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def requested_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that OpenVINO reads."""
    files: list[str] = []
    ask = Child.ask

    def record_request(self: Child, **request: Any) -> dict[str, Any]:
        files.append(request["xml"])
        return ask(self, **request)

    monkeypatch.setattr(Child, "ask", record_request)
    return files


def partners(report: Comparison) -> set[str]:
    return {layer.path for layer in report.layers if layer.partner is not None}


@pytest.mark.parametrize("probe", ["all", "bisect", "outputs"])
def test_the_file_itself_is_read(probe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = requested_files(monkeypatch)
    path = write_file(tmp_path / "net.onnx")
    report = compare(path, "openvino", [X], probe=probe)
    assert report.equal, str(report)
    assert set(files) == {str(path)}
    assert report.runtime == report.reference == mentions("openvino", "CPU")
    assert report.reference in str(report).splitlines()[0]
    inner = {"p", "t", "l"} if probe == "all" else set()
    assert {"x", "y", "w", "two"} | inner <= partners(report)
    statuses = {layer.path: layer.status for layer in report.layers}
    assert {statuses["w"], statuses["two"]} == {"equal"}


def test_lowering_is_read_as_ir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = requested_files(monkeypatch)
    report = compare(write_file(tmp_path / "net.onnx"), "openvino", [X], lowered=True)
    assert report.equal, str(report)
    assert {Path(name).suffix for name in files} == {".xml"}
    assert report.runtime == mentions("openvino", "CPU", "ir_exec")


def test_a_wrong_layer_is_named(tmp_path: Path) -> None:
    """OpenVINO reads a file whose slope was changed after our reading."""
    path = write_file(tmp_path / "net.onnx")
    model = read_model(path)
    proto = onnx.load(path)
    proto.graph.node[2].attribute[0].f = 0.75
    onnx.save(proto, path)
    report = compare(model, "openvino", [X])
    assert [fault.path for fault in report.faults] == ["l"]


def test_node_computed_differently_alone_is_no_fault(tmp_path: Path) -> None:
    """A value that is changed in the complete run only."""
    path = write_file(tmp_path / "net.onnx")
    model = read_model(path)
    original = Child.ask

    def spoil(self: Child, **request: Any) -> dict[str, Any]:
        answer = original(self, **request)
        for name, _, stored in answer.get("probes", []):
            if name == "t":
                values = np.memmap(stored["file"], np.float32, "r+", stored["start"], (stored["size"] // 4,))
                values *= np.float32(1.1)
                values.flush()
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "ask", spoil)
        report = compare(model, "openvino", [X])
    assert report.faults == ()
    (layer,) = (layer for layer in report.layers if layer.status in ("reference", "skipped"))
    assert layer.path == "t"
    assert layer.note == mentions("OpenVINO", "ir_exec")


def test_inputs_and_outputs_in_another_order(tmp_path: Path) -> None:
    nodes = [helper.make_node("Sub", ["b", "a"], ["d"]), helper.make_node("Neg", ["a"], ["n"])]
    path = tmp_path / "ends.onnx"
    ends = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "abdn"}
    graph = helper.make_graph(nodes, "g", [ends["a"], ends["b"]], [ends["n"], ends["d"]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    report = compare(path, "openvino", {"a": X, "b": X[:, ::-1] * 3})
    assert report.equal, str(report)
    assert [result.name for result in report.output_results] == ["n", "d"]


def test_a_reshape_applies_to_the_reading_of_openvino(tmp_path: Path) -> None:
    model = read_model(write_file(tmp_path / "net.onnx")).reshape({"x": [3, 4]})
    report = compare(model, "openvino", [X])
    assert report.equal, str(report)


def test_size_1_axes_of_importer_are_no_difference(tmp_path: Path) -> None:
    """OpenVINO's DFT keeps an axis, which the Reshape removes."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "last"], ["u"]),
        helper.make_node("DFT", ["u", "", "first"], ["f"], onesided=1),
        helper.make_node("Reshape", ["f", "shape"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [3, 8]), ("y", None))
    ]
    constants = {"last": np.array([-1]), "first": np.array(1), "shape": np.array([3, 10])}
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    path = tmp_path / "dft.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    report = compare(path, "openvino", {"x": np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)})
    assert report.equal, str(report)
    assert report.faults == ()
    assert {layer.status for layer in report.layers} <= {"equal", "close", "unmatched"}


def test_file_refused_by_openvino_is_not_compared(tmp_path: Path) -> None:
    path, inputs = write_kind("matmul_bnb4", tmp_path)
    report = compare(path, "openvino", inputs)
    assert (report.verdict, report.equal) == ("not compared", False)
    assert report.failure == mentions(path.name, "com.microsoft.MatMulBnb4")
    assert ".cpp" not in report.failure
    assert any(note == mentions("--lowered") for note in report.notes)
    assert compare(path, "openvino", inputs, lowered=True).equal
