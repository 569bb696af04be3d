"""Profiles of compiled models of OpenVINO in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ir_exec.debug import profile
from ir_exec.errors import EvaluationError, SourceTypeError
from ir_exec.view import view

NETWORK = Path(__file__).parents[3] / "samples" / "gnn_step.xml"
CORE = ov.Core()
MODEL = CORE.read_model(NETWORK)
INPUTS = {"edges": np.zeros((2, 5), np.int64), "features": np.ones((6, 4), np.float32)}


def test_counters_of_a_compiled_model() -> None:
    compiled = CORE.compile_model(MODEL, "CPU", {"PERF_COUNT": True, "INFERENCE_PRECISION_HINT": "f32"})
    report = profile(MODEL, INPUTS, reference=compiled, repeat=2)
    assert report.openvino is not None
    layers = {name: layer for layer in report.openvino.layers for name in layer.layers}
    assert {"messages", "total", "MatMul_15910"} <= layers.keys()
    assert layers["MatMul_15910"].precision == "f32"
    assert (report.openvino.device, report.openvino.hint) == ("CPU", "latency")
    assert next(layer for layer in report.layers if layer.path == "total").openvino == layers["total"].name
    assert layers["total"].ours > 0


def test_compiled_model_without_counters() -> None:
    with pytest.raises(EvaluationError) as error:
        profile(MODEL, INPUTS, reference=CORE.compile_model(MODEL, "CPU"), repeat=1)
    assert error.value.hint is not None
    assert "PERF_COUNT" in error.value.hint


def test_compiled_model_of_another_model() -> None:
    other = CORE.read_model(NETWORK.with_name("scatter_update.xml"))
    with pytest.raises(EvaluationError):
        profile(MODEL, INPUTS, reference=CORE.compile_model(other, "CPU", {"PERF_COUNT": True}), repeat=1)


def test_compiled_model_is_no_model() -> None:
    compiled = CORE.compile_model(MODEL, "CPU")
    for function in (profile, view):
        with pytest.raises(SourceTypeError) as error:
            function(compiled)
        assert error.value.hint is not None
        assert function.__name__ in error.value.hint
