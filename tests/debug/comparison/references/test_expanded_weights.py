"""Weights of a model that is exported for onnxruntime: in a separate file, and not read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_exec import Model, build
from ir_exec.debug import compare
from ir_exec.debug.comparison.references import expanded_weights
from ir_exec.debug.comparison.references.onnx_reference import ExportedReference
from ir_exec.onnx.export import files
from ir_exec.onnx.export.lower import Exported

SIZE = 256


def decompressing() -> Model:
    x = build.parameter([None, SIZE], name="x")
    weight = build.constant(np.linspace(-1, 1, SIZE * SIZE).reshape(SIZE, SIZE), "f16", name="stored")
    expanded = build.convert(weight, "f32", name="weight")
    return build.model(build.result(build.matmul(x, expanded, transpose_b=True), name="y"))


def test_constants_are_not_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = files.write_exported

    def record_sizes(exported: Exported, path: Path, **options: Any) -> None:
        write(exported, path, **options)
        sizes.extend([path.stat().st_size, Path(f"{path}.data").stat().st_size])

    monkeypatch.setattr(files, "write_exported", record_sizes)
    ExportedReference(decompressing(), timeout=60).close()
    message, constants = sizes
    assert message < SIZE * SIZE
    assert constants >= 2 * SIZE * SIZE


@pytest.mark.parametrize(("most_bytes", "is_read"), [(0, False), (2**26, True)])
def test_large_expanded_weights_are_not_read(most_bytes: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanded_weights, "MOST_WEIGHT_BYTES", most_bytes)
    report = compare(decompressing(), "onnxruntime", {"x": np.ones((2, SIZE), np.float32)})
    assert report.equal
    assert len(report.notes) == (0 if is_read else 1)
    compared = [layer.path for layer in report.layers if layer.partner is not None]
    assert ("weight" in compared) == is_read
