"""An ONNX file as a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import EvaluationError, read_model
from ir_exec.debug import compare
from ir_exec.debug.comparison.references.child import Child
from tests.helpers.facts import mentions, naming
from tests.helpers.network_text import NetworkText

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

WEIGHTS = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def onnx_file(path: Path, alpha: float = 0.25, names: str = "x") -> Path:
    """y = LeakyRelu(Tanh(x · w)) · 2, with tensors p, t, l, y."""
    helper = onnx.helper
    element_type = onnx.TensorProto.FLOAT
    constants = [onnx.numpy_helper.from_array(WEIGHTS, "w"), onnx.numpy_helper.from_array(np.float32([2]), "two")]
    nodes = [
        helper.make_node("MatMul", [names, "w"], ["p"]),
        helper.make_node("Tanh", ["p"], ["t"]),
        helper.make_node("LeakyRelu", ["t"], ["l"], alpha=alpha),
        helper.make_node("Mul", ["l", "two"], ["y"]),
    ]
    shapes = [helper.make_tensor_value_info(name, element_type, [None, 4]) for name in (names, "y")]
    graph = helper.make_graph(nodes, "net", shapes[:1], shapes[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def network() -> Any:
    """The same network as IR, with the names of tensors that a converter keeps in the ports."""
    net = NetworkText()
    x = net.parameter("?,4")
    product = net.op("MatMul", x, net.const(WEIGHTS))
    leaky = net.op("PReLU", net.op("Tanh", product), net.const(np.array([0.25], np.float32)))
    net.result(net.op("Multiply", leaky, net.const(np.array([2], np.float32))))
    file = net.file()
    xml = file.xml.decode()
    for layer, name in (("parameter0", "x"), ("matmul2", "p"), ("tanh3", "t"), ("prelu5", "l"), ("multiply7", "y")):
        offset = xml.index(f'name="{layer}"')
        output = xml.index("<output>", offset)
        xml = xml[:output] + xml[output:].replace("UNSPECIFIED", f'UNSPECIFIED" names="{name}', 1)
    return read_model(xml.encode(), weights=file.weights)


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_equal(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "net.onnx")
    report = compare(network(), path, [X])
    assert report.equal, str(report)
    assert {layer.partner for layer in report.layers if layer.partner} == {"x", "p", "t", "l", "y"}
    assert [file.name for file in tmp_path.iterdir()] == ["net.onnx"]


def test_the_layer_that_differs(tmp_path: Path) -> None:
    report = compare(network(), onnx_file(tmp_path / "net.onnx", alpha=0.5), [X])
    assert report.first_fault is not None
    assert (report.first_fault.layer_name, report.first_fault.type) == ("prelu5", "PReLU")
    assert len(report.faults) == 1


def test_constants_are_compared_with_initializers(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "net.onnx")
    read_model(path).save(tmp_path / "net.xml")
    for model in (path, tmp_path / "net.xml"):
        report = compare(model, path, [X])
        assert report.equal, str(report)
        # The slope of LeakyRelu is an attribute there.
        assert [(unmatched.side, unmatched.type) for unmatched in report.unmatched] == [("model", "Const")]
        assert {layer.partner for layer in report.layers if layer.type == "Const"} == {"w", "two", None}


def test_differing_initializer_is_the_fault(tmp_path: Path) -> None:
    model = read_model(onnx_file(tmp_path / "net.onnx"))
    changed = onnx.load(tmp_path / "net.onnx")
    changed.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(np.float32([3]), "two"))
    onnx.save(changed, tmp_path / "changed.onnx")
    fault = compare(model, tmp_path / "changed.onnx", [X]).first_fault
    assert fault is not None
    assert (fault.layer_name, fault.type, fault.taken_by) == ("two", "Const", ("y",))


@pytest.mark.parametrize("external", [False, True])
def test_initializers_of_types_missing_in_numpy(tmp_path: Path, external: bool) -> None:
    helper, kinds = onnx.helper, onnx.TensorProto
    constants = [
        helper.make_tensor("halves", kinds.INT4, [3], [-8, 7, 3]),
        helper.make_tensor("naturals", kinds.UINT4, [3], [15, 0, 9]),
        helper.make_tensor("brains", kinds.BFLOAT16, [3], [1.5, -2.0, 0.25]),
        helper.make_tensor("eighths", kinds.FLOAT8E4M3FN, [3], [0.5, 448.0, -1.125]),
    ]
    nodes = [
        helper.make_node("Cast", [constant.name], [f"{constant.name}_f32"], to=kinds.FLOAT) for constant in constants
    ]
    nodes.append(helper.make_node("Sum", ["x", *(node.output[0] for node in nodes)], ["y"]))
    ends = [helper.make_tensor_value_info(name, kinds.FLOAT, [3]) for name in "xy"]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=external, location="net.data", size_threshold=0)
    report = compare(path, path, [np.float32([1, 2, 3])])
    assert report.equal, str(report)
    # Sum of five is a chain of Add.
    assert {unmatched.type for unmatched in report.unmatched} == {"Add"}
    constants_found = [layer for layer in report.layers if layer.type == "Const"]
    assert [(layer.layer_name, layer.status) for layer in constants_found] == [
        (constant.name, "equal") for constant in constants
    ]


def test_inputs_of_other_names_go_by_position(tmp_path: Path) -> None:
    assert compare(network(), onnx_file(tmp_path / "net.onnx", names="other"), [X]).equal


def test_invalid_files(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(EvaluationError, match=naming("net.onnx")):
        compare(network(), tmp_path / "net.onnx", [X])
    with pytest.raises(EvaluationError, match=naming("none.onnx")):
        compare(network(), tmp_path / "none.onnx", [X])


def test_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_exec.debug.comparison.references.onnx_reference.find_spec", lambda name: None)
    with pytest.raises(EvaluationError, match=naming("onnx", "onnxruntime")) as caught:
        compare(network(), tmp_path / "net.onnx", [X])
    assert caught.value.hint == mentions(".[onnx]")


class TestSecondOpinion:
    """If onnxruntime and onnx's reference implementation disagree, no layer of the network is wrong."""

    @staticmethod
    def spoil_answers(monkeypatch: pytest.MonkeyPatch, name: str, evaluator: bool) -> None:
        """Change what onnxruntime gives for a tensor, and with `evaluator` what the reference implementation gives."""
        ask = Child.ask

        def change_answer(self: Child, **request: Any) -> dict[str, Any]:
            answer = ask(self, **request)
            stored = []
            if request["do"] == "run":
                stored = [answer[part].get(name) for part in ("tensors", "outputs")]
            elif request["do"] == "opinion" and evaluator:
                stored = [answer["ways"]["evaluator"].get(f"evaluator:{name}")]
            for location in filter(None, stored):
                values = np.memmap(location["file"], np.float32, "r+", location["start"], (location["size"] // 4,))
                values *= np.float32(1.1)
                values.flush()
            return answer

        monkeypatch.setattr(Child, "ask", change_answer)

    def test_that_agrees_with_us(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spoil_answers(monkeypatch, "y", evaluator=False)
        report = compare(network(), onnx_file(tmp_path / "net.onnx"), [X])
        assert report.faults == ()
        (layer,) = (layer for layer in report.layers if layer.status == "reference")
        assert layer.path == "multiply7"
        assert layer.note == mentions("onnx", "ir_exec")
        assert not report.equal

    def test_that_agrees_with_onnxruntime(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spoil_answers(monkeypatch, "y", evaluator=True)
        report = compare(network(), onnx_file(tmp_path / "net.onnx"), [X])
        assert [fault.path for fault in report.faults] == ["multiply7"]
        assert report.faults[0].note == mentions("onnx")
        assert "ir_exec" not in report.faults[0].note

    def test_of_a_wrong_attribute(self, tmp_path: Path) -> None:
        report = compare(network(), onnx_file(tmp_path / "net.onnx", alpha=0.3), [X])
        assert [fault.path for fault in report.faults] == ["prelu5"]
        assert report.faults[0].note == mentions("onnx")
        assert "ir_exec" not in report.faults[0].note


def write_function_model(folder: Path, element_type: str, operator: str) -> Path:
    """A file that onnxruntime refuses for its element type."""
    text = f"""<ir_version: 10, opset_import: ["": 22]>
    g ({element_type}[2,4] x) => ({element_type}[2,4] y) {{ h = {operator}(x) y = Neg(h) }}"""
    path = folder / "net.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return path


@pytest.mark.parametrize(("element_type", "operator"), [("bfloat16", "Abs"), ("double", "Softsign")])
def test_nodes_refused_by_onnxruntime_are_evaluated_by_onnx(tmp_path: Path, element_type: str, operator: str) -> None:
    path = write_function_model(tmp_path, element_type, operator)
    model = read_model(path)
    x = np.linspace(-2, 2, 8).reshape(2, 4).astype(model.inputs[0].element_type.dtype)
    report = compare(model, path, [x])
    assert report.equal, str(report)
    assert {layer.partner for layer in report.layers if layer.partner} >= {"x", "h", "y"}
    assert sum("onnx.reference" in note for note in report.notes) == 1


def test_onnx_as_the_reference_of_its_own_accord(tmp_path: Path) -> None:
    report = compare(network(), f"onnx-reference:{onnx_file(tmp_path / 'net.onnx', alpha=0.5)}", [X])
    assert report.first_fault is not None
    assert report.first_fault.layer_name == "prelu5"
    assert sum("onnx.reference" in note for note in report.notes) == 1
