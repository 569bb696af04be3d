"""Reports of fusions: targets, errors, and counts of exported networks against OpenVINO's."""

from __future__ import annotations

from pathlib import Path

import pytest

import ir_exec
from ir_exec.errors import EvaluationError
from ir_exec.fusions import FUSION_TARGETS, list_fusions
from tests.fusions.networks import decoder, rms
from tests.helpers.facts import coded

NETWORKS = Path(__file__).parent.parent / "networks"


def test_unknown_target() -> None:
    with pytest.raises(EvaluationError, check=coded("IR705")):
        list_fusions(rms(), "tpu")  # type: ignore[arg-type]  # the wrong argument


@pytest.mark.parametrize("target", FUSION_TARGETS)
def test_report_lists_the_transformations_of_the_target(target: str) -> None:
    report = list_fusions(decoder(), target)  # type: ignore[arg-type]  # a parameter is text
    names = {fusion.name for fusion in report.fusions}
    assert ("PagedAttention" in names) == (target == "genai")
    assert ("StatefulAttention" in names) == (target == "cpu")
    assert report.paged_attention == (1 if target == "genai" else None)


def test_exported_decoder() -> None:
    """The counts are those of OpenVINO 2026.4.1 for the same file."""
    path = NETWORKS / "llama_stateful.xml"
    counts = {fusion.name: fusion.matched for fusion in list_fusions(path, "cpu").fusions}
    assert (counts["RMS"], counts["RoPE"], counts["StatefulAttention"]) == (5, 4, 2)
    assert list_fusions(path, "genai").paged_attention == 2


def test_layers_are_the_last_ones_of_their_patterns() -> None:
    assert list_fusions(rms(), "cpu").find("RMS").layers == ("scaled",)


def test_model_without_attention_is_no_near_miss() -> None:
    report = list_fusions(ir_exec.read_model(NETWORKS / "conv_zoo.xml"), "genai")
    assert report.paged_attention is None or report.paged_attention == 0
    assert all(fusion.missed == () for fusion in report.fusions if fusion.name == "PagedAttention")
