"""Every case of every table as a file: reading and running it gives what the operator alone gives, in f32 too."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_file, check_in_f32, families, table


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{family}: {case}") for family in families() for case in table(family)]
)
def test_file(case: Case) -> None:
    faults = [f"{form}: {fault}" for form in FORMS for fault in check_file(case, form)]
    assert not faults, "\n".join([str(case), *faults])


@pytest.mark.parametrize("family", families())
def test_short_floats_in_f32(family: str) -> None:
    faults = [f"{case}: {fault}" for case in table(family) for fault in check_in_f32(case)]
    assert not faults, "\n".join(faults)
