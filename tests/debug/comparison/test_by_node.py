"""Comparisons of ONNX files name nodes, not the layers that they became."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper, numpy_helper

from ir_exec.cli import main
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.by_node import add_nodes
from tests.helpers.facts import mentions

OPERATORS = {"dense": "Gemm", "norm": "LayerNormalization", "act": "HardSwish"}
X = np.linspace(-1, 2, 8, dtype=np.float32).reshape(2, 4)


def write(path: Path, alpha: float = 1.0, epsilon: float = 1e-5) -> Path:
    """Write y = act(norm(dense(x))); `dense` and `norm` become several layers."""
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"], "dense", alpha=alpha),
            helper.make_node("LayerNormalization", ["a", "s"], ["n"], "norm", epsilon=epsilon),
            helper.make_node("HardSwish", ["n"], ["y"], "act"),
        ],
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(np.eye(4, dtype=np.float32) + 0.5, "w"),
            numpy_helper.from_array(np.float32([1, -1, 2, 0]), "b"),
            numpy_helper.from_array(np.float32([1, 2, 3, 4]), "s"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def compare_files(folder: Path, **changes: float) -> Comparison:
    return compare(write(folder / "a.onnx"), write(folder / "b.onnx", **changes), [X])


@pytest.mark.parametrize(("changes", "node"), [({"epsilon": 0.5}, "norm"), ({"alpha": 1.5}, "dense")])
def test_fault_is_of_a_node(changes: dict[str, float], node: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    report = compare_files(tmp_path, **changes)
    assert report.first_fault is not None
    assert (report.first_fault.node, report.first_fault.is_certain) == (None, False)
    by_node = add_nodes(report, OPERATORS)
    fault = by_node.first_fault
    assert fault is not None
    assert (fault.node, fault.operator, fault.includes) == (node, OPERATORS[node], ())
    assert fault.is_certain
    assert by_node.faults[0] == fault
    assert by_node.verdict == report.verdict
    assert by_node.decision is not None
    assert by_node.decision.line == mentions(node, OPERATORS[node])


def test_layers_of_a_node(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    report = add_nodes(compare_files(tmp_path), OPERATORS)
    assert report.equal
    nodes = {layer.path: (layer.node, layer.operator) for layer in report.layers if layer.node is not None}
    assert nodes["norm"] == nodes["norm/MVN"] == ("norm", "LayerNormalization")
    assert {layer.path for layer in report.layers if layer.node is None} == {"x", "w", "b", "s"}


def test_suspects_of_other_nodes_remain(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    report = compare_files(tmp_path, epsilon=0.5)
    fault = report.first_fault
    assert fault is not None
    other = fault.model_copy(update={"includes": ("norm/MVN", "dense"), "unseen": 2})
    report = report.model_copy(update={"first_fault": other, "faults": (other,)})
    by_node = add_nodes(report, OPERATORS).first_fault
    assert by_node is not None
    assert (by_node.includes, by_node.unseen, by_node.is_certain) == (("dense",), 1, False)


def test_command_line_names_the_node(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    a, b = write(tmp_path / "a.onnx"), write(tmp_path / "b.onnx", epsilon=0.5)
    np.savez(tmp_path / "x.npz", x=X)
    arguments = ["compare", str(a), str(b), "--inputs", str(tmp_path / "x.npz")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    first, *others = result.stdout.splitlines()
    assert first == mentions("norm", "LayerNormalization")
    assert "MVN" not in result.stdout
    assert "Multiply" not in result.stdout
    assert any(line == mentions("act", "HardSwish") for line in others)
