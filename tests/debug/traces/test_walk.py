"""The walk runs layers as a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir_exec import compile_model, read_model
from ir_exec.debug import compare, trace
from ir_exec.debug.traces.walk import Walker, first_not_finite
from ir_exec.model import Model
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array
from tests.conformance.networks import arrays, networks
from tests.helpers.facts import mentions
from tests.helpers.network_text import NetworkText, tied_input, tied_output

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def product(weights: Array, element_type: str = "f32") -> Model:
    net = NetworkText()
    x = net.parameter("2,3", element_type)
    net.result(net.op("MatMul", x, net.const(weights), transpose_a="false", transpose_b="true"))
    file = net.file()
    return read_model(file.xml, file.weights)


def test_constant_kernels_match_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Mapping[int, Array]] = []
    plain = MatMul.with_constants

    def record_constants(self: MatMul, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        seen.append(constants)
        return plain(self, constants)

    monkeypatch.setattr(MatMul, "with_constants", record_constants)
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    model = product(weights)
    walker = Walker(model)
    (output,) = walker.run([X])
    np.testing.assert_array_equal(output, X @ weights.T)
    (constants_seen,) = seen
    assert list(constants_seen) == [1]
    # Constants that differ from those of the network make another kernel.
    (node,) = [node for node in model.graph.nodes if node.type == "MatMul"]
    (other,) = walker.again(node, [X, weights + 1])
    np.testing.assert_array_equal(other, X @ (weights + 1).T)


def test_wrong_constant_kernel_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    right = X @ weights.T
    monkeypatch.setattr(MatMul, "with_constants", lambda self, constants: lambda a, b: a @ b.T + 1)
    report = compare(product(weights), {"matmul2": right}, [X])
    assert report.first_fault is not None
    assert report.first_fault.layer_name == "matmul2"


def test_short_floats_are_computed_like_run(tmp_path: Path) -> None:
    weights = np.full((4, 3), 1.01, ml_dtypes.bfloat16)
    x = X.astype(ml_dtypes.bfloat16)
    model = product(weights, "bf16")
    wide = trace(model, [x], output=tmp_path / "wide")
    assert wide["matmul2"].dtype == np.float32
    as_filed = trace(model, [x], output=tmp_path / "file", precision="file")
    assert as_filed["matmul2"].dtype == ml_dtypes.bfloat16
    for precision in ("f32", "file"):
        assert compare(model, as_filed, [x], precision=precision).equal  # type: ignore[arg-type]  # mypy takes a str


NETWORKS = Path(__file__).parents[2] / "networks"


def find_first_not_finite(net: NetworkText, x: list[float]) -> str | None:
    file = net.file()
    result = first_not_finite(read_model(file.xml, weights=file.weights), [np.array(x, np.float32)])
    return None if result is None else result.message


def network(*types: str, constant: float | None = None) -> NetworkText:
    net = NetworkText()
    value = net.parameter("?")
    for type in types:
        value = net.op(type, value)
    if constant is not None:
        value = net.op("Add", value, net.const(np.array([constant], np.float32)))
    net.result(net.op("Multiply", value, net.const(np.array([0], np.float32))))
    return net


def test_producing_layer() -> None:
    assert find_first_not_finite(network("Sqrt", "Log", "Abs"), [1, 2]) is None
    message = find_first_not_finite(network("Abs", "Log", "Abs"), [0, 2])
    assert message == mentions(2, "log2", 1, 2)
    assert "infinit" in message
    assert find_first_not_finite(network("Abs", "Sqrt"), [1, 2]) is None
    assert find_first_not_finite(network("Sqrt", "Abs"), [-1, 2]) == mentions(1, "sqrt1", 1, "NaN", 2)


def test_nan_of_infinity() -> None:
    """The infinity of a mask is meant; what is made of it is not."""
    message = find_first_not_finite(network(constant=-np.inf), [1, 2])
    assert message == mentions(4, "multiply4", "NaN", 2, 2)


def test_inputs_and_constants_that_hold_nan() -> None:
    assert find_first_not_finite(network("Abs"), [np.nan]) == mentions(0, "parameter0", 1, "NaN", 1)
    message = find_first_not_finite(network(constant=np.nan), [1.0])
    assert message == mentions(1, "const1", 1, "NaN", 1)


def test_in_a_body() -> None:
    net = NetworkText()
    x = net.parameter("1")
    body = NetworkText(net)
    inside = body.parameter("1")
    last = body.result(body.op("Exp", inside))
    goes_on = body.result(body.const(np.array(True)))
    ties = [tied_input(2, inside), tied_output(3, last), tied_output(-1, goes_on, purpose="execution_condition")]
    count, yes = net.const(np.array(9, np.int64)), net.const(np.array(True))
    (value,) = net.loop(1, "Loop", [count, yes, x], body, ties, [(last, inside)])
    net.result(value)
    message = find_first_not_finite(net, [1])
    assert message is not None
    assert message == mentions(1, "loop3/body/exp1", 1, 3)
    assert "infinit" in message


@pytest.mark.parametrize("name", ["gnn_gcn_gat", "conv_zoo", "lstm", "bert_tiny_fp16"])
def test_real_networks(name: str) -> None:
    path = networks()[name]
    assert first_not_finite(read_model(path), arrays(path, "inputs")) is None


def test_values_computed_in_f32_do_not_overflow() -> None:
    net = NetworkText()
    x = net.parameter("1", element_type="f16")
    net.result(net.op("Sqrt", net.op("Multiply", x, x)))
    model = read_model(net.file().xml)
    inputs = [np.array([300], np.float16)]
    assert compile_model(model)(inputs)[0] == 300
    assert first_not_finite(model, inputs) is None
    not_finite = first_not_finite(model, inputs, precision="file")
    assert not_finite is not None
    assert "(Multiply)" in not_finite.message
