"""Each transformation: a network that matches, a near miss with its reason, and both against OpenVINO."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ir_exec.debug.device.fused_operators import FusionCounter
from ir_exec.fusions import PredictedFusion, list_fusions
from ir_exec.fusions.catalogue import TRANSFORMATIONS
from tests.fusions.networks import CASES, FusionCase, decoder


@pytest.fixture(scope="module")
def counter() -> Iterator[FusionCounter]:
    with FusionCounter() as started:
        yield started


def predict_case(case: FusionCase) -> PredictedFusion:
    return list_fusions(case.make(), case.target).find(case.fusion)


def count_of(fusion: PredictedFusion) -> int | None:
    return None if fusion.fails else fusion.matched


@pytest.mark.parametrize("entry", TRANSFORMATIONS, ids=lambda entry: entry.name)
def test_transformation_has_a_match_and_a_near_miss(entry: object) -> None:
    cases = [case for case in CASES.values() if case.fusion == entry.name]  # type: ignore[attr-defined]
    assert any(case.matched or case.unknown for case in cases)
    assert any(case.missed is not None or case.unknown for case in cases)


@pytest.mark.parametrize("name", CASES)
def test_prediction(name: str) -> None:
    case = CASES[name]
    fusion = predict_case(case)
    assert count_of(fusion) == case.matched
    assert (fusion.unknown is not None) == case.unknown
    if case.missed is None:
        assert fusion.missed == ()
    else:
        layer, fact = case.missed
        (missed,) = fusion.missed
        assert missed.layer == layer
        assert fact in missed.actual


@pytest.mark.parametrize("name", CASES)
def test_openvino_agrees(name: str, counter: FusionCounter) -> None:
    case = CASES[name]
    counts = counter.count(case.make())
    if case.fusion not in counts:
        pytest.skip("the runtime model does not list the operator")
    count = counts[case.fusion]
    assert (None if isinstance(count, str) else count) == case.matched


def test_encoders_lack_no_paged_attention() -> None:
    """They have no cache, and pipelines for them need none."""
    case = FusionCase("PagedAttention", lambda: decoder(cache="none"), 0, target="genai")
    fusion = predict_case(case)
    assert (count_of(fusion), fusion.missed) == (0, ())
