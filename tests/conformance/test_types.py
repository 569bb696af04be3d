"""Every case of every table in three forms: our inferred types are OpenVINO's, and hold the outputs that come."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_types, families, table
from tests.conformance.oracle import Oracle


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{family}: {case}") for family in families() for case in table(family)]
)
def test_types(case: Case, oracle: Oracle) -> None:
    faults = [f"{form}: {fault}" for form in FORMS for fault in check_types(case, form, oracle)]
    assert not faults, "\n".join([str(case), *faults])
