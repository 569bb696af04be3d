"""Every case of every table as a file: reading and running it gives what the operator alone gives, in f32 too."""

from __future__ import annotations

import pytest

from tests.conformance.build import FORMS
from tests.conformance.case import Case
from tests.conformance.checks import check_file, check_in_f32
from tests.conformance.sample import each_chunk_of_a_part, each_part, found_in, part


@pytest.mark.parametrize("rows", each_chunk_of_a_part())
def test_file(rows: list[Case]) -> None:
    faults = found_in(rows, lambda case: [f"{form}: {fault}" for form in FORMS for fault in check_file(case, form)])
    assert not faults, faults


@pytest.mark.parametrize(("family", "is_sampled"), each_part())
def test_short_floats_in_f32(family: str, is_sampled: bool) -> None:
    faults = [f"{case}: {fault}" for case in part(family, is_sampled) for fault in check_in_f32(case)]
    assert not faults, "\n".join(faults)
