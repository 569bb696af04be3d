"""Every case of every table: our outputs are the expected ones, and OpenVINO's."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.checks import can_be_asked, check_values, families, table
from tests.conformance.oracle import Oracle


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{family}: {case}") for family in families() for case in table(family)]
)
def test_values(case: Case, oracle: Oracle) -> None:
    faults = check_values(case, oracle)
    assert not faults, "\n".join([str(case), *faults])
    if case.expected is None and not can_be_asked(case):
        pytest.skip("without AVX-512 OpenVINO is wrong here, and nothing else is known of the values")
