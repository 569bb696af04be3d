"""Values of layers that expand compressed weights: not stored, and the same when they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import Model, build, read_model
from ir_exec.debug import compare, trace
from ir_exec.debug.traces import expanding, tracing
from ir_exec.debug.traces.tracing import INDEX, Trace
from ir_exec.debug.traces.walk import Visit, Walker
from ir_exec.debug.values.facts import digest
from ir_exec.runtime.precision import Precision
from ir_exec.types import Array
from tests.conformance.networks import arrays

NETWORKS = Path(__file__).parents[2] / "networks"
SIZE = 256
X = np.ones((2, SIZE), np.float32)


def decompressing() -> Model:
    x = build.parameter([None, SIZE], name="x")
    codes = build.constant(np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 16, "u4", name="codes")
    codes = build.convert(codes, "f32", name="converted")
    shifted = build.subtract(codes, build.constant(np.float32(7)), name="shifted")
    scale = build.constant(np.linspace(0.1, 1, SIZE, dtype=np.float32).reshape(SIZE, 1))
    weight = build.multiply(shifted, scale, name="weight")
    return build.model(build.result(build.matmul(x, weight, transpose_b=True), name="y"))


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_expanded_weights_are_not_stored(tmp_path: Path) -> None:
    written = trace(decompressing(), [X], output=tmp_path / "trace")
    expanded = [value.layer_name for value in written.index.values if value.file is None]
    assert expanded == ["converted", "shifted", "weight"]
    # The codes take a byte each.
    assert size_of(tmp_path / "trace") < 2 * SIZE * SIZE
    codes = (np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 16).astype(np.float32)
    expected = (codes - 7) * np.linspace(0.1, 1, SIZE, dtype=np.float32).reshape(SIZE, 1)
    for loaded in (written, Trace(tmp_path / "trace"), trace(decompressing(), [X])):
        np.testing.assert_array_equal(loaded["weight"], expected)


@pytest.mark.parametrize("precision", ["f32", "file"])
@pytest.mark.parametrize("name", ["llama_int4_asym", "bert_tiny_fp16", "matrix_ops"])
def test_values_are_those_of_the_run(
    name: str, precision: Precision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (expanding, tracing):
        monkeypatch.setattr(module, "LEAST_BYTES", 0)
    path = NETWORKS / f"{name}.xml"
    model, inputs = read_model(path), arrays(path, "inputs")
    digests: dict[str, str] = {}

    def visit(visit: Visit) -> None:
        digests[visit.node.id] = digest(visit.outputs[0])

    Walker(model, precision=precision).run(inputs, visit)
    trace(model, inputs, output=tmp_path / "trace", precision=precision)
    for loaded in (Trace(tmp_path / "trace"), trace(model, inputs, precision=precision)):
        expanded = [value for value in loaded.index.values if value.file is None]
        assert expanded
        assert {value.layer_id: digest(loaded.load(value)) for value in expanded} == {
            value.layer_id: digests[value.layer_id] for value in expanded
        }


@pytest.mark.parametrize("options", [{"constants": False}, {"types": ["Multiply", "Subtract"]}])
def test_values_without_their_constants_are_stored(options: dict[str, object], tmp_path: Path) -> None:
    written = trace(decompressing(), [X], output=tmp_path / "trace", **options)  # type: ignore[arg-type]
    assert all(value.file is not None for value in written.index.values)
    assert Trace(tmp_path / "trace")["weight"].shape == (SIZE, SIZE)


def test_a_trace_is_moved_and_replaced(tmp_path: Path) -> None:
    trace(decompressing(), [X], output=tmp_path / "trace")
    moved = tmp_path / "moved"
    (tmp_path / "trace").rename(moved)
    weight: Array = np.array(Trace(moved)["weight"])
    trace(decompressing(), [X], output=moved, types=["MatMul"])
    assert {path.suffix for path in moved.iterdir()} == {".json", ".npy"}
    trace(decompressing(), [X], output=moved)
    np.testing.assert_array_equal(Trace(moved)["weight"], weight)
    assert (moved / INDEX).exists()


def test_a_trace_is_a_reference(tmp_path: Path) -> None:
    trace(decompressing(), [X], output=tmp_path / "trace")
    report = compare(decompressing(), tmp_path / "trace")
    assert report.equal
    assert {"shifted", "weight"} <= {layer.path for layer in report.layers}
