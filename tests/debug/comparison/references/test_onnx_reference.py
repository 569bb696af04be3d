"""onnxruntime runs the .onnx file itself: its verdicts are those of direct runs, its refusals are no verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ir_exec import EvaluationError, build, compile_model, read_model
from ir_exec.build.compress import Compression, compress_weights
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.references import onnx_child
from ir_exec.debug.comparison.references.child import Child
from ir_exec.types import Array
from tests.debug.comparison.references.quantized_files import KINDS, write_kind
from tests.helpers.facts import mentions, naming

NEARLY_EQUAL, GROSS = 1e-3, 2e-2
"""Errors relative to the rms of the output: less than the first must be equal, more than the second different."""


def run_directly(path: Path, inputs: dict[str, Array]) -> Array | None:
    """The output of a session with default options; None if onnxruntime refuses the file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        output: Array = session.run(["y"], inputs)[0]
    except Exception:  # onnxruntime raises classes of its own
        return None
    return output


def relative_error(actual: Array, expected: Array) -> float:
    difference = actual.astype(np.float64) - expected
    return float(np.sqrt(np.square(difference).mean() / np.square(expected.astype(np.float64)).mean()))


def statuses(report: Comparison) -> list[tuple[str, str]]:
    return [(layer.path, layer.status) for layer in report.layers]


@pytest.mark.broad(keep=8)
@pytest.mark.parametrize("name", KINDS)
def test_verdicts_about_quantized_files_agree(name: str, tmp_path: Path) -> None:
    path, inputs = write_kind(name, tmp_path)
    named, by_file = compare(path, "onnxruntime", inputs), compare(path, path, inputs)
    expected = run_directly(path, inputs)
    if expected is None:
        assert named.verdict == "not compared"
        assert named.failure == mentions(path.name)
        assert (by_file.verdict, by_file.runtime) in (("not compared", "onnxruntime"), ("equal", "onnx.reference"))
        return
    assert (named.runtime, by_file.runtime) == ("onnxruntime", "onnxruntime")
    assert (named.verdict, statuses(named)) == (by_file.verdict, statuses(by_file))
    error = relative_error(compile_model(path)(inputs)["y"], expected)
    assert named.equal or error >= NEARLY_EQUAL, str(named)
    assert not named.equal or error <= GROSS, str(named)


def test_file_refused_by_onnxruntime_is_compared_by_lowering(tmp_path: Path) -> None:
    path, inputs = write_kind("refused_k", tmp_path)
    report = compare(path, "onnxruntime", inputs)
    assert (report.verdict, report.equal, report.runtime) == ("not compared", False, "onnxruntime")
    assert any(note == mentions("--lowered") for note in report.notes)
    lowered = compare(path, "onnxruntime", inputs, lowered=True)
    assert lowered.equal, str(lowered)
    assert lowered.runtime == lowered.reference == mentions("onnxruntime", "ir_exec")


def test_lowering_refused_by_onnxruntime_is_evaluated_by_onnx(tmp_path: Path) -> None:
    path, inputs = write_kind("refused_zero", tmp_path)
    report = compare(path, "onnxruntime", inputs, lowered=True)
    assert report.equal, str(report)
    assert report.runtime == report.reference == mentions("onnx.reference", "ir_exec")


@pytest.mark.parametrize("reference", ["file", "onnxruntime"])
def test_a_run_without_optimizations_is_named(reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimizations of onnxruntime refuse a file; only a comparison with the file continues without them."""
    path, inputs = write_kind("qlinear_matmul", tmp_path)
    monkeypatch.setattr(onnx_child, "outputs_as_is", refuse_outputs)
    monkeypatch.setattr(Child, "ask", lambda self, **request: onnx_child.answer_request(request))
    if reference == "onnxruntime":
        with pytest.raises(RuntimeError):
            compare(path, "onnxruntime", inputs)
        return
    report = compare(path, path, inputs)
    assert report.equal, str(report)
    assert report.runtime == "onnxruntime (without optimizations)"
    assert any("onnxruntime" in note for note in report.notes)


def refuse_outputs(_: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("the optimizer fails")


def test_activations_of_8_bits_name_their_node(tmp_path: Path) -> None:
    path, inputs = write_kind("matmul_nbits_chain", tmp_path)
    report = compare(path, "onnxruntime", inputs)
    expected = run_directly(path, inputs)
    assert expected is not None
    assert relative_error(compile_model(path)(inputs)["y"], expected) > NEARLY_EQUAL
    assert (report.verdict, report.faults) == ("reference", ())
    (layer,) = (layer for layer in report.layers if layer.status == "reference")
    assert layer.path == "second"
    assert layer.note == mentions("accuracy_level", 1, 4)
    assert layer.note in str(report).splitlines()[0]
    assert report.settings == (mentions("accuracy_level", 4, "second"),)
    assert report.isolation is None
    alone = compare(path, "onnxruntime", inputs, isolate=True)
    assert (alone.verdict, alone.settings) == (report.verdict, report.settings)
    assert alone.isolation is not None
    assert alone.isolation.verdict == "right"
    assert alone.isolation.device == mentions("onnxruntime", "CPU", "ir_exec")


def test_products_in_f32_have_no_such_setting(tmp_path: Path) -> None:
    path, inputs = write_kind("matmul_nbits_level_1", tmp_path)
    report = compare(path, "onnxruntime", inputs)
    assert report.equal, str(report)
    assert report.settings == ()


def test_difference_by_optimization_names_its_setting(tmp_path: Path) -> None:
    """onnxruntime multiplies weights of 4 bits with activations rounded to 8 bits unless a session forbids it."""
    path, inputs = write_kind("weight_i4_blocks", tmp_path)
    expected = run_directly(path, inputs)
    assert expected is not None
    assert relative_error(compile_model(path)(inputs)["y"], expected) > NEARLY_EQUAL
    report = compare(path, "onnxruntime", inputs)
    assert (report.verdict, report.faults) == ("reference", ())
    assert report.settings == (mentions("session.qdq_matmulnbits_accuracy_level"),)
    assert report.settings[0] in str(report).splitlines()[0]
    (output,) = report.output_results
    assert output.is_within_spread, "the answers with and without optimizations differ as much"


def test_the_program_is_named(tmp_path: Path) -> None:
    path, inputs = write_kind("qdq_matmul", tmp_path)
    read_model(path).save(tmp_path / "model.xml")
    titles = {
        "onnxruntime": compare(path, "onnxruntime", inputs),
        "onnxruntime (lowered by ir_exec)": compare(path, "onnxruntime", inputs, lowered=True),
        "onnxruntime (exported)": compare(tmp_path / "model.xml", "onnxruntime", inputs),
    }
    for title, report in titles.items():
        assert (report.reference, report.runtime) == (title, title)
        assert title in str(report).splitlines()[0]
    by_file = compare(path, path, inputs)
    assert (by_file.reference, by_file.runtime) == (str(path), "onnxruntime")
    assert by_file.reference_title == mentions(path, "onnxruntime")
    assert by_file.model == str(path)
    assert compare(path, read_model(path), inputs).runtime == "ir_exec"


def test_lowered_requires_a_runtime_and_an_onnx_file(tmp_path: Path) -> None:
    path, inputs = write_kind("weight_i8", tmp_path)
    model = build.model(build.result(build.relu(build.parameter([2], name="x")), name="y"))
    for network, reference in ((path, path), (model, "onnxruntime"), (model, "openvino")):
        with pytest.raises(EvaluationError, match=naming("openvino", "onnxruntime")) as caught:
            compare(network, reference, inputs, lowered=True)
        assert caught.value.code == "IR705"


def test_tensors_named_by_numbers_are_paired_by_name(tmp_path: Path) -> None:
    """The operators of IR have other types, and several values have the same shape."""
    element_type = TensorProto.FLOAT
    nodes = [
        helper.make_node("LeakyRelu", ["0"], ["1"], alpha=0.1),
        helper.make_node("LeakyRelu", ["1"], ["2"], alpha=0.2),
        helper.make_node("Gemm", ["2", "3"], ["4"]),
        helper.make_node("LeakyRelu", ["4"], ["5"], alpha=0.3),
    ]
    ends = [helper.make_tensor_value_info(name, element_type, [4, 4]) for name in ("0", "5")]
    weight = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(weight, "3")])
    path = tmp_path / "numbers.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    report = compare(path, "onnxruntime", seed=3)
    assert report.equal, str(report)
    partners = {layer.partner: layer.status for layer in report.layers if layer.partner is not None}
    assert partners.keys() == {"0", "1", "2", "3", "4", "5"}
    assert set(partners.values()) <= {"equal", "close"}


def test_lists_are_inputs_and_outputs(tmp_path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info
    nodes = [
        helper.make_node("ConcatFromSequence", ["many"], ["joined"], axis=0),
        helper.make_node("Neg", ["joined"], ["negated"]),
        helper.make_node("SplitToSequence", ["negated"], ["parts"], axis=0),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [sequence("many", TensorProto.FLOAT, [None, 2])],
        [sequence("parts", TensorProto.FLOAT, None), helper.make_tensor_value_info("joined", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "lists.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    arrays = [np.float32([[1, 2]]), np.float32([[3, 4], [5, 6]])]
    report = compare(path, "onnxruntime", {"many": arrays})
    assert report.equal, str(report)
    assert [(result.name, result.status) for result in report.output_results] == [
        ("parts/0", "equal"),
        ("parts/1", "equal"),
        ("parts/2", "equal"),
        ("joined", "equal"),
    ]


@pytest.mark.parametrize("format", ["nf4", "fp4", "mxfp4", "fp8_e4m3", "mxfp8_e4m3", "int4_asym", "int8_sym"])
def test_export_codes_are_not_compared_with_values(format: str) -> None:
    random = np.random.default_rng(0)
    weight = build.constant(random.standard_normal((64, 128)).astype(np.float32), name="weight")
    product = build.matmul(build.parameter([3, 128], name="x"), weight, transpose_b=True, name="product")
    plain = build.model(build.result(build.tanh(product), name="y"))
    group = 32 if format.startswith("mx") else None
    report = compare(compress_weights(plain, Compression(format, group, all_layers=True))[0], "onnxruntime")
    assert report.equal, str(report)
    assert {layer.status for layer in report.layers} <= {"equal", "close", "unmatched"}
    for layer in report.layers:
        for error in (layer.own, layer.carried):
            assert error is None or error.is_within


def test_wrong_layer_is_found_in_the_file(tmp_path: Path) -> None:
    """The values inside come from the nodes of the file, which changed after our reading."""
    path, inputs = write_kind("matmul_nbits_chain", tmp_path)
    proto = onnx.load(path)
    for attribute in proto.graph.node[2].attribute:
        attribute.i = 1 if attribute.name == "accuracy_level" else attribute.i
    onnx.save(proto, path)
    model = read_model(path)
    assert compare(model, "onnxruntime", inputs).equal
    assert proto.graph.node[1].op_type == "Relu"
    proto.graph.node[1].op_type = "Abs"
    onnx.save(proto, path)
    report = compare(model, "onnxruntime", inputs)
    assert [(fault.type, fault.path) for fault in report.faults] == [("ReLU", "r")]


def test_floats_of_16_bits_are_named(tmp_path: Path) -> None:
    """The file computes in f16, ir_exec in f32: a note of a report that is not equal names the option."""
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (float16[2,4] x) => (float16[2,4] y) { h = Tanh(x) y = Neg(h) }"""
    path = tmp_path / "halves.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    inputs = {"x": np.linspace(-1, 1, 8).reshape(2, 4).astype(np.float16)}
    model = read_model(path)
    equal = compare(model, "onnxruntime", inputs)
    assert equal.equal, str(equal)
    assert equal.notes == ()
    onnx.save(onnx.parser.parse_model(text.replace("Neg", "Exp")), path)
    report = compare(model, "onnxruntime", inputs)
    assert report.verdict == "different"
    assert any(note == mentions("--precision") for note in report.notes)
    assert not any("--precision" in note for note in compare(model, "onnxruntime", inputs, precision="file").notes)
