"""Random numbers of a module are the same for each of its tests (`conftest.pytest_runtest_setup`)."""

from __future__ import annotations

import numpy as np
import pytest

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_gets_the_first_ones(number: int) -> None:
    assert RANDOM.random() == np.random.default_rng(5).random()
