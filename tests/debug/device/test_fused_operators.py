"""Counts of fused operators in OpenVINO."""

from __future__ import annotations

import pytest

from ir_exec.debug.device.fused_operators import FusionCounter, with_openvino
from ir_exec.errors import EvaluationError
from ir_exec.fusions import list_fusions
from tests.fusions.networks import decoder, rms


def test_counts_of_several_models_in_one_process() -> None:
    with FusionCounter() as counter:
        assert counter.count(rms())["RMS"] == 1
        counts = counter.count(decoder())
    assert (counts["StatefulAttention"], counts["PagedAttention"]) == (1, 1)


def test_failed_conversion_is_a_reason() -> None:
    with FusionCounter() as counter:
        assert isinstance(counter.count(rms())["PagedAttention"], str)


def test_report_with_counts() -> None:
    model = decoder()
    report = with_openvino(list_fusions(model, "genai"), model)
    assert report.openvino is not None
    assert report.openvino["PagedAttention"] == report.paged_attention == 1
    assert "StatefulAttention" not in report.openvino


def test_unknown_device() -> None:
    with FusionCounter("NO_SUCH_DEVICE") as counter, pytest.raises(EvaluationError):
        counter.count(rms())
