"""Verdicts over every network: planted faults with drawn inputs, and networks that are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_exec import IRError, read_model
from ir_exec.debug import Comparison, compare
from tests.conformance.networks import COPIES, arrays, networks
from tests.debug.comparison.planted_kinds import KINDS, one_of_each
from tests.debug.comparison.test_comparing_planted import outputs_differ

ONNX = sorted((COPIES / "onnx").glob("*.onnx"))

HIDDEN = {
    ("dynamic_output_ops", "flag"),  # Unique without sorting, of two numbers that are drawn in order
    ("mobilenet_v2_dynamic", "number"),  # a window of whose border nothing is left in the outputs of small images
    ("nms9", "binary operator"),  # scores that change by less than makes NonMaxSuppression choose others
}
"""Faults that outputs show with the inputs of the repository, and not with those that are drawn."""


def is_fault_named(report: Comparison, paths: frozenset[str]) -> bool:
    """Return True if the first fault is one of these layers, or a layer that stands for one without a partner."""
    fault = report.first_fault
    return fault is not None and not paths.isdisjoint({fault.path, *fault.includes})


def test_ten_categories_exist() -> None:
    assert len(KINDS) == 10


@pytest.mark.broad(keep=1)
@pytest.mark.parametrize("name", networks())
def test_planted_faults_are_found_without_inputs(name: str) -> None:
    path = networks()[name]
    xml, weights, inputs = path.read_bytes(), path.with_suffix(".bin").read_bytes(), arrays(path, "inputs")
    assert inputs is not None
    good = read_model(path)
    planted, missed = 0, []
    for fault in one_of_each(xml, weights, inputs, seed=len(name)):
        bad = read_model(fault.xml, weights=fault.weights)
        planted += 1
        try:
            report = compare(good, bad, threads=1)
        except IRError:
            missed.append(fault.kind)  # the fault makes the network take other sizes
            continue
        if not is_fault_named(report, fault.paths):
            missed.append(fault.kind)
        if outputs_differ(good, bad, inputs) and (name, fault.kind) not in HIDDEN:
            assert report.verdict != "equal", (fault.kind, fault.paths, str(report))
    assert planted >= 1
    assert len(missed) <= 1, (missed, planted)


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", networks())
def test_network_equals_itself_f16_copy_and_openvino(name: str, tmp_path: Path) -> None:
    path = networks()[name]
    inputs = arrays(path, "inputs")
    model = read_model(path)
    for arguments in (None, inputs):
        assert compare(model, path, arguments, threads=1).verdict == "equal"
    report = compare(model, "openvino", inputs, threads=1)
    assert report.verdict in ("equal", "reference"), str(report)
    model.save(tmp_path / "f16.xml", compress_to_fp16=True)
    for first, other in ((model, tmp_path / "f16.xml"), (tmp_path / "f16.xml", model)):
        report = compare(first, other, inputs, threads=1)
        assert report.faults == (), str(report)
        assert report.verdict == "equal" or not all_within(report), str(report)


def all_within(report: Comparison) -> bool:
    """Return True if no output is beyond 2 % of its greatest element, as rounding the weights to f16 explains."""
    errors = [result.error for result in report.output_results if result.error is not None]
    return all(error.beyond_count == 0 for error in errors)


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("path", ONNX, ids=lambda path: path.stem)
def test_an_onnx_file_equals_onnxruntime(path: Path) -> None:
    model = read_model(path)
    with np.load(path.with_name(f"{path.stem}.inputs.npz")) as archive:
        arrays = {port.name: archive[f"input{at}"] for at, port in enumerate(model.inputs)}
    report = compare(model, path, arrays, threads=1)
    assert report.verdict in ("equal", "reference"), str(report)
    assert report.faults == (), str(report)
