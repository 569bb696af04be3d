"""Comparisons, traces and cuts report as recorded; `python -m tests.debug.snapshots` records anew."""

from __future__ import annotations

import pytest

from tests.debug.snapshots.taking import NETWORKS, RECORDED, take_snapshot


@pytest.mark.parametrize("name", NETWORKS)
def test_reports_are_as_recorded(name: str) -> None:
    recorded = (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    assert take_snapshot(name).splitlines() == recorded.splitlines()


def test_every_record_has_a_network() -> None:
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(NETWORKS)
