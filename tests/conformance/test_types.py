"""Every case of every table in three forms: our inferred types are OpenVINO's, and hold the outputs that come."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_types
from tests.conformance.oracle import Oracle
from tests.conformance.sample import each_chunk_of_a_part, found_in


@pytest.mark.parametrize("rows", each_chunk_of_a_part())
def test_types(rows: list[Case], oracle: Oracle) -> None:
    faults = found_in(
        rows, lambda case: [f"{form}: {fault}" for form in FORMS for fault in check_types(case, form, oracle)]
    )
    assert not faults, faults
