"""Assertions for the tests of repositories that contain IR files.

from ir_exec.testing import assert_ir_ok, assert_same

def test_detector():
    assert_ir_ok("models/detector.xml", shapes="image[1..8,3,?,?]")

def test_the_new_export():
    assert_same("models/detector.xml", "models/detector.before.xml")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ir_exec.check import Report, Selection, check_model, code_prefix
from ir_exec.check.what_if import InputShapes
from ir_exec.codes import Code
from ir_exec.debug import Comparison, compare
from ir_exec.debug.comparison.api import Probe, ReferenceLike
from ir_exec.debug.comparison.records import FailOn
from ir_exec.errors import EvaluationError
from ir_exec.model import Model, Source, WeightsSource
from ir_exec.runtime.arguments import Inputs

__all__ = ["FailedCheckError", "NothingComparedError", "assert_ir_ok", "assert_same"]


class FailedCheckError(AssertionError):
    """Raised for a model with errors.

    Attributes:
        report: The findings.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))


def assert_ir_ok(
    path: Source,
    shapes: InputShapes | None = None,
    *,
    batch: int | None = None,
    target: str | None = None,
    weights: WeightsSource | None = None,
    ignore: Iterable[str] = (),
    strict: bool = False,
) -> Report:
    """Check an IR file, and fail with the complete report if it has errors.

    Args:
        shapes: As in `check_model`.
        batch: As in `check_model`.
        target: As in `check_model`.
        weights: As in `check_model`.
        ignore: Rules that are ignored, by code, name or group.
        strict: Fail for warnings and unchecked layers as well.

    Raises:
        FailedCheckError: If the report has errors, or with `strict` warnings or unchecked layers; an AssertionError.
        ValueError: For a rule that does not exist.
    """
    # With this, pytest shows the line of the caller instead of this function.
    __tracebackhide__ = True
    ignored = frozenset(code_prefix(text) for text in ignore)
    report = check_model(path, weights=weights, shapes=shapes, batch=batch, target=target)
    report = Selection(ignore=ignored).apply(report)
    if not report.ok or (strict and (report.warnings or report.layers_not_checked)):
        raise FailedCheckError(report)
    return report


class NothingComparedError(EvaluationError, AssertionError):
    """Raised for a comparison without an element that is finite on both sides, which cannot show any fault."""


def assert_same(
    model: Model | Source,
    reference: ReferenceLike,
    inputs: Inputs | None = None,
    seed: int = 0,
    *,
    rtol: float | Mapping[str, float] | None = None,
    atol: float | Mapping[str, float] | None = None,
    probe: Probe = "all",
    fail_on: FailOn = "outputs",
    nan_equal: bool = False,
) -> Comparison:
    """Compare a model with a reference, and fail with the complete report if the outputs differ.

    Args:
        model: As in `debug.compare`.
        reference: As in `debug.compare`.
        inputs: As in `debug.compare`.
        seed: As in `debug.compare`.
        rtol: As in `debug.compare`.
        atol: As in `debug.compare`.
        probe: As in `debug.compare`.
        fail_on: As in `debug.compare`. "layers" fails as well if a layer has an own error above the tolerance while the
            outputs agree.
        nan_equal: As in `debug.compare`.

    Raises:
        AssertionError: If outputs differ, or if a layer has a gross error.
        NothingComparedError: If no output has an element that is finite on both sides; also an AssertionError.
        IRError: The errors of `debug.compare`.
    """
    __tracebackhide__ = True
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "probe": probe, "nan_equal": nan_equal, "fail_on": fail_on}
    report = compare(model, reference, inputs, seed, **options)
    if report.verdict == "not compared":
        raise NothingComparedError(str(report), code=Code.unknown_input)
    if not report.equal:
        raise AssertionError(str(report))
    return report
