"""One OpenVINO process for all tests of a pytest process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.oracle import Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle
