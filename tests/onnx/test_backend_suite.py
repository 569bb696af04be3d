"""The official suite of the onnx package. What is left out is listed with its reason, and must still fail."""

from __future__ import annotations

from zlib import crc32

import onnx
import pytest

from tests.onnx.suite import CATEGORIES, cases, left_out, outcome, without_shapes

SHARDS = 8
SAMPLED = 1
"""Shards of each category that the plain command runs."""

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(not onnx.__version__.startswith("1.23."), reason="the list is of the cases of onnx 1.23"),
]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=pytest.mark.rest if shard >= SAMPLED else ()) for shard in range(SHARDS)]
)
def test_every_case_comes_out_as_listed(category: str, shard: int) -> None:
    left = left_out()
    unexpected = []
    for case in cases(category):
        if crc32(case.name.encode()) % SHARDS != shard:
            continue
        result = outcome(case)
        if left.get(case.name, "").startswith("random numbers"):
            # Any values are right, those of the suite too.
            continue
        if (result.message is None) == (case.name in left):
            unexpected.append(f"{case.name}: {result.message or 'passes, and is listed'}")
    assert unexpected == []


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=pytest.mark.rest if shard >= SAMPLED else ()) for shard in range(SHARDS)]
)
def test_compiled_models_do_as_well(category: str, shard: int) -> None:
    left = left_out()
    chosen = (case for case in cases(category) if crc32(case.name.encode()) % SHARDS == shard and case.name not in left)
    outcomes = [outcome(case, is_plain=True) for case in chosen]
    assert [f"{result.name}: {result.message}" for result in outcomes if result.message is not None] == []


@pytest.mark.parametrize("has_ranks", [True, False], ids=["open dims", "unknown ranks"])
@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=pytest.mark.rest if shard >= SAMPLED else ()) for shard in range(SHARDS)]
)
def test_compiled_models_do_as_well_without_shapes(shard: int, has_ranks: bool) -> None:
    left = left_out()
    chosen = [case for case in cases("node") if crc32(case.name.encode()) % SHARDS == shard and case.name not in left]
    outcomes = [outcome(without_shapes(case, has_ranks=has_ranks), is_plain=True) for case in chosen]
    assert [f"{result.name}: {result.message}" for result in outcomes if result.message is not None] == []


def test_exclusions_exist_and_goal_is_reached() -> None:
    names = {case.name for category in CATEGORIES for case in cases(category)}
    assert left_out().keys() <= names
    assert len(names) - len(left_out()) >= 1_950
