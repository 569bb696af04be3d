"""Verdicts over every network: changed and identical copies, files of outputs, and the same faults with other seeds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ir_exec import IRError, compile_model, read_model
from ir_exec.debug import Comparison, compare
from tests.conformance.networks import COPIES, arrays, networks
from tests.debug.comparison.planted_kinds import one_of_each
from tests.debug.comparison.planted_weights import WEIGHT_KINDS, weight_faults

NNCF = Path(__file__).parents[2] / "quantization" / "nncf"

SEEDS = (4001, 4002)


def failing(report: Comparison) -> bool:
    """Return True if the verdict is a difference, after checking that the exit code and the record agree."""
    assert report.decision is not None
    assert report.decision.verdict == report.verdict
    assert report.equal == (report.verdict == "equal") == (report.exit_code == 0)
    return report.exit_code == 1 and report.verdict != "reference"


@pytest.mark.broad(keep=4)
@pytest.mark.parametrize("name", networks())
def test_a_changed_weight_is_never_equal(name: str) -> None:
    """Inputs are drawn, the outputs may agree, and the constant is in the first line."""
    path = networks()[name]
    xml, weights = path.read_bytes(), path.with_suffix(".bin").read_bytes()
    good = read_model(path)
    for seed in SEEDS:
        for fault in weight_faults(xml, weights, seed):
            try:
                report = compare(read_model(fault.xml, weights=fault.weights), good, seed=seed, threads=1)
            except IRError:
                continue  # the inputs that one of them takes
            assert failing(report), (fault.kind, fault.paths, str(report).splitlines()[0])
            assert report.first_fault is not None
            assert not fault.paths.isdisjoint({report.first_fault.path, *report.first_fault.includes}), fault
            assert report.first_fault.is_gross
            assert f'"{report.first_fault.path}"' in str(report).splitlines()[0]


@pytest.mark.broad(keep=2)
@pytest.mark.parametrize("name", networks())
def test_a_changed_layer_is_never_equal(name: str) -> None:
    """Attributes and operators that change the values of their layer with these inputs."""
    path = networks()[name]
    xml, weights, inputs = path.read_bytes(), path.with_suffix(".bin").read_bytes(), arrays(path, "inputs")
    assert inputs is not None
    good = read_model(path)
    for fault in one_of_each(xml, weights, inputs, seed=SEEDS[0] + len(name), tries=4):
        report = compare(read_model(fault.xml, weights=fault.weights), good, inputs, threads=1)
        # An output that no layer reads is not compared; the first line still names the attribute.
        named = {layer.path for layer in report.layers if layer.other_attributes}
        assert failing(report) or named & fault.paths, (fault.kind, fault.paths, str(report).splitlines()[0])


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", networks())
def test_identical_copies_and_outputs_are_equal(name: str, tmp_path: Path) -> None:
    path = networks()[name]
    inputs = arrays(path, "inputs")
    model = read_model(path)
    model.save(tmp_path / "copy.xml")
    assert compare(model, tmp_path / "copy.xml", seed=SEEDS[1], threads=1).verdict in ("equal", "not compared")
    assert compare(model, tmp_path / "copy.xml", inputs, threads=1).verdict == "equal"
    outputs = compile_model(model, threads=1)(inputs).to_tuple()
    np.savez(tmp_path / "golden.npz", **{f"out{position}": array for position, array in enumerate(outputs)})
    report = compare(model, tmp_path / "golden.npz", inputs, threads=1)
    assert report.verdict == "equal", str(report)


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", networks())
def test_a_file_of_outputs_accuses_no_layer(name: str, tmp_path: Path) -> None:
    path = networks()[name]
    xml, weights, inputs = path.read_bytes(), path.with_suffix(".bin").read_bytes(), arrays(path, "inputs")
    outputs = compile_model(path, threads=1)(inputs).to_tuple()
    np.savez(tmp_path / "golden.npz", **{f"out{position}": array for position, array in enumerate(outputs)})
    for fault in weight_faults(xml, weights, SEEDS[0]):
        try:
            report = compare(read_model(fault.xml, weights=fault.weights), tmp_path / "golden.npz", inputs, threads=1)
        except IRError:
            continue  # a constant of integers has the same bytes
        if report.equal:
            continue  # outputs do not show this fault
        assert report.verdict == "different"
        for accused in report.faults:
            assert not accused.is_certain or accused.path in fault.paths, (fault.paths, str(report).splitlines()[0])
            assert not accused.is_certain or accused.unseen == 0
        if report.first_fault is not None and report.first_fault.unseen:
            assert str(report.first_fault.unseen) in str(report).splitlines()[0].replace(",", "")


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", networks())
def test_f16_copy_is_equal_and_reported(name: str, tmp_path: Path) -> None:
    path = networks()[name]
    inputs = arrays(path, "inputs")
    model = read_model(path)
    model.save(tmp_path / "f16.xml", compress_to_fp16=True)
    for first, other in ((model, tmp_path / "f16.xml"), (tmp_path / "f16.xml", model)):
        report = compare(first, other, inputs, threads=1)
        assert report.faults == (), str(report)
        assert report.verdict == "equal" or any(
            not output.error.is_within for output in report.output_results if output.error
        )
        if any(layer.status == "close" and layer.type == "Const" for layer in report.layers):
            assert report.weights is not None


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("path", sorted((COPIES / "onnx").glob("*.onnx")), ids=lambda path: path.stem)
def test_changed_initializer_differs_from_onnxruntime(path: Path, tmp_path: Path) -> None:
    random = Random(SEEDS[0])
    names = [
        initializer.name
        for initializer in onnx.load(path).graph.initializer
        if initializer.data_type == 1 and np.prod(initializer.dims) >= 4
    ]
    for change in (WEIGHT_KINDS["one weight by 1"], WEIGHT_KINDS["a row"]) if names else ():
        model = onnx.load(path)
        name = random.choice(names)
        tensor = next(initializer for initializer in model.graph.initializer if initializer.name == name)
        values = numpy_helper.to_array(tensor).copy()
        before = values.copy()
        change(values, random)
        if np.array_equal(before, values):
            continue  # a row of zeros
        tensor.CopyFrom(numpy_helper.from_array(values, name))
        onnx.save(model, tmp_path / "changed.onnx")
        report = compare(tmp_path / "changed.onnx", path, seed=SEEDS[0], threads=1)
        assert failing(report) or report.exit_code == 2, (name, str(report).splitlines()[0])


@pytest.mark.parametrize("mode", sorted(path.stem for path in NNCF.glob("*.xml") if path.stem != "plain"))
def test_compressed_copy_is_equal_within_its_format(mode: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    report = compare(NNCF / f"{mode}.xml", NNCF / "plain.xml", {"x": x})
    assert report.verdict == "equal", str(report)
    (output,) = report.output_results
    assert output.is_explained
    assert len(report.quantized) == 1
