"""Every case of every table as a file: reading and running it gives what the operator alone gives."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_file, families, table


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{family}: {case}") for family in families() for case in table(family)]
)
def test_file(case: Case) -> None:
    faults = [f"{form}: {fault}" for form in FORMS for fault in check_file(case, form)]
    assert not faults, "\n".join([str(case), *faults])
