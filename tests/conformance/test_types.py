"""Every case of every table in three forms: our inferred types are OpenVINO's, and hold the outputs that come."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS, Form
from tests.conformance.case import Case
from tests.conformance.checks import check_types, families, table
from tests.conformance.oracle import Oracle


@pytest.mark.parametrize(
    ("case", "form"),
    [
        pytest.param(case, form, id=f"{family}: {case}, {form}")
        for family in families()
        for case in table(family)
        for form in FORMS
    ],
)
def test_types(case: Case, form: Form, oracle: Oracle) -> None:
    faults = check_types(case, form, oracle)
    assert not faults, "\n".join([f"{case}, {form}", *faults])
