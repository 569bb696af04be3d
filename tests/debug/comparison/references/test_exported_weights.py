"""Weights of a model that is exported for onnxruntime: in a separate file, and not read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import compare
from ir_exec.debug.comparison.references import expanded_weights
from ir_exec.debug.comparison.references.onnx_reference import ExportedReference

SIZE = 256


def decompressing() -> Model:
    x = build.parameter([None, SIZE], name="x")
    weight = build.constant(np.linspace(-1, 1, SIZE * SIZE).reshape(SIZE, SIZE), "f16", name="stored")
    expanded = build.convert(weight, "f32", name="weight")
    return build.model(build.result(build.matmul(x, expanded, transpose_b=True), name="y"))


def test_constants_are_not_in_the_message() -> None:
    reference = ExportedReference(decompressing(), timeout=60)
    try:
        path = Path(reference._exported.name, "network.onnx")
        assert path.stat().st_size < SIZE * SIZE
        assert path.with_name("network.onnx.data").stat().st_size >= 2 * SIZE * SIZE
    finally:
        reference.close()


@pytest.mark.parametrize(("most_bytes", "is_read"), [(0, False), (2**26, True)])
def test_large_expanded_weights_are_not_read(most_bytes: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanded_weights, "MOST_WEIGHT_BYTES", most_bytes)
    report = compare(decompressing(), "onnxruntime", {"x": np.ones((2, SIZE), np.float32)})
    assert report.equal
    assert len(report.notes) == (0 if is_read else 1)
    compared = [layer.path for layer in report.layers if layer.partner is not None]
    assert ("weight" in compared) == is_read
