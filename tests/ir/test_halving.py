"""Weights stored as f16."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

import ir_exec
from ir_exec import build
from ir_exec.types import Array

DTYPES = {"f32": np.float32, "f64": np.float64}
WEIGHTS = np.random.default_rng(0).standard_normal((8, 8))


def save_and_read(value: build.Value, folder: Path, *, compress: bool = True) -> ir_exec.Model:
    path = folder / "out.xml"
    build.model(build.result(value, name="y")).save(path, compress_to_fp16=compress)
    assert ir_exec.check_model(path).ok
    return ir_exec.read_model(path)


def stored_types(model: ir_exec.Model) -> list[str]:
    return sorted(layer.data["element_type"] for layer in model.document.all_layers() if layer.is_constant)


@pytest.mark.parametrize("element_type", DTYPES)
def test_constant_is_stored_as_f16_and_restored(element_type: str, tmp_path: Path) -> None:
    x = build.parameter([2, 8], element_type, name="x")
    model = save_and_read(
        build.matmul(x, build.constant(WEIGHTS, element_type, name="w", tensor_names=["t"])), tmp_path
    )
    assert stored_types(model) == ["f16"]
    assert (tmp_path / "out.bin").stat().st_size == WEIGHTS.size * 2
    (value,) = (output for node in model.graph.nodes for output in node.outputs if "t" in output.names)
    assert (value.node.type, value.node.name) == ("Convert", "w")
    x_values = np.ones((2, 8), DTYPES[element_type])
    expected = x_values @ WEIGHTS.astype(np.float16).astype(DTYPES[element_type])
    np.testing.assert_allclose(ir_exec.compile_model(model)({"x": x_values})["y"], expected, rtol=1e-6)


@pytest.mark.parametrize("element", [65520.0, -1e6, np.inf, np.nan])
def test_what_f16_does_not_hold_stays(element: float, tmp_path: Path) -> None:
    weights = np.ones(40, np.float32)
    weights[3] = element
    model = save_and_read(build.add(build.parameter([40], name="x"), weights), tmp_path)
    assert stored_types(model) == ["f32"]


def test_few_elements_and_integers_stay(tmp_path: Path) -> None:
    x = build.parameter([64], "i64", name="x")
    few = build.add(build.convert(build.add(x, np.arange(64)), "f32"), np.float32(0.5))
    assert stored_types(save_and_read(few, tmp_path)) == ["f32", "i64"]


def loop_over(weights: Array) -> build.Value:
    def body(iteration: build.Value, carried: build.Value) -> tuple[None, list[build.Value], list[build.Value]]:
        return None, [build.add(carried, build.constant(weights))], []

    (last,) = build.loop(3, None, body, carried=[build.parameter([64], name="x")])
    return last


def test_constants_of_bodies(tmp_path: Path) -> None:
    weights = np.linspace(-1, 1, 64, dtype=np.float32)
    model = save_and_read(loop_over(weights), tmp_path)
    assert stored_types(model).count("f16") == 1
    assert "f32" not in stored_types(model)
    expected = weights.astype(np.float16).astype(np.float32) * 3
    result = ir_exec.compile_model(model)({"x": np.zeros(64, np.float32)})["y"]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_openvino_reads_it_and_keeps_the_mark(tmp_path: Path) -> None:
    x = build.parameter([2, 8], name="x")
    model = save_and_read(build.matmul(x, build.constant(WEIGHTS, "f32", name="w")), tmp_path)
    read = ov.Core().read_model(tmp_path / "out.xml")
    (conversion,) = (op for op in read.get_ops() if op.get_type_name() == "Convert")
    assert "decompression_0" in conversion.get_rt_info()
    x_values = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    theirs = ov.Core().compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(x_values)[0]
    np.testing.assert_allclose(ir_exec.compile_model(model)({"x": x_values})["y"], theirs, rtol=1e-5, atol=1e-6)


def test_constants_are_in_memory_one_at_a_time(tmp_path: Path) -> None:
    value = build.parameter([256], name="x")
    for index in range(12):
        value = build.matmul(value, np.random.default_rng(index).standard_normal((256, 256), np.float32))
    model = build.model(build.result(value))
    size = 256 * 256 * 2
    model.save(tmp_path / "first.xml", compress_to_fp16=True)
    tracemalloc.start()
    try:
        model.save(tmp_path / "out.xml", compress_to_fp16=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "out.bin").stat().st_size == 12 * size
    assert peak < 3 * size
