"""Tests of the counter of steps."""

from __future__ import annotations

from functools import partial

import pytest

from tests.helpers.facts import naming
from tests.helpers.steps import steps_of


def many(count: int) -> None:
    for _ in range(count):
        pass


def test_steps_grow_with_the_work() -> None:
    single, ten = (steps_of(partial(many, count), limit=1000) for count in (10, 100))
    assert ten - single == 2 * 90, "a line for the loop and one for its body"


def test_too_many_steps_fail() -> None:
    with pytest.raises(AssertionError, match=naming("1000")):
        steps_of(partial(many, 10**9), limit=1000)
