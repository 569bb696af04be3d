"""The sample of each table: what rows of it differ in is in it, and it is small."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.conformance.case import Case
from tests.conformance.checks import families, table
from tests.conformance.sample import each_chunk, each_chunk_of_a_part, features, found_in, part, sample


@pytest.mark.parametrize("family", families())
def test_sample_has_every_feature(family: str) -> None:
    sampled, others = part(family, True), part(family, False)
    assert sampled
    assert len(sampled) == len(sample(family))
    assert sorted(map(id, [*sampled, *others])) == sorted(map(id, table(family)))
    assert set(chain(*map(features, others))) <= set(chain(*map(features, sampled)))


def test_sample_is_less_than_half() -> None:
    assert sum(len(sample(family)) for family in families()) < sum(len(table(family)) for family in families()) / 2


def test_every_row_is_in_one_chunk() -> None:
    rows = {id(case) for family in families() for case in table(family)}
    for chunks in (each_chunk(), each_chunk_of_a_part()):
        case_ids = [id(case) for chunk in chunks for case in chunk.values[0]]
        assert len(case_ids) == len(rows)
        assert set(case_ids) == rows


def test_faulty_rows_of_chunk_are_reported() -> None:
    rows = [Case("Abs", 1, ()), Case("Exp", 1, ()), Case("Log", 1, ())]
    assert found_in(rows, lambda case: []) == ""
    told = found_in(rows, lambda case: ["first", "second"] if case.type == "Exp" else [])
    assert told.split() == ["Exp-1", "first", "second"]
