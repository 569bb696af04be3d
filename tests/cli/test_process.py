"""What commands do to their process is undone when they end."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from ir_exec.cli import main
from ir_exec.cli.process import seldom_collected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_collector_seldom_runs_in_a_command() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off() -> None:
    gc.set_threshold(0)
    with seldom_collected():
        assert gc.get_threshold()[0] == 0


@pytest.mark.parametrize("arguments", [["ops", "Relu"], ["ops", "none-such"], ["check", "/no/such.xml"]])
def test_the_collector_is_as_before_after_a_command(arguments: list[str]) -> None:
    before = gc.get_threshold()
    CliRunner().invoke(main, arguments)
    assert gc.get_threshold() == before
