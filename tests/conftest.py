"""What all tests share: no deadlines, and one OpenVINO process for a pytest process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.conformance.oracle import Oracle

# How long an example takes says something about the machine, not about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle
