"""Rows of the operator tables, exported and run by onnxruntime, or by ONNX's reference where that has no kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ir_exec.ops.base.registry import resolve
from tests.conformance.build import Form
from tests.conformance.case import Case
from tests.conformance.sample import each_chunk_of_a_part
from tests.onnx.export.engine import Engine
from tests.onnx.export.left_out import REFUSED, WRONG
from tests.onnx.export.rows import Outcome, outcomes

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def _faults(rows: list[Outcome], form: Form) -> list[str]:
    """The rows whose outcome differs from the list."""
    told = []
    for outcome in rows:
        operator = resolve(outcome.case.type, f"opset{outcome.case.opset}").__name__
        if outcome.is_refused:
            is_listed = any(part in outcome.faults[0] for part in REFUSED.get(operator, ()))
        else:
            is_listed = outcome.is_right or any(part in outcome.faults[0] for part in WRONG.get(operator, ()))
        if not is_listed:
            told.append("\n    ".join([f"{outcome.case} ({form})", *outcome.faults]))
    return told


@pytest.mark.broad(keep=40)
@pytest.mark.parametrize("rows", each_chunk_of_a_part())
def test_rows_mean_the_same_in_onnx(rows: list[Case], engine: Engine) -> None:
    faults = _faults(list(outcomes(rows, engine)), "static")
    assert not faults, "\n".join(faults)


@pytest.mark.broad(keep=12)
@pytest.mark.parametrize("rows", each_chunk_of_a_part())
def test_rows_with_open_dims_mean_the_same_in_onnx(rows: list[Case], engine: Engine) -> None:
    faults = _faults(list(outcomes(rows, engine, "any dims")), "any dims")
    assert not faults, "\n".join(faults)
