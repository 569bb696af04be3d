"""Interruptions and limits of reductions, for IR and for ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ir_exec import EvaluationError, read_model
from ir_exec.debug import ReductionInterrupted, reduce
from ir_exec.debug.reduction.onnx_reducing import reduce_onnx
from ir_exec.onnx.editing.sources import OnnxSource
from tests.debug.reduction.onnx_faults import FAULTS, write_fault
from tests.helpers.facts import coded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_fault(FAULTS["cast"][0], tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def run(path: Path, is_onnx: bool, fails: Any, **options: Any) -> Any:
    """Reduce a file as ONNX, or as the IR that it is lowered to."""
    if is_onnx:
        return reduce_onnx(OnnxSource(path), lambda _: fails(), **options)
    return reduce(read_model(path), lambda model, inputs=None: fails(), **options)


@pytest.mark.parametrize("is_onnx", [True, False])
def test_interrupted_with_a_smaller_model(is_onnx: bool, path: Path) -> None:
    calls = []

    def fails() -> bool:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return True

    with pytest.raises(ReductionInterrupted) as raised:
        run(path, is_onnx, fails)
    reduced = raised.value.found
    assert reduced.runs == 3
    assert (reduced.nodes if is_onnx else reduced.layers) < reduced.before


@pytest.mark.parametrize("is_onnx", [True, False])
def test_interrupted_without_a_smaller_model(is_onnx: bool, path: Path) -> None:
    answers = iter([True])

    def fails() -> bool:
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt) as raised:
        run(path, is_onnx, fails)
    assert not isinstance(raised.value, ReductionInterrupted)


@pytest.mark.parametrize("is_onnx", [True, False])
def test_limit_and_progress(is_onnx: bool, path: Path) -> None:
    lines: list[str] = []
    reduced = run(path, is_onnx, lambda: True, limit=2, progress=lines.append)
    assert reduced.runs == len(lines) == 2


@pytest.mark.parametrize("is_onnx", [True, False])
def test_model_that_does_not_fail(is_onnx: bool, path: Path) -> None:
    with pytest.raises(EvaluationError) as error:
        run(path, is_onnx, lambda: False)
    assert coded("IR704")(error.value)
