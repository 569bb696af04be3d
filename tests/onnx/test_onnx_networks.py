"""Networks of real exporters: read, checked, run, converted; their values are onnxruntime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

import ir_exec
from ir_exec.types import Array

FOLDER = Path(__file__).parents[1] / "networks" / "onnx"

NETWORKS = sorted(path.stem for path in FOLDER.glob("*.onnx"))

QUANTIZED = {"quantized_qdq", "quantized_qlinear"}
"""Values of eight bits, of which one that is rounded the other way is one step off."""


def arrays(name: str, part: str) -> list[Array]:
    with np.load(FOLDER / f"{name}.{part}.npz") as archive:
        return [archive[f"{part[:-1]}{at}"] for at in range(len(archive.files))]


def load_inputs(name: str) -> dict[str, Array]:
    model = ir_exec.read_model(FOLDER / f"{name}.onnx")
    return {port.name: array for port, array in zip(model.inputs, arrays(name, "inputs"), strict=True)}


def equal(outputs: list[Array], name: str) -> None:
    for ours, theirs in zip(outputs, arrays(name, "outputs"), strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        atol = 0.02 if name in QUANTIZED else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=atol)


def test_networks_are_numerous_and_small() -> None:
    assert len(NETWORKS) > 12
    assert all((FOLDER / f"{name}.onnx").stat().st_size < 60_000 for name in NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_network_has_no_findings(name: str) -> None:
    report = ir_exec.check_model(FOLDER / f"{name}.onnx")
    assert not [str(diagnostic) for diagnostic in report.diagnostics if diagnostic.severity == "error"]


@pytest.mark.parametrize("name", NETWORKS)
def test_values_are_those_of_onnxruntime(name: str) -> None:
    compiled = ir_exec.compile_model(FOLDER / f"{name}.onnx")
    result = compiled(load_inputs(name))
    equal([result[at] for at in range(len(arrays(name, "outputs")))], name)


@pytest.mark.broad(keep=10)
@pytest.mark.parametrize("name", NETWORKS)
def test_openvino_runs_the_conversion(name: str, tmp_path: Path) -> None:
    path = tmp_path / "converted.xml"
    ir_exec.read_model(FOLDER / f"{name}.onnx").save(path)
    precise = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(ov.Core().read_model(path), "CPU", precise)
    inputs = load_inputs(name)
    assert {name for port in compiled.inputs for name in port.names} >= inputs.keys()
    result = compiled(inputs)
    equal([result[port] for port in compiled.outputs], name)


@pytest.mark.broad(keep=10)
@pytest.mark.parametrize("name", NETWORKS)
def test_saved_network_is_read_back_equal(name: str, tmp_path: Path) -> None:
    ir_exec.read_model(FOLDER / f"{name}.onnx").save(tmp_path / "converted.xml")
    result = ir_exec.compile_model(tmp_path / "converted.xml")(load_inputs(name))
    equal([result[at] for at in range(len(arrays(name, "outputs")))], name)
