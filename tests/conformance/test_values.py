"""Every case of every table: our outputs are the expected ones, and OpenVINO's."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.checks import can_be_asked, check_values
from tests.conformance.oracle import Oracle
from tests.conformance.sample import each_row


@pytest.mark.parametrize("case", each_row())
def test_values(case: Case, oracle: Oracle) -> None:
    faults = check_values(case, oracle)
    assert not faults, "\n".join([str(case), *faults])
    if case.expected is None and not can_be_asked(case):
        pytest.skip("without AVX-512 OpenVINO is wrong here, and nothing else is known of the values")
