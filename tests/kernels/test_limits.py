"""The limit of iterations of a run; tests/runtime/test_sessions_limits.py is about runs."""

from __future__ import annotations

import pytest

from ir_exec.errors import ResourceError
from ir_exec.kernels.limits import Limits
from tests.helpers.facts import naming


def test_a_million_iterations_are_allowed_and_no_more() -> None:
    limits = Limits()
    for _ in range(1_000_000):
        limits.iterate(0)
    with pytest.raises(ResourceError, match=naming("1,000,000")):
        limits.iterate(0)
