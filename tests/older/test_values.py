"""The values of every layer type, and what OpenVINO of today computes from the converted files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_exec
from tests.conformance.build import IRFile
from tests.conformance.oracle import Oracle, Refused
from tests.older.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    file, inputs, expected = CASES[name]()
    report = file.report()
    assert [finding.code for finding in report.diagnostics] == ["IR005"], str(report)
    assert report.layers_not_checked == 0
    outputs = file.run(*inputs)
    assert [array.shape for array in outputs] == [array.shape for array in expected]
    assert [array.dtype for array in outputs] == [array.dtype for array in expected]
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.conformance
@pytest.mark.parametrize("name", CASES)
def test_openvino_computes_the_same(name: str, oracle: Oracle, tmp_path: Path) -> None:
    file, inputs, expected = CASES[name]()
    file.model().save(tmp_path / "new.xml")
    answer = oracle.values(
        IRFile((tmp_path / "new.xml").read_bytes(), (tmp_path / "new.bin").read_bytes(), tuple(inputs))
    )
    assert not isinstance(answer, Refused), answer.reason
    for theirs, reference in zip(answer, expected, strict=True):
        np.testing.assert_allclose(theirs, reference, rtol=2e-5, atol=2e-5)
    again = ir_exec.read_model(tmp_path / "new.xml")
    for ours, reference in zip(ir_exec.compile_model(again)(list(inputs)).values(), expected, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=2e-5, atol=2e-5)
