"""The plans of about forty networks are those that are recorded; `python -m tests.plans` records them anew."""

from __future__ import annotations

import pytest

from tests.plans.networks import cases
from tests.plans.taking import SNAPSHOTS, snapshot_of

CASES = cases()


@pytest.mark.parametrize("name", sorted(CASES))
def test_plan_is_as_recorded(name: str) -> None:
    recorded = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    assert snapshot_of(CASES[name]).splitlines() == recorded.splitlines()


def test_every_snapshot_has_a_network() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} == CASES.keys()
