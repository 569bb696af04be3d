"""The walk runs layers as a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir_exec import read_model
from ir_exec.debug import compare, trace
from ir_exec.debug.walk import Walker
from ir_exec.model import Model
from ir_exec.ops.matrix.matmul import MatMul
from ir_exec.types import Array
from tests.helpers.network_text import NetworkText

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def product(weights: Array, kind: str = "f32") -> Model:
    net = NetworkText()
    x = net.parameter("2,3", kind)
    net.result(net.op("MatMul", x, net.const(weights), transpose_a="false", transpose_b="true"))
    file = net.file()
    return read_model(file.xml, file.weights)


def test_kernels_of_constants_are_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Mapping[int, Array]] = []
    plain = MatMul.with_constants

    def watched(self: MatMul, constants: Mapping[int, Array]) -> Callable[..., Any] | None:
        seen.append(constants)
        return plain(self, constants)

    monkeypatch.setattr(MatMul, "with_constants", watched)
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    model = product(weights)
    walker = Walker(model)
    (found,) = walker.run([X])
    np.testing.assert_array_equal(found, X @ weights.T)
    (known,) = seen
    assert list(known) == [1]
    # Other constants than those of the network make a kernel of their own.
    (node,) = [node for node in model.graph.nodes if node.type == "MatMul"]
    (other,) = walker.again(node, [X, weights + 1])
    np.testing.assert_array_equal(other, X @ (weights + 1).T)


def test_a_kernel_of_constants_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    right = X @ weights.T
    monkeypatch.setattr(MatMul, "with_constants", lambda self, constants: lambda a, b: a @ b.T + 1)
    report = compare(product(weights), {"matmul2": right}, [X])
    assert report.first_fault is not None
    assert report.first_fault.layer_name == "matmul2"


def test_16_bit_floats_are_computed_as_run_does(tmp_path: Path) -> None:
    weights = np.full((4, 3), 1.01, ml_dtypes.bfloat16)
    x = X.astype(ml_dtypes.bfloat16)
    model = product(weights, "bf16")
    wide = trace(model, [x], output=tmp_path / "wide")
    assert wide["matmul2"].dtype == np.float32
    as_filed = trace(model, [x], output=tmp_path / "file", precision="file")
    assert as_filed["matmul2"].dtype == ml_dtypes.bfloat16
    for precision in ("f32", "file"):
        assert compare(model, as_filed, [x], precision=precision).equal  # type: ignore[arg-type]  # mypy takes a str
