"""All faults of an ONNX file are reported in one pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

from ir_exec import check_model, compile_model
from ir_exec.cli import main
from ir_exec.codes import Code
from tests.helpers.facts import mentions
from tests.onnx.files import external, model, write_model


def findings(proto: onnx.ModelProto) -> list[str]:
    """Severity, code and place of each finding but those of open dims."""
    report = check_model(proto.SerializeToString())
    return [
        f"{finding.severity}[{finding.code}] {replace(finding.location, path=None)}: {finding.message}"
        for finding in report.diagnostics
        if finding.severity != "info"
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("g (float[2] x) => (float[2] y) { y = Relu(x) }", []),
        (
            "g (float[2] x) => (float[2] y) { y = Relu(h) h = Neg(x) }",
            [mentions('warning[IR122] node 0 "y" (Relu)')],
        ),
        (
            "g (float[2] x) => (float[2] y) { y = Add(x, w) }",
            [mentions('error[IR102] node 0 "y" (Add), port w', "w")],
        ),
        (
            "g (float[3,2] x) => (float[3] y) { a = Constant<value_ints = [-1]>() y = Squeeze(x, a) }",
            [mentions('error[IR502] node 1 "y" (Squeeze)', -1, 2, 1)],
        ),
        (
            "g (float[2] x) => (float[2] y) { y = own.F(x) }",
            [mentions('error[IR123] node 0 "y" (F)', "own")],
        ),
        (
            "g (float[2] x) => (float[2] y) { h = Relu(x) h = Neg(x) y = Neg(h) }",
            [mentions('error[IR124] node 1 "h" (Neg)', "h")],
        ),
        (
            "g (float[1,3] x, int64[2,1] i) => (float[2] y) { y = GatherND<batch_dims = 1>(x, i) }",
            [mentions('warning[IR502] node 0 "y" (GatherND), port data', 0)],
        ),
        (
            "g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }",
            [mentions('error[IR606] node 0 "y" (Relu)', "y", "f32[2,4]", "f32[2,3]")],
        ),
        (
            "g (float[2,3] x) => (float[3] y) <int64[2,3] h> { h = Relu(x) y = ReduceSum<keepdims = 0>(h) }",
            [
                mentions('error[IR606] node 0 "h" (Relu)', "h", "i64[2,3]", "f32[2,3]"),
                mentions('error[IR606] node 1 "y" (ReduceSum)', "y", "f32[3]", "f32[]"),
            ],
        ),
        (
            "g (float[2,3] x, float[4,5] w) => (float[2,5] y, float z) { y = MatMul(x, w) h = Add(x, w) z = Neg(h) }",
            [mentions("error[IR502] node 0"), mentions("error[IR504] node 1")],
        ),
        (
            "g (float[2] x, int64[2] i) => (float[2] y) { y = Add(x, i) }",
            [mentions('error[IR402] node 0 "y" (Add)')],
        ),
        (
            "g (float[2] x) => (float[2] y) { y = Softmax<axes = 1>(x) }",
            [mentions('error[IR302] node 0 "y" (Softmax)')],
        ),
        ("g (float[2] x) => (float[2] y) { y = Relu(x, x) }", [mentions('error[IR106] node 0 "y" (Relu)')]),
    ],
)
def test_findings(body: str, expected: list[mentions]) -> None:
    assert findings(model(body)) == expected


def test_a_cycle() -> None:
    lines = findings(model("g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Neg(x) }"))
    assert len(lines) == 1
    assert lines[0].startswith('error[IR107] node 0 "a" (Add): ')
    assert lines[0].endswith(": a, b")


@pytest.mark.parametrize("version", [0, 29, 99])
def test_unknown_versions(version: int) -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    proto.opset_import[0].version = version
    assert any(line.startswith("error[IR123]") for line in findings(proto))


def test_unsupported_operators_are_skipped_and_later_nodes_checked() -> None:
    proto = model(
        """g (float[2,3] x) => (float[2,4] y) <float[2,3] h> {
            h = own.Other(x) y = Relu(h)
        }""",
        further='"own" : 1',
    )
    report = check_model(proto.SerializeToString())
    assert [(diagnostic.code, diagnostic.severity) for diagnostic in report.diagnostics] == [
        ("IR606", "error"),
        ("IR901", "info"),
    ]
    assert "own:Other (1 node)" in report.diagnostics[-1].message


def test_independent_faults_all_come_out() -> None:
    proto = model(
        """g (float[2,3] x) => (float[2,3] a, float[3,2] b, float[7] c) {
            a = Add(x, w) b = Transpose<perm = [0, 0]>(x) c = Concat<axis = 5>(x, x)
        }"""
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros((4, 4), np.float32), "w"))
    places = [line.split(":")[0] for line in findings(proto)]
    assert len(places) == 3
    assert {location.partition('"')[2] for location in places} == {
        'a" (Add)',
        'b" (Transpose)',
        'c" (Concat)',
    }


def test_a_page_shows_the_network(tmp_path: Path) -> None:
    path = write_model(tmp_path, model("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"))
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["view", str(path), "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "ReLU" in page.read_text("utf-8")


def test_the_command_line_names_file_node_and_value(tmp_path: Path) -> None:
    path = write_model(tmp_path, model("g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }"))
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 1
    assert "error[IR606 value-info]" in result.output
    assert "model.onnx" in result.output
    assert '"y" (Relu)' in result.output


def test_unsupported_and_dependent_nodes_count_as_not_checked() -> None:
    body = "g (float[2] x) => (float[2] y, float[2] z) { a = own.Foo(x) b = own.Foo(a) y = Relu(b) z = Relu(x) }"
    report = check_model(model(body, further='"own" : 1').SerializeToString())
    assert report.layers_not_checked == 3
    assert report.ok
    declared = "g (float[2] x) => (float[2] y) <float[2] a> { a = own.Foo(x) b = Relu(a) y = Relu(b) }"
    assert check_model(model(declared, further='"own" : 1').SerializeToString()).layers_not_checked == 1


def test_element_types_follow_file_version() -> None:
    body = "g (float[2] x, float[2] z) => (bool[2] y) { y = Equal(x, z) }"
    assert findings(model(body, opset=13)) == []
    (line,) = findings(model(body, opset=10))
    assert line.startswith('warning[IR401] node 0 "y" (Equal), port A: ')
    assert line == mentions("IR401", 0, "y", "Equal", "A", 10, "f32")


def test_node_with_ir_only_element_type_runs() -> None:
    """Run by OpenVINO too; onnxruntime refuses it."""
    body = "g (float[2] x, float[2] z) => (bool[2] y) { y = Equal(x, z) }"
    compiled = compile_model(model(body, opset=10).SerializeToString())
    ones = np.ones(2, np.float32)
    assert compiled([ones, np.array([1, 2], np.float32)])[0].tolist() == [True, False]


class TestDataFiles:
    """A missing or truncated data file is one finding, however many tensors it holds."""

    COUNT = 15

    def path(self, folder: Path) -> Path:
        names = [f"w{number}" for number in range(self.COUNT)]
        lines = ["h0 = Add(x, w0)", *(f"h{at} = Add(h{at - 1}, w{at})" for at in range(1, self.COUNT))]
        proto = model(f"g (float[2] x) => (float[2] h{self.COUNT - 1}) {{ {' '.join(lines)} }}")
        for at, name in enumerate(names):
            entries = {"location": "weights.data", "offset": str(8 * at), "length": "8"}
            proto.graph.initializer.append(external(np.zeros(2, np.float32), name, **entries))
        return write_model(folder, proto)

    def test_missing(self, tmp_path: Path) -> None:
        (error,) = check_model(self.path(tmp_path)).errors
        assert error.code == Code.weights_missing
        assert error.message == mentions("'weights.data'", self.COUNT)

    def test_truncated(self, tmp_path: Path) -> None:
        (tmp_path / "weights.data").write_bytes(bytes(40))
        (error,) = check_model(self.path(tmp_path)).errors
        assert error.code == Code.weights_short
        assert error.message == mentions("'weights.data'", 40, self.COUNT - 5)

    def test_complete(self, tmp_path: Path) -> None:
        (tmp_path / "weights.data").write_bytes(bytes(8 * self.COUNT))
        assert not check_model(self.path(tmp_path)).errors
