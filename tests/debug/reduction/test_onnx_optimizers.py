"""Graph optimizers of onnxruntime that change outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ir_exec.debug import bisect_optimizers
from ir_exec.debug.reduction.onnx_optimizers import ONNXRuntimeSessions, reduce_by_optimizers
from ir_exec.debug.reduction.optimizers import MOST_SESSIONS
from ir_exec.onnx.editing.sources import OnnxSource
from tests.debug.reduction.onnx_faults import FAULTS, has_fault, write_fault

pytest.importorskip("onnxruntime")
NETWORKS = Path(__file__).parents[2] / "networks" / "onnx"


@pytest.mark.parametrize("name", FAULTS)
def test_real_faults(name: str, tmp_path: Path) -> None:
    maker, optimizer, operators = FAULTS[name]
    path, small = tmp_path / "net.onnx", tmp_path / "small.onnx"
    inputs = write_fault(maker, path)
    if not has_fault(path, inputs):
        pytest.skip("the installed release has no such fault")
    source = OnnxSource(path)
    report = bisect_optimizers(source, inputs)
    assert (report.optimizers, report.is_minimal) == ((optimizer,), True)
    assert report.sessions <= MOST_SESSIONS
    reduced = reduce_by_optimizers(source, inputs, report)
    reduced.save(small)
    assert [node.op_type for node in onnx.load(small).graph.node] == operators
    assert reduced.inputs is not None
    assert has_fault(small, reduced.inputs)


def test_network_without_faults() -> None:
    path = NETWORKS / "resnet.onnx"
    with np.load(path.with_suffix(".inputs.npz")) as inputs:
        report = bisect_optimizers(path.read_bytes(), dict(inputs))
    assert (report.verdict, report.sessions) == ("equal", 2)
    assert "ConvActivationFusion" in report.applied


def test_session_that_crashes(tmp_path: Path) -> None:
    """The next session runs in another process."""
    inputs = write_fault(FAULTS["cast"][0], tmp_path / "net.onnx")
    sessions = ONNXRuntimeSessions(tmp_path / "net.onnx", inputs, timeout=60)
    try:
        sessions.child.timeout = 1e-6
        late = sessions.run(is_optimized=False)
        assert late.outputs is None
        assert late.refusal
        sessions.child.timeout = 60
        assert sessions.run(is_optimized=False).outputs is not None
    finally:
        sessions.close()
